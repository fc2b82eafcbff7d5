//! The lock of a window at one target: one word, and a line of tickets for those who cannot have it at once.
//!
//! # Protocol
//! - A newcomer who would overtake nobody changes the word in one step: `Exclusive` when the word is 0, `Shared` when there
//!   is neither an owner nor a waiter.
//! - Otherwise it joins the line: waiters + 1 in the word, then a ticket from `tail`, then its entry in the directory. The
//!   ticket equal to `head` has its turn: as soon as the word allows, one step takes the lock and counts one waiter less;
//!   then `head` moves on. So shared requests that stand together are granted one after the other while the first still
//!   holds.
//! - `SharedHolding` never stands in line. It adds itself to `shared` whatever the word says, and holds as soon as there is
//!   no owner.
//! - A release is one step on the word. Its result says whether somebody can move who could not before.
//!
//! # Why it is right
//! *Mutual exclusion.* Every grant is one read-modify-write of the word. An owner enters only a word with owner = shared = 0
//! and nothing but its release clears the owner; whoever holds shared saw owner = 0 with itself counted in shared, so no
//! owner enters until it has left.
//!
//! *First come, first served.* Requests are ordered by their tickets. `head` is changed only by the request whose ticket it
//! is, so tickets are granted in order. A newcomer takes no shortcut while waiters > 0, and a request is counted in waiters
//! from before it has its ticket until its grant. A newcomer whose step came before another's waiters + 1 came first. One
//! that joins between another's waiters + 1 and ticket gets the lower ticket, and with it the place.
//!
//! *No deadlock through lock_all.* A holder of locks of a lock_all epoch waits only for owners (never for waiters), and an
//! owner alone can make it wait; this is what decision 2 asks for, also when several of its requests wait at once.
//!
//! *No lost turn.* Let the word allow ticket h, the head of the line, to be granted. One of these brought that about, and
//! each leads to a try of h after it:
//!
//! | what happened last | who makes h try |
//! | --- | --- |
//! | h joined | h itself: callers try after joining, before they sleep |
//! | `head` became h | the one granted before h, with [`Grant::wake`] (if it is an owner, h cannot be granted) |
//! | a release left owner = shared = 0 | the releaser, with the wake of its release |
//! | an owner's release left shared > 0 | the releaser rings everybody, as several may move |
//!
//! ```text
//!   releaser                                 waiter h
//!   word: release           (1)              word: waiters + 1        (a)
//!   waiters > 0 in (1)?     (2)              tail, slot               (b)
//!   read head, slot; ring   (3)              try; arm; try; sleep     (c)
//! ```
//! If (a) precedes (1) in the word's order, (2) sees the waiter and (3) rings the one whose turn it is, or all. If (1)
//! precedes (a), the try in (c) sees the released word. In (3) `head` is not stale: whoever was granted before moved `head`
//! before it released, every release is a release, (1) acquires, and read-modify-writes extend release sequences. `head` may
//! be *newer*: then somebody was granted after (1), and the table applies to it.
//!
//! A process that dies with a ticket stops the line; its repair belongs to the handling of dead peers.

use super::directory;
use super::layout::LockFields;
use super::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::state::{Holder, LockKind, LockRequest, LockState};
use crate::ids::Peer;
use std::fmt;

/// A request that waits. Try it with `try_turn` after joining, after each wake, and before sleeping; a ticket that is
/// dropped stops the line.
#[derive(Debug)]
#[must_use = "a ticket that is dropped stops the line"]
pub struct Ticket {
    holder: Holder,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Waits for its number, as `kind`.
    Line { number: u64, kind: LockKind },
    /// Counted in `shared` already, waits for the owner to leave.
    AfterOwner,
}

impl Ticket {
    /// For whom it waits.
    pub fn holder(&self) -> Holder {
        self.holder
    }
}

/// A lock that has been granted to a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the next in line may have to be rung"]
pub struct Grant {
    /// Who can be granted now, too.
    pub wake: Option<Wake>,
}

/// Whom to ring so that it tries its ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wake {
    /// This process; the window's owner when the waiter is one that the owner's engine represents.
    Peer(Peer),
    /// Every process that maps the control block, the window's owner included.
    Everyone,
}

/// A release by a process that does not hold the lock; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeld {
    /// What the lock word said.
    pub found: LockState,
}

impl fmt::Display for NotHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.owner() {
            Some(owner) => write!(f, "the lock is held exclusively by process {owner}"),
            None if self.found.is_free() => f.write_str("nobody holds the lock"),
            None => write!(f, "the lock is shared by {}", self.found.shared()),
        }
    }
}

impl std::error::Error for NotHeld {}

impl LockFields {
    #[inline]
    pub(super) fn try_acquire(&self, request: LockRequest, holder: Holder) -> bool {
        match request {
            LockRequest::Exclusive => {
                let owned = LockState::exclusive(holder).encode();
                // SYNC POINT lock: sees what every holder before did; pairs with `release`.
                self.word.0.compare_exchange(0, owned, Acquire, Relaxed).is_ok()
            }
            LockRequest::Shared => self.update(LockState::enter_shared).is_ok(),
            LockRequest::SharedHolding => self.update(LockState::enter_shared_past_line).is_ok(),
        }
    }

    pub(super) fn join_for(&self, request: LockRequest, holder: Holder, ring: Holder) -> Ticket {
        if request == LockRequest::SharedHolding {
            let counted = self.update(|state| Some(state.more_shared()));
            debug_assert!(counted.is_ok(), "the change is never refused");
            return Ticket { holder, place: Place::AfterOwner };
        }
        // Counted before the ticket is taken, so that no newcomer passes a request that has a ticket.
        let counted = self.update(|state| Some(state.more_waiters()));
        debug_assert!(counted.is_ok(), "the change is never refused");
        let (number, kind) = (self.tail.0.fetch_add(1, Relaxed), request.kind());
        directory::enter(&self.slots, number, kind, ring);
        Ticket { holder, place: Place::Line { number, kind } }
    }

    pub(super) fn try_turn(&self, ticket: Ticket) -> Result<Grant, Ticket> {
        let Place::Line { number, kind } = ticket.place else {
            // SYNC POINT lock: as a grant; the owner's release is what made this word ownerless.
            let is_owned = LockState::decode(self.word.0.load(Acquire)).is_owned();
            return if is_owned { Err(ticket) } else { Ok(Grant { wake: None }) };
        };
        // SYNC POINT line-head: sees the grant of the one before.
        if self.head.0.load(Acquire) != number {
            return Err(ticket);
        }
        let Ok(state) = self.update(|state| state.leave_line(kind, ticket.holder)) else {
            return Err(ticket);
        };
        // SYNC POINT line-head: the next one's turn begins after this grant. No other ticket stores here now.
        self.head.0.store(number.wrapping_add(1), Release);
        let next_may_enter = kind == LockKind::Shared && state.waiters() > 0;
        let wake =
            if next_may_enter { self.wake_of(number.wrapping_add(1), Some(LockKind::Shared)) } else { None };
        Ok(Grant { wake })
    }

    #[inline]
    pub(super) fn release(&self, kind: LockKind, holder: Holder) -> Result<Option<Wake>, NotHeld> {
        // SYNC POINT lock: publishes what was done under the lock; pairs with `try_acquire` and `try_turn`.
        let state = self.update(|state| state.release(kind, holder)).map_err(|found| NotHeld { found })?;
        Ok(self.wake_after_release(kind, state))
    }

    pub(super) fn state(&self) -> LockState {
        LockState::decode(self.word.0.load(Acquire))
    }

    #[inline]
    fn wake_after_release(&self, kind: LockKind, state: LockState) -> Option<Wake> {
        if state == LockState::default() {
            return None;
        }
        match kind {
            // Those who follow the owner are in no directory, and the line may move with them.
            LockKind::Exclusive if state.shared() > 0 => Some(Wake::Everyone),
            // The head, if it is shared, could enter before this release as well.
            LockKind::Shared if state.shared() > 0 => None,
            LockKind::Exclusive | LockKind::Shared => self.wake_of(self.head.0.load(Acquire), None),
        }
    }

    /// Whom to ring for a ticket, unless it is known to be of another kind than `only`.
    #[cold]
    fn wake_of(&self, ticket: u64, only: Option<LockKind>) -> Option<Wake> {
        match directory::find(&self.slots, ticket) {
            None => Some(Wake::Everyone),
            Some((kind, _)) if only.is_some_and(|only| only != kind) => None,
            Some((_, holder)) => Some(Wake::Peer(holder.peer())),
        }
    }

    /// Changes the word in one step: `Ok` with the new state, or `Err` with the state that `change` refused.
    #[inline]
    fn update(&self, change: impl Fn(LockState) -> Option<LockState>) -> Result<LockState, LockState> {
        let mut word = self.word.0.load(Relaxed);
        loop {
            let state = LockState::decode(word);
            let Some(next) = change(state) else { return Err(state) };
            // SYNC POINT lock: every change both sees what releases published and, being a read-modify-write, hands it on.
            match self.word.0.compare_exchange_weak(word, next.encode(), AcqRel, Relaxed) {
                Ok(_) => return Ok(next),
                Err(found) => word = found,
            }
        }
    }
}
