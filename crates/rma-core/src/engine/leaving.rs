//! The end of the program's calls: what a process says of its windows before it ends its part in the job.

use super::Engine;
use crate::control::Sleep;
use crate::ids::Peer;
use crate::notification::CounterBlock;
use crate::progress::Core;
use crate::state::{NodeRank, Shared};
use crate::target::locks;

impl Engine {
    /// The program makes no call on a window any more. Those that it has not freed are served on, for as long as this engine is driven; what
    /// other ranks of the node wait for by a call of this one fails there (`MPI_ERR_PROC_ABORTED`). Ranks of other nodes hear of it by their host
    /// ([`Host::has_left`](crate::host::Host::has_left)).
    pub fn leave_windows(&self) {
        self.with(|core| {
            let Core { state, windows, .. } = core;
            for window in windows.iter() {
                window.shared.own().control.set_left();
                for peer in sleepers(&window.shared) {
                    locks::wake_peer(&mut state.wake_ups, &mut state.counters, &window.shared, peer);
                }
            }
            state.needs_step |= !state.wake_ups.is_empty();
        });
        self.poll();
    }
}

/// The processes of the node that may sleep in a call on the window.
fn sleepers(shared: &Shared) -> impl Iterator<Item = Peer> + '_ {
    let is_asleep = |node_rank: &&NodeRank| {
        let counters = shared.notification.of(node_rank.rank);
        node_rank.control.is_asleep(Sleep::Any) || counters.is_some_and(CounterBlock::has_sleepers)
    };
    shared.node_ranks().filter(is_asleep).map(|node_rank| shared.group.peer(node_rank.rank))
}
