//! The access side of a window as one word, and its transitions, after the design note's section "Epoch States".
//!
//! ```text
//!                 fence(no-precede)              all have come
//!        ┌──────────────────────▶ FenceIssued ───────────────────────▶ FenceGranted
//!        │                                 fence, from either: FenceIssued, FenceGranted, Unset (no-succeed)
//!        │            start                      every post has come
//!        ├──────────────────────▶ PscwIssued ────────────────────────▶ PscwGranted
//!        │                                 complete: Unset                   ▲   ▲
//!        │                                                     start(no-check) ──┘   │ end_opening
//!      Unset ── open ──▶ changing ───────────────────────────────────────────────────┤
//!        │         ▲        │  ▲                                                     │ end_opening
//!        │         └────────┘  └── close, from what end_opening led to               ▼
//!        │    end_closing, or in vain
//!        │          lock_all                    elements short                       all locks held
//!        ├──────────────────────▶ LockAllCalled ─────────────────▶ LockAllIssued ─────────────────▶ LockAllGranted
//!        │                                 unlock_all: Unset                                              ▲
//!        │                                                                        lock_all(no-check) ─────┘
//!        │        lock, enter
//!        └──────────────────────▶ PerTarget (lock, enter: one more; unlock: one less, and Unset with the last)
//!
//!   A fence state is also left by start, lock_all and lock, when no operation of it is pending.
//!
//!   Beside each of them: owned by the engine, or left to calls. Open, close and enter happen where it is left to calls.
//!
//!   per target:   lock ──▶ Called ── the request leaves ──▶ Issued ── the answer ──▶ Granted ── unlock
//!                 lock(no-check), or the lock of a mapped rank is free ─────────────▶ Granted
//! ```
//!
//! Calls on the fast path run [`AccessWord::after`] for `enter`, `unlock`, and from `open` to `end_closing`; the rest happens under the
//! engine's lock ([`crate::state::AccessState`]). Which call is legal in which state is [`super::legal`]'s; here stands what events do.

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

/// How far the calls that open and close an epoch of several targets have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    /// The opening call has not returned.
    Opening,
    /// The closing call has begun: no further operation is legal.
    Closing,
}

/// An access epoch that was opened past the engine, as its word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum FastEpoch {
    /// Of a start call.
    Started = FAST | (Epoch::PscwGranted as u64) << KIND_AT,
    /// Of a lock_all call.
    AllLocked = FAST | (Epoch::LockAllCalled as u64) << KIND_AT,
}

/// What happens to a window's access side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessEvent {
    /// A fence has not waited for the others.
    FenceAhead,
    /// All ranks are in the fence, and an epoch follows.
    FenceMet,
    /// All ranks are in the fence, and no epoch follows; or the fence has failed.
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
    /// A single lock is given back, on either path.
    Unlock,
    /// The calls that open and close the epoch have come so far.
    Reach(Stage),
    /// A lock call past the engine.
    Enter,
    /// A call past the engine begins to open an epoch.
    Open,
    /// It has, or has not and takes the slow path.
    EndOpening(Option<FastEpoch>),
    /// A call past the engine begins to end an epoch.
    Close(FastEpoch),
    /// It has.
    EndClosing,
    /// The engine owns the state from now on.
    Own,
    /// The engine leaves the state to calls.
    Leave,
}

/// The access side of a window: its state, how far the calls have come that open and close it, the number of single locks, and whether the
/// engine owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessWord(pub(crate) u64);

/// The engine owns the state: calls take the slow path.
const OWNED: u64 = 1 << 63;
/// A call past the engine opens or ends an epoch: a few steps that wait for nothing.
const CHANGING: u64 = 1 << 62;
/// The epoch was opened past the engine, and can be ended so while no other call has begun to.
const FAST: u64 = 1 << 61;
/// The lock_all epoch takes no locks.
const UNCHECKED: u64 = 1 << 40;
const STAGE_AT: u32 = 36;
const STAGE: u64 = 3 << STAGE_AT;
/// A place of [`KINDS`].
const KIND_AT: u32 = 32;
const KIND: u64 = 15 << KIND_AT;
/// Single locks that are held or called for. With one, the kind says none, and the state is [`Epoch::PerTarget`].
const LOCKS: u64 = (1 << KIND_AT) - 1;

const KINDS: [Epoch; 8] = [
    Epoch::Unset,
    Epoch::FenceIssued,
    Epoch::FenceGranted,
    Epoch::PscwIssued,
    Epoch::PscwGranted,
    Epoch::LockAllCalled,
    Epoch::LockAllIssued,
    Epoch::LockAllGranted,
];

impl AccessWord {
    /// No epoch, and the engine's.
    pub(crate) const NEW: Self = Self(OWNED);

    /// The word after an event; `None` when the event cannot happen: then a call past the engine takes the slow path.
    #[inline(always)]
    pub(crate) fn after(self, event: AccessEvent) -> Option<Self> {
        let Self(word) = self;
        let is_left = word & OWNED == 0;
        let next = match event {
            // Nothing but locks, and left to calls.
            AccessEvent::Enter => (word & !LOCKS == 0).then_some(word + 1),
            AccessEvent::Unlock => (word & LOCKS != 0).then(|| word - 1),
            AccessEvent::Open => (word == 0).then_some(CHANGING),
            AccessEvent::EndOpening(epoch) => {
                (word & CHANGING != 0).then(|| (word & !CHANGING) | epoch.map_or(0, |epoch| epoch as u64))
            }
            AccessEvent::Close(epoch) => (is_left && word == epoch as u64).then_some(CHANGING),
            AccessEvent::EndClosing => (word & CHANGING != 0).then_some(word & !CHANGING),
            AccessEvent::Own => Some(word | OWNED),
            AccessEvent::Leave => Some(word & !OWNED),
            event => return self.after_engines(event),
        };
        next.map(Self)
    }

    /// The events that happen under the engine's lock. Each caller knows its event, so little is left of this there.
    #[inline(always)]
    fn after_engines(self, event: AccessEvent) -> Option<Self> {
        use Epoch::{
            FenceGranted, FenceIssued, LockAllCalled, LockAllGranted, LockAllIssued, PerTarget, PscwGranted,
            PscwIssued, Unset,
        };
        let epoch = self.epoch();
        let opened = |to| epoch.is_fence_or_unset().then(|| self.moved(to, 0));
        let further = |from, to| (epoch == from).then(|| self.moved(to, STAGE | UNCHECKED));
        match event {
            AccessEvent::FenceAhead => opened(FenceIssued),
            AccessEvent::FenceMet => opened(FenceGranted),
            AccessEvent::FenceLast => opened(Unset),
            AccessEvent::Start => opened(PscwIssued),
            AccessEvent::Posted => further(PscwIssued, PscwGranted),
            AccessEvent::Complete => epoch.is_pscw().then(|| self.moved(Unset, 0)),
            AccessEvent::LockAll => opened(LockAllCalled),
            AccessEvent::LockAllUnchecked => opened(LockAllGranted).map(|Self(word)| Self(word | UNCHECKED)),
            AccessEvent::ElementsShort => further(LockAllCalled, LockAllIssued),
            AccessEvent::AllLocked => further(LockAllIssued, LockAllGranted),
            AccessEvent::UnlockAll => epoch.is_lock_all().then(|| self.moved(Unset, 0)),
            AccessEvent::Lock => (epoch == PerTarget || epoch.is_fence_or_unset()).then(|| {
                let Self(word) = self.moved(Unset, 0);
                Self(word + 1)
            }),
            AccessEvent::Reach(stage) => Some(Self((self.0 & !STAGE) | (stage as u64) << STAGE_AT)),
            AccessEvent::Unlock | AccessEvent::Enter | AccessEvent::Open | AccessEvent::EndOpening(_) => None,
            AccessEvent::Close(_) | AccessEvent::EndClosing | AccessEvent::Own | AccessEvent::Leave => None,
        }
    }

    /// In another state, of which the engine knows more than calls past it; with what stays of the rest.
    fn moved(self, to: Epoch, kept: u64) -> Self {
        Self((self.0 & (OWNED | CHANGING | LOCKS | kept)) | (to as u64) << KIND_AT)
    }

    #[inline]
    pub(crate) fn epoch(self) -> Epoch {
        if self.0 & LOCKS != 0 { Epoch::PerTarget } else { KINDS[(self.0 >> KIND_AT) as usize & 7] }
    }

    /// How far the calls that open and close the epoch have come.
    pub(crate) fn stage(self) -> Stage {
        match (self.0 & STAGE) >> STAGE_AT {
            0 => Stage::Open,
            1 => Stage::Opening,
            _ => Stage::Closing,
        }
    }

    /// Number of single locks held or called for.
    #[inline]
    pub(crate) fn locks(self) -> u64 {
        self.0 & LOCKS
    }

    /// Whether the open lock_all epoch takes no locks.
    pub(crate) fn is_unchecked(self) -> bool {
        self.0 & UNCHECKED != 0
    }

    #[inline]
    pub(crate) fn is_owned(self) -> bool {
        self.0 & OWNED != 0
    }

    /// Whether a call past the engine opens or ends an epoch.
    #[inline]
    pub(crate) fn is_changing(self) -> bool {
        self.0 & CHANGING != 0
    }

    /// Whether the epoch was opened past the engine.
    pub(crate) fn is_fast(self) -> bool {
        self.0 & FAST != 0
    }

    /// Whether an epoch is open that calls past the engine cannot end, or not any more; single locks aside.
    pub(crate) fn is_engines(self) -> bool {
        self.0 & KIND != 0 && (!self.is_fast() || self.0 & STAGE != 0)
    }
}

impl Epoch {
    /// Whether the open epoch is a fence's, or none is open: calls that open another one may replace it.
    pub(crate) fn is_fence_or_unset(self) -> bool {
        matches!(self, Self::Unset | Self::FenceIssued | Self::FenceGranted)
    }

    /// Whether locks of all ranks are held or will be.
    pub(crate) fn is_lock_all(self) -> bool {
        matches!(self, Self::LockAllCalled | Self::LockAllIssued | Self::LockAllGranted)
    }

    /// Whether a start call opened the epoch.
    pub(crate) fn is_pscw(self) -> bool {
        matches!(self, Self::PscwIssued | Self::PscwGranted)
    }

    /// The call that opened the epoch, for messages.
    pub(crate) fn opened_by(self) -> &'static str {
        match self {
            Self::Unset => "no call",
            Self::FenceIssued | Self::FenceGranted => "fence",
            Self::PscwIssued | Self::PscwGranted => "start",
            Self::LockAllCalled | Self::LockAllIssued | Self::LockAllGranted => "lock_all",
            Self::PerTarget => "lock",
        }
    }
}

/// The target state of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockStage {
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

impl LockStage {
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

    /// The word of a state that the engine has come to.
    fn word(state: Epoch) -> AccessWord {
        let locks = u64::from(state == Epoch::PerTarget);
        let kind = KINDS.iter().position(|kind| *kind == state).unwrap_or(0) as u64;
        AccessWord(OWNED | kind << KIND_AT | locks)
    }

    /// One row per event: the state that follows each of the nine, `.` where the event cannot happen.
    #[test]
    fn every_state_and_event_has_its_place() {
        let rows = [
            (AccessEvent::FenceAhead, "fi fi fi . . . . . ."),
            (AccessEvent::FenceMet, "fg fg fg . . . . . ."),
            (AccessEvent::FenceLast, "- - - . . . . . ."),
            (AccessEvent::Start, "pi pi pi . . . . . ."),
            (AccessEvent::Posted, ". . . pg . . . . ."),
            (AccessEvent::Complete, ". . . - - . . . ."),
            (AccessEvent::LockAll, "ac ac ac . . . . . ."),
            (AccessEvent::LockAllUnchecked, "ag ag ag . . . . . ."),
            (AccessEvent::ElementsShort, ". . . . . ai . . ."),
            (AccessEvent::AllLocked, ". . . . . . ag . ."),
            (AccessEvent::UnlockAll, ". . . . . - - - ."),
            (AccessEvent::Lock, "t t t . . . . . t"),
            (AccessEvent::Unlock, ". . . . . . . . -"),
            // Past the engine, which owns none of these states.
            (AccessEvent::Enter, "t . . . . . . . t"),
            (AccessEvent::Open, "- . . . . . . . ."),
            (AccessEvent::Close(FastEpoch::Started), ". . . . . . . . ."),
            (AccessEvent::EndClosing, ". . . . . . . . ."),
        ];
        for (event, row) in rows {
            let is_calls = matches!(event, AccessEvent::Enter | AccessEvent::Open | AccessEvent::Close(_));
            for ((state, name), next) in STATES.into_iter().zip(row.split(' ')) {
                assert_eq!(word(state).epoch(), state);
                let owned = word(state).after(event);
                assert!(!is_calls || owned.is_none(), "{event:?} in {name}, which the engine owns");
                let word = if is_calls { word(state).after(AccessEvent::Leave) } else { Some(word(state)) };
                let found = word.and_then(|word| word.after(event)).map_or(".", |to| {
                    STATES.iter().find(|(state, _)| *state == to.epoch()).map_or("?", |(_, name)| name)
                });
                assert_eq!(found, next, "{event:?} in {name}");
            }
        }
    }

    #[test]
    fn what_stands_beside_a_state_belongs_to_its_epoch() {
        let after = |events: &[AccessEvent]| {
            events.iter().try_fold(AccessWord::NEW, |word, event| word.after(*event)).unwrap()
        };
        let opening =
            after(&[AccessEvent::LockAll, AccessEvent::Reach(Stage::Opening), AccessEvent::ElementsShort]);
        assert_eq!((opening.stage(), opening.epoch()), (Stage::Opening, Epoch::LockAllIssued));
        let unchecked = [AccessEvent::LockAllUnchecked, AccessEvent::Reach(Stage::Closing)];
        assert!(after(&unchecked).is_unchecked() && after(&unchecked).stage() == Stage::Closing);
        let next = after(&[&unchecked[..], &[AccessEvent::UnlockAll, AccessEvent::LockAll]].concat());
        assert!(!next.is_unchecked() && next.stage() == Stage::Open && next.is_owned() && next.is_engines());
        let fast = after(&[
            AccessEvent::Leave,
            AccessEvent::Open,
            AccessEvent::EndOpening(Some(FastEpoch::AllLocked)),
        ]);
        assert_eq!((fast.epoch(), fast.stage()), (Epoch::LockAllCalled, Stage::Open));
        assert!(
            fast.is_fast()
                && !fast.is_engines()
                && fast.after(AccessEvent::Close(FastEpoch::Started)).is_none()
        );
        for event in [AccessEvent::Reach(Stage::Closing), AccessEvent::ElementsShort] {
            let engines = fast.after(event).unwrap();
            assert!(
                engines.is_engines() && engines.after(AccessEvent::Close(FastEpoch::AllLocked)).is_none()
            );
        }
    }

    #[test]
    fn locks_are_called_for_asked_for_and_granted_in_that_order() {
        use LockStage::{Called, Granted, Issued};
        for (state, asked, granted) in
            [(Called, Some(Issued), None), (Issued, None, Some(Granted)), (Granted, None, None)]
        {
            assert_eq!(state.after(LockEvent::Ask), asked);
            assert_eq!(state.after(LockEvent::Grant), granted);
        }
    }
}
