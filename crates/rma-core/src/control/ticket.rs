//! Tickets: requests for a lock that wait, in its line or beside it ([`super::lock`] has the protocol).

use super::patience::Beside;
use super::state::{Holder, LockRequest};
use crate::ids::LockKind;
use std::time::Duration;

/// A request that waits. Try it with `try_turn` after joining, after each wake, and before sleeping; a ticket that is
/// dropped stops the line.
#[derive(Debug)]
#[must_use = "a ticket that is dropped stops the line"]
pub struct Ticket {
    pub(super) holder: Holder,
    pub(super) place: TicketPlace,
}

#[derive(Debug)]
pub(super) enum TicketPlace {
    /// Waits for its number, as `kind`.
    Line { number: u64, kind: LockKind },
    /// Counted in `shared` already, waits for the owner to leave.
    AfterOwner,
    /// Has no place in line, and may pass it.
    Beside(Beside),
    /// Joins when the word is not frozen any more.
    Outside { request: LockRequest, wake: Holder },
    /// The number of a process that is dead: in its turn the line moves on.
    Void { number: u64 },
}

impl Ticket {
    /// The process that it is for.
    pub fn holder(&self) -> Holder {
        self.holder
    }

    /// How the lock will be held.
    pub fn kind(&self) -> LockKind {
        match self.place {
            TicketPlace::Line { kind, .. } => kind,
            TicketPlace::AfterOwner | TicketPlace::Beside(_) | TicketPlace::Void { .. } => LockKind::Shared,
            TicketPlace::Outside { request, .. } => request.kind(),
        }
    }

    /// Whether it waits beside the line: then [`super::ControlBlock::try_pass`] is to be tried, and nothing has to be given
    /// back when the request is given up.
    pub fn is_beside(&self) -> bool {
        matches!(self.place, TicketPlace::Beside(_))
    }

    /// Says when it was made, if it waits beside the line: it counts how long it has waited from then on.
    pub fn set_came(&mut self, now: impl FnOnce() -> Duration) {
        if let TicketPlace::Beside(beside) = &mut self.place {
            beside.set_came(now());
        }
    }

    /// When it has to be tried again without a wake-up.
    pub fn due(&self) -> Option<Duration> {
        match &self.place {
            TicketPlace::Beside(beside) => beside.due(),
            TicketPlace::Line { .. }
            | TicketPlace::AfterOwner
            | TicketPlace::Outside { .. }
            | TicketPlace::Void { .. } => None,
        }
    }

    /// Its number in the line, if it has one.
    pub(crate) fn number(&self) -> Option<u64> {
        match self.place {
            TicketPlace::Line { number, .. } | TicketPlace::Void { number } => Some(number),
            TicketPlace::AfterOwner | TicketPlace::Beside(_) | TicketPlace::Outside { .. } => None,
        }
    }

    /// Whether it is counted among the shared holders already.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self.place, TicketPlace::AfterOwner)
    }

    /// Whether it has yet to join.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(self.place, TicketPlace::Outside { .. })
    }

    /// The place of a dead process, which its window's owner waits for in its own name.
    pub(super) fn void(number: u64, owner: Holder) -> Self {
        Self { holder: owner, place: TicketPlace::Void { number } }
    }

    /// Whether its turn is before that of another ticket of the same lock.
    pub fn is_before(&self, other: &Self) -> bool {
        match (&self.place, &other.place) {
            // Requests that follow the owner, or wait beside the line, stand in none.
            (TicketPlace::AfterOwner | TicketPlace::Beside(_), _) | (_, TicketPlace::Outside { .. }) => true,
            (TicketPlace::Outside { .. }, _) | (_, TicketPlace::AfterOwner | TicketPlace::Beside(_)) => false,
            _ => self.number().zip(other.number()).is_some_and(|(a, b)| (a.wrapping_sub(b) as i64) < 0),
        }
    }
}
