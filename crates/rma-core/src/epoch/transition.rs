//! The transitions of a window's access side and of a lock, after the design note's section "Epoch States".
//!
//! ```text
//!                 fence(no-precede)              everybody has come
//!        ┌──────────────────────▶ FenceIssued ───────────────────────▶ FenceGranted
//!        │                                 fence, from either: FenceIssued, FenceGranted, Unset (no-succeed)
//!        │            start                      every post has come
//!        ├──────────────────────▶ PscwIssued ────────────────────────▶ PscwGranted
//!        │                                 complete: Unset                       ▲
//!        │                                                     start(no-check) ──┘
//!      Unset          lock_all                    elements short                       all locks held
//!        ├──────────────────────▶ LockAllCalled ─────────────────▶ LockAllIssued ─────────────────▶ LockAllGranted
//!        │                                 unlock_all: Unset                                              ▲
//!        │                                                                        lock_all(no-check) ─────┘
//!        │            lock
//!        └──────────────────────▶ PerTarget (and the last unlock: Unset)
//!
//!   A fence state is also left by start, lock_all and lock, when no operation of it is pending.
//!
//!   per target:   lock ──▶ Called ── the request leaves ──▶ Issued ── the answer ──▶ Granted ── unlock
//!                 lock(no-check), or the lock of a mapped rank is free ─────────────▶ Granted
//! ```
//!
//! Who may call what in which state is [`super::legal`]'s; here stands what events do.

/// The window state of the access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// No access epoch.
    Unset,
    /// A fence has been called, but not every rank is known to have called it.
    FenceIssued,
    /// Every rank has entered the fence.
    FenceGranted,
    /// Start has been called, but not every target is known to have called post.
    PscwIssued,
    /// Every target has posted.
    PscwGranted,
    /// Lock_all has been called; locks of packet targets are asked for one by one, as operations need them.
    LockAllCalled,
    /// Target elements ran short: the locks of all other targets have been asked for, but not all are held.
    LockAllIssued,
    /// Every lock is held, or no-check says it need not be.
    LockAllGranted,
    /// Locks of single targets are held or asked for.
    PerTarget,
}

/// What happens to a window's access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A fence has not waited for the others.
    FenceAhead,
    /// Everybody is in the fence, and an epoch follows.
    FenceMet,
    /// Everybody is in the fence, and no epoch follows; or the fence has failed.
    FenceLast,
    /// The start call.
    Start,
    /// Every target has posted, or need not.
    Posted,
    /// The complete call is over.
    Complete,
    /// The lock_all call.
    LockAll,
    /// The lock_all call with no-check.
    LockAllUnchecked,
    /// An operation needs a target element, and none is to be had.
    ElementsShort,
    /// The last of all locks is held.
    AllLocked,
    /// The unlock_all call is over.
    UnlockAll,
    /// A lock call.
    Lock,
    /// The last unlock call is over.
    LastUnlock,
}

impl Epoch {
    /// The state after an event; `None` when the event cannot happen in this state.
    pub(crate) fn after(self, event: Event) -> Option<Self> {
        use Epoch::{
            FenceGranted, FenceIssued, LockAllCalled, LockAllGranted, LockAllIssued, PerTarget, PscwGranted,
            PscwIssued, Unset,
        };
        let opened = |to: Self| match self {
            Unset | FenceIssued | FenceGranted => Some(to),
            PscwIssued | PscwGranted | LockAllCalled | LockAllIssued | LockAllGranted | PerTarget => None,
        };
        let step = |from: &[Self], to: Self| from.contains(&self).then_some(to);
        match event {
            Event::FenceAhead => opened(FenceIssued),
            Event::FenceMet => opened(FenceGranted),
            Event::FenceLast => opened(Unset),
            Event::Start => opened(PscwIssued),
            Event::Posted => step(&[PscwIssued], PscwGranted),
            Event::Complete => step(&[PscwIssued, PscwGranted], Unset),
            Event::LockAll => opened(LockAllCalled),
            Event::LockAllUnchecked => opened(LockAllGranted),
            Event::ElementsShort => step(&[LockAllCalled], LockAllIssued),
            Event::AllLocked => step(&[LockAllIssued], LockAllGranted),
            Event::UnlockAll => step(&[LockAllCalled, LockAllIssued, LockAllGranted], Unset),
            Event::Lock => step(&[Unset, FenceIssued, FenceGranted, PerTarget], PerTarget),
            Event::LastUnlock => step(&[PerTarget], Unset),
        }
    }

    /// Whether the open epoch is a fence's, or none is open: calls that open another one may replace it.
    pub(crate) fn is_fence_or_unset(self) -> bool {
        self.after(Event::FenceMet).is_some()
    }

    /// Whether locks of all ranks are held or will be.
    pub(crate) fn is_lock_all(self) -> bool {
        self.after(Event::UnlockAll).is_some()
    }

    /// Whether a start call opened the epoch.
    pub(crate) fn is_pscw(self) -> bool {
        self.after(Event::Complete).is_some()
    }
}

/// The target state of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockState {
    /// The user called lock; nothing has left.
    Called,
    /// The request has left.
    Issued,
    /// The lock is held, or no-check says it need not be.
    Granted,
}

/// What happens to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockEvent {
    /// The request leaves for the target, or stands in line.
    Ask,
    /// The lock is held.
    Grant,
}

impl LockState {
    /// The state after an event; `None` when the event cannot happen in this state.
    pub(crate) fn after(self, event: LockEvent) -> Option<Self> {
        match (self, event) {
            (Self::Called, LockEvent::Ask) => Some(Self::Issued),
            (Self::Issued, LockEvent::Grant) => Some(Self::Granted),
            (Self::Called, LockEvent::Grant) | (Self::Issued | Self::Granted, LockEvent::Ask) => None,
            (Self::Granted, LockEvent::Grant) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [(Epoch, &str); 9] = [
        (Epoch::Unset, "-"),
        (Epoch::FenceIssued, "fi"),
        (Epoch::FenceGranted, "fg"),
        (Epoch::PscwIssued, "pi"),
        (Epoch::PscwGranted, "pg"),
        (Epoch::LockAllCalled, "ac"),
        (Epoch::LockAllIssued, "ai"),
        (Epoch::LockAllGranted, "ag"),
        (Epoch::PerTarget, "t"),
    ];

    /// One row per event: the state that follows each of the nine, `.` where the event cannot happen.
    #[test]
    fn every_state_and_event_has_its_place() {
        let rows = [
            (Event::FenceAhead, "fi fi fi . . . . . ."),
            (Event::FenceMet, "fg fg fg . . . . . ."),
            (Event::FenceLast, "- - - . . . . . ."),
            (Event::Start, "pi pi pi . . . . . ."),
            (Event::Posted, ". . . pg . . . . ."),
            (Event::Complete, ". . . - - . . . ."),
            (Event::LockAll, "ac ac ac . . . . . ."),
            (Event::LockAllUnchecked, "ag ag ag . . . . . ."),
            (Event::ElementsShort, ". . . . . ai . . ."),
            (Event::AllLocked, ". . . . . . ag . ."),
            (Event::UnlockAll, ". . . . . - - - ."),
            (Event::Lock, "t t t . . . . . t"),
            (Event::LastUnlock, ". . . . . . . . -"),
        ];
        for (event, row) in rows {
            for ((state, name), next) in STATES.into_iter().zip(row.split(' ')) {
                let found = state.after(event).map_or(".", |to| {
                    STATES.iter().find(|(state, _)| *state == to).map_or("?", |(_, name)| name)
                });
                assert_eq!(found, next, "{event:?} in {name}");
            }
        }
    }

    #[test]
    fn locks_are_called_for_asked_for_and_granted_in_that_order() {
        use LockState::{Called, Granted, Issued};
        for (state, asked, granted) in
            [(Called, Some(Issued), None), (Issued, None, Some(Granted)), (Granted, None, None)]
        {
            assert_eq!(state.after(LockEvent::Ask), asked);
            assert_eq!(state.after(LockEvent::Grant), granted);
        }
    }
}
