//! What an engine's calls wait for and which locks it holds, for questions from outside.

use super::Engine;
use crate::host::HeldLock;
use crate::progress::{Core, LastingWait};
use crate::sync::Waits;
use std::time::Duration;

/// What [`Engine::inquire`] has found.
#[derive(Clone, Debug, Default)]
pub struct Inquiry {
    /// The waits, in no order.
    pub waits: Vec<LastingWait>,
    /// Whether all of them have answered, and all locks are here.
    pub is_complete: bool,
    /// Locks held by this process, and locks of its own parts of windows held by others.
    pub held: Vec<HeldLock>,
    /// One-sided packets sent and received so far.
    pub moved: u64,
    /// How long the program has not been in a call that drives the engine, as far as the progress agent has seen.
    pub away: Option<Duration>,
    /// Whether one thread at a time calls ([`Engine::promise_one_caller`]).
    pub has_one_caller: bool,
}

impl Engine {
    /// Asks all threads of this process that have waited in the engine for some time what they wait for, and
    /// which locks are held. Answers by the time `limit`, a moment later when the engine is busy, with
    /// `most_locks` locks at most.
    pub fn inquire(&self, limit: Duration, most_locks: usize) -> Inquiry {
        let waiting = self.waiting();
        let (waits, is_complete) = waiting.inquiries.ask(limit, || waiting.on_moved());
        let Some(core) = self.try_lock_for(limit) else {
            return Inquiry { waits, ..Inquiry::default() };
        };
        let (held, are_all) = self.waits(&core).held_locks(most_locks);
        drop(core);
        let counters = self.counters();
        let moved = counters.packets_sent + counters.packets_received;
        let away = waiting.agent.away(self.host().now());
        let has_one_caller = self.has_one_caller();
        Inquiry { waits, is_complete: is_complete && are_all, held, moved, away, has_one_caller }
    }

    /// The waits of its calls, by its state.
    pub(crate) fn waits<'a>(&'a self, core: &'a Core) -> Waits<'a> {
        Waits {
            state: &core.state,
            windows: &core.windows,
            observation: self.observation(),
            host: self.host(),
        }
    }
}
