//! What the access side of a window knows beside its state ([`AccessWord`]): the locks promised, the targets started. One owner for
//! these facts, outside all reclaimable memory (lessons, decision 3).
//!
//! Sizes: one entry per rank that the user has locked, or started; under lock_all one per target that was communicated
//! with, at most as many as there are target elements, and none at all once every lock is held.
//!
//! Single locks that are called for and not held stand in the order of their calls: each caller's are asked for in that order,
//! one when the one before it is held (see `sync/lock.rs`).

use super::started::Access;
use crate::control::LockKind;
use crate::epoch::{AccessEvent, AccessWord, Caller, Epoch, LockEvent, LockStage};
use crate::ids::Rank;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Promised locks whose memory an idle window keeps.
const KEPT_PROMISES: usize = 16;

/// A lock that the user has been promised. Lives until unlock; never in reclaimable memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) kind: LockKind,
    pub(crate) state: LockStage,
    /// The caller that locked; `None` in a lock_all epoch, whose locks have no order.
    pub(crate) caller: Option<Caller>,
    /// No lock is taken at the target, and none released.
    pub(crate) no_check: bool,
    /// A thread waits for this lock to be granted, so it is asked for without an operation.
    pub(crate) wanted: bool,
    /// It was asked for by a request without a target element.
    pub(crate) is_bare: bool,
    /// The rank is lost: it never answers, and no other lock waits for this one.
    pub(crate) is_lost: bool,
    /// The unlock call has begun: no further operation is legal.
    pub(crate) closing: bool,
}

impl Lock {
    /// The lock of a target in a lock_all epoch.
    pub(crate) const LAZY: Self = Self {
        kind: LockKind::Shared,
        state: LockStage::Called,
        caller: None,
        no_check: false,
        wanted: false,
        is_bare: false,
        is_lost: false,
        closing: false,
    };

    /// The caller that locked, if it is a single lock that is not held yet: later ones of its caller wait for
    /// it.
    fn promised_to(&self) -> Option<Caller> {
        self.caller.filter(|_| self.state != LockStage::Granted && !self.is_lost)
    }

    /// Moves the lock's state. An event that cannot happen changes nothing.
    fn on(&mut self, event: LockEvent) {
        let next = self.state.after(event);
        debug_assert!(next.is_some(), "{event:?} of a lock that is {:?}", self.state);
        self.state = next.unwrap_or(self.state);
    }
}

/// The access side.
#[derive(Debug)]
pub(crate) struct WindowEpoch {
    number: u64,
    /// In the order of ranks: what leaves when does not depend on a hash.
    locks: BTreeMap<Rank, Lock>,
    /// The single locks among them that are not held yet, in the order of the calls.
    promised: VecDeque<(Caller, Rank)>,
    /// Ranks whose locks the window protocol of lock_all has asked for and does not hold yet.
    asking: BTreeSet<Rank>,
    /// Targets and posts of post/start.
    pub(crate) access: Access,
}

impl WindowEpoch {
    pub(crate) fn new() -> Self {
        Self {
            number: 0,
            locks: BTreeMap::new(),
            promised: VecDeque::new(),
            asking: BTreeSet::new(),
            access: Access::default(),
        }
    }

    /// Number of the epoch instance, of those that the engine has opened: late events of an old epoch cannot be mistaken for this one's.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The window's access side was `before` when the event happened to it.
    #[inline(always)]
    pub(crate) fn follow(&mut self, before: AccessWord, event: AccessEvent) {
        let is_same = match event {
            AccessEvent::Posted
            | AccessEvent::ElementsShort
            | AccessEvent::AllLocked
            | AccessEvent::Reach(_) => true,
            AccessEvent::FenceMet => before.epoch() == Epoch::FenceIssued,
            AccessEvent::Lock => before.epoch() == Epoch::PerTarget,
            AccessEvent::Unlock => before.locks() > 1,
            _ => false,
        };
        self.number += u64::from(!is_same);
        if matches!(event, AccessEvent::AllLocked | AccessEvent::UnlockAll) {
            // From now on the fact is one word, or nothing.
            self.locks.clear();
            self.asking.clear();
        }
    }

    /// Records a lock that the user has called for.
    pub(crate) fn add_lock(&mut self, rank: Rank, lock: Lock) {
        self.promised.extend(lock.promised_to().map(|caller| (caller, rank)));
        let before = self.locks.insert(rank, lock);
        debug_assert!(before.is_none(), "the table of legal calls refuses a second lock of {rank:?}");
    }

    /// Forgets a lock, if there is one.
    pub(crate) fn remove_lock(&mut self, rank: Rank) -> Option<Lock> {
        let removed = self.locks.remove(&rank);
        if removed.is_some_and(|lock| lock.promised_to().is_some()) {
            self.keep_promise(rank);
        }
        removed
    }

    pub(crate) fn lock(&self, rank: Rank) -> Option<&Lock> {
        self.locks.get(&rank)
    }

    /// A lock, for changes of anything but its state.
    pub(crate) fn lock_mut(&mut self, rank: Rank) -> Option<&mut Lock> {
        self.locks.get_mut(&rank)
    }

    /// Moves the state of a lock, if there is one. An event that cannot happen changes nothing.
    pub(crate) fn on_lock(&mut self, rank: Rank, event: LockEvent) {
        self.change(rank, |lock| lock.on(event));
    }

    /// Notes that a rank is lost.
    pub(crate) fn on_lost(&mut self, rank: Rank) {
        self.change(rank, |lock| lock.is_lost = true);
    }

    fn change(&mut self, rank: Rank, how: impl FnOnce(&mut Lock)) {
        let Some(lock) = self.locks.get_mut(&rank) else { return };
        let was_promised = lock.promised_to().is_some();
        how(lock);
        if was_promised && lock.promised_to().is_none() {
            self.keep_promise(rank);
        }
    }

    /// A lock is promised no more. It is mostly the first one.
    fn keep_promise(&mut self, rank: Rank) {
        if let Some(at) = self.promised.iter().position(|(_, promised)| *promised == rank) {
            self.promised.remove(at);
        }
        if self.promised.is_empty() && self.promised.capacity() > KEPT_PROMISES {
            self.promised = VecDeque::new();
        }
    }

    /// Whether there are single locks that have been called for and are not held yet.
    pub(crate) fn has_promises(&self) -> bool {
        !self.promised.is_empty()
    }

    /// Of the locks that a caller has called for and does not hold, the one that it called for first.
    pub(crate) fn first_promised_to(&self, caller: Caller) -> Option<Rank> {
        self.promised.iter().find(|(of, _)| *of == caller).map(|(_, rank)| *rank)
    }

    /// The lock that has to be held before that of `rank` is asked for, because its caller has called for it earlier.
    pub(crate) fn asked_before(&self, rank: Rank) -> Option<Rank> {
        let caller = self.lock(rank)?.promised_to()?;
        self.first_promised_to(caller).filter(|first| *first != rank)
    }

    /// A lock has been asked for by a request without a target element.
    pub(crate) fn on_asked_bare(&mut self, rank: Rank) {
        self.on_lock(rank, LockEvent::Ask);
        self.locks.entry(rank).and_modify(|lock| lock.is_bare = true);
    }

    /// Such a lock is held; answers whether it was asked for so.
    pub(crate) fn on_granted_bare(&mut self, rank: Rank) -> bool {
        let is_asked = |lock: &Lock| lock.is_bare && lock.state == LockStage::Issued;
        let is_asked = self.lock(rank).is_some_and(is_asked);
        if is_asked {
            self.on_lock(rank, LockEvent::Grant);
        }
        is_asked
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self) -> Result<(), String> {
        let promised = self.locks().filter_map(|(rank, lock)| Some((lock.promised_to()?, rank)));
        let promised = promised.collect::<Vec<_>>();
        if promised.len() == self.promised.len() && promised.iter().all(|one| self.promised.contains(one)) {
            return Ok(());
        }
        Err(format!("{promised:?} are called for and not held, {:?} are in order", self.promised))
    }

    /// The locks, by rank.
    pub(crate) fn locks(&self) -> impl Iterator<Item = (Rank, &Lock)> + '_ {
        self.locks.iter().map(|(rank, lock)| (*rank, lock))
    }

    /// Makes every lock be asked for that has been called for, without waiting for an operation to ride on.
    pub(crate) fn want_all(&mut self) {
        self.locks.values_mut().for_each(|lock| lock.wanted = true);
    }

    /// The ranks whose locks have been called for but are not held yet.
    pub(crate) fn ungranted(&self) -> impl Iterator<Item = Rank> + '_ {
        self.locks().filter(|(_, lock)| lock.state != LockStage::Granted).map(|(rank, _)| rank)
    }

    /// Those of them that this caller has called for.
    pub(crate) fn ungranted_of(&self, caller: Caller) -> impl Iterator<Item = Rank> + '_ {
        let is_ungranted = move |lock: &Lock| lock.state != LockStage::Granted && lock.caller == Some(caller);
        self.locks().filter(move |(_, lock)| is_ungranted(lock)).map(|(rank, _)| rank)
    }

    /// Whether the lock of another rank is held.
    pub(crate) fn holds_another(&self, rank: Rank) -> bool {
        self.locks().any(|(other, lock)| other != rank && lock.state == LockStage::Granted && !lock.no_check)
    }

    /// Whether the lock of a rank is held by itself.
    pub(crate) fn is_granted(&self, rank: Rank) -> bool {
        self.lock(rank).is_some_and(|lock| lock.state == LockStage::Granted)
    }

    /// Number of locks held or asked for, one by one.
    pub(crate) fn locks_held(&self) -> usize {
        self.locks.len()
    }

    /// One of the locked ranks, for messages.
    pub(crate) fn a_locked_rank(&self) -> Option<Rank> {
        self.locks.keys().next().copied()
    }

    /// Notes that the window protocol has asked for a lock.
    pub(crate) fn on_asked(&mut self, rank: Rank) {
        let is_new = self.asking.insert(rank);
        debug_assert!(is_new, "one request per window and target");
    }

    /// Notes that such a lock is held, or that its rank is lost; answers whether it was being asked for.
    pub(crate) fn on_answered(&mut self, rank: Rank) -> bool {
        self.asking.remove(&rank)
    }

    /// Locks that the window protocol waits for.
    pub(crate) fn asking(&self) -> usize {
        self.asking.len()
    }
}
