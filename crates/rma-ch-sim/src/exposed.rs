//! Memory that ranks have exposed to each other, and the transfers of one rank to and from that of one peer.
//!
//! Invariants: an exposure's memory is touched only under the lock under which it is withdrawn, so that no
//! access comes after that (clause R6); a transfer is carried out in one piece, and then answered, when it is
//! due, in an order apart from that of its beginning (R5). Until then nothing of it has happened: an origin
//! that does not wait for the answer finds old bytes.

use crate::dice::Moment;
use crate::time::Time;
use parking_lot::Mutex;
use rma_core::channel::{RemoteKey, RemotePlace, Sink, TransferError, TransferToken};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::collections::HashMap;

/// What all ranks have exposed.
#[derive(Debug, Default)]
pub(crate) struct Exposed(Mutex<Exposures>);

#[derive(Debug, Default)]
struct Exposures {
    last: u64,
    memory: HashMap<u64, (Peer, WriteSpan)>,
}

/// A transfer under way.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) token: TransferToken,
    pub(crate) due: Moment,
    pub(crate) place: RemotePlace,
    pub(crate) buffer: Buffer,
}

/// The side of a transfer that is the caller's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Buffer {
    Write(ReadSpan),
    Read(WriteSpan),
}

impl Buffer {
    fn len(self) -> usize {
        match self {
            Self::Write(from) => from.len(),
            Self::Read(into) => into.len(),
        }
    }
}

impl Exposed {
    /// What keys count offsets from, so that a key whose base is left out shows.
    const BASE: u64 = 1 << 40;

    pub(crate) fn add(&self, owner: Peer, memory: WriteSpan) -> u64 {
        let mut exposures = self.0.lock();
        exposures.last += 1;
        let name = exposures.last;
        exposures.memory.insert(name, (owner, memory));
        name
    }

    pub(crate) fn key(name: u64) -> RemoteKey {
        RemoteKey { key: name, base: Self::BASE }
    }

    pub(crate) fn remove(&self, name: u64) {
        self.0.lock().memory.remove(&name);
    }

    /// Ends all exposures of a rank.
    pub(crate) fn remove_all(&self, owner: Peer) {
        self.0.lock().memory.retain(|_, (of, _)| *of != owner);
    }

    /// Carries out a transfer with memory of `peer`; says whether there was such memory.
    fn carry_out(&self, peer: Peer, transfer: &Transfer) -> bool {
        let exposures = self.0.lock();
        let RemotePlace { key, offset } = transfer.place;
        let found =
            exposures.memory.get(&key.key).filter(|(owner, _)| *owner == peer && key.base == Self::BASE);
        let Some((_, memory)) = found else { return false };
        let len = transfer.buffer.len();
        let is_inside = offset.checked_add(len as u64).is_some_and(|end| end <= memory.len() as u64);
        if !is_inside {
            return false;
        }
        let remote = memory.part(offset as usize, len);
        match transfer.buffer {
            Buffer::Write(from) => remote.write_from(from),
            Buffer::Read(into) => into.write_from(remote.as_read()),
        }
        true
    }
}

/// The transfers of one rank with one peer.
#[derive(Debug, Default)]
pub(crate) struct Transfers(Vec<Transfer>);

impl Transfers {
    pub(crate) fn begin(&mut self, transfer: Transfer) {
        self.0.push(transfer);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a poll would carry one out.
    pub(crate) fn has_due(&self, time: &Time) -> bool {
        self.0.iter().any(|transfer| time.has_come(transfer.due))
    }

    /// Carries out and answers those that are due, the newest first. One whose memory is not there is kept while `is_leaving`: the end of
    /// the peer answers it.
    pub(crate) fn poll(
        &mut self,
        exposed: &Exposed,
        time: &Time,
        peer: Peer,
        is_leaving: impl Fn() -> bool,
        sink: &mut dyn Sink,
    ) -> bool {
        let mut moved = false;
        for index in (0..self.0.len()).rev() {
            if !time.has_come(self.0[index].due) {
                continue;
            }
            let outcome = match exposed.carry_out(peer, &self.0[index]) {
                true => Ok(()),
                false if is_leaving() => continue,
                false => Err(TransferError::Refused),
            };
            sink.transferred(self.0.remove(index).token, outcome);
            moved = true;
        }
        moved
    }

    /// Ends all of them.
    pub(crate) fn give_up(&mut self, error: TransferError, sink: &mut dyn Sink) {
        self.0.drain(..).for_each(|transfer| sink.transferred(transfer.token, Err(error)));
    }

    /// Forgets all of them: their rank is gone.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
