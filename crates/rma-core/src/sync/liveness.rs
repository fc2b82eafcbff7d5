//! A long wait for a lock of the node asks whether the processes there live.
//!
//! A death is reported by the launcher, or found by a channel that has contact; a lock in shared memory needs neither. So a process in
//! its line asks the host now and then ([`crate::host::Vitals`]), makes contact with those that have ended, so that its channel finds
//! out, and wakes the lock's owner. A woken owner asks too, while others hold its lock or wait for it, and takes the lock from the dead
//! ([`crate::target::recovery`]). So does one whose lock was frozen by a process that took it for dead, while it lives.

use crate::host::Vitals;
use crate::ids::Rank;
use crate::state::{NodeRank, Shared, State, WindowState, Windows};
use crate::target::{locks, recovery};
use std::sync::Arc;
use std::time::Duration;

/// From one question to the next: a tenth of a second, in which a question for each process of a large node is nothing.
const PAUSE: Duration = Duration::from_millis(100);

/// When a wait for a lock asks next.
#[derive(Debug, Default)]
pub(crate) struct LivenessCheck(Option<Duration>);

impl LivenessCheck {
    /// The wait for the lock of `target` goes on.
    pub(crate) fn look(&mut self, state: &mut State, shared: &Shared, target: Rank) {
        let now = state.host.now();
        if self.0.is_none_or(|at| at <= now) {
            let vitals = state.host.vitals();
            let is_frozen =
                shared.node_rank(target).is_some_and(|node_rank| node_rank.control.lock_state().is_frozen());
            if vitals.own == 0 && !is_frozen {
                return;
            }
            let is_first = self.0.replace(now + PAUSE).is_none();
            if !is_first && (state.suspect(shared, &vitals) || is_frozen) {
                let owner = shared.group.peer(target);
                if owner == shared.holder.peer() {
                    state.suspicion.on_woken();
                }
                let State { wake_ups, counters, .. } = &mut *state;
                locks::wake_peer(wake_ups, counters, shared, owner);
            }
        }
        state.look_again_by(self.0);
    }
}

impl State {
    /// If this process was woken, asks whether the other holders and waiters of its locks live.
    pub(crate) fn ask_if_woken(&mut self, windows: &mut Windows) {
        if !self.suspicion.was_woken {
            return;
        }
        let is_frozen = |window: &&WindowState| window.shared.own().control.lock_state().is_frozen();
        let frozen: Vec<_> = windows.iter().filter(is_frozen).map(|window| window.shared.id).collect();
        for id in frozen {
            if let Some(context) = windows.borrow(self, id) {
                recovery::reopen(context.window);
            }
        }
        let is_used = |shared: &Shared| !shared.own().control.lock_state().is_idle();
        let used = windows.iter().filter(|window| is_used(&window.shared));
        let shared: Vec<_> = used.map(|window| Arc::clone(&window.shared)).collect();
        if shared.is_empty() {
            self.suspicion.was_woken = false;
            return;
        }
        let vitals = self.host.vitals();
        let (now, due) = (self.host.now(), self.suspicion.asked.map(|asked| asked + PAUSE));
        if vitals.own == 0 {
            self.suspicion.was_woken = false;
        } else if let Some(due) = due.filter(|due| now < *due) {
            self.look_again_by(Some(due));
        } else {
            (self.suspicion.was_woken, self.suspicion.asked) = (false, Some(now));
            shared.iter().for_each(|shared| {
                self.suspect(shared, &vitals);
            });
        }
    }

    /// Suspects those of a window's node that have ended; says whether there are any that are not lost already.
    fn suspect(&mut self, shared: &Shared, vitals: &Vitals) -> bool {
        let me = shared.holder.peer();
        let has_ended = |node_rank: &&NodeRank| {
            let peer = shared.group.peer(node_rank.rank);
            peer != me && !self.lost.contains_key(&peer) && node_rank.control.has_owner_ended(vitals)
        };
        let ended: Vec<_> = shared
            .node_ranks()
            .filter(has_ended)
            .map(|node_rank| shared.group.peer(node_rank.rank))
            .collect();
        self.needs_step |= !ended.is_empty();
        let found = !ended.is_empty();
        self.suspicion.suspects.extend(ended);
        found
    }
}
