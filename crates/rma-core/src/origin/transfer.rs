//! Puts and gets that the channel carries out without the target's code: the third kind of target, beside mapped memory and packets.
//!
//! An operation of the table becomes transfers instead of packets when its target has sent the key of its memory, the gate to it is
//! open, and its runs are long enough for the channel ([`crate::state`], `remote.rs`). It is in line as any other; each run is a
//! transfer, and what it waits for is their answers. A put is then complete at both ends, so no acknowledgement is asked for.
//!
//! Packets that announce something must not overtake transfers: while some are under way to it, the packet that ends the
//! epoch (unlock, done, fence) stays here, and an operation that would take that word along with it. Nothing else waits for them:
//! accumulates have no order with puts and gets (MPI 3.1 §11.7.2), and a flush waits for the answers.
//! `docs/windows-over-network.md` has the proof.

use super::issue::{Issuer, PacketStep, outbox};
use super::response::{Settler, retire};
use crate::bugs::{Bug, has};
use crate::channel::{Channel, Issued, Lane, RemotePlace, Source, TransferError, TransferToken};
use crate::ids::{Peer, Sequence};
use crate::pool::PoolKey;
use crate::state::{BulkOwner, OutOfRange, Outbox, Pools, Sent, is_worth};
use crate::table::{ClosingWord, OpKind, Operation, Target};
use crate::wire::{Request, RequestFlags, RequestKind};

impl Issuer<'_> {
    /// Begins the next transfer of the first pending operation; nothing where packets are to carry it.
    pub(super) fn issue_transfer(&mut self, key: PoolKey, op_key: PoolKey) -> Option<PacketStep> {
        let target = &self.pools.targets[key];
        let op = &self.pools.ops[op_key];
        let (rank, peer) = (target.rank, target.peer);
        if !matches!(op.kind, OpKind::Put | OpKind::Get) || !op.may_transfer() {
            return None;
        }
        let Some(remote) = self.window.remote.of(rank).copied() else {
            // Packets of an operation go on as packets, whatever comes meanwhile.
            if op.sent > 0 {
                self.pools.ops[op_key].on_no_transfer();
            } else {
                self.ask_for_key(key, op_key);
            }
            return None;
        };
        if op.sent == 0 && !remote.takes(op, self.window.puts()) {
            return None;
        }
        let (place, most) = remote.next_run(op)?;
        let len = most.min(op.next_buffer_run());
        let entry = self.bulks.vacant_entry();
        let token = TransferToken(entry.key() as u64);
        let issued = match begin(&mut *self.channel, op, peer, place, len, token) {
            Some(issued) => issued,
            // The channel's failure notice says the rest.
            None => return Some(PacketStep::Idle),
        };
        match issued {
            Issued::Yes => {}
            Issued::Full => {
                self.window.counters.on_channel_full(1);
                return Some(PacketStep::Blocked);
            }
            Issued::Never => {
                self.pools.ops[op_key].on_no_transfer();
                return None;
            }
        }
        entry.insert(BulkOwner::Transfer { window: self.window.shared.id, target: key, op: op_key });
        self.on_transfer_issued(key, op_key, len);
        Some(PacketStep::Moved)
    }

    /// Moves every number that a transfer changes.
    fn on_transfer_issued(&mut self, key: PoolKey, op_key: PoolKey, len: u64) {
        let target = &mut self.pools.targets[key];
        let op = &mut self.pools.ops[op_key];
        target.transfers += 1;
        op.on_transfer_issued(len);
        self.window.counters.on_transfers(1);
        self.window.counters.on_transferred_bytes(len);
        if op.sent < op.len {
            return;
        }
        target.on_issued(op.order, false);
        self.window.counters.on_ops_issued(op.calls());
        target.pending.pop_front(&mut self.pools.ops);
        if has(Bug::TransferIsDone) {
            // As if the answer had come.
            self.pools.ops[op_key].signal_end(Ok(()));
        }
        self.pools.targets[key].issued.push_back(&mut self.pools.ops, op_key);
    }

    /// Asks a target for the key of its memory, if the operation would be transfers; without a key it is packets.
    fn ask_for_key(&mut self, key: PoolKey, op: PoolKey) {
        let (rank, peer) = (self.pools.targets[key].rank, self.pools.targets[key].peer);
        let Some(limits) = self.window.remote.limits(&*self.channel, peer) else { return };
        let is_worth = is_worth(&limits, &self.pools.ops[op], self.window.puts());
        if !is_worth || !self.window.remote.may_ask(rank) {
            return;
        }
        let (window, flags) = (self.window.shared.id, RequestFlags::NONE);
        let request = Request { window, flags, sequence: Sequence(0), kind: RequestKind::Key };
        let sent = outbox!(self).small(peer, Lane::Request, &request.emit(), Source::Bytes(&[]));
        if sent == Sent::Yes {
            self.window.remote.on_asked(rank, limits);
        }
    }

    /// Whether the word that ends the epoch has to wait for transfers.
    pub(super) fn holds_word(&self, target: &Target) -> bool {
        target.closing == ClosingWord::Wanted && target.transfers > 0 && !has(Bug::WordOvertakesTransfers)
    }
}

/// Begins to move the next `len` bytes of an operation; nothing when the peer is lost.
fn begin(
    channel: &mut dyn Channel,
    op: &Operation,
    peer: Peer,
    place: RemotePlace,
    len: u64,
    token: TransferToken,
) -> Option<Issued> {
    let memory = channel.remote_memory()?;
    let issued = match op.kind {
        OpKind::Get => memory.read(peer, op.next_result(len)?, place, token),
        _ => memory.write(peer, op.next_data(len)?, place, token),
    };
    issued.ok()
}

impl Settler<'_> {
    /// A transfer is over. One that is lost is ended by the notice that its peer is: until then its operation waits.
    pub(crate) fn on_transferred(
        &mut self,
        target: PoolKey,
        op: PoolKey,
        outcome: Result<(), TransferError>,
    ) {
        if outcome == Err(TransferError::Lost) {
            return;
        }
        let Pools { ops, targets } = &mut *self.pools;
        let (Some(element), Some(operation)) = (targets.get_mut(target), ops.get_mut(op)) else { return };
        element.transfers -= 1;
        operation.on_bulk_sent();
        if outcome.is_err() {
            operation.on_transfer_refused();
            self.window.on_refused(element.rank);
        }
        if operation.has_ended() && operation.was_refused() {
            operation.signal_end(Err(OutOfRange::LEFT.into_error("request", element.rank)));
        }
        operation.signal_if_ended();
        self.window.needs_issue |= !element.pending.is_empty() || element.closing == ClosingWord::Wanted;
        retire(self.window, ops, element);
    }
}
