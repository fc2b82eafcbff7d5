//! Target elements: the operations to one target, and how far they have come.
//!
//! An element may be freed only when it owes nothing: no operation, no unacknowledged store, no unlock under way. So "no
//! element" always means "nothing outstanding", and a new element may count from zero (lessons, decision 3).

use super::list::OpList;
use super::operation::{OpKind, Operation};
use super::slots::OpPool;
use crate::ids::{Peer, Rank, Sequence};
use crate::pool::PoolKey;
use crate::wire::RequestFlags;
use smallvec::SmallVec;

/// Where the release of a lock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosingWord {
    /// No unlock was called.
    No,
    /// The unlock is to ride on the last packet.
    Wanted,
    /// It has left.
    Sent,
}

/// One target of a window.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) rank: Rank,
    pub(crate) peer: Peer,
    /// Operations of which not every packet has been made.
    pub(crate) pending: OpList,
    /// Operations that wait for something after their last packet.
    pub(crate) issued: OpList,
    /// Order of the newest operation.
    pub(crate) posted: u64,
    /// Operations up to this order leave without being held back.
    pub(crate) push_to: u64,
    /// Operations up to this order want an acknowledgement (flush, unlock, end of a fence epoch).
    pub(crate) ack_to: u64,
    /// Number of the last packet sent.
    pub(crate) sent: Sequence,
    /// Order of the last operation of which every packet has been made.
    pub(crate) issued_to: u64,
    /// Order of the last store-like operation of which every packet has been made.
    pub(crate) stored_to: u64,
    /// Store-like operations up to this order are known to be complete at the target.
    pub(crate) acked_to: u64,
    /// Acknowledgements on the way: packet number, and the order it will acknowledge. Ascending.
    pub(crate) asked: SmallVec<[(Sequence, u64); 2]>,
    /// Transfers under way: what ends the epoch waits for them.
    pub(crate) transfers: u64,
    /// Requests for data under way.
    pub(crate) fetching: u64,
    pub(crate) closing: ClosingWord,
    /// Order of the last store-like operation that went before the word of the fence or complete call under way.
    pub(crate) notified_to: u64,
    /// A lock request has left and has not been answered with the grant.
    pub(crate) is_locking: bool,
    /// Next target of the same slot.
    pub(super) next: Option<PoolKey>,
}

impl Target {
    pub(crate) fn new(rank: Rank, peer: Peer) -> Self {
        Self {
            rank,
            peer,
            pending: OpList::default(),
            issued: OpList::default(),
            posted: 0,
            push_to: 0,
            ack_to: 0,
            sent: Sequence(0),
            issued_to: 0,
            stored_to: 0,
            acked_to: 0,
            asked: SmallVec::new(),
            transfers: 0,
            fetching: 0,
            closing: ClosingWord::No,
            notified_to: 0,
            is_locking: false,
            next: None,
        }
    }

    /// Queues the newest operation. Gets that are held back go last (design note, "Performance
    /// optimizations"): their data acknowledge the stores before them, so that an epoch that gets something
    /// needs no packet for its acknowledgement, and gets have no order with other operations of their epoch
    /// (MPI 3.1 §11.7.2 orders accumulates only). So a store goes before the gets at the end that no call has
    /// pushed, whose order is not known outside.
    pub(crate) fn queue_before_gets(&mut self, pool: &mut OpPool, key: PoolKey) {
        if self.pending.is_empty() {
            pool[key].order = self.posted;
            return self.pending.push_back(pool, key);
        }
        let mut gets = SmallVec::<[PoolKey; 8]>::new();
        if !pool[key].kind.fetches() {
            let push_to = self.push_to;
            let may_wait = |op: &Operation| op.kind == OpKind::Get && op.order > push_to && op.sent == 0;
            let held = self.pending.iter(pool).collect::<SmallVec<[PoolKey; 8]>>();
            let first = held.iter().rposition(|held| !may_wait(&pool[*held])).map_or(0, |last| last + 1);
            gets.extend_from_slice(&held[first..]);
            if !gets.is_empty() {
                self.pending = OpList::default();
                held[..first].iter().for_each(|held| self.pending.push_back(pool, *held));
            }
        }
        let order = self.posted - gets.len() as u64;
        gets.insert(0, key);
        for (order, key) in (order..).zip(gets) {
            pool[key].order = order;
            self.pending.push_back(pool, key);
        }
    }

    /// Whether the operation last in line is a pack.
    pub(crate) fn ends_in_pack(&self, pool: &OpPool) -> bool {
        self.pending.tail().is_some_and(|key| pool[key].kind == OpKind::Pack)
    }

    /// Whether one operation is held back, a store.
    pub(crate) fn holds_a_store(&self, pool: &OpPool) -> bool {
        self.pending.len() == 1 && self.pending.head().is_some_and(|key| pool[key].kind.is_plain_store())
    }

    /// Whether nothing is under way to the target but a store of at most so many bytes that is held back, if any.
    pub(crate) fn holds_a_store_at_most(&self, pool: &OpPool, longest: usize) -> bool {
        let is_short = |key: PoolKey| pool[key].run_to_store(longest).is_some();
        self.pending.len() <= 1 && self.issued.is_empty() && self.pending.head().is_none_or(is_short)
    }

    /// Whether one operation is held back, and nothing else is wanted.
    pub(crate) fn only_holds(&self, pool: &OpPool) -> bool {
        let is_held = |key: PoolKey| pool[key].order > self.push_to;
        self.pending.len() == 1
            && self.pending.head().is_some_and(is_held)
            && self.issued.is_empty()
            && !self.owes_ack()
            && self.closing != ClosingWord::Wanted
            && !self.is_locking
    }

    /// Whether every operation up to `order` has left the user's buffers.
    pub(crate) fn is_locally_complete(&self, pool: &OpPool, order: u64) -> bool {
        [&self.pending, &self.issued]
            .into_iter()
            .all(|list| list.head().is_none_or(|key| pool[key].order > order))
    }

    /// Whether every operation up to `order` has been executed at the target.
    pub(crate) fn is_complete(&self, pool: &OpPool, order: u64) -> bool {
        self.is_locally_complete(pool, order) && self.acked_to >= self.stored_to.min(order)
    }

    /// Whether the element owes nothing and may be freed.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
            && self.issued.is_empty()
            && !self.owes_ack()
            && self.closing != ClosingWord::Wanted
            && !self.is_locking
    }

    /// Whether a store has not been acknowledged.
    pub(crate) fn owes_ack(&self) -> bool {
        self.acked_to < self.stored_to || !self.asked.is_empty()
    }

    /// Asks for everything posted so far to leave, and with `acknowledge` to be acknowledged; answers the order to wait for.
    pub(crate) fn push(&mut self, acknowledge: bool) -> u64 {
        self.push_to = self.posted;
        if acknowledge {
            self.ack_to = self.posted;
        }
        self.posted
    }

    /// Asks for everything posted so far to leave, and for the word of the call that closes the epoch behind it.
    pub(crate) fn close(&mut self) {
        self.push(false);
        self.closing = ClosingWord::Wanted;
    }

    /// Whether an acknowledgement has to be asked for although no operation is left for it to ride on.
    pub(crate) fn needs_ack_request(&self) -> bool {
        let goal = self.stored_to.min(self.ack_to);
        self.acked_to < goal && self.asked.last().is_none_or(|(_, order)| *order < goal)
    }

    /// Whether no packet is left to be made for it, as far as its lock allows any.
    pub(crate) fn has_said_all(&self) -> bool {
        self.pending.is_empty() && self.closing != ClosingWord::Wanted && !self.needs_ack_request()
    }

    /// Notes that the word of the call that closes the epoch is on the last packet.
    pub(crate) fn on_closed(&mut self, flags: RequestFlags) {
        self.closing = ClosingWord::Sent;
        if !flags.has(RequestFlags::UNLOCK) {
            self.notified_to = self.stored_to;
        }
    }

    /// The word of a fence or complete call has left, and with the target's end of that epoch what went before it is complete: it needs
    /// no acknowledgement.
    pub(crate) fn on_notified(&mut self) {
        if self.closing == ClosingWord::Sent {
            self.closing = ClosingWord::No;
        }
        self.acked_to = self.acked_to.max(self.notified_to);
    }

    /// Notes that every packet has been made of the operation of this order.
    pub(crate) fn on_issued(&mut self, order: u64, is_store: bool) {
        self.issued_to = order;
        if is_store {
            self.stored_to = order;
        }
    }

    /// Notes that the last packet of an operation has left, with these flags.
    pub(crate) fn on_left(&mut self, sequence: Sequence, order: u64, is_store: bool, flags: RequestFlags) {
        self.on_issued(order, is_store);
        let acknowledges = flags.has(RequestFlags::ACK) || flags.locks();
        // A reply with data acknowledges all stores before it.
        if acknowledges || (!is_store && self.acked_to < self.stored_to) {
            self.on_ack_asked(sequence);
        }
        if flags.closes() {
            self.on_closed(flags);
        }
    }

    /// Takes the number for the next packet.
    pub(crate) fn next_sequence(&mut self) -> Sequence {
        self.sent.0 += 1;
        self.sent
    }

    /// Notes that `sequence` will be acknowledged, and with it everything issued so far.
    pub(crate) fn on_ack_asked(&mut self, sequence: Sequence) {
        self.asked.push((sequence, self.issued_to));
    }

    /// Notes that the newest operation, for which nothing had to be waited, has left as one request for data with this number.
    #[inline]
    pub(crate) fn on_fetch_left(&mut self, pool: &mut OpPool, key: PoolKey, sequence: Sequence) {
        self.sent = sequence;
        self.posted += 1;
        self.fetching += 1;
        self.on_left(sequence, self.posted, false, RequestFlags::NONE);
        self.issued.push_back(pool, key);
    }

    /// Notes that a reply has come, and so that all operations up to `applied` have been applied at the target.
    pub(crate) fn on_data(&mut self, applied: u64) {
        self.fetching -= 1;
        self.acked_to = self.acked_to.max(applied);
    }

    /// Notes that everything up to packet `sequence` has been applied at the target.
    pub(crate) fn on_acked(&mut self, sequence: Sequence) {
        while let Some((asked, order)) = self.asked.first().copied().filter(|(asked, _)| *asked <= sequence) {
            debug_assert!(asked <= self.sent);
            self.acked_to = self.acked_to.max(order);
            self.asked.remove(0);
        }
    }
}
