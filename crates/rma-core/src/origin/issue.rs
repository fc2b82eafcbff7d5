//! Issuing: which packet of which target may leave now, and what rides on it.
//!
//! Issue goes round-robin, one packet per target and round, so that no target is flooded (design note, ISSUE_OPS_WIN). What is due, and
//! what rides on it, is [`super::decide`]'s to say, as the packet is made (lessons, fixed 23); packets of no operation are in
//! [`super::round`].

use super::decide::{Due, TargetGate};
use crate::bugs::{Bug, has};
use crate::channel::{BulkToken, Channel, Lane, Source};
use crate::config::EngineConfig;
use crate::control::LockKind;
use crate::datatype::{Gather, Piece, ShapeLimits};
use crate::epoch::LockEvent;
use crate::ids::{RequestId, Sequence};
use crate::pool::PoolKey;
use crate::state::{
    BulkOwner, Bulks, ByChannel, Flavor, MAX_HEAD, Outbox, Pools, Regions, Sent, ShortStore, State,
    WindowState,
};
use crate::table::{ClosingWord, OpArea, OpData, OpKind, Operation, Target};
use crate::wire::{Area, Request, RequestFlags, RequestKind, SHAPE_LEN, SHORT_STORE, TargetPlace};

/// Pieces of a long operation.
const PIECES: u64 = 4;
/// Shorter pieces cost more packets than they save time.
const LEAST_PIECE: u64 = 256 << 10;

/// What issuing works on.
pub(crate) struct Issuer<'a> {
    pub(crate) window: &'a mut WindowState,
    pub(crate) pools: &'a mut Pools,
    pub(crate) bulks: &'a mut Bulks,
    pub(crate) channel: &'a mut dyn Channel,
    pub(crate) by_channel: &'a mut ByChannel,
    pub(crate) config: &'a EngineConfig,
}

/// The outbox of an [`Issuer`], beside its pools.
macro_rules! outbox {
    ($issuer:expr) => {
        Outbox {
            channel: &mut *$issuer.channel,
            counters: &mut $issuer.window.counters,
            by_channel: &mut *$issuer.by_channel,
        }
    };
}
pub(super) use outbox;

/// What one attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketStep {
    Moved,
    Idle,
    /// Something is due, but the channel has no room.
    Blocked,
}

impl<'a> Issuer<'a> {
    #[inline]
    pub(crate) fn new(
        channel: &'a mut dyn Channel,
        state: &'a mut State,
        window: &'a mut WindowState,
    ) -> Self {
        let State { pools, bulks, by_channel, config, .. } = state;
        Self { window, pools, bulks, channel, by_channel, config }
    }

    /// Issues what may leave of a window that needs issue, in rounds; answers whether anything did.
    #[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
    pub(crate) fn issue_window(&mut self) -> bool {
        let mut any = false;
        let mut rounds = self.config.poll_packets;
        loop {
            let (mut moved, mut blocked) = (false, false);
            let keys = self.window.table.keys(&self.pools.targets);
            let mut note = |step| match step {
                PacketStep::Moved => moved = true,
                PacketStep::Blocked => blocked = true,
                PacketStep::Idle => {}
            };
            for key in &keys {
                note(self.issue_target(*key));
            }
            if !self.window.rounds.is_empty() {
                note(self.issue_rounds());
            }
            any |= moved;
            rounds -= 1;
            if !blocked && self.has_said_all(&keys) {
                self.window.needs_issue = false;
                return any;
            }
            if !moved || rounds == 0 {
                self.window.needs_issue = moved || blocked;
                return any;
            }
        }
    }

    /// Whether another round would find nothing, by one look: the only target is open and has nothing left.
    fn has_said_all(&self, keys: &[PoolKey]) -> bool {
        let [key] = keys else { return false };
        let Some(target) = self.pools.targets.get(*key) else { return false };
        self.window.rounds.is_empty() && target.has_said_all() && self.gate(target) == TargetGate::Open
    }

    /// Issues what may leave to one target, and the word of the call that closes the epoch; answers whether that has left.
    pub(crate) fn close_to(&mut self, key: PoolKey) -> bool {
        self.pools.targets[key].close();
        for _ in 0..self.config.poll_packets {
            if self.issue_target(key) != PacketStep::Moved
                || self.pools.targets[key].closing == ClosingWord::Sent
            {
                break;
            }
        }
        let has_left = self.pools.targets[key].closing == ClosingWord::Sent;
        self.pools.targets[key].on_notified();
        has_left
    }

    /// Issues what may leave to one target; answers whether the gate is open and nothing is left for it.
    pub(crate) fn issue_to(&mut self, key: PoolKey) -> bool {
        for _ in 0..self.config.poll_packets {
            if self.issue_target(key) != PacketStep::Moved {
                break;
            }
            if self.has_said_all(&[key]) {
                return true;
            }
        }
        self.has_said_all(&[key])
    }

    /// Makes at most one packet for one target.
    fn issue_target(&mut self, key: PoolKey) -> PacketStep {
        if let Some(step) = self.issue_first_transfer(key) {
            return step;
        }
        match self.due(key) {
            Due::Nothing => PacketStep::Idle,
            Due::Lock(kind, op) => self.issue_lock(key, op, kind),
            Due::Operation(op) => self.issue_operation(key, op, RequestFlags::NONE),
            Due::Word(flags) => self.send_sync(key, flags),
        }
    }

    /// Begins a transfer of the first operation in line, if the gate is open; nothing where packets are to carry it.
    fn issue_first_transfer(&mut self, key: PoolKey) -> Option<PacketStep> {
        if !self.window.remote.is_offered() {
            return None;
        }
        let target = &self.pools.targets[key];
        let op = target.pending.head()?;
        match self.gate(target) {
            TargetGate::Open => self.issue_transfer(key, op),
            TargetGate::Lock { .. }
                if has(Bug::TransferUnlocked) && self.window.transfers(target.rank, &self.pools.ops[op]) =>
            {
                Some(self.issue_transfer(key, op).unwrap_or(PacketStep::Idle))
            }
            TargetGate::Closed | TargetGate::Lock { .. } => None,
        }
    }

    /// Asks for the lock, with the first operation on the request when there is one and it fits.
    /// One that the caller has called for before goes first.
    pub(super) fn issue_lock(&mut self, key: PoolKey, op: Option<PoolKey>, kind: LockKind) -> PacketStep {
        let rank = self.pools.targets[key].rank;
        if let Some(first) = self.window.epoch.asked_before(rank) {
            return self.issue_lock_before(first);
        }
        let flag = self.lock_flag(rank, kind);
        let rider = op.filter(|op| self.rides_on_lock(&self.pools.targets[key], &self.pools.ops[*op]));
        let step = match rider {
            Some(op) => self.issue_operation(key, op, flag),
            None => self.send_sync(key, flag),
        };
        if step == PacketStep::Moved {
            self.window.epoch.on_lock(rank, LockEvent::Ask);
            self.pools.targets[key].is_locking = true;
            if rider.is_some() {
                self.window.counters.on_piggybacked_locks(1);
            }
        }
        step
    }

    /// Makes the next packet of the first pending operation.
    #[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
    fn issue_operation(&mut self, key: PoolKey, op_key: PoolKey, lock: RequestFlags) -> PacketStep {
        let target = &self.pools.targets[key];
        let op = &self.pools.ops[op_key];
        if self.must_wait(target, op) {
            return PacketStep::Idle;
        }
        if let Some((store, run, data)) = op.run_to_store(longest_short_store(self.config)) {
            let short = ShortStore { store, disp: op.disp, run, data };
            return self.issue_short_store(key, op_key, lock, short);
        }
        let NextPiece { area, len: piece } = self.next_piece(target, op);
        let is_last_piece = op.sent + piece == op.len;
        let flags = self.flags(target, op, lock, is_last_piece);
        let sequence = Sequence(target.sent.0 + 1);
        let is_small = self.fits_small(target, &area, piece);
        let kind = request_kind(op.kind, op_key.into(), TargetPlace { disp: op.disp, area }, piece);
        let request = Request { window: self.window.shared.id, flags, sequence, kind };
        match self.send_piece(key, op_key, &request, piece, is_small) {
            Sent::Full => return PacketStep::Blocked,
            Sent::Lost => return PacketStep::Idle,
            Sent::Yes => {}
        }
        self.on_piece_sent(key, op_key, flags, piece, is_last_piece);
        PacketStep::Moved
    }

    /// Makes the packet of the first pending operation, which is such a store.
    fn issue_short_store(
        &mut self,
        key: PoolKey,
        op_key: PoolKey,
        lock: RequestFlags,
        short: ShortStore,
    ) -> PacketStep {
        let target = &self.pools.targets[key];
        let op = &self.pools.ops[op_key];
        let flags = self.flags(target, op, lock, true);
        let (len, sequence) = (op.len, Sequence(target.sent.0 + 1));
        match outbox!(self).store(target.peer, self.window.shared.id, flags, sequence, short) {
            Sent::Full => return PacketStep::Blocked,
            Sent::Lost => return PacketStep::Idle,
            Sent::Yes => {}
        }
        self.on_piece_sent(key, op_key, flags, len, true);
        PacketStep::Moved
    }

    /// What the next packet of the operation covers.
    pub(super) fn next_piece(&self, target: &Target, op: &Operation) -> NextPiece {
        let (area, len) = match op.area() {
            OpArea::Run(offset) => (Area::Run { offset: offset + op.sent }, op.len - op.sent),
            OpArea::Shape(layout) => {
                let bytes = self.channel.capabilities_for(target.peer).max_packet - MAX_HEAD - SHAPE_LEN;
                let limits = ShapeLimits { entries: self.config.shape_entries as usize, bytes };
                let Piece { layout, from, mut len } = layout.piece(op.sent, limits);
                if self.window.shared.flavor == Flavor::Dynamic {
                    // Its owner looks every run up.
                    len = len.min(layout.within_runs(from, Regions::MOST_RUNS) - from);
                }
                (Area::Shape { layout: Box::new(layout), from }, len)
            }
        };
        let Some(element) = op.kind.streamed_element() else { return NextPiece { area, len } };
        let most = longest_piece(self.config, op.len).max(element).min(len);
        NextPiece { area, len: most - most % element }
    }

    fn send_piece(
        &mut self,
        key: PoolKey,
        op_key: PoolKey,
        request: &Request,
        piece: u64,
        is_small: bool,
    ) -> Sent {
        let head = request.emit();
        let peer = self.pools.targets[key].peer;
        let op = &mut self.pools.ops[op_key];
        let body = match &op.data {
            OpData::Operand { bytes, len } => {
                let bytes = &bytes[..usize::from(*len)];
                return outbox!(self).small(peer, Lane::Request, &head, Source::Bytes(bytes));
            }
            OpData::Pack(pack) => {
                return outbox!(self).small(peer, Lane::Request, &head, Source::Bytes(pack.bytes()));
            }
            // The operation keeps its place: a lock packet may be handed back and sent again.
            OpData::Run(run) => {
                let run = run.part(op.sent as usize, piece as usize);
                if is_small {
                    return outbox!(self).small_span(peer, Lane::Request, &head, run);
                }
                Gather::span(run)
            }
            OpData::Scattered(gather) => {
                let mut rest = Gather::clone(gather);
                let _before = rest.split_to(op.sent);
                rest.split_to(piece)
            }
        };
        if is_small {
            let mut body = body;
            return outbox!(self).small(peer, Lane::Request, &head, Source::Memory(&mut body));
        }
        let entry = self.bulks.vacant_entry();
        let token = BulkToken(entry.key() as u64);
        let sent = outbox!(self).bulk(peer, Lane::Request, &head, body, token);
        if sent == Sent::Yes {
            entry.insert(BulkOwner::Operation { window: self.window.shared.id, target: key, op: op_key });
            op.on_bulk_issued();
        }
        sent
    }

    /// Changes every number that depends on a sent piece of a queued operation. What leaves with its call was
    /// never queued: [`super::submit`] notes that.
    fn on_piece_sent(
        &mut self,
        key: PoolKey,
        op_key: PoolKey,
        flags: RequestFlags,
        piece: u64,
        is_last_piece: bool,
    ) {
        let target = &mut self.pools.targets[key];
        let op = &mut self.pools.ops[op_key];
        let sequence = target.next_sequence();
        op.sent += piece;
        if has(Bug::RequestDoneEarly) {
            op.signal_end(Ok(()));
        }
        if op.kind.fetches() {
            op.on_asked(sequence, piece);
            target.fetching += 1;
        }
        if !is_last_piece {
            return;
        }
        target.on_left(sequence, op.order, !op.kind.fetches(), flags);
        self.window.counters.on_ops_issued(op.calls());
        self.window.counters.on_piggybacked_unlocks(flags.has(RequestFlags::UNLOCK).into());
        op.set_awaits_grant(flags.locks() && !has(Bug::QueuedIsDone));
        target.pending.pop_front(&mut self.pools.ops);
        self.pools.ops[op_key].signal_if_ended();
        if self.pools.ops[op_key].is_settled() {
            self.pools.ops.give_back(&mut self.window.op_share, op_key);
            self.window.no_hold_back = false;
        } else {
            self.pools.targets[key].issued.push_back(&mut self.pools.ops, op_key);
        }
    }

    fn send_sync(&mut self, key: PoolKey, flags: RequestFlags) -> PacketStep {
        let target = &mut self.pools.targets[key];
        let sequence = Sequence(target.sent.0 + 1);
        let request = Request { window: self.window.shared.id, flags, sequence, kind: RequestKind::Sync };
        match outbox!(self).small(target.peer, Lane::Request, &request.emit(), Source::Bytes(&[])) {
            Sent::Full => return PacketStep::Blocked,
            Sent::Lost => return PacketStep::Idle,
            Sent::Yes => {}
        }
        let sequence = target.next_sequence();
        if flags.has(RequestFlags::ACK) {
            target.on_ack_asked(sequence);
        }
        if flags.closes() {
            target.on_closed(flags);
        }
        PacketStep::Moved
    }
}

/// Longest store that leaves as a whole, whatever the channel carries.
pub(crate) fn longest_short_store(config: &EngineConfig) -> usize {
    SHORT_STORE.min(config.unit_bytes.try_into().unwrap_or(usize::MAX))
}

/// Longest piece of an operation of so many bytes that the target combines or answers piece by piece: a unit, but so short that one is on
/// its way while the target works on the one before.
pub(super) fn longest_piece(config: &EngineConfig, len: u64) -> u64 {
    len.div_ceil(PIECES).max(LEAST_PIECE).min(config.unit_bytes)
}

/// The bytes of an operation that one packet covers.
pub(super) struct NextPiece {
    pub(super) area: Area,
    pub(super) len: u64,
}

#[inline]
pub(super) fn request_kind(kind: OpKind, reply_to: RequestId, place: TargetPlace, len: u64) -> RequestKind {
    match kind {
        OpKind::Put => RequestKind::Put(place),
        OpKind::Pack => RequestKind::Pack,
        OpKind::Get => RequestKind::Get { place, len, reply_to },
        OpKind::Accumulate(kernel) => RequestKind::Accumulate { place, kernel },
        OpKind::FetchOp(kernel) => RequestKind::FetchOp { place, kernel, reply_to },
        OpKind::GetAccumulate(kernel) => RequestKind::GetAccumulate { place, kernel, len, reply_to },
        OpKind::CompareSwap(kernel) => RequestKind::CompareSwap { place, kernel, reply_to },
        OpKind::Unfinished => RequestKind::Unfinished { acknowledged: place.disp.0, reply_to },
    }
}
