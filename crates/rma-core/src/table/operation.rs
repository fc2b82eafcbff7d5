//! Operation elements: one communication call of the user until it needs nothing any more.
//!
//! An operation yields packets from a resumable position: `sent` of `len` bytes (lessons, decision 6). What it still waits
//! for is a grant, bulk bodies and replies; when nothing is left to send and nothing is waited for, the
//! element goes back to its pool.

use super::pack::Pack;
use super::transfer::TransferState;
use crate::datatype::{Gather, Layout, Scatter};
use crate::error::Result;
use crate::ids::{Disp, Sequence};
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::{ReadSpan, WriteSpan};
use crate::notification::MOST_COUNTERS;
use crate::pool::PoolKey;
use crate::wire::{RequestFlags, Store};
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
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

/// That an operation raises a counter of its target when its data are where they belong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notice(NonZeroU32);

impl Notice {
    /// Of this counter; whether that says the same of all earlier operations of this origin on the target.
    pub(crate) fn new(counter: u32, covers_earlier: bool) -> Self {
        debug_assert!(counter < MOST_COUNTERS);
        Self(NonZeroU32::MIN.saturating_add(counter << 1 | u32::from(covers_earlier)))
    }

    fn counter(self) -> u32 {
        (self.0.get() - 1) >> 1
    }

    fn covers_earlier(self) -> bool {
        (self.0.get() - 1) & 1 != 0
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let earlier = if self.covers_earlier() { " after all earlier operations" } else { "" };
        write!(f, "notice of {}{earlier}", self.counter())
    }
}

/// Which bytes are accessed at the target, counted from the displacement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpArea<'a> {
    /// Consecutive ones from this one on.
    Run(u64),
    /// Those of a layout.
    Shape(&'a Layout),
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
    /// Consecutive bytes of the user's buffer, which stays the operation's until it is locally complete.
    Run(ReadSpan),
    /// Scattered ones.
    Scattered(Box<Gather>),
    /// Operands of single-element operations, copied when the call was made.
    Operand { bytes: [u8; 16], len: u8 },
    /// Small stores, copied when they were made.
    Pack(Box<Pack>),
}

impl OpData {
    /// Nothing to send.
    pub(crate) const NONE: Self = Self::Operand { bytes: [0; 16], len: 0 };
}

impl From<Gather> for OpData {
    fn from(gather: Gather) -> Self {
        match gather.peek(usize::MAX).filter(|run| run.len() as u64 == gather.remaining()) {
            Some(run) => Self::Run(run),
            None => Self::Scattered(Box::new(gather)),
        }
    }
}

/// Where a reply goes: what of it has not come.
#[derive(Debug)]
pub(crate) enum OpResult {
    Run(WriteSpan),
    Scattered(Box<Scatter>),
}

impl OpResult {
    /// No reply brings data.
    pub(crate) const NONE: Self = Self::Run(WriteSpan::EMPTY);

    /// Cuts off room for the next `len` bytes.
    ///
    /// # Panics
    /// When fewer remain.
    pub(crate) fn split_to(&mut self, len: u64) -> Scatter {
        match self {
            Self::Run(run) => Scatter::span(cut(run, len as usize)),
            Self::Scattered(scatter) => scatter.split_to(len),
        }
    }

    /// Stores the next bytes.
    ///
    /// # Panics
    /// When fewer remain.
    pub(crate) fn write(&mut self, data: &[u8]) {
        match self {
            Self::Run(run) => cut(run, data.len()).write(data),
            Self::Scattered(scatter) => scatter.write(data),
        }
    }

    /// Leaves the next bytes as they are.
    ///
    /// # Panics
    /// When fewer remain.
    pub(crate) fn skip(&mut self, len: u64) {
        match self {
            Self::Run(run) => drop(cut(run, len as usize)),
            Self::Scattered(scatter) => scatter.advance(len as usize),
        }
    }
}

impl From<Scatter> for OpResult {
    fn from(scatter: Scatter) -> Self {
        match scatter.peek(usize::MAX).filter(|run| run.len() as u64 == scatter.remaining()) {
            Some(run) => Self::Run(run),
            None => Self::Scattered(Box::new(scatter)),
        }
    }
}

/// Takes the first bytes off a span.
fn cut(span: &mut WriteSpan, len: usize) -> WriteSpan {
    let first = span.part(0, len);
    *span = span.part(len, span.len() - len);
    first
}

/// The end of an operation, for a wait outside the engine's lock.
#[derive(Debug, Default)]
pub(crate) struct Signal(OnceLock<Result<()>>);

impl Signal {
    /// How the operation ended, if it has. What the engine stored before, a result for example, is seen.
    pub(crate) fn get(&self) -> Option<&Result<()>> {
        self.0.get()
    }
}

/// One operation. What most operations have not lies apart.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Position among all operations to this target element, from 1.
    pub(crate) order: u64,
    pub(crate) disp: Disp,
    /// First byte at the target, counted from the displacement, unless there is a shape.
    run: u64,
    /// Bytes accessed at the target.
    pub(crate) len: u64,
    /// Bytes of `len` that packets have been made for; all of them at once unless the operation is streamed.
    pub(crate) sent: u64,
    pub(crate) data: OpData,
    /// Where the reply goes; empty for operations without one.
    pub(crate) result: OpResult,
    /// Number of the packet that asks for the first reply under way; 0 when there is none.
    fetch: Sequence,
    extension: Option<Box<Extension>>,
    /// Next element of the list this one is in; [`PoolKey::NONE`] at its end.
    pub(super) next: PoolKey,
    /// Bulk bodies that the channel still reads from the user's buffer.
    bulks: u32,
    pub(crate) kind: OpKind,
    /// The lock that the operation's packet asked for has not been granted; until then the target may hand the operation back.
    awaits_grant: bool,
    /// The first reply is on its way into its place.
    pub(crate) is_receiving: bool,
    /// How far it is one of transfers.
    pub(super) transfer: TransferState,
    pub(super) notice: Option<Notice>,
}

const _: () = assert!(size_of::<Operation>() <= 128);

/// What few operations have.
#[derive(Debug, Default)]
struct Extension {
    /// Bytes accessed at the target, if they are not consecutive.
    shape: Option<Layout>,
    /// All replies under way in the order in which they come, when there was more than one.
    fetches: VecDeque<Fetch>,
    /// Where a call waits for the end of this operation alone.
    signal: Option<Arc<Signal>>,
}

impl Operation {
    /// An operation not yet queued.
    #[inline]
    pub(crate) fn new(
        kind: OpKind,
        disp: Disp,
        len: u64,
        data: impl Into<OpData>,
        result: impl Into<OpResult>,
    ) -> Self {
        Self {
            order: 0,
            disp,
            run: 0,
            len,
            sent: 0,
            data: data.into(),
            result: result.into(),
            fetch: Sequence(0),
            extension: None,
            next: PoolKey::NONE,
            bulks: 0,
            kind,
            awaits_grant: false,
            is_receiving: false,
            transfer: TransferState::Possible,
            notice: None,
        }
    }

    /// No bytes at all: only the notice.
    pub(crate) fn nothing() -> Self {
        Self::new(OpKind::Put, Disp(0), 0, OpData::Run(ReadSpan::EMPTY), OpResult::NONE)
    }

    /// A store of contiguous bytes, not yet queued.
    pub(crate) fn store(store: Store, disp: Disp, data: ReadSpan) -> Self {
        let kind = match store {
            Store::Put => OpKind::Put,
            Store::Accumulate(kernel) => OpKind::Accumulate(kernel),
        };
        Self::new(kind, disp, data.len() as u64, OpData::Run(data), OpResult::NONE)
    }

    /// The same operation on the bytes of a layout at the target, as many.
    pub(crate) fn on_layout(mut self, layout: Layout) -> Self {
        if layout.size() == 0 {
            return self;
        }
        match layout.as_contiguous().and_then(|run| u64::try_from(run.offset).ok()) {
            Some(offset) => self.run = offset,
            None => self.extension().shape = Some(layout),
        }
        self
    }

    /// The same operation, whose end is signalled.
    pub(crate) fn signalling(mut self, signal: Arc<Signal>) -> Self {
        self.extension().signal = Some(signal);
        self
    }

    /// The same operation, which raises a counter of its target.
    pub(crate) fn notifying(mut self, notice: Notice) -> Self {
        self.notice = Some(notice);
        self
    }

    /// What its last packet says of that, and no other does.
    pub(crate) fn notice(&self) -> RequestFlags {
        self.notice.map_or(RequestFlags::NONE, |notice| RequestFlags::notice(notice.counter()))
    }

    /// Whether transfers to the target have to be over before it leaves.
    pub(crate) fn follows_transfers(&self) -> bool {
        self.notice.is_some_and(Notice::covers_earlier)
    }

    /// Whether the target need not know of it.
    pub(crate) fn is_void(&self) -> bool {
        self.len == 0 && self.notice.is_none()
    }

    fn extension(&mut self) -> &mut Extension {
        self.extension.get_or_insert_default()
    }

    /// Which bytes are accessed at the target.
    pub(crate) fn area(&self) -> OpArea<'_> {
        match self.extension.as_ref().and_then(|extension| extension.shape.as_ref()) {
            None => OpArea::Run(self.run),
            Some(layout) => OpArea::Shape(layout),
        }
    }

    /// Whether it is waited for alone: its end by a call, or its notice by the target.
    pub(crate) fn is_awaited(&self) -> bool {
        self.notice.is_some() || self.extension.as_ref().is_some_and(|extension| extension.signal.is_some())
    }

    /// Signals the end, if there is nothing left to send and nothing to wait for.
    pub(crate) fn signal_if_ended(&mut self) {
        if self.has_ended() {
            self.signal_end(Ok(()));
        }
    }

    /// Signals the end to the call that waits for it.
    pub(crate) fn signal_end(&mut self, end: Result<()>) {
        if let Some(signal) = self.extension.as_mut().and_then(|extension| extension.signal.take()) {
            // Only the operation sets it, and it has just given it away.
            let _ = signal.0.set(end);
        }
    }

    /// Whether nothing is left to wait for once everything has been sent. Order between the events is free (lessons, fixed 22).
    pub(crate) fn is_settled(&self) -> bool {
        !self.awaits_grant && self.bulks == 0 && self.fetch == Sequence(0)
    }

    /// Whether its packet has asked for a lock that is not granted.
    pub(crate) fn awaits_grant(&self) -> bool {
        self.awaits_grant
    }

    /// Notes whether its packet has asked for a lock.
    pub(crate) fn set_awaits_grant(&mut self, awaits: bool) {
        self.awaits_grant = awaits;
    }

    /// Bulk bodies that the channel still reads from the user's buffer.
    pub(crate) fn bulks(&self) -> u32 {
        self.bulks
    }

    /// A bulk body is the channel's now.
    pub(crate) fn on_bulk_issued(&mut self) {
        self.bulks += 1;
    }

    /// The channel has read one.
    pub(crate) fn on_bulk_sent(&mut self) {
        self.bulks -= 1;
    }

    /// The next reply under way.
    pub(crate) fn fetch(&self) -> Option<Fetch> {
        match self.extension.as_ref().and_then(|extension| extension.fetches.front()) {
            Some(first) => Some(*first),
            // What is asked for at once comes in one piece.
            None => (self.fetch != Sequence(0)).then_some(Fetch { sequence: self.fetch, len: self.sent }),
        }
    }

    /// Replies under way.
    pub(crate) fn fetches(&self) -> u64 {
        match self.extension.as_ref().map_or(0, |extension| extension.fetches.len()) {
            0 => u64::from(self.fetch != Sequence(0)),
            several => several as u64,
        }
    }

    /// A packet has asked for the bytes up to `sent`, `len` of them.
    #[inline]
    pub(crate) fn on_asked(&mut self, sequence: Sequence, len: u64) {
        if len < self.sent || self.sent < self.len {
            self.extension().fetches.push_back(Fetch { sequence, len });
        }
        if self.fetch == Sequence(0) {
            self.fetch = sequence;
        }
    }

    /// The first reply is in its place.
    pub(crate) fn on_fetched(&mut self) {
        self.is_receiving = false;
        self.fetch = Sequence(0);
        if let Some(extension) = &mut self.extension {
            extension.fetches.pop_front();
            self.fetch = extension.fetches.front().map_or(Sequence(0), |next| next.sequence);
        }
    }

    /// No packet has left: all is as before.
    pub(crate) fn take_back(&mut self) {
        self.sent = 0;
        self.awaits_grant = false;
        self.fetch = Sequence(0);
        if let Some(extension) = &mut self.extension {
            extension.fetches.clear();
        }
    }

    /// What it stores, if that is one run of at most `most` bytes on both sides, and no packet was made of it.
    #[inline]
    pub(crate) fn run_to_store(&self, most: usize) -> Option<(Store, u64, ReadSpan)> {
        let store = match self.kind {
            OpKind::Put => Store::Put,
            OpKind::Accumulate(kernel) => Store::Accumulate(kernel),
            _ => return None,
        };
        match (&self.data, self.area()) {
            (OpData::Run(data), OpArea::Run(run))
                if self.sent == 0 && data.len() <= most && self.notice.is_none() =>
            {
                Some((store, run, *data))
            }
            _ => None,
        }
    }

    /// Calls of the user that it stands for.
    pub(crate) fn calls(&self) -> u64 {
        match &self.data {
            OpData::Pack(pack) => pack.stores(),
            OpData::Run(_) | OpData::Scattered(_) | OpData::Operand { .. } => 1,
        }
    }

    /// Bytes that the origin sends.
    pub(crate) fn data_len(&self) -> u64 {
        match &self.data {
            OpData::Run(_) | OpData::Scattered(_) | OpData::Pack(_) => self.len,
            OpData::Operand { len, .. } => u64::from(*len),
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

    /// Whether it is a store of the user's bytes.
    pub(crate) fn is_plain_store(self) -> bool {
        matches!(self, Self::Put | Self::Accumulate(_))
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
