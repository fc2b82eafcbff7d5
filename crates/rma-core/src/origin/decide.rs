//! The one decision about an operation: whether it waits in the table, shares a packet with others or leaves, and what rides on its
//! packet.
//!
//! It is asked for when a call hands an operation over ([`Issuer::decide`]), and for the first in a target's line whenever the window
//! needs issue ([`Issuer::due`]). The other rooms carry it out: no other one holds an operation back or sets a flag of its packets.
//! Packets of no operation, one to each of many ranks, are in [`super::round`].
//!
//! - **Hold.** An operation waits while it may be the last one of its epoch, so that flush and unlock ride on its packet (design note,
//!   ISSUE_OPS_WIN). It leaves when a synchronization call pushes it, when more than the piggyback threshold wait, or when elements run
//!   short.
//! - **Coalesce.** The packets of a short epoch are counted one by one; a stream of small stores is worth more as few long packets. From
//!   `RMA_PACK_FROM` operations of a line on they share them. Stores with requests do so from a quarter of that unacknowledged at the
//!   target: no program may count on the target's having seen one before a flush.
//! - **Send.** Nothing more rides on the request of a fetch, or on a store with a request, which is complete when it has left: where
//!   nothing waits before it and the lock of a node target is held, it leaves within its call. So does a small store that flushes have
//!   taken one by one before ([`crate::state::Eager`]), with the request for its acknowledgement: it is on its way while the program
//!   comes to its flush. One that something else follows was a packet too many, and doubles the row that the next one needs.

use super::issue::{Issuer, longest_piece};
use crate::channel::MIN_PACKET;
use crate::control::LockKind;
use crate::epoch::{Epoch, LockStage};
use crate::ids::Rank;
use crate::pool::PoolKey;
use crate::state::MAX_HEAD;
use crate::table::{ClosingWord, FetchCall, OpKind, Operation, Outline, SmallStore, Target};
use crate::wire::{Area, RUN_HEAD, RequestFlags, SHORT_STORE, STORE_HEAD};

/// Part of `RMA_PACK_FROM` that may be on the way unacknowledged before stores with requests share packets.
const PART: u64 = 4;

/// Longest operand of a fetch that leaves within its call: every channel carries so much in a small packet.
pub(super) const MOST_OPERAND: usize = 128;
const _: () = assert!(RUN_HEAD + MOST_OPERAND <= MIN_PACKET);

/// An operation that a call hands over, the newest to its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'a> {
    pub(super) outline: Outline<'a>,
    /// A call waits for it alone.
    pub(super) is_requested: bool,
    /// The channel carries it out without the target's code.
    pub(super) is_transfer: bool,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It waits for more operations, or for the call that completes it.
    Hold,
    /// It shares a packet with small stores, and waits as they do.
    Coalesce,
    /// It leaves within the call, with these flags.
    Send(RequestFlags),
    /// It leaves in its turn.
    Due,
}

/// What is due to a target.
pub(super) enum Due {
    Nothing,
    /// The request for its lock, and with it the operation if that can ride.
    Lock(LockKind, Option<PoolKey>),
    Operation(PoolKey),
    /// A packet of no operation.
    Word(RequestFlags),
}

/// Whether packets to a target may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetGate {
    /// Not before an event that has not come.
    Closed,
    /// Only together with, or behind, a lock request; which is due by itself when it is wanted.
    Lock {
        kind: LockKind,
        is_wanted: bool,
    },
    Open,
}

impl Issuer<'_> {
    /// What becomes of an operation; `may_leave` says whether the epoch lets its packets leave, and no other is due in the window.
    #[inline(always)] // each caller has one kind of outline
    pub(super) fn decide(&mut self, key: PoolKey, new: New<'_>, may_leave: bool) -> Decision {
        let target = &self.pools.targets[key];
        let is_first = target.pending.is_empty();
        if !is_first {
            self.window.eager.on_behind();
        }
        let may_leave = may_leave && is_first;
        match new.outline {
            Outline::Store(small) if new.is_requested => {
                if small.may_be_packed() && self.is_stream(target) {
                    Decision::Coalesce
                } else if may_leave && self.is_in_one(target, small) {
                    Decision::Send(RequestFlags::NONE)
                } else {
                    Decision::Due
                }
            }
            Outline::Store(small)
                if is_first && self.window.eager.on_store() && may_leave && self.is_in_one(target, small) =>
            {
                Decision::Send(RequestFlags::ACK)
            }
            Outline::Fetch(fetch) if may_leave && target.fetching == 0 && self.is_one_request(fetch) => {
                Decision::Send(RequestFlags::NONE)
            }
            Outline::Store(_) | Outline::Fetch(_) | Outline::Other => self.decide_by_line(target, new),
        }
    }

    fn decide_by_line(&self, target: &Target, new: New<'_>) -> Decision {
        let is_full = target.pending.len() >= self.config.piggyback_threshold;
        if target.posted + 1 - target.issued_to >= self.config.pack_from {
            Decision::Coalesce
        } else if new.is_requested || new.is_transfer || is_full || self.ends_in_pack(target) {
            Decision::Due
        } else {
            Decision::Hold
        }
    }

    fn ends_in_pack(&self, target: &Target) -> bool {
        target.ends_in_pack(&self.pools.ops)
    }

    /// Whether so many stores are under way to the target, and the settings leave a packet to wait for its flush.
    fn is_stream(&self, target: &Target) -> bool {
        let unacknowledged = target.stored_to.saturating_sub(target.acked_to);
        let is_long = || unacknowledged >= self.config.pack_from.div_ceil(PART);
        self.ends_in_pack(target) || self.config.piggyback_threshold > 0 && is_long()
    }

    /// Whether a store leaves in one small packet.
    fn is_in_one(&self, target: &Target, small: &SmallStore) -> bool {
        let len = small.data.len();
        if len as u64 > self.config.unit_bytes {
            return false;
        }
        let limits = || self.channel.capabilities_for(target.peer);
        let carries = || len <= limits().bulk_from && STORE_HEAD + len <= limits().max_packet;
        len <= SHORT_STORE || carries()
    }

    /// Whether one request asks for all that a call fetches.
    fn is_one_request(&self, fetch: &FetchCall) -> bool {
        let len = fetch.result.len() as u64;
        let is_cut = fetch.kind.streamed_element().is_some() && len > longest_piece(self.config, len);
        !is_cut && fetch.operand.len() <= MOST_OPERAND
    }

    /// What is due to a target: at most one packet.
    pub(super) fn due(&self, key: PoolKey) -> Due {
        let target = &self.pools.targets[key];
        let first = target.pending.head().map(|op| (op, &self.pools.ops[op]));
        let is_pushed = |op: &Operation| op.order <= target.push_to || self.window.no_hold_back;
        match (self.gate(target), first) {
            (TargetGate::Closed, _) | (TargetGate::Lock { is_wanted: false, .. }, None) => Due::Nothing,
            (TargetGate::Lock { kind, .. }, None) => Due::Lock(kind, None),
            (TargetGate::Lock { kind, is_wanted }, Some((key, op))) => {
                let is_due =
                    is_wanted || is_pushed(op) || target.pending.len() > 1 || !self.rides_on_lock(target, op);
                if is_due { Due::Lock(kind, Some(key)) } else { Due::Nothing }
            }
            (TargetGate::Open, Some((key, op))) => {
                // A pack with something behind it takes no more stores.
                let is_closed_pack = op.kind == OpKind::Pack && target.pending.len() > 1;
                if is_pushed(op) || is_closed_pack || target.pending.len() > self.config.piggyback_threshold {
                    return Due::Operation(key);
                }
                // What is held back must not hold back the acknowledgement of what has left.
                self.due_word(target)
            }
            (TargetGate::Open, None) => self.due_word(target),
        }
    }

    /// Whether an operation that is due waits for an answer, which makes the window need issue again.
    pub(super) fn must_wait(&self, target: &Target, op: &Operation) -> bool {
        let has_no_credit = op.kind.fetches() && target.fetching >= self.config.credits;
        let is_last = target.pending.len() == 1;
        has_no_credit
            || target.transfers > 0 && (op.follows_transfers() || is_last && self.holds_word(target))
    }

    /// The request for an acknowledgement, or the word that closes the epoch, when no operation is left for that to ride on.
    fn due_word(&self, target: &Target) -> Due {
        let mut flags = RequestFlags::NONE;
        if target.needs_ack_request() {
            flags = flags.with(RequestFlags::ACK);
        }
        if target.closing == ClosingWord::Wanted && !self.holds_word(target) {
            flags = flags.with(self.closing_flag());
        }
        if flags == RequestFlags::NONE { Due::Nothing } else { Due::Word(flags) }
    }

    pub(super) fn gate(&self, target: &Target) -> TargetGate {
        if self.window.shared.may_send_to_node_target(target.rank) {
            return TargetGate::Open;
        }
        match self.window.access().epoch() {
            Epoch::FenceGranted | Epoch::PscwGranted | Epoch::LockAllGranted => TargetGate::Open,
            Epoch::Unset | Epoch::FenceIssued => TargetGate::Closed,
            Epoch::PscwIssued if self.window.epoch.access.has_posted(target.rank) => TargetGate::Open,
            Epoch::PscwIssued => TargetGate::Closed,
            Epoch::PerTarget | Epoch::LockAllCalled | Epoch::LockAllIssued => {
                match self.window.epoch.lock(target.rank) {
                    None => TargetGate::Closed,
                    Some(lock) => match lock.state {
                        LockStage::Called => TargetGate::Lock { kind: lock.kind, is_wanted: lock.wanted },
                        LockStage::Issued => TargetGate::Closed,
                        LockStage::Granted => TargetGate::Open,
                    },
                }
            }
        }
    }

    /// Whether the operation can travel with a lock request: one small packet, which can be handed back.
    pub(super) fn rides_on_lock(&self, target: &Target, op: &Operation) -> bool {
        if op.data_len() > self.config.lock_data_bytes || op.kind == OpKind::Pack {
            return false;
        }
        let piece = self.next_piece(target, op);
        let is_short = piece.area.shape_len() as u64 <= self.config.lock_data_bytes.max(MAX_HEAD as u64);
        piece.len == op.len && is_short && self.fits_small(target, &piece.area, op.data_len())
    }

    /// Whether a packet is small.
    pub(super) fn fits_small(&self, target: &Target, area: &Area, data_len: u64) -> bool {
        let limits = self.channel.capabilities_for(target.peer);
        let most = (limits.max_packet - MAX_HEAD - area.shape_len()).min(limits.bulk_from.max(16));
        data_len <= most as u64
    }

    /// How the lock of a rank is asked for.
    pub(super) fn lock_flag(&self, rank: Rank, kind: LockKind) -> RequestFlags {
        match kind {
            LockKind::Shared if self.window.holds_another(rank) => {
                RequestFlags::LOCK_SHARED.with(RequestFlags::HOLDS)
            }
            LockKind::Shared => RequestFlags::LOCK_SHARED,
            LockKind::Exclusive => RequestFlags::LOCK_EXCLUSIVE,
        }
    }

    /// What rides on a packet of the first operation: the request for the lock with `lock`, acknowledgement, unlock or done, the notice,
    /// and whether more of it follows.
    pub(super) fn flags(
        &self,
        target: &Target,
        op: &Operation,
        lock: RequestFlags,
        is_last_piece: bool,
    ) -> RequestFlags {
        if !is_last_piece {
            return lock.with(RequestFlags::MORE);
        }
        let mut flags = lock.with(op.notice());
        let next = target.pending.iter(&self.pools.ops).nth(1);
        if next.is_none() && target.closing == ClosingWord::Wanted {
            flags = flags.with(self.closing_flag());
        }
        let next_order = next.map_or(u64::MAX, |key| self.pools.ops[key].order);
        if op.order <= target.ack_to && next_order > target.ack_to && !op.kind.fetches() {
            flags = flags.with(RequestFlags::ACK);
        }
        flags
    }

    /// What the closing call of the open epoch has to say to a target.
    fn closing_flag(&self) -> RequestFlags {
        match self.window.access().epoch() {
            state if state.is_pscw() => RequestFlags::DONE,
            state if state.is_fence_or_unset() => RequestFlags::FENCE,
            _ => RequestFlags::UNLOCK,
        }
    }
}
