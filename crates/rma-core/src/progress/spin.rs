//! A wait while what ends it is near: looks at the channel's memory, and steps only for what they find.
//!
//! A packet between two processes of a node is there within a microsecond. A step of the engine takes a good
//! part of that, and most of it is of no use to a wait with nothing to send. So a wait first sends what was
//! begun, tests what it waits for, and then looks. The clock, yields and sleeps come later, with the loop of
//! all waits ([`super::wait`]), which comes back here when it has moved something.
//!
//! * A wait that only packets can end tests after each packet. Any other tests after a few looks too: what
//!   lies in shared memory is seen by tests alone, and meanwhile the process serves others by packets.
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

/// How a wait looks: in rounds, between which other threads get the engine.
struct Pace {
    /// Looks of a round, with the engine locked: at most about as long as a step, so that other threads wait no longer.
    looks: Counted,
    /// Rounds in vain: a few microseconds, after which a wait yields first.
    rounds: u32,
    /// Rounds in vain before the clock is read: most packets have come by then.
    rounds_by_count: u32,
}

const FOR_PACKETS: Pace = Pace { looks: Counted::new(0, 23, 0), rounds: 12, rounds_by_count: 3 };
/// As many looks in all; a test follows every few of them, and takes about as long.
const FOR_MEMORY: Pace = Pace { looks: Counted::new(0, 5, 0), rounds: 48, rounds_by_count: 12 };
/// How long the rest of the rounds may take: a look costs two loads for each peer in contact.
const LONGEST: Duration = Duration::from_micros(6);
/// Packets before the loop of all waits has its turn: a wait that serves others long reports its length.
const PACKETS: u32 = 64;

impl Wait<'_> {
    /// Whether the wait begins with looks, and goes on with them behind a step that moved something: if waits spin at all.
    pub(super) fn may_look(&self) -> bool {
        !self.patience.spin.is_zero() && !self.waiting.sharing.is_likely()
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
        let pace = if self.is_for_packets { FOR_PACKETS } else { FOR_MEMORY };
        let (mut in_vain, mut packets, mut until) = (0, 0, None);
        while in_vain < pace.rounds && packets < PACKETS && core.is_idle() {
            let has_packet = pace.looks.look_for(|| (!core.channel.is_quiet()).then_some(())).is_some();
            let mut moved = false;
            if has_packet {
                if in_vain > 0 {
                    self.waiting.sharing.on_elsewhere();
                }
                moved = core.step_for_packet(self.host);
                self.waiting.on_stepped(&mut core, moved);
                seen = self.waiting.news();
            }
            if (has_packet || !self.is_for_packets)
                && let Some(value) = self.test(&mut core, true, ready)?
            {
                return Ok(Some(value));
            }
            if has_packet {
                if !moved {
                    break;
                }
                (in_vain, packets, until) = (0, packets + 1, None);
            }
            in_vain += 1;
            drop(core);
            if in_vain >= pace.rounds_by_count {
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
