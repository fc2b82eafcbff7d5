//! Operation elements: one communication call of the user until it needs nothing any more.
//!
//! An operation yields packets from a resumable position: `sent` of `len` bytes (lessons, decision 6). What it still waits
//! for is [`Outstanding`]; when nothing is left to send and nothing is outstanding, the element goes back to its pool.

use crate::datatype::{Gather, Scatter};
use crate::ids::{Disp, Sequence};
use crate::kernel::{CompareAndSwap, Kernel};
use crate::pool::PoolKey;

/// What an operation does at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    Put,
    Get,
    Accumulate(Kernel),
    FetchOp(Kernel),
    CompareSwap(CompareAndSwap),
}

/// Where the bytes to send come from.
#[derive(Debug)]
pub(crate) enum OpData {
    /// The user's buffer, which stays the operation's until it is locally complete.
    Memory(Gather),
    /// Operands of single-element operations, copied when the call was made.
    Operand { bytes: [u8; 16], len: u8 },
}

/// What an issued operation waits for. Order between the events is free (lessons, fixed 22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// The lock that the operation's packet asked for; until then the target may hand the operation back.
    pub(crate) grant: bool,
    /// Data from the target.
    pub(crate) data: bool,
    /// Bulk bodies that the channel still reads from the user's buffer.
    pub(crate) bulks: u32,
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Position among all operations to this target element, from 1.
    pub(crate) order: u64,
    pub(crate) kind: OpKind,
    pub(crate) disp: Disp,
    /// Bytes accessed at the target.
    pub(crate) len: u64,
    pub(crate) data: OpData,
    /// Where the reply goes; empty for operations without one.
    pub(crate) result: Scatter,
    /// Bytes of `len` that packets have been made for; all of them at once unless the operation is streamed.
    pub(crate) sent: u64,
    /// Number of the packet that asks for data, to match the reply.
    pub(crate) sequence: Sequence,
    pub(crate) outstanding: Outstanding,
    /// Next element of the list this one is in.
    pub(super) next: Option<PoolKey>,
}

impl Operation {
    /// An operation not yet queued.
    pub(crate) fn new(kind: OpKind, disp: Disp, len: u64, data: OpData, result: Scatter) -> Self {
        Self {
            order: 0,
            kind,
            disp,
            len,
            data,
            result,
            sent: 0,
            sequence: Sequence(0),
            outstanding: Outstanding::default(),
            next: None,
        }
    }

    /// Whether nothing is left to wait for once everything has been sent.
    pub(crate) fn is_settled(&self) -> bool {
        self.outstanding == Outstanding::default()
    }

    /// Bytes that the origin sends.
    pub(crate) fn data_len(&self) -> u64 {
        match &self.data {
            OpData::Memory(_) if self.kind == OpKind::Get => 0,
            OpData::Memory(_) => self.len,
            OpData::Operand { len, .. } => u64::from(*len),
        }
    }
}

impl OpKind {
    /// Whether the target sends data back; such an operation needs no acknowledgement besides.
    pub(crate) fn fetches(self) -> bool {
        match self {
            Self::Get | Self::FetchOp(_) | Self::CompareSwap(_) => true,
            Self::Put | Self::Accumulate(_) => false,
        }
    }
}
