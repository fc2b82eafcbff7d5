//! External waits: for a library around the engine that has a wait of its own.
//!
//! [`Engine::serve`] has a part in a wait that spins, by turns with that library; [`Engine::arm`] in one that sleeps.
//!
//! [`Engine::arm`] promises for the whole engine what a channel promises in clause C6: from then on, until
//! the [`ExternalWait`] is dropped, anything that a step would act on makes [`Engine::wait_descriptor`] readable. A
//! external wait counts as a sleeper, so steps of other threads renew the promise (see `progress/wait.rs`). When it
//! ends, what made the descriptor readable is taken out of it (see `poller/external.rs`).

use super::Engine;
use crate::channel::Armed;
use crate::fork;
use crate::progress::{Core, News, Waiting};
use crate::strategy::Counted;
use std::fmt;

/// Looks for a packet where none has come just before: the library's own events are looked at meanwhile.
const LOOKS: Counted = Counted::new(0, 3, 0);
/// Looks behind a packet: a peer's next one is there within a round trip.
const LOOKS_BEHIND: Counted = Counted::new(0, 23, 0);
/// Packets, one behind the other, until the library has its turn.
const PACKETS: u32 = 8;

/// The engine's promise to wake threads in an external wait; see [`Engine::arm`]. It ends when it is dropped.
#[must_use = "the promise ends when it is dropped"]
pub struct ExternalWait(Engine, u64);

impl Engine {
    /// Serves other processes for a moment, in a loop that looks at events outside of the engine in turn: takes what is there, and what
    /// comes within the next looks at memory. Such a loop calls [`Engine::poll`] now and then, which finds what no look does, and yields
    /// where waits do not spin.
    pub fn serve(&self) {
        if self.patience().0 == 0 {
            self.poll();
            return;
        }
        let mut looks = LOOKS;
        for _ in 0..PACKETS {
            if !self.with(|core| self.serve_one(core, looks)) {
                return;
            }
            looks = LOOKS_BEHIND;
        }
    }

    /// Takes what is there after so many looks; says whether anything moved.
    fn serve_one(&self, core: &mut Core, looks: Counted) -> bool {
        let (waiting, host) = (self.waiting(), self.host());
        let has_sent = !core.is_idle() && core.step_to_send(host);
        if looks.look_for(|| (!core.channel.is_quiet()).then_some(())).is_none() {
            waiting.on_stepped(core, has_sent);
            return false;
        }
        let moved = core.step_for_packet(host);
        waiting.on_stepped(core, moved || has_sent);
        moved
    }
}

impl ExternalWait {
    /// Counts a sleeper, unless something has moved since `seen` or a step would find something to do. `core` is the
    /// engine's own, locked.
    pub(crate) fn begin(engine: &Engine, waiting: &Waiting, core: &mut Core, seen: News) -> Option<Self> {
        // Without descriptors there is nothing to sleep on; asking for them gives the reason.
        waiting.registrar().descriptor().ok()?;
        // A sleeper elsewhere has no time to wake up at.
        if core.is_due() || core.state.look_at.is_some() || core.channel.arm() == Armed::Busy {
            return None;
        }
        // First counted, then compared: SYNC POINT W1 of the engine's own waits.
        let wait = Self(engine.clone(), waiting.registrar().external().begin_sleep());
        (waiting.news() == seen).then_some(wait)
    }
}

impl Drop for ExternalWait {
    fn drop(&mut self) {
        // In a forked child it would take the news from the parent, which sleeps on the same descriptor.
        if !fork::is_child() {
            self.0.waiting().registrar().external().end_sleep(self.1);
        }
    }
}

impl fmt::Debug for ExternalWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExternalWait").field(&self.0).finish()
    }
}
