//! Operation elements: one communication call of the user until it needs nothing any more.
//!
//! An operation yields packets from a resumable position: `sent` of `len` bytes (lessons, decision 6). What it still waits
//! for is [`Outstanding`] and a reply for each entry of `fetches`; when nothing is left to send and nothing is waited for, the
//! element goes back to its pool.

use super::pack::Pack;
use crate::datatype::{Gather, Layout, Scatter};
use crate::error::Result;
use crate::ids::{Disp, Sequence};
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::ReadSpan;
use crate::pool::PoolKey;
use crate::wire::Store;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// What an operation does at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    Put,
    Get,
    Accumulate(Kernel),
    FetchOp(Kernel),
    GetAccumulate(Kernel),
    CompareSwap(CompareAndSwap),
    /// Small puts and accumulates, in their order.
    Pack,
    /// A question after what dead processes have left half done; the displacement says how many of these have been put right.
    Unfinished,
}

/// Which bytes are accessed at the target, counted from the displacement.
#[derive(Debug)]
pub(crate) enum OpArea {
    /// Consecutive ones from this one on.
    Run(u64),
    /// Those of a layout; apart from the element, because most operations have none.
    Shape(Box<Layout>),
}

/// A reply under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetch {
    /// Number of the packet that asks for it.
    pub(crate) sequence: Sequence,
    /// Bytes that it brings.
    pub(crate) len: u64,
}

/// Where the bytes to send come from.
#[derive(Debug)]
pub(crate) enum OpData {
    /// The user's buffer, which stays the operation's until it is locally complete.
    Memory(Gather),
    /// Operands of single-element operations, copied when the call was made.
    Operand { bytes: [u8; 16], len: u8 },
    /// Small stores, copied when they were made; apart from the element, because most operations have none.
    Pack(Box<Pack>),
}

impl OpData {
    /// Nothing to send.
    pub(crate) const NONE: Self = Self::Operand { bytes: [0; 16], len: 0 };
}

/// What an issued operation waits for. Order between the events is free (lessons, fixed 22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// The lock that the operation's packet asked for; until then the target may hand the operation back.
    pub(crate) grant: bool,
    /// Bulk bodies that the channel still reads from the user's buffer.
    pub(crate) bulks: u32,
}

/// The end of an operation, for whoever waits for it outside the engine's lock.
#[derive(Debug, Default)]
pub(crate) struct Signal(OnceLock<Result<()>>);

impl Signal {
    /// How the operation ended, if it has. What the engine stored before, a result for example, is seen.
    pub(crate) fn get(&self) -> Option<&Result<()>> {
        self.0.get()
    }
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Position among all operations to this target element, from 1.
    pub(crate) order: u64,
    pub(crate) kind: OpKind,
    pub(crate) disp: Disp,
    pub(crate) area: OpArea,
    /// Bytes accessed at the target.
    pub(crate) len: u64,
    pub(crate) data: OpData,
    /// Where the reply goes; empty for operations without one.
    pub(crate) result: Scatter,
    /// Bytes of `len` that packets have been made for; all of them at once unless the operation is streamed.
    pub(crate) sent: u64,
    /// Bytes of the result that have come, or will not come because of an error.
    pub(crate) received: u64,
    /// Replies under way, in the order in which they come.
    pub(crate) fetches: SmallVec<[Fetch; 1]>,
    pub(crate) outstanding: Outstanding,
    /// Who waits for the end of this operation alone.
    pub(crate) signal: Option<Arc<Signal>>,
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
            area: OpArea::Run(0),
            len,
            data,
            result,
            sent: 0,
            received: 0,
            fetches: SmallVec::new(),
            outstanding: Outstanding::default(),
            signal: None,
            next: None,
        }
    }

    /// A store of contiguous bytes, not yet queued.
    pub(crate) fn store(store: Store, disp: Disp, data: ReadSpan) -> Self {
        let kind = match store {
            Store::Put => OpKind::Put,
            Store::Accumulate(kernel) => OpKind::Accumulate(kernel),
        };
        let len = data.len() as u64;
        Self::new(kind, disp, len, OpData::Memory(Gather::span(data)), Scatter::discard(0))
    }

    /// The same operation on other bytes at the target, as many.
    pub(crate) fn on_area(mut self, area: OpArea) -> Self {
        self.area = area;
        self
    }

    /// Signals the end, if there is nothing left to send and nothing to wait for.
    pub(crate) fn signal_if_ended(&mut self) {
        if self.sent == self.len && self.is_settled() {
            self.signal_end(Ok(()));
        }
    }

    /// Signals the end to whoever waits for it.
    pub(crate) fn signal_end(&mut self, end: Result<()>) {
        if let Some(signal) = self.signal.take() {
            // Only the operation sets it, and it has just given it away.
            let _ = signal.0.set(end);
        }
    }

    /// Whether nothing is left to wait for once everything has been sent.
    pub(crate) fn is_settled(&self) -> bool {
        self.outstanding == Outstanding::default() && self.fetches.is_empty()
    }

    /// Calls of the user that it stands for.
    pub(crate) fn calls(&self) -> u64 {
        match &self.data {
            OpData::Pack(pack) => pack.stores(),
            OpData::Memory(_) | OpData::Operand { .. } => 1,
        }
    }

    /// Bytes that the origin sends.
    pub(crate) fn data_len(&self) -> u64 {
        match &self.data {
            OpData::Memory(_) if self.kind == OpKind::Get => 0,
            OpData::Memory(_) => self.len,
            OpData::Operand { len, .. } => u64::from(*len),
            OpData::Pack(_) => self.len,
        }
    }
}

impl OpKind {
    /// Whether the target sends data back; such an operation needs no acknowledgement besides.
    pub(crate) fn fetches(self) -> bool {
        match self {
            Self::Get | Self::FetchOp(_) | Self::GetAccumulate(_) | Self::CompareSwap(_) => true,
            Self::Unfinished => true,
            Self::Put | Self::Accumulate(_) | Self::Pack => false,
        }
    }

    /// Bytes of the elements that a packet must not cut, for operations that travel in units of bounded length.
    pub(crate) fn streamed_element(self) -> Option<u64> {
        match self {
            Self::Accumulate(kernel) | Self::GetAccumulate(kernel) => Some(kernel.ty().size() as u64),
            Self::Put | Self::Get | Self::FetchOp(_) | Self::CompareSwap(_) | Self::Pack => None,
            Self::Unfinished => None,
        }
    }
}
