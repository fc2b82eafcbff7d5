//! Cells: the state of a process towards the lock of each rank of its node, for the lock's owner to read
//! after a death.
//!
//! A process has them in its own control block, one for each rank of the node, and no other process writes
//! there. The lock word only counts shared holders, and a ticket in line is only a number; the cells say
//! whose they are. An exclusive owner is named by the word itself, and its cell stays as it is.
//!
//! ```text
//!  63                                 3 2    0
//! +------------------------------------+------+
//! |     ticket, of one that waits      | what |
//! +------------------------------------+------+
//! ```
//!
//! Invariant: a cell says *busy* from before the first step on word or line that changes what the cell stands
//! for until after the last such step, and the process waits for nothing in between. Otherwise the cell says
//! what word and line hold of this process. The proof is in
//! [`super::recovery`].

use super::lock::{Attempt, BlockLock, Grant, NotHeld, Wake};
use super::shim::AtomicU64;
use super::shim::Ordering::{Acquire, Relaxed, Release};
use super::state::{Holder, LockRequest};
use super::ticket::Ticket;
use crate::ids::LockKind;
use std::time::Duration;

const NONE: u64 = 0;
const BUSY: u64 = 1;
const SHARES: u64 = 2;
const FOLLOWS: u64 = 3;
const WAITS: u64 = 4;
const WHAT_BITS: u32 = 3;
const WHAT_MASK: u64 = (1 << WHAT_BITS) - 1;

/// What a cell says. Read from shared memory: a reader takes it for hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing that the word does not say.
    Nothing,
    /// A step is under way.
    Busy,
    /// Counted as a shared holder, or as one to be when the owner has left.
    Shares,
    /// Has a ticket with these low bits.
    Waits(u64),
}

/// The bits of a ticket's number that a cell has.
pub(super) fn low_bits(number: u64) -> u64 {
    number << WHAT_BITS >> WHAT_BITS
}

/// What a cell says.
pub(super) fn said(cell: &AtomicU64) -> Said {
    // SYNC POINT cell: whatever was done on word and line before the cell said so is seen after this.
    let bits = cell.load(Acquire);
    match bits & WHAT_MASK {
        NONE => Said::Nothing,
        SHARES | FOLLOWS => Said::Shares,
        WAITS => Said::Waits(bits >> WHAT_BITS),
        _ => Said::Busy,
    }
}

/// A lock, taken by a process in its own name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand<'a> {
    pub(super) lock: BlockLock<'a>,
    /// This process's cell for it.
    pub(super) cell: &'a AtomicU64,
}

impl Stand<'_> {
    #[inline]
    pub(super) fn try_acquire(self, request: LockRequest, holder: Holder) -> Attempt {
        if request == LockRequest::Exclusive {
            return self.lock.try_acquire(request, holder);
        }
        self.begin();
        let entry = self.lock.try_acquire(request, holder);
        self.end(if entry.is_granted() { SHARES } else { NONE });
        entry
    }

    pub(super) fn join(self, request: LockRequest, holder: Holder) -> Ticket {
        self.begin();
        let ticket = self.lock.join_for(request, holder, holder);
        self.end(bits_of(&ticket));
        ticket
    }

    pub(super) fn try_turn(self, ticket: Ticket) -> Result<Grant, Ticket> {
        self.try_by(ticket, |ticket| self.lock.try_turn(ticket))
    }

    pub(super) fn try_pass(self, ticket: Ticket, now: Duration) -> Result<Grant, Ticket> {
        self.try_by(ticket, |ticket| self.lock.try_pass(ticket, now))
    }

    fn try_by(
        self,
        ticket: Ticket,
        turn: impl FnOnce(Ticket) -> Result<Grant, Ticket>,
    ) -> Result<Grant, Ticket> {
        // A thread that polls must not be found busy each time.
        if !self.lock.may_move(&ticket) {
            return Err(ticket);
        }
        let kind = ticket.kind();
        self.begin();
        let turn = turn(ticket);
        self.end(match (&turn, kind) {
            (Ok(_), LockKind::Exclusive) => NONE,
            (Ok(_), LockKind::Shared) => SHARES,
            (Err(ticket), _) => bits_of(ticket),
        });
        turn
    }

    #[inline]
    pub(super) fn release_alone(self, kind: LockKind, holder: Holder) -> bool {
        if kind == LockKind::Exclusive {
            return self.lock.release_alone(kind, holder);
        }
        self.begin();
        let is_released = self.lock.release_alone(kind, holder);
        self.end(if is_released { NONE } else { SHARES });
        is_released
    }

    #[inline]
    pub(super) fn release(self, kind: LockKind, holder: Holder) -> Result<Option<Wake>, NotHeld> {
        if kind == LockKind::Exclusive {
            return self.lock.release(kind, holder);
        }
        self.begin();
        let released = self.lock.release(kind, holder);
        self.end(NONE);
        released
    }

    /// Gives up a request for a lock whose owner is dead.
    pub(super) fn give_up(self) {
        self.end(NONE);
    }

    #[inline]
    fn begin(self) {
        // SYNC POINT cell: comes before the step on the word, which releases it.
        self.cell.store(BUSY, Relaxed);
    }

    #[inline]
    fn end(self, bits: u64) {
        // SYNC POINT cell: comes after all steps; read by `said` in the lock's owner.
        self.cell.store(bits, Release);
    }
}

fn bits_of(ticket: &Ticket) -> u64 {
    match ticket.number() {
        Some(number) => low_bits(number) << WHAT_BITS | WAITS,
        None if ticket.is_counted() => FOLLOWS,
        None => NONE,
    }
}
