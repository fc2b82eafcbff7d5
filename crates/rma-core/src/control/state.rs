//! The lock word as a value: its owner, how many share, how many wait in line; and its legal changes.
//!
//! ```text
//!  63            44 43            24 23     20 19                    0
//! +----------------+----------------+---------+-----------------------+
//! |    waiters     |     shared     |  D B C R |  exclusive owner + 1  |
//! +----------------+----------------+---------+-----------------------+
//! ```
//!
//! R: the head of the line was woken since it became the head. C: it has come, found the lock taken, and
//! claims it. C without R: the word is *frozen*, and nothing but releases changes it (see
//! [`super::recovery`]). B: a request beside the line may sleep until the line moves; the step that moves it,
//! or enters from beside it, clears the flag and wakes all. D: a process died with the lock, and no holder
//! has had the notice yet.
//!
//! `shared` counts the shared holders. While there is an exclusive owner there are none; then `shared` counts
//! the requests that *will* hold the moment the owner releases (see [`LockRequest::SharedHolding`]). A
//! process has at most one request at a time for one window and target, so with at most [`Holder::MAX_PEERS`]
//! processes no count overflows; a hostile word saturates.

use crate::ids::{LockKind, Peer};
use std::fmt;

const OWNER_BITS: u32 = 20;
const FLAG_BITS: u32 = 4;
const COUNT_BITS: u32 = 20;
const OWNER_MASK: u64 = (1 << OWNER_BITS) - 1;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const FLAG_MASK: u64 = (1 << FLAG_BITS) - 1;
const FLAG_SHIFT: u32 = OWNER_BITS;
const SHARED_SHIFT: u32 = OWNER_BITS + FLAG_BITS;
const WAITERS_SHIFT: u32 = SHARED_SHIFT + COUNT_BITS;
const WOKEN: u8 = 1;
const CLAIMED: u8 = 2;
const BESIDE: u8 = 4;
/// Of the bits above, in a frozen word.
const FROZEN: u8 = CLAIMED;
const BEQUEATHED: u8 = 8;

/// What a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockRequest {
    /// The lock for itself alone; first come, first served, but for the time in which the first in line is being woken.
    Exclusive,
    /// The lock together with others; first come, first served.
    Shared,
    /// As `Shared`, by a process that already holds a lock of the window: it stands beside the waiting line
    /// for a time, and may then pass it, since requests in line may wait for what it holds (lessons, decision
    /// 2).
    SharedHolding,
}

impl LockRequest {
    /// How the lock is held once the request is granted.
    pub fn kind(self) -> LockKind {
        match self {
            Self::Exclusive => LockKind::Exclusive,
            Self::Shared | Self::SharedHolding => LockKind::Shared,
        }
    }
}

/// A process as control blocks name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder(u32);

impl Holder {
    /// Largest number of processes of a job that can share locks.
    pub const MAX_PEERS: u32 = COUNT_MASK as u32;

    /// The name of a process; `None` past [`Holder::MAX_PEERS`].
    #[inline]
    pub fn new(peer: Peer) -> Option<Self> {
        (peer.0 < Self::MAX_PEERS).then_some(Self(peer.0 + 1))
    }

    /// The process.
    #[inline]
    pub fn peer(self) -> Peer {
        Peer(self.0 - 1)
    }

    /// Never 0.
    #[inline]
    pub(super) fn code(self) -> u64 {
        self.0.into()
    }

    /// The inverse of [`Holder::code`], for any bits.
    #[inline]
    pub(super) fn from_code(code: u64) -> Option<Self> {
        let peer = u32::try_from(code).ok()?.checked_sub(1)?;
        Self::new(Peer(peer))
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Holder {}", self.peer())
    }
}

/// What the lock word says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockState {
    owner: u32,
    flags: u8,
    shared: u32,
    waiters: u32,
}

impl LockState {
    /// The process that holds the lock exclusively.
    pub fn owner(self) -> Option<Peer> {
        self.owner.checked_sub(1).map(Peer)
    }

    /// Number of shared holders; while there is an owner, of requests that follow it.
    pub fn shared(self) -> u32 {
        self.shared
    }

    /// Number of requests in line.
    pub fn waiters(self) -> u32 {
        self.waiters
    }

    /// Whether no process holds the lock.
    pub fn is_free(self) -> bool {
        self.owner == 0 && self.shared == 0
    }

    /// Whether no process holds the lock or waits for it.
    pub(crate) fn is_idle(self) -> bool {
        self.is_free() && self.waiters == 0
    }

    /// Whether the head of the line has come, and is the next to hold the lock.
    pub(crate) fn is_claimed(self) -> bool {
        self.flags & CLAIMED != 0
    }

    /// Whether nothing but releases may change the word.
    #[inline]
    pub(crate) fn is_frozen(self) -> bool {
        self.flags & (WOKEN | CLAIMED) == FROZEN
    }

    /// From now on nothing but releases changes the word.
    pub(super) fn freeze(self) -> Self {
        Self { flags: self.flags & !WOKEN | FROZEN, ..self }
    }

    /// What a frozen word becomes when the live processes have been counted; the head of the line is woken
    /// next.
    pub(super) fn thaw(self, owner_lives: bool, shared: u32, waiters: u32) -> Self {
        let owner = if owner_lives { self.owner } else { 0 };
        let has_died = owner != self.owner || shared < self.shared;
        let bequeathed = if has_died { BEQUEATHED } else { self.flags & BEQUEATHED };
        let flags = if waiters > 0 { WOKEN } else { 0 } | bequeathed;
        Self { owner, flags, shared, waiters }
    }

    /// Whether a process died with the lock since it was last granted.
    pub fn is_bequeathed(self) -> bool {
        self.flags & BEQUEATHED != 0
    }

    /// The next grant carries the notice that a process died with the lock.
    pub(super) fn bequeath(self) -> Self {
        Self { flags: self.flags | BEQUEATHED, ..self }
    }

    #[inline]
    pub(super) fn decode(word: u64) -> Self {
        Self {
            owner: (word & OWNER_MASK) as u32,
            flags: (word >> FLAG_SHIFT & FLAG_MASK) as u8,
            shared: (word >> SHARED_SHIFT & COUNT_MASK) as u32,
            waiters: (word >> WAITERS_SHIFT & COUNT_MASK) as u32,
        }
    }

    #[inline]
    pub(super) fn encode(self) -> u64 {
        u64::from(self.owner)
            | u64::from(self.flags) << FLAG_SHIFT
            | u64::from(self.shared) << SHARED_SHIFT
            | u64::from(self.waiters) << WAITERS_SHIFT
    }

    #[inline]
    pub(super) fn is_owned(self) -> bool {
        self.owner != 0
    }

    /// A newcomer's exclusive grant, of a lock without holders and waiters.
    #[inline]
    pub(super) fn exclusive(holder: Holder) -> Self {
        Self { owner: holder.0, ..Self::default() }
    }

    /// A newcomer's exclusive grant although others wait: the first of them is on its way, and has not come yet.
    #[inline]
    pub(super) fn enter_exclusive_past_line(self, holder: Holder) -> Option<Self> {
        let flags = self.flags & !BEQUEATHED;
        (self.is_free() && self.flags & CLAIMED == 0).then_some(Self { owner: holder.0, flags, ..self })
    }

    /// The head of the line, which may not enter, claims the lock if it came because it was woken.
    pub(super) fn claim(self) -> Option<Self> {
        (self.flags & (WOKEN | CLAIMED) == WOKEN).then_some(Self { flags: self.flags | CLAIMED, ..self })
    }

    /// A newcomer's shared grant: no owner, and no waiter to overtake.
    #[inline]
    pub(super) fn enter_shared(self) -> Option<Self> {
        (self.owner == 0 && self.waiters == 0).then(|| self.heir().more_shared())
    }

    /// A grant from beside the line, or one more to follow the owner, which stays.
    pub(super) fn enter_from_beside(self) -> Self {
        let next = self.more_shared();
        if self.owner == 0 { Self { flags: next.flags & !(BESIDE | BEQUEATHED), ..next } } else { next }
    }

    /// One more to follow the owner, if the line is empty.
    pub(super) fn follow_owner(self) -> Option<Self> {
        (self.waiters == 0).then(|| self.more_shared())
    }

    /// Whether a request beside the line may sleep until the line moves.
    #[inline]
    pub(super) fn has_beside(self) -> bool {
        self.flags & BESIDE != 0
    }

    /// A thread beside the line is about to sleep.
    pub(super) fn with_beside(self) -> Self {
        Self { flags: self.flags | BESIDE, ..self }
    }

    /// All threads beside the line are being woken.
    pub(super) fn without_beside(self) -> Self {
        Self { flags: self.flags & !BESIDE, ..self }
    }

    /// The same with the notice of a death delivered to the new holder.
    #[inline]
    fn heir(self) -> Self {
        Self { flags: self.flags & !BEQUEATHED, ..self }
    }

    /// Delivers the notice of a death to a holder, if it is still to be delivered.
    pub(super) fn inherit(self) -> Option<Self> {
        self.is_bequeathed().then(|| self.heir())
    }

    /// One more shared holder, or one more to follow the owner.
    pub(super) fn more_shared(self) -> Self {
        Self { shared: saturate(self.shared, 1), ..self }
    }

    /// One more in line.
    pub(super) fn more_waiters(self) -> Self {
        Self { waiters: saturate(self.waiters, 1), ..self }
    }

    /// The grant of the line's head.
    pub(super) fn leave_line(self, kind: LockKind, holder: Holder) -> Option<Self> {
        // The flags are those of the head, and the next one becomes it.
        let next = Self { waiters: self.waiters.saturating_sub(1), flags: 0, ..self };
        match kind {
            LockKind::Exclusive => self.is_free().then_some(Self { owner: holder.0, ..next }),
            LockKind::Shared => (self.owner == 0).then(|| next.more_shared()),
        }
    }

    /// The turn of a ticket whose process is dead: no process gets the lock, and all are woken.
    pub(super) fn skip(self) -> Self {
        let waiters = self.waiters.saturating_sub(1);
        let wakes = self.is_free() && waiters > 0;
        let flags = self.flags & BEQUEATHED | if wakes { WOKEN } else { 0 };
        Self { waiters, flags, ..self }
    }

    /// The release; `None` when the lock is not held so.
    #[inline]
    pub(super) fn release(self, kind: LockKind, holder: Holder) -> Option<Self> {
        let next = match kind {
            LockKind::Exclusive if self.owner == holder.0 => {
                Self { owner: 0, flags: self.flags & !BESIDE, ..self }
            }
            LockKind::Shared if self.owner == 0 => Self { shared: self.shared.checked_sub(1)?, ..self },
            LockKind::Exclusive | LockKind::Shared => return None,
        };
        // The release that leaves the lock free wakes the head of the line.
        let wakes = next.is_free() && next.waiters > 0 && !next.is_frozen();
        Some(Self { flags: next.flags | if wakes { WOKEN } else { 0 }, ..next })
    }

    /// Whether the head of the line will come without being woken again: it was woken, and has not come yet.
    #[inline]
    pub(super) fn is_head_coming(self) -> bool {
        self.flags & (WOKEN | CLAIMED) == WOKEN
    }
}

fn saturate(count: u32, more: u32) -> u32 {
    (count + more).min(COUNT_MASK as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_decodes_and_encodes_to_itself() {
        let mut word = 0x0123_4567_89ab_cdef_u64;
        for _ in 0..1000 {
            assert_eq!(LockState::decode(word).encode(), word);
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        }
        assert_eq!(LockState::decode(0), LockState::default());
        assert_eq!(LockState::decode(u64::MAX).encode(), u64::MAX);
    }

    #[test]
    fn counts_at_their_limit_do_not_spill() {
        let full = LockState::decode(u64::MAX);
        assert_eq!(full.more_shared().more_waiters(), full);
        let holder = Holder::new(Peer(0)).unwrap();
        let empty = LockState::default();
        assert_eq!(empty.release(LockKind::Shared, holder), None);
        assert_eq!(empty.release(LockKind::Exclusive, holder), None);
        assert_eq!(empty.leave_line(LockKind::Exclusive, holder), Some(LockState::exclusive(holder)));
    }

    #[test]
    fn holders_are_the_peers_below_the_limit() {
        assert_eq!(Holder::new(Peer(Holder::MAX_PEERS)), None);
        let last = Holder::new(Peer(Holder::MAX_PEERS - 1)).unwrap();
        assert_eq!(Holder::from_code(last.code()), Some(last));
        assert_eq!(LockState::decode(LockState::exclusive(last).encode()).owner(), Some(last.peer()));
        for bad in [0, last.code() + 1, u64::MAX] {
            assert_eq!(Holder::from_code(bad), None);
        }
    }
}
