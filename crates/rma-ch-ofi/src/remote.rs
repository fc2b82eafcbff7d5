//! Transfers between this process's buffers and windows that its peers have exposed: the provider's writes and reads.
//!
//! A write asks for a completion when its bytes are at the peer (`FI_DELIVERY_COMPLETE`), so an answer means what clause R4 wants.
//! Neither can be called back. So the failure of a peer waits until the provider has come back from every transfer to it; a
//! connection that has broken, or is closed with the peer's address ([`crate::fabric::Fabric::forget`]), ends them. Where a provider
//! closes none, one that does not break although the peer is lost (a cable was pulled) is ended with the endpoint, after a while:
//! memory is never left to a transfer whose answer was given.
//!
//! A buffer is registered for its own transfer where the provider wants that, as bodies are ([`crate::registration`]).

use crate::block::{Purpose, SlotName};
use crate::channel::{OfiChannel, Turn};
use crate::fabric::{Done, Handed};
use crate::peer::Link;
use crate::registration::Exposed;
use crate::transfers::{Exposition, TRANSFERS, Transfer};
use rma_core::channel::{
    Exposure, Failure, FailureKind, Issued, Lane, RemoteKey, RemoteMemory, RemotePlace, TransferError,
    TransferLimits, TransferToken, Withdrawal,
};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::time::{Duration, Instant};

/// How long the provider may take to come back from the transfers to a lost peer.
const RETURN: Duration = Duration::from_secs(10);
/// Shortest transfer where its buffer must be registered, as long as the bodies for which that is worth it; and where not.
const REGISTERED_FROM: usize = 64 << 10;
const UNREGISTERED_FROM: usize = 8 << 10;
/// The same for a write in place of a packet without acknowledgement, a round trip less.
const UNACKNOWLEDGED_FROM: usize = 40 << 10;

impl OfiChannel {
    /// Whether there are any: those of a lost peer, and to it, must end before it is reported.
    fn has_transfers(&self) -> bool {
        let can_end = self.fabric.pins() || self.fabric.forgets() || self.limits.transfers;
        can_end && self.fabric.longest_read().is_some()
    }

    pub(crate) fn transfer_limits(&self) -> Option<TransferLimits> {
        let longest = self.fabric.longest_read().filter(|_| self.has_transfers())?;
        let from = if self.fabric.registers() { REGISTERED_FROM } else { UNREGISTERED_FROM }.min(longest);
        let unacknowledged_from = UNACKNOWLEDGED_FROM.clamp(from, longest);
        Some(TransferLimits { write_from: from, unacknowledged_from, read_from: from, longest })
    }

    /// Whether the provider may move bytes that no completion tells of: parts of a transfer, or what a peer reads here. A wait
    /// must not take the provider for idle then.
    pub(crate) fn serves(&self) -> bool {
        self.fabric.exposes() || !self.transfers.under_way.is_empty() || self.transfers.bodies > 0
    }

    pub(crate) fn as_remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.has_transfers().then_some(self as &mut dyn RemoteMemory)
    }

    /// Begins a transfer.
    ///
    /// # Safety
    /// The buffer stays until the transfer is answered, or this channel is dropped.
    unsafe fn begin_transfer(
        &mut self,
        peer: Peer,
        (buffer, is_read): (ReadSpan, bool),
        at: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        self.forget_reservation();
        let place = self.contact(peer)?;
        let state = &mut self.peers[place];
        // Packets to one that has left are dropped.
        if state.drops() {
            return Ok(Issued::Never);
        }
        if state.gone.has(at.key.key) {
            self.transfers.refused.push(token);
            return Ok(Issued::Yes);
        }
        state.wants_transfer = true;
        let Link::Ready { address, .. } = state.link else { return Ok(Issued::Full) };
        if state.broken.is_some() || state.lost.is_some() {
            return Ok(Issued::Full);
        }
        self.list(place);
        let block = match self.transfers.block {
            Some(block) => block,
            None => match self.fabric.add_block(0, TRANSFERS, Purpose::Transfer) {
                Ok(block) => {
                    self.transfers.free = (0..TRANSFERS).collect();
                    *self.transfers.block.insert(block)
                }
                Err(_) => return Ok(Issued::Never),
            },
        };
        let Some(slot) = self.transfers.free.pop() else { return Ok(Issued::Full) };
        let to = (address, at.key.base.wrapping_add(at.offset), at.key.key);
        // SAFETY: the caller's promise; what was lent is taken back with the completion, before the answer.
        let posted = unsafe { self.fabric.transfer(SlotName { block, slot }, (buffer, is_read), to) };
        let state = &mut self.peers[place];
        let (handed, lent) = match posted {
            Ok(posted) => posted,
            Err(_) => {
                self.transfers.free.push(slot);
                state.wants_transfer = false;
                return Ok(Issued::Never);
            }
        };
        match handed {
            Handed::Over | Handed::Taken => {
                state.wants_transfer = false;
                state.transfers += 1;
                self.transfers.under_way.insert(slot, Transfer { token, place, key: at.key.key, lent });
                Ok(Issued::Yes)
            }
            Handed::NotNow => {
                self.transfers.free.push(slot);
                self.fabric.take_back(lent);
                Ok(Issued::Full)
            }
            Handed::Broken(why) => {
                self.transfers.free.push(slot);
                self.fabric.take_back(lent);
                self.note_broken(place, why);
                Ok(Issued::Full)
            }
        }
    }

    /// The provider has come back from a transfer.
    pub(crate) fn on_transfer_over(&mut self, done: Done, turn: &mut Turn<'_>) {
        let Some(Transfer { token, place, key, lent }) = self.transfers.under_way.remove(&done.place.slot)
        else {
            return;
        };
        self.transfers.free.push(done.place.slot);
        self.fabric.take_back(lent);
        let state = &mut self.peers[place];
        state.transfers -= 1;
        match done.outcome {
            Ok(_) => {
                turn.sink.transferred(token, Ok(()));
                self.note_transferred(place, key);
            }
            // It lives, and has taken its memory with it.
            Err(_) if state.drops() => turn.sink.transferred(token, Err(TransferError::Refused)),
            Err(why) => {
                self.transfers.lost.push((place, token));
                self.note_broken(place, why);
            }
        }
        self.part_if_over(place);
    }

    /// Reports that there may be room for a transfer.
    pub(crate) fn report_transfer_room(&mut self, place: usize, turn: &mut Turn<'_>) {
        let has_slot = self.transfers.block.is_none() || !self.transfers.free.is_empty();
        let state = &mut self.peers[place];
        if has_slot && state.wants_transfer && state.is_usable() {
            state.wants_transfer = false;
            turn.sink.writable(state.peer, Lane::Request);
            turn.moved = true;
        }
    }

    /// Reports failures whose transfers are over.
    pub(crate) fn report_failures(&mut self, turn: &mut Turn<'_>) {
        for (peer, failure, since) in std::mem::take(&mut self.failures) {
            let Some(place) = self.places.get(&peer).copied() else { continue };
            if self.peers[place].transfers > 0 && self.fabric.is_open() {
                if since.elapsed() < RETURN {
                    self.failures.push((peer, failure, since));
                    continue;
                }
                match self.fabric.forgets() {
                    // Its connection is closed: the provider has no way to the memory any more.
                    true => self.transfers.give_up(|of| of == place),
                    false => self.shut(),
                }
                self.give_transfers_up(place);
            }
            for token in self.transfers.take_lost(place) {
                turn.sink.transferred(token, Err(TransferError::Lost));
            }
            turn.sink.failed(peer, failure);
            turn.moved = true;
        }
    }

    /// The provider will come back from none of a peer's transfers.
    fn give_transfers_up(&mut self, place: usize) {
        let state = &mut self.peers[place];
        self.transfers.bodies -= state.direct_reads.count_ones();
        (state.transfers, state.direct_reads) = (0, 0);
    }

    /// Closes the endpoint, and with it the contact to all peers.
    fn shut(&mut self) {
        self.fabric.shut();
        self.transfers.give_up(|_| true);
        for place in 0..self.peers.len() {
            self.give_transfers_up(place);
            let detail =
                "the endpoint was closed, since a transfer to another process did not end".to_owned();
            self.fail(place, Failure { kind: FailureKind::Dead, detail }, true);
        }
    }

    /// Reports a failure when all before it is.
    pub(crate) fn note_failure(&mut self, peer: Peer, failure: Failure) {
        self.failures.push((peer, failure, Instant::now()));
    }
}

// SAFETY: R3 and R6. A buffer is handed to the provider by one transfer, which is answered when the provider has come back from it,
// its connection is closed, or the endpoint is (`on_transfer_over`, `report_failures`, `shut`). Exposed memory is registered until it is
// withdrawn, and the provider's end of a registration ends all access by devices (`Fabric::pins`); over other providers that waits for
// the transfers of peers (`withdrawal`), those of lost ones end with their connections (`Fabric::forgets`), or `RMA_OFI_TRANSFERS` accepts
// that they go on.
unsafe impl RemoteMemory for OfiChannel {
    unsafe fn expose(&mut self, memory: WriteSpan) -> Result<Exposure, Failure> {
        // SAFETY: the caller's promise.
        let exposed = unsafe { self.fabric.expose(memory.as_read(), true) };
        let exposed = exposed.map_err(|detail| Failure { kind: FailureKind::Unreachable, detail })?;
        self.transfers.last_exposure += 1;
        let exposed = Exposition { memory: exposed, holders: Vec::new(), is_withdrawn: false };
        self.transfers.exposures.insert(self.transfers.last_exposure, exposed);
        Ok(Exposure(self.transfers.last_exposure))
    }

    fn key(&mut self, exposure: Exposure, peer: Peer) -> Option<RemoteKey> {
        let place = self.contact(peer).ok()?;
        let exposed =
            self.transfers.exposures.get_mut(&exposure.0).filter(|exposed| !exposed.is_withdrawn)?;
        if !exposed.holders.contains(&place) {
            exposed.holders.push(place);
        }
        let Exposed { key, address, .. } = exposed.memory;
        Some(RemoteKey { key, base: address })
    }

    fn withdraw(&mut self, exposure: Exposure, is_idle: bool) -> Withdrawal {
        self.end_exposure(exposure, is_idle)
    }

    fn write(
        &mut self,
        peer: Peer,
        from: ReadSpan,
        to: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        // SAFETY: the caller's buffer is this channel's until the answer (R3).
        unsafe { self.begin_transfer(peer, (from, false), to, token) }
    }

    fn read(
        &mut self,
        peer: Peer,
        into: WriteSpan,
        from: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure> {
        // SAFETY: as above.
        unsafe { self.begin_transfer(peer, (into.as_read(), true), from, token) }
    }
}
