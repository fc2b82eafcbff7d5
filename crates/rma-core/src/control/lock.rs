//! The lock of a window at one target: one word, and a line of tickets for requests that have to wait.
//!
//! # Protocol
//! - A newcomer that would overtake no request changes the word in one step: `Exclusive` when the word is 0,
//!   `Shared` when there is neither an owner nor a waiter. It may poll a held lock and try again before it
//!   joins, as `Window::lock` does, until a request stands in line.
//! - While the head of the line is being woken the lock is not left idle: an `Exclusive` newcomer may take
//!   it. The release that leaves the lock free with a request in line marks the head as *woken* and wakes it;
//!   releases that follow find the mark and wake nothing. A head that comes, was woken, and finds the lock
//!   taken *claims* it: from then on no newcomer passes, and the holder's release wakes again. So the head is
//!   passed only while it is on its way, and only by running threads. Without this every hand-over would cost
//!   a wake-up and its latency, with the lock idle meanwhile.
//! - Otherwise it joins the line: waiters + 1 in the word, then a ticket from `tail`, then its entry in the directory. The
//!   ticket equal to `head` has its turn: as soon as the word allows, one step takes the lock and counts one waiter less;
//!   then `head` moves on. So shared requests that stand together are granted one after the other while the first still
//!   holds.
//! - `SharedHolding` never stands in line. Where the line is empty it adds itself to `shared`, and holds as
//!   soon as there is no owner. Otherwise it stands beside the line until all requests in it have been
//!   served, or until its patience is over ([`super::patience`]); then it adds itself to `shared` past the
//!   line.
//! - A release is one step on the word. Its result says whether a request can move that could not before.
//!
//! # Why it is right
//! *Mutual exclusion.* Every grant is one read-modify-write of the word. An owner enters only a word with
//! owner = shared = 0 and nothing but its release clears the owner. A shared holder saw owner = 0 with itself
//! counted in shared, so no owner enters until it has left.
//!
//! *First come, first served.* Requests are ordered by their tickets. `head` is changed only by the request whose ticket it
//! is, so tickets are granted in order. A newcomer takes no shortcut while waiters > 0 but past a head that is on its way,
//! and a request is counted in waiters from before it has its ticket until its grant. A newcomer whose step came before another's waiters + 1 came first. One
//! that joins between another's waiters + 1 and ticket gets the lower ticket, and with it the place.
//!
//! *No deadlock through lazy locks, and bounded passing.* Where origins reach targets in any order, a request of one that holds
//! another lock is `SharedHolding`: it waits for owners, and for waiters a bounded time, also when several of its requests wait
//! at once. This is what decision 2 asks for; [`super::patience`] has the bounds. Locks that all processes take in one ascending
//! order need it not, and stand in line.
//!
//! *No lost turn.* Let the word allow ticket h, the head of the line, to be granted. One of these brought that about, and
//! each leads to a try of h after it:
//!
//! | what happened last | what makes h try |
//! | --- | --- |
//! | h joined | h itself: callers try after joining, before they sleep |
//! | `head` became h | the request granted before h, with [`Grant::wake`] (if it is an owner, h cannot be granted) |
//! | a release left owner = shared = 0 | the releaser, with the wake of its release; or h is woken and has not come: then the release that set the mark wakes it after that, and h tries later than this release, or claims before it |
//! | an owner's release left shared > 0 | the releaser wakes all, as several may move |
//!
//! A request beside the line sets its flag in the word before its last look at word and head. A step that
//! moves the line changes the word afterwards, an owner's step with its release. One of the two steps on the
//! word comes first: either the flag is found there, and all are woken, or the look sees the line as it is.
//!
//! ```text
//!   releaser                                 waiter h
//!   word: release           (1)              word: waiters + 1        (a)
//!   waiters > 0 in (1)?     (2)              tail, slot               (b)
//!   read head, slot; wake   (3)              try; arm; try; sleep     (c)
//! ```
//! If (a) precedes (1) in the word's order, (2) sees the waiter and (3) wakes the one whose turn it is, or
//! all. If (1) precedes (a), the try in (c) sees the released word. In (3) `head` is not stale: each earlier
//! holder moved `head` before it released, every release is a release, (1) acquires, and read-modify-writes
//! extend release sequences. `head` may be *newer*: then a request was granted after (1), and the table
//! applies to it.
//!
//! # When a process dies
//! See [`super::recovery`]. While a word is *frozen* every change of it but a release is refused: a
//! newcomer's step fails, the head has no turn, and a request that would join the line gets a ticket that
//! joins it later.

use super::directory;
use super::layout::LockFields;
use super::patience::Beside;
use super::shim::AtomicU64;
use super::shim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::state::{Holder, LockRequest, LockState};
use super::ticket::{Ticket, TicketPlace};
use crate::ids::{LockKind, Peer};
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// A lock that has been granted to a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the next in line may have to be woken"]
pub struct Grant {
    /// The requests that can be granted now, too.
    pub wake: Option<Wake>,
    /// A process died with the lock, and no process has had it since.
    pub is_bequeathed: bool,
}

impl Grant {
    fn of(wake: Option<Wake>) -> Self {
        Self { wake, is_bequeathed: false }
    }
}

/// What has become of a newcomer's try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Nothing has changed.
    Refused,
    /// The lock is held.
    Granted,
    /// As well, and a process died with it, since when no process has had it.
    Bequeathed,
}

impl Attempt {
    #[inline]
    pub(crate) fn is_granted(self) -> bool {
        self != Self::Refused
    }

    #[inline]
    fn of(updated: Result<(LockState, LockState), LockState>) -> Self {
        match updated {
            Err(_) => Self::Refused,
            Ok((before, _)) if before.is_bequeathed() => Self::Bequeathed,
            Ok(_) => Self::Granted,
        }
    }
}

/// The processes to wake so that they try their tickets.
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
            None if self.found.is_free() => f.write_str("no process holds the lock"),
            None => write!(f, "the lock is shared by {}", self.found.shared()),
        }
    }
}

impl std::error::Error for NotHeld {}

/// The lock of a control block: its words, and the directory of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockLock<'a> {
    pub(super) fields: &'a LockFields,
    /// The process of each ticket, as a hint; see [`super::directory`].
    pub(super) slots: &'a [AtomicU64],
}

impl Deref for BlockLock<'_> {
    type Target = LockFields;

    #[inline]
    fn deref(&self) -> &LockFields {
        self.fields
    }
}

impl BlockLock<'_> {
    pub(super) fn join_for(&self, request: LockRequest, holder: Holder, wake: Holder) -> Ticket {
        if request == LockRequest::SharedHolding {
            let place = match self.update(LockState::follow_owner) {
                Ok(_) => TicketPlace::AfterOwner,
                Err(_) => TicketPlace::Beside(Beside::new(self.tail.0.load(Relaxed))),
            };
            return Ticket { holder, place };
        }
        // Counted before the ticket is taken, so that no newcomer passes a request that has a ticket.
        if self.update(|state| Some(state.more_waiters())).is_err() {
            return Ticket { holder, place: TicketPlace::Outside { request, wake } };
        }
        let (number, kind) = (self.tail.0.fetch_add(1, Relaxed), request.kind());
        directory::enter(self.slots, number, kind, wake);
        Ticket { holder, place: TicketPlace::Line { number, kind } }
    }

    pub(super) fn join_again(&self, ticket: Ticket) -> Ticket {
        match ticket.place {
            TicketPlace::Outside { request, wake } => self.join_for(request, ticket.holder, wake),
            TicketPlace::Line { .. }
            | TicketPlace::AfterOwner
            | TicketPlace::Beside(_)
            | TicketPlace::Void { .. } => ticket,
        }
    }

    pub(super) fn try_turn(&self, ticket: Ticket) -> Result<Grant, Ticket> {
        let (number, kind) = match ticket.place {
            TicketPlace::Line { number, kind } => (number, kind),
            TicketPlace::AfterOwner => {
                // SYNC POINT lock: as a grant; the owner's release is what made this word ownerless.
                let state = LockState::decode(self.word.0.load(Acquire));
                if state.is_owned() {
                    return Err(ticket);
                }
                let is_bequeathed = state.is_bequeathed() && self.update(LockState::inherit).is_ok();
                return Ok(Grant { wake: None, is_bequeathed });
            }
            TicketPlace::Beside(beside) => return self.try_beside(ticket.holder, beside, None),
            TicketPlace::Outside { .. } => {
                let ticket = self.join_again(ticket);
                return if ticket.is_outside() { Err(ticket) } else { self.try_turn(ticket) };
            }
            TicketPlace::Void { number } => return self.try_skip(number, ticket),
        };
        // SYNC POINT line-head: sees the grant of the one before.
        if self.head.0.ticket.load(Acquire) != number {
            return Err(ticket);
        }
        let (before, state) = loop {
            match self.update(|state| state.leave_line(kind, ticket.holder)) {
                Ok(change) => break change,
                Err(found) => match found.claim() {
                    None => return Err(ticket),
                    // Claimed in the very state that has no room for this ticket: the holder then sees the
                    // claim when it releases.
                    Some(claimed) if self.change(found.encode(), claimed).is_ok() => return Err(ticket),
                    Some(_) => {}
                },
            }
        };
        // SYNC POINT line-head: the next one's turn begins after this grant. No other ticket stores here now.
        self.head.0.ticket.store(number.wrapping_add(1), Release);
        // SYNC POINT beside: a flag set before this step is seen here, and its thread woken; one set later
        // sees the stored head.
        let late = LockState::decode(self.word.0.fetch_add(0, AcqRel));
        if before.has_beside() || late.has_beside() {
            let _same = self.update(|state| Some(state.without_beside()));
            return Ok(Grant { wake: Some(Wake::Everyone), is_bequeathed: before.is_bequeathed() });
        }
        let next_may_enter = kind == LockKind::Shared && state.waiters() > 0;
        let wake =
            if next_may_enter { self.wake_of(number.wrapping_add(1), Some(LockKind::Shared)) } else { None };
        Ok(Grant { wake, is_bequeathed: before.is_bequeathed() })
    }

    pub(super) fn try_pass(&self, ticket: Ticket, now: Duration) -> Result<Grant, Ticket> {
        match ticket.place {
            TicketPlace::Beside(beside) => self.try_beside(ticket.holder, beside, Some(now)),
            TicketPlace::Line { .. }
            | TicketPlace::AfterOwner
            | TicketPlace::Outside { .. }
            | TicketPlace::Void { .. } => self.try_turn(ticket),
        }
    }

    #[inline]
    pub(super) fn release(&self, kind: LockKind, holder: Holder) -> Result<Option<Wake>, NotHeld> {
        // SYNC POINT lock: publishes what was done under the lock; pairs with `try_acquire` and `try_turn`.
        let released = self.update_in_any(|state| state.release(kind, holder));
        let (before, state) = released.map_err(|found| NotHeld { found })?;
        Ok(self.wake_after_release(kind, before, state))
    }

    #[inline]
    fn wake_after_release(&self, kind: LockKind, before: LockState, state: LockState) -> Option<Wake> {
        if state == LockState::default() && !before.has_beside() {
            return None;
        }
        match kind {
            LockKind::Exclusive if before.has_beside() => Some(Wake::Everyone),
            // Requests that follow the owner are in no directory, and the line may move with them.
            LockKind::Exclusive if state.shared() > 0 => Some(Wake::Everyone),
            // The head, if it is shared, could enter before this release as well.
            LockKind::Shared if state.shared() > 0 => None,
            LockKind::Exclusive | LockKind::Shared if before.is_head_coming() => None,
            LockKind::Exclusive | LockKind::Shared => self.wake_of(self.head.0.ticket.load(Acquire), None),
        }
    }

    /// Which processes to wake for a ticket, unless it is known to be of another kind than `only`.
    #[cold]
    fn wake_of(&self, ticket: u64, only: Option<LockKind>) -> Option<Wake> {
        match directory::find(self.slots, ticket) {
            None => Some(Wake::Everyone),
            Some((kind, _)) if only.is_some_and(|only| only != kind) => None,
            Some((_, holder)) => Some(Wake::Peer(holder.peer())),
        }
    }
}

impl LockFields {
    #[inline]
    pub(super) fn try_acquire(&self, request: LockRequest, holder: Holder) -> Attempt {
        match request {
            LockRequest::Exclusive => {
                let owned = LockState::exclusive(holder).encode();
                // SYNC POINT lock: sees what every holder before did; pairs with `release`.
                if self.word.0.compare_exchange(0, owned, Acquire, Relaxed).is_ok() {
                    return Attempt::Granted;
                }
                Attempt::of(self.update(|state| state.enter_exclusive_past_line(holder)))
            }
            LockRequest::Shared | LockRequest::SharedHolding => {
                Attempt::of(self.update(LockState::enter_shared))
            }
        }
    }

    /// The next grant carries the notice that a process died with the lock.
    #[cold]
    pub(super) fn bequeath(&self) {
        let noted = self.update_in_any(|state| Some(state.bequeath()));
        debug_assert!(noted.is_ok(), "the change is never refused");
    }

    /// Whether a ticket is the first in line.
    pub(super) fn is_first(&self, ticket: &Ticket) -> bool {
        matches!(ticket.place, TicketPlace::Line { number, .. } if self.head.0.ticket.load(Relaxed) == number)
    }

    /// Tries a request beside the line; past the line, if the time is given.
    #[cold]
    fn try_beside(&self, holder: Holder, mut beside: Beside, now: Option<Duration>) -> Result<Grant, Ticket> {
        loop {
            let word = self.word.0.load(Acquire);
            let state = LockState::decode(word);
            // SYNC POINT line-head: sees the grants of those before.
            let head = self.head.0.ticket.load(Acquire);
            if state.is_owned() {
                beside.on_owned();
            }
            if state.is_frozen() {
                return Err(Ticket { holder, place: TicketPlace::Beside(beside) });
            }
            let may_pass = |beside: &mut Beside| {
                let now = now.filter(|_| !state.is_owned());
                now.is_some_and(|now| beside.may_pass(head, &self.head.0.since, now))
            };
            if state.waiters() == 0 || beside.is_served(head) || may_pass(&mut beside) {
                match self.update(|state| Some(state.enter_from_beside())) {
                    Ok((before, state)) => return enter_from_beside(holder, before, state),
                    // It has been frozen meanwhile.
                    Err(_) => return Err(Ticket { holder, place: TicketPlace::Beside(beside) }),
                }
            }
            // SYNC POINT beside: the flag is set before the last look, which found it.
            if state.has_beside() {
                return Err(Ticket { holder, place: TicketPlace::Beside(beside) });
            }
            let _again = self.change(word, state.with_beside());
        }
    }

    /// Releases a lock that no other process holds or waits for; otherwise does nothing and answers `false`.
    #[inline]
    pub(super) fn release_alone(&self, kind: LockKind, holder: Holder) -> bool {
        let held = match kind {
            LockKind::Exclusive => LockState::exclusive(holder),
            LockKind::Shared => LockState::default().more_shared(),
        };
        // SYNC POINT lock: as `release`.
        self.word.0.compare_exchange(held.encode(), 0, AcqRel, Relaxed).is_ok()
    }

    /// Moves the line on in the turn of a ticket whose process is dead.
    #[cold]
    fn try_skip(&self, number: u64, ticket: Ticket) -> Result<Grant, Ticket> {
        // SYNC POINT line-head: as `try_turn`.
        if self.head.0.ticket.load(Acquire) != number || self.update(|state| Some(state.skip())).is_err() {
            return Err(ticket);
        }
        self.head.0.ticket.store(number.wrapping_add(1), Release);
        // The next one may have been let pass by what the word has been since long, and so may those beside the line.
        Ok(Grant::of(Some(Wake::Everyone)))
    }

    /// Whether a try of the ticket may succeed now, by a look at the word alone.
    #[inline]
    pub(super) fn may_move(&self, ticket: &Ticket) -> bool {
        let state = || LockState::decode(self.word.0.load(Relaxed));
        match ticket.place {
            TicketPlace::Line { number, .. } | TicketPlace::Void { number } => {
                self.head.0.ticket.load(Relaxed) == number && !state().is_frozen()
            }
            TicketPlace::AfterOwner => !state().is_owned(),
            TicketPlace::Outside { .. } | TicketPlace::Beside(_) => !state().is_frozen(),
        }
    }

    pub(super) fn state(&self) -> LockState {
        LockState::decode(self.word.0.load(Acquire))
    }

    /// Changes the word in one step: `Ok` with the states before and after, or `Err` with the state if
    /// `change` refused it or it is frozen.
    #[inline]
    fn update(
        &self,
        change: impl Fn(LockState) -> Option<LockState>,
    ) -> Result<(LockState, LockState), LockState> {
        self.update_in_any(|state| if state.is_frozen() { None } else { change(state) })
    }

    /// [`LockFields::update`] of a word that may be frozen.
    #[inline]
    pub(super) fn update_in_any(
        &self,
        change: impl Fn(LockState) -> Option<LockState>,
    ) -> Result<(LockState, LockState), LockState> {
        let mut word = self.word.0.load(Relaxed);
        loop {
            let state = LockState::decode(word);
            let Some(next) = change(state) else { return Err(state) };
            match self.change(word, next) {
                Ok(()) => return Ok((state, next)),
                Err(found) => word = found,
            }
        }
    }

    #[inline]
    pub(super) fn change(&self, from: u64, to: LockState) -> Result<(), u64> {
        // SYNC POINT lock: every change both sees what releases published and, being a read-modify-write, hands it on.
        self.word.0.compare_exchange_weak(from, to.encode(), AcqRel, Relaxed).map(drop)
    }
}

/// What has become of a request that has entered from beside the line.
fn enter_from_beside(holder: Holder, before: LockState, state: LockState) -> Result<Grant, Ticket> {
    if state.is_owned() {
        return Err(Ticket { holder, place: TicketPlace::AfterOwner });
    }
    let wake = before.has_beside().then_some(Wake::Everyone);
    Ok(Grant { wake, is_bequeathed: before.is_bequeathed() })
}

/// A lock with a directory of its own, for models.
#[cfg(all(test, loom))]
pub(super) struct OwnLock {
    fields: LockFields,
    slots: [AtomicU64; 16],
}

#[cfg(all(test, loom))]
impl OwnLock {
    pub(super) fn new() -> Self {
        Self { fields: LockFields::new(), slots: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    pub(super) fn get(&self) -> BlockLock<'_> {
        BlockLock { fields: &self.fields, slots: &self.slots }
    }
}
