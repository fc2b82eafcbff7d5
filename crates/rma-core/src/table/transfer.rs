//! Operations as transfers: how far one is, and the next bytes that lie side by side at the origin.
//!
//! What packets were made of goes on as packets, and what has begun as transfers may end as packets, never
//! the other way round: a target waits for all that a first packet has announced.

use super::operation::{OpData, OpKind, OpResult, Operation};
use crate::datatype::Gather;
use crate::mem::{ReadSpan, WriteSpan};

/// Whether an operation is carried out by transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferState {
    /// None has begun, nor has it been found that none can.
    Possible,
    Issued,
    /// Its target has refused one.
    Refused,
    /// Its buffer cannot be used, or the key is not here any more: what is left is for packets.
    Impossible,
}

impl Operation {
    /// Whether its next bytes may be a transfer: packets that were made of it go on as packets, and only packets bring a notice.
    pub(crate) fn may_transfer(&self) -> bool {
        match self.transfer {
            TransferState::Possible => self.sent == 0 && self.notice.is_none(),
            TransferState::Issued => true,
            TransferState::Refused | TransferState::Impossible => false,
        }
    }

    /// Whether transfers have carried some of it.
    pub(crate) fn has_transferred(&self) -> bool {
        self.sent > 0 && self.transfer != TransferState::Possible
    }

    /// A transfer of the next `len` bytes has begun.
    pub(crate) fn on_transfer_issued(&mut self, len: u64) {
        if self.transfer == TransferState::Possible {
            self.transfer = TransferState::Issued;
        }
        if self.kind == OpKind::Get {
            self.result.skip(len);
        }
        self.sent += len;
        self.on_bulk_issued();
    }

    /// What is left of it is for packets.
    pub(crate) fn on_no_transfer(&mut self) {
        if self.transfer != TransferState::Refused {
            self.transfer = TransferState::Impossible;
        }
    }

    /// The target has refused a transfer.
    pub(crate) fn on_transfer_refused(&mut self) {
        self.transfer = TransferState::Refused;
    }

    /// Whether the target has refused a transfer.
    pub(crate) fn was_refused(&self) -> bool {
        self.transfer == TransferState::Refused
    }

    /// Whether there is nothing left to send and nothing to wait for.
    pub(crate) fn has_ended(&self) -> bool {
        self.sent == self.len && self.is_settled()
    }

    /// The next `len` bytes to send, which lie side by side.
    pub(crate) fn next_data(&self, len: u64) -> Option<ReadSpan> {
        match &self.data {
            OpData::Run(run) => Some(run.part(self.sent as usize, len as usize)),
            OpData::Scattered(gather) => {
                let mut rest = Gather::clone(gather);
                let _before = rest.split_to(self.sent);
                rest.peek(len as usize)
            }
            OpData::Operand { .. } | OpData::Pack(_) => None,
        }
    }

    /// Where the next `len` bytes that come go, side by side.
    pub(crate) fn next_result(&self, len: u64) -> Option<WriteSpan> {
        match &self.result {
            OpResult::Run(run) => Some(run.part(0, len as usize)),
            OpResult::Scattered(scatter) => scatter.peek(len as usize),
        }
    }

    /// How many of the next bytes lie side by side in the user's buffer.
    pub(crate) fn next_buffer_run(&self) -> u64 {
        let len = match (self.kind, &self.data, &self.result) {
            (OpKind::Get, _, OpResult::Run(run)) => run.len(),
            (OpKind::Get, _, OpResult::Scattered(scatter)) => {
                scatter.peek(usize::MAX).map_or(0, |run| run.len())
            }
            (_, OpData::Run(run), _) => run.len() - self.sent as usize,
            _ => self.next_data(u64::MAX).map_or(0, |run| run.len()),
        };
        len as u64
    }
}
