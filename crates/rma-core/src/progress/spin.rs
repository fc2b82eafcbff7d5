//! A wait that only packets can end, while they are near: looks at the channel's memory, and steps only for what they find.
//!
//! A packet between two processes of a node is there within a microsecond. A step of the engine takes a good
//! part of that, and most of it is of no use to a wait for one packet with nothing to send. So such a wait
//! first sends what was begun, tests what it waits for, and then looks. The clock, yields and sleeps come
//! later, with the loop of all waits ([`super::wait`]), which comes back here when it has moved something.
//!
//! * The engine is locked for a few looks at a time and let go of in between, as in that loop, so that others get it.
//! * Another thread may bring what is waited for: the generation of [`super::wait`] shows it, and then the
//!   loop of all waits goes on, which tests.
//! * A channel that does not know whether it is quiet is left to that loop from the first look on. So is an
//!   engine in which something else is to be done.
//! * What only a poll finds out, such as the end of a peer, waits for these few microseconds.

use super::step::Core;
use super::wait::Wait;
use crate::error::Result;
use crate::strategy::{Counted, Next, rest};
use std::time::Duration;

/// Looks with the engine locked: about as long as a step, so that other threads wait no longer.
const LOOKS: Counted = Counted::new(0, 23, 0);
/// Times that the engine is locked for looks in vain: a few microseconds, after which a wait yields first.
const ROUNDS: u32 = 12;
/// Rounds in vain before the clock is read: most packets have come by then.
const ROUNDS_BY_COUNT: u32 = 3;
/// How long the rest of the rounds may take: a look costs two loads for each peer in contact.
const LONGEST: Duration = Duration::from_micros(6);
/// Packets before the loop of all waits has its turn: a wait that serves others long reports its length.
const PACKETS: u32 = 64;

impl Wait<'_> {
    /// Whether the wait begins with looks, and goes on with them behind a step that moved something: if only
    /// packets can end it, waits spin at all, and tracing is off.
    pub(super) fn may_look(&self) -> bool {
        let spins = !self.patience.spin.is_zero() && !self.waiting.sharing.is_likely();
        self.is_for_packets && spins && !self.observation.is_on()
    }

    /// Drives the engine by looks for a moment, if `looks` says so; `None` when the loop of all waits is to go on.
    ///
    /// # Errors
    /// Whatever `ready` answers.
    pub(super) fn spin<T>(
        &self,
        looks: bool,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if !looks {
            return Ok(None);
        }
        let mut core = self.core.lock();
        if core.is_idle() {
            self.waiting.on_entered();
        } else {
            let moved = core.step_to_send(self.host);
            self.waiting.on_stepped(&mut core, moved);
        }
        if !core.is_idle() || !core.channel.is_quiet() {
            return Ok(None);
        }
        // Before the test: what another thread has moved by then is tested, and what it moves later is news.
        let mut seen = self.waiting.news();
        if let Some(value) = self.test(&mut core, true, ready)? {
            // A wait that is over serves the others all the same.
            let moved = core.step_for_packet(self.host);
            self.waiting.on_stepped(&mut core, moved);
            return Ok(Some(value));
        }
        let (mut in_vain, mut packets, mut until) = (0, 0, None);
        while in_vain < ROUNDS && packets < PACKETS && core.is_idle() {
            if self.finds_packet(&core) {
                if in_vain > 0 {
                    self.waiting.sharing.on_elsewhere();
                }
                let moved = core.step_for_packet(self.host);
                self.waiting.on_stepped(&mut core, moved);
                seen = self.waiting.news();
                if let Some(value) = self.test(&mut core, true, ready)? {
                    return Ok(Some(value));
                }
                if !moved {
                    break;
                }
                (in_vain, packets, until) = (0, packets + 1, None);
            }
            in_vain += 1;
            drop(core);
            if in_vain >= ROUNDS_BY_COUNT {
                let now = self.host.now();
                if now > *until.get_or_insert(now + LONGEST) {
                    return Ok(None);
                }
            }
            rest(Next::Spin);
            core = self.core.lock();
            if self.waiting.news() != seen {
                break;
            }
        }
        Ok(None)
    }

    fn finds_packet(&self, core: &Core) -> bool {
        LOOKS.look_for(|| (!core.channel.is_quiet()).then_some(())).is_some()
    }

    /// Tests what is waited for. `is_spinning` says that the wait looks again before it sleeps.
    pub(super) fn test<T>(
        &self,
        core: &mut Core,
        is_spinning: bool,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        core.state.is_spinning = is_spinning;
        let outcome = ready(core);
        core.state.is_spinning = false;
        if std::mem::take(&mut core.state.must_notify) {
            self.waiting.on_moved();
        }
        outcome
    }
}
