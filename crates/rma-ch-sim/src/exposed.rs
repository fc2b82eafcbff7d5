//! Memory that ranks have exposed to each other, and the transfers of one rank to and from that of one peer.
//!
//! Invariants: an exposure's memory is touched only under the lock under which it is withdrawn, so that no
//! access comes after that (clause R6); a transfer is carried out in one piece, and then answered, when it is
//! due, in an order apart from that of its beginning (R5). Until then nothing of it has happened: an origin
//! that does not wait for the answer finds old bytes. Memory that is withdrawn is still reached by transfers that had begun.

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
    memory: HashMap<u64, Memory>,
}

#[derive(Debug)]
struct Memory {
    owner: Peer,
    span: WriteSpan,
    under_way: u32,
    is_withdrawn: bool,
}

/// A transfer under way.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) token: TransferToken,
    pub(crate) due: Moment,
    pub(crate) place: RemotePlace,
    pub(crate) buffer: Buffer,
    /// Whether the memory waits for it.
    pub(crate) is_counted: bool,
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
        let memory = Memory { owner, span: memory, under_way: 0, is_withdrawn: false };
        exposures.memory.insert(name, memory);
        name
    }

    pub(crate) fn key(name: u64) -> RemoteKey {
        RemoteKey { key: name, base: Self::BASE }
    }

    /// Ends an exposure, if no transfer to it is under way or `is_idle`; answers whether it has ended.
    pub(crate) fn withdraw(&self, name: u64, is_idle: bool) -> bool {
        let memory = &mut self.0.lock().memory;
        let Some(found) = memory.get_mut(&name) else { return true };
        found.is_withdrawn = true;
        let is_over = is_idle || found.under_way == 0;
        if is_over {
            memory.remove(&name);
        }
        is_over
    }

    /// Ends all exposures of a rank.
    pub(crate) fn remove_all(&self, owner: Peer) {
        self.0.lock().memory.retain(|_, memory| memory.owner != owner);
    }

    /// A transfer begins; answers whether the memory waits for it.
    pub(crate) fn begin(&self, key: RemoteKey) -> bool {
        let mut exposures = self.0.lock();
        let found = exposures.memory.get_mut(&key.key).filter(|memory| !memory.is_withdrawn);
        found.map(|memory| memory.under_way += 1).is_some()
    }

    /// A transfer is over that the memory waits for; answers whether its owner does.
    fn end(&self, key: RemoteKey) -> bool {
        let mut exposures = self.0.lock();
        let Some(memory) = exposures.memory.get_mut(&key.key) else { return false };
        memory.under_way -= 1;
        memory.is_withdrawn
    }

    /// Carries out a transfer with memory of `peer`; says whether there was such memory.
    fn carry_out(&self, peer: Peer, transfer: &Transfer) -> bool {
        let exposures = self.0.lock();
        let RemotePlace { key, offset } = transfer.place;
        let is_meant = |memory: &&Memory| {
            memory.owner == peer && key.base == Self::BASE && (transfer.is_counted || !memory.is_withdrawn)
        };
        let Some(memory) = exposures.memory.get(&key.key).filter(is_meant) else { return false };
        let len = transfer.buffer.len();
        let is_inside = offset.checked_add(len as u64).is_some_and(|end| end <= memory.span.len() as u64);
        if !is_inside {
            return false;
        }
        let remote = memory.span.part(offset as usize, len);
        match transfer.buffer {
            Buffer::Write(from) => remote.write_from(from),
            Buffer::Read(into) => into.write_from(remote.as_read()),
        }
        true
    }
}

/// The transfers of one rank with one peer.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    under_way: Vec<Transfer>,
    /// One has ended whose memory is withdrawn.
    is_awaited: bool,
}

impl Transfers {
    pub(crate) fn begin(&mut self, transfer: Transfer) {
        self.under_way.push(transfer);
    }

    /// Whether the peer waits for one that has ended.
    pub(crate) fn take_awaited(&mut self) -> bool {
        std::mem::take(&mut self.is_awaited)
    }

    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether a poll would carry one out.
    pub(crate) fn has_due(&self, time: &Time) -> bool {
        self.under_way.iter().any(|transfer| time.has_come(transfer.due))
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
        for index in (0..self.under_way.len()).rev() {
            if !time.has_come(self.under_way[index].due) {
                continue;
            }
            let outcome = match exposed.carry_out(peer, &self.under_way[index]) {
                true => Ok(()),
                false if is_leaving() => continue,
                false => Err(TransferError::Refused),
            };
            sink.transferred(self.end(index, exposed), outcome);
            moved = true;
        }
        moved
    }

    /// Ends all of them.
    pub(crate) fn give_up(&mut self, exposed: &Exposed, error: TransferError, sink: &mut dyn Sink) {
        while !self.under_way.is_empty() {
            sink.transferred(self.end(0, exposed), Err(error));
        }
    }

    /// Forgets all of them: their rank is gone.
    pub(crate) fn forget(&mut self, exposed: &Exposed) {
        while !self.under_way.is_empty() {
            let _token = self.end(0, exposed);
        }
    }

    fn end(&mut self, index: usize, exposed: &Exposed) -> TransferToken {
        let Transfer { token, place, is_counted, .. } = self.under_way.remove(index);
        self.is_awaited |= is_counted && exposed.end(place.key);
        token
    }
}
