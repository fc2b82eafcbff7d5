//! Where messages come from and go to: buffers that the messenger owns, or raw memory of a caller, contiguous or not.
//!
//! Invariant: a buffer that a channel knows stays where it is, untouched, until the channel has said that it is done
//! (clause C4). For owned buffers the state keeps that promise; for raw memory the caller does.

use rma_core::channel::{Channel, Source};
use rma_core::datatype::{Gather, Scatter};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::{Error, ErrorClass, Result};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::Arc;

/// Memory of a caller that a message is sent from. What lies in one piece is kept as that: a gather is four times as long as all
/// else of a request, and each request is moved and looked at more often than its bytes.
#[derive(Debug)]
pub enum SendMemory {
    /// In one piece.
    Span(ReadSpan),
    /// In several pieces.
    Pieces(Box<Gather>),
}

/// Memory of a caller that a message is received into, likewise.
#[derive(Debug)]
pub enum ReceiveMemory {
    /// In one piece.
    Span(WriteSpan),
    /// In several pieces.
    Pieces(Box<Scatter>),
}

/// A message to send.
#[derive(Debug)]
pub(super) enum Payload {
    Owned(Vec<u8>),
    /// For one message to many.
    Shared(Arc<Vec<u8>>),
    Memory(SendMemory),
}

/// Room for a message.
#[derive(Debug)]
pub(super) enum Sink {
    /// A buffer that is made when the length is known, up to a limit.
    Owned {
        limit: u64,
    },
    Memory(ReceiveMemory),
    /// The memory if the message is just as long, otherwise a buffer as for [`Sink::Owned`].
    Exact {
        room: ReceiveMemory,
        limit: u64,
    },
}

/// A place that a channel writes to.
#[derive(Debug)]
pub(super) enum Landing {
    Owned(Vec<u8>),
    Memory,
    /// The bytes go nowhere, because of this error.
    Discard(Error),
}

impl From<ReadSpan> for SendMemory {
    fn from(span: ReadSpan) -> Self {
        Self::Span(span)
    }
}

impl From<Gather> for SendMemory {
    /// The bytes that the gather has left.
    fn from(gather: Gather) -> Self {
        match gather.peek(usize::MAX) {
            Some(span) if span.len() as u64 == gather.remaining() => Self::Span(span),
            _ => Self::Pieces(Box::new(gather)),
        }
    }
}

impl From<WriteSpan> for ReceiveMemory {
    fn from(span: WriteSpan) -> Self {
        Self::Span(span)
    }
}

impl From<Scatter> for ReceiveMemory {
    /// The bytes that the scatter has left.
    fn from(scatter: Scatter) -> Self {
        match scatter.peek(usize::MAX) {
            Some(span) if span.len() as u64 == scatter.remaining() => Self::Span(span),
            _ => Self::Pieces(Box::new(scatter)),
        }
    }
}

impl SendMemory {
    fn len(&self) -> usize {
        match self {
            Self::Span(span) => span.len(),
            Self::Pieces(gather) => gather.remaining() as usize, // memory is not longer than a `usize` can say
        }
    }

    fn gather(&self) -> Gather {
        match self {
            Self::Span(span) => Gather::span(*span),
            Self::Pieces(gather) => Gather::clone(gather),
        }
    }
}

impl ReceiveMemory {
    fn len(&self) -> u64 {
        match self {
            Self::Span(span) => span.len() as u64,
            Self::Pieces(scatter) => scatter.remaining(),
        }
    }

    /// Stores a message that is not longer.
    fn write(&mut self, message: &[u8]) {
        match self {
            Self::Span(span) => span.part(0, message.len()).write(message),
            Self::Pieces(scatter) => scatter.write(message),
        }
    }

    /// Room for its first `len` bytes.
    fn into_scatter(self, len: u64) -> Scatter {
        match self {
            Self::Span(span) => Scatter::span(span.part(0, len as usize)), // not longer than the span
            Self::Pieces(mut scatter) => scatter.split_to(len),
        }
    }
}

impl Payload {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Shared(bytes) => bytes.len(),
            Self::Memory(memory) => memory.len(),
        }
    }

    /// Appends the message to the reserved packet.
    pub(super) fn fill(&self, channel: &mut dyn Channel) {
        match self {
            _ if self.len() == 0 => {}
            Self::Owned(bytes) => channel.fill(Source::Bytes(bytes)),
            Self::Shared(bytes) => channel.fill(Source::Bytes(bytes)),
            Self::Memory(memory) => channel.fill(Source::Memory(&mut memory.gather())),
        }
    }

    /// The message as a body for a channel.
    ///
    /// # Safety
    /// The payload must be kept, not moved out of and not changed, until the channel is done with the body.
    pub(super) unsafe fn body(&self) -> Gather {
        match self {
            // SAFETY: the vector's memory stays where it is as long as the payload is kept, which the caller
            // promises; no `&mut` to it is formed meanwhile.
            Self::Owned(bytes) => Gather::span(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) }),
            // SAFETY: as above; no holder of the shared vector can change it while the payload is kept.
            Self::Shared(bytes) => Gather::span(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) }),
            Self::Memory(memory) => memory.gather(),
        }
    }

    /// Makes it independent of its caller's memory, of which it keeps a copy.
    pub(super) fn detach(&mut self) {
        if let Self::Memory(memory) = self {
            let mut bytes = vec![0; memory.len()];
            memory.gather().read(&mut bytes);
            *self = Self::Owned(bytes);
        }
    }

    /// Copies the message to a sink of the same process.
    pub(super) fn copy_to(&self, mut sink: Sink) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Owned(bytes) => sink.store(bytes),
            Self::Shared(bytes) => sink.store(bytes),
            Self::Memory(memory) => {
                let mut gather = memory.gather();
                let (mut landing, mut scatter) = sink.land(gather.remaining());
                match &mut landing {
                    Landing::Memory => drop(gather.transfer(&mut scatter)),
                    Landing::Owned(bytes) => gather.read(bytes),
                    Landing::Discard(_) => {}
                }
                landing.finish()
            }
        }
    }
}

impl Sink {
    fn room(&self) -> u64 {
        match self {
            Self::Owned { limit } => *limit,
            Self::Memory(memory) => memory.len(),
            Self::Exact { limit, .. } => *limit,
        }
    }

    /// Which of the two an exact one is for a message of `len` bytes.
    fn chosen(self, len: u64) -> Self {
        match self {
            Self::Exact { room, .. } if room.len() == len => Self::Memory(room),
            Self::Exact { limit, .. } => Self::Owned { limit },
            other => other,
        }
    }

    fn check(&self, len: u64) -> Result<()> {
        if len <= self.room() {
            return Ok(());
        }
        let cause = format!("a message of {len} bytes arrived for a buffer of {}", self.room());
        Err(Error::new(ErrorClass::Truncate, "receive", cause))
    }

    /// Stores a whole message; answers it if it is not in the caller's memory. By reference: moving a sink costs more than a short
    /// message.
    pub(super) fn store(&mut self, message: &[u8]) -> Result<Option<Vec<u8>>> {
        self.check(message.len() as u64)?;
        match self {
            Self::Memory(room) => room.write(message),
            Self::Exact { room, .. } if room.len() == message.len() as u64 => room.write(message),
            Self::Owned { .. } | Self::Exact { .. } => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(message.len()).map_err(|_| no_memory(message.len()))?;
                bytes.extend_from_slice(message);
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// Prepares for a message of `len` bytes that a channel will store: what to keep until it has, and where to.
    pub(super) fn land(self, len: u64) -> (Landing, Scatter) {
        let prepared = self.check(len).and_then(|()| match self.chosen(len) {
            Self::Owned { .. } | Self::Exact { .. } => {
                let mut bytes = allocate(len as usize)?; // at most the limit, which was a length once
                // SAFETY: the vector is kept in the landing, unused, until the channel has said that the body is in
                // place or lost; its memory does not move when the vector does.
                let span = unsafe { WriteSpan::new(bytes.as_mut_ptr(), bytes.len()) };
                Ok((Landing::Owned(bytes), Scatter::span(span)))
            }
            Self::Memory(memory) => Ok((Landing::Memory, memory.into_scatter(len))),
        });
        prepared.unwrap_or_else(|error| (Landing::Discard(error), Scatter::discard(len)))
    }
}

impl Landing {
    /// The message has landed.
    pub(super) fn finish(self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Owned(bytes) => Ok(Some(bytes)),
            Self::Memory => Ok(None),
            Self::Discard(error) => Err(error),
        }
    }
}

/// Zeroed bytes; an error, not the end of the process, when there is no memory for what a peer announced. Fresh memory is
/// not touched: a long message takes pages of it as its bytes arrive, so one that is announced and never sent costs addresses
/// only, unless the allocator gives out memory that was in use.
fn allocate(len: usize) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(len).map_err(|_| no_memory(len))?;
    // SAFETY: the layout has a size.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(no_memory(len));
    }
    // SAFETY: the global allocator, which vectors use, has just given these `len` bytes with a vector's
    // alignment; they are zeroed, and nothing else refers to them.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

#[cold]
fn no_memory(len: usize) -> Error {
    Error::new(ErrorClass::NoMem, "receive", format!("no memory for a message of {len} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of this process that are in memory.
    fn resident_pages() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn what_is_announced_costs_nothing_until_it_comes() {
        const LEN: usize = 1 << 30;
        let before = resident_pages();
        let (landing, scatter) = Sink::Owned { limit: u64::MAX }.land(LEN as u64);
        let taken = resident_pages().saturating_sub(before);
        assert!(matches!(&landing, Landing::Owned(bytes) if bytes.len() == LEN), "{landing:?}");
        // Other tests of this process take some meanwhile.
        assert!(taken < (LEN >> 12) / 4, "{taken} pages");
        drop(scatter);
        assert!(landing.finish().unwrap().unwrap()[LEN - 1] == 0);
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        for len in [usize::MAX, usize::MAX / 2, 1 << 60] {
            let error = allocate(len).unwrap_err();
            assert_eq!(error.class(), ErrorClass::NoMem, "{error}");
        }
        assert_eq!(allocate(0).unwrap(), [0; 0]);
        assert_eq!(allocate(3).unwrap(), [0; 3]);
    }
}
