//! The end of the program's calls: what a process says of its windows before it ends its part in the job, and what becomes of the passive
//! epochs that the program has left open. They are closed as its unlock calls would close them: another rank that waits for a lock gets it,
//! behind the operations of the epoch.

use super::Engine;
use crate::control::Sleep;
use crate::epoch::Stage;
use crate::ids::{Peer, Rank};
use crate::notification::CounterBlock;
use crate::progress::Core;
use crate::state::{NodeRank, Shared, State, WindowState};
use crate::sync::{SyncStep, UnlockAllSync, UnlockSync};
use crate::target::locks;
use std::sync::Arc;

impl Engine {
    /// The program makes no call on a window any more. Those that it has not freed are served on, for as long as this engine is driven; what
    /// other ranks of the node wait for by a call of this one fails there (`MPI_ERR_PROC_ABORTED`). Ranks of other nodes hear of it by their host
    /// ([`Host::has_left`](crate::host::Host::has_left)). Locks that the program holds are given back.
    pub fn leave_windows(&self) {
        self.with(|core| {
            let Core { state, windows, .. } = core;
            let ids: Vec<_> = windows.iter().map(|window| window.shared.id).collect();
            for id in ids {
                let Some(mut context) = windows.borrow(state, id) else { continue };
                let (state, window) = context.split();
                close_passive_epoch(state, window);
                window.shared.own().control.set_left();
                for peer in sleepers(&window.shared) {
                    locks::wake_peer(&mut state.wake_ups, &mut state.counters, &window.shared, peer);
                }
            }
            state.needs_step = true;
        });
        self.poll();
    }
}

/// Begins to give back all locks that the program holds or has called for on a window; the engine goes on with it.
fn close_passive_epoch(state: &mut State, window: &mut WindowState) {
    if window.is_revoked() {
        // They go back when the window is freed.
        return;
    }
    let shared = Arc::clone(&window.shared);
    shared.access.own_settled();
    let steps: Vec<_> = match window.access().epoch().is_lock_all() {
        true if window.access().stage() == Stage::Open => {
            vec![SyncStep::UnlockAll(UnlockAllSync::begin(state, window))]
        }
        // A call to begin or to end it is under way.
        true => Vec::new(),
        false => {
            let open = window.epoch.locks().filter(|(_, lock)| !lock.closing).map(|(rank, _)| rank);
            let ranks: Vec<Rank> = shared.node_ranks().map(|node_rank| node_rank.rank).chain(open).collect();
            let begin = |rank| UnlockSync::begin(state, window, rank).map(SyncStep::Unlock);
            ranks.into_iter().filter_map(begin).collect()
        }
    };
    steps.into_iter().for_each(|step| window.go_on_with(step));
}

/// The processes of the node that may sleep in a call on the window.
fn sleepers(shared: &Shared) -> impl Iterator<Item = Peer> + '_ {
    let is_asleep = |node_rank: &&NodeRank| {
        let counters = shared.notification.of(node_rank.rank);
        node_rank.control.is_asleep(Sleep::Any) || counters.is_some_and(CounterBlock::has_sleepers)
    };
    shared.node_ranks().filter(is_asleep).map(|node_rank| shared.group.peer(node_rank.rank))
}
