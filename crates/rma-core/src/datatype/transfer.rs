//! Gather and scatter: a layout bound to memory, consumed piece by piece by the code that moves the bytes.
//!
//! Channels fill their vectors of system-call buffers from these and report how far they came; the position is kept here
//! and nowhere else. A base address may be null (`MPI_BOTTOM`): the layout's offsets are then addresses.

use super::behind::Behind;
use super::blocks::{ReadBlocks, WriteBlocks};
use super::copy::copy;
use super::layout::{Layout, Segment};
use super::walk::{Run, Segments};
use crate::mem::{ReadSpan, WriteSpan};
use std::borrow::Borrow;
use std::ops::{ControlFlow, Range};

/// Bytes to send, in order, from scattered memory. The layout is its own, or borrowed for a call that is over at once.
#[derive(Clone, Debug)]
pub struct Gather<L = Layout> {
    base: *const u8,
    segments: Segments<L>,
}

/// Contiguous bytes of a gather, one after the other, as far as a walk makes them without a search; they may go on behind its end.
#[derive(Clone, Debug)]
pub(crate) struct Upcoming<'a> {
    base: *const u8,
    behind: Behind<'a>,
}

impl Iterator for Upcoming<'_> {
    type Item = ReadSpan;

    #[inline]
    fn next(&mut self) -> Option<ReadSpan> {
        let Segment { offset, len } = self.behind.next()?;
        // SAFETY: the segment lies within the gather's layout, whose bytes its maker promised to be readable.
        Some(unsafe { ReadSpan::new(self.base.wrapping_offset(offset as isize), len as usize) })
    }
}

/// As [`Upcoming`], of a scatter.
#[derive(Clone, Debug)]
pub(crate) struct UpcomingRoom<'a> {
    base: *mut u8,
    behind: Behind<'a>,
}

impl Iterator for UpcomingRoom<'_> {
    type Item = WriteSpan;

    #[inline]
    fn next(&mut self) -> Option<WriteSpan> {
        let Segment { offset, len } = self.behind.next()?;
        // SAFETY: the segment lies within the scatter's layout, whose bytes its maker promised to be writable.
        Some(unsafe { WriteSpan::new(self.base.wrapping_offset(offset as isize), len as usize) })
    }
}

/// Room for bytes to receive, in order, into scattered memory. Bytes for a [`Scatter::discard`] go nowhere. The layout is as a
/// [`Gather`]'s.
#[derive(Clone, Debug)]
pub struct Scatter<L = Layout> {
    /// Null, with a layout that begins there, when the bytes are dropped: no memory does.
    base: *mut u8,
    segments: Segments<L>,
}

// SAFETY: the constructors' callers promise that the memory is accessible from any thread.
unsafe impl<L: Send> Send for Gather<L> {}
// SAFETY: as for `Gather`.
unsafe impl<L: Send> Send for Scatter<L> {}

impl Gather {
    /// One contiguous span.
    #[inline]
    pub fn span(span: ReadSpan) -> Self {
        Self { base: span.as_ptr(), segments: Segments::new(Layout::contiguous(span.len() as u64)) }
    }
}

impl Gather<&Layout> {
    /// The same with a layout of its own.
    #[must_use]
    pub(crate) fn into_owned(self) -> Gather {
        Gather { base: self.base, segments: self.segments.into_owned() }
    }
}

impl<L: Borrow<Layout>> Gather<L> {
    /// The bytes of `layout` relative to `base`.
    ///
    /// # Safety
    /// Every byte of the layout must be readable for as long as this value, a clone, or a span taken from it is used;
    /// see [`ReadSpan::new`].
    #[inline]
    pub unsafe fn new(base: *const u8, layout: L) -> Self {
        Self { base, segments: Segments::new(layout) }
    }

    /// Cuts off the next `len` bytes as a gather of their own; this one goes on behind them.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[must_use]
    pub fn split_to(&mut self, len: u64) -> Self
    where
        L: Clone,
    {
        Self { base: self.base, segments: self.segments.split_to(len) }
    }

    /// Bytes left to send.
    pub fn remaining(&self) -> u64 {
        self.segments.remaining()
    }

    /// The next contiguous bytes, at most `limit` of them; `None` at the end.
    pub fn peek(&self, limit: usize) -> Option<ReadSpan> {
        let segment = self.segments.peek()?;
        let len = usize::try_from(segment.len).unwrap_or(usize::MAX).min(limit);
        // SAFETY: the segment lies within the layout, whose bytes the constructor's caller promised to be readable.
        Some(unsafe { ReadSpan::new(self.base.wrapping_offset(segment.offset as isize), len) })
    }

    /// The next segments that one loop makes; `None` at the end.
    #[inline]
    pub(crate) fn peek_blocks(&self) -> Option<ReadBlocks> {
        let run = self.segments.peek_run()?;
        // SAFETY: each is a segment of the layout, whose bytes the constructor's caller promised to be readable.
        Some(unsafe { ReadBlocks::new(self.base.wrapping_offset(run.offset as isize), run) })
    }

    /// The next contiguous bytes, and those behind them; `None` at the end.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<(ReadSpan, Upcoming<'_>)> {
        let (Segment { offset, len }, behind) = self.segments.upcoming()?;
        // SAFETY: as for `peek`.
        let next = unsafe { ReadSpan::new(self.base.wrapping_offset(offset as isize), len as usize) };
        Some((next, Upcoming { base: self.base, behind }))
    }

    /// Says that the next `len` bytes have been taken.
    pub fn advance(&mut self, len: usize) {
        self.segments.advance(len as u64);
    }

    /// Copies the next `into.len()` bytes out and advances.
    ///
    /// # Panics
    /// When fewer bytes remain.
    pub fn read(&mut self, into: &mut [u8]) {
        assert!(into.len() as u64 <= self.remaining(), "the caller asked for more bytes than remain");
        // SAFETY: the slice is exclusive and outlives the call, which uses it through this span only.
        let into = unsafe { WriteSpan::new(into.as_mut_ptr(), into.len()) };
        self.copy_to(into);
    }

    /// Copies the next bytes to the start of `into`, as many as both sides have, and advances; says how many.
    pub fn copy_to(&mut self, into: WriteSpan) -> usize {
        // One run is most often all there is, and a walk over both sides costs more than a short copy.
        match self.peek(into.len()) {
            Some(run) if run.len() == into.len() => {
                into.write_from(run);
                self.advance(run.len());
                run.len()
            }
            _ => self.transfer(&mut Scatter::span(into)) as usize,
        }
    }

    /// Copies the next bytes to the next bytes of `into`, as many as both sides have, and advances both; says how many.
    pub fn transfer<T: Borrow<Layout>>(&mut self, into: &mut Scatter<T>) -> u64 {
        if into.is_discard() {
            let wanted = self.remaining().min(into.remaining());
            self.segments.advance(wanted);
            into.segments.advance(wanted);
            return wanted;
        }
        // SAFETY: both layouts' bytes are readable here and writable there, as the constructors' callers promised.
        unsafe { copy((into.base, &mut into.segments), (self.base, &mut self.segments)) }
    }
}

impl Scatter {
    /// One contiguous span.
    #[inline]
    pub fn span(span: WriteSpan) -> Self {
        Self { base: span.as_mut_ptr(), segments: Segments::new(Layout::contiguous(span.len() as u64)) }
    }

    /// Takes `len` bytes and drops them: dropping is a property of the sink (lessons, decision 9).
    pub fn discard(len: u64) -> Self {
        Self { base: std::ptr::null_mut(), segments: Segments::new(Layout::contiguous(len)) }
    }
}

impl Scatter<&Layout> {
    /// The same with a layout of its own.
    #[must_use]
    pub(crate) fn into_owned(self) -> Scatter {
        Scatter { base: self.base, segments: self.segments.into_owned() }
    }
}

impl<L: Borrow<Layout>> Scatter<L> {
    /// Room for the bytes of `layout` relative to `base`.
    ///
    /// # Safety
    /// Every byte of the layout must be writable for as long as this value, a clone, or a span taken from it is used;
    /// see [`WriteSpan::new`].
    #[inline]
    pub unsafe fn new(base: *mut u8, layout: L) -> Self {
        Self { base, segments: Segments::new(layout) }
    }

    /// Room for the bytes of `layout` counted from `start` bytes behind the first of `span`; `None` unless all of them lie within
    /// it.
    #[inline]
    pub fn within(span: WriteSpan, start: i64, layout: L) -> Option<Self> {
        let base = Self::base_within(span, start, layout.borrow())?;
        // SAFETY: every byte of the layout is one of the span, whose maker promised what the constructor wants.
        Some(unsafe { Self::new(base, layout) })
    }

    /// The base of the room that [`Scatter::within`] answers.
    #[inline]
    pub(crate) fn base_within(span: WriteSpan, start: i64, layout: &Layout) -> Option<*mut u8> {
        let (low, high) = layout.bounds();
        let end = start.checked_add(high)?;
        // A layout of no bytes lies anywhere within.
        let is_within = start.checked_add(low)? >= 0 && end <= span.len() as i64;
        is_within.then(|| span.as_mut_ptr().wrapping_offset(start as isize))
    }

    /// Where the offsets of the layout count from.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Room for a part of the bytes of `layout`, counted from address `start`. `find` looks up runs by address and length and
    /// answers the memory around them; the first that it does not find is answered instead. Runs that lie in memory that
    /// was found for one before them, of the same loop, are not looked up.
    pub(crate) fn found(
        start: u64,
        layout: L,
        part: Range<u64>,
        mut find: impl FnMut(u64, u64) -> Option<WriteSpan>,
    ) -> Result<Self, (u64, u64)> {
        let base = std::ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: every run of the part is found below to lie within a span, or one before it does that reaches as far, whose
        // maker promised what the constructor wants; nothing else of the layout is kept.
        let mut all = unsafe { Self::new(base, layout) };
        all.segments.advance(part.start);
        all.segments.end_at(part.end);
        let mut walk = all.segments.ahead();
        while let Some(Run { offset, len, count, stride }) = walk.peek_run() {
            let address = start.checked_add_signed(offset).ok_or((u64::MAX, len))?;
            let around = find(address, len).ok_or((address, len))?;
            let before = address.checked_sub(around.as_mut_ptr() as u64).ok_or((address, len))?;
            let behind = (around.len() as u64).checked_sub(before).and_then(|rest| rest.checked_sub(len));
            let behind = behind.ok_or((address, len))?;
            let more = match stride {
                0 => count,
                1.. => behind / stride.unsigned_abs(),
                _ => before / stride.unsigned_abs(),
            };
            walk.advance(len * count.min(more.saturating_add(1)));
        }
        Ok(all)
    }

    /// Whether the bytes are dropped; then [`Scatter::peek`] answers `None` and only [`Scatter::advance`] is used.
    #[inline]
    pub fn is_discard(&self) -> bool {
        self.base.is_null() && self.segments.layout().first == 0
    }

    /// Room for the same bytes from here on.
    #[inline]
    pub(crate) fn ahead(&self) -> Scatter<&Layout> {
        Scatter { base: self.base, segments: self.segments.ahead() }
    }

    /// Calls `visit` with the next contiguous bytes, and those behind them, until it has enough of them; not when the bytes are
    /// dropped.
    #[inline]
    pub(crate) fn each_span(&self, mut visit: impl FnMut(WriteSpan) -> ControlFlow<()>) {
        if self.is_discard() {
            return;
        }
        self.segments.each_segment(|Segment { offset, len }| {
            // SAFETY: the segment lies within the layout, whose bytes the constructor's caller promised to be writable.
            visit(unsafe { WriteSpan::new(self.base.wrapping_offset(offset as isize), len as usize) })
        });
    }

    /// Bytes still expected.
    pub fn remaining(&self) -> u64 {
        self.segments.remaining()
    }

    /// Cuts off the next `len` bytes as a scatter of their own; this one goes on behind them.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[must_use]
    pub fn split_to(&mut self, len: u64) -> Self
    where
        L: Clone,
    {
        Self { base: self.base, segments: self.segments.split_to(len) }
    }

    /// Room for the next contiguous bytes, at most `limit` of them; `None` at the end or when the bytes are dropped.
    pub fn peek(&self, limit: usize) -> Option<WriteSpan> {
        if self.is_discard() {
            return None;
        }
        let segment = self.segments.peek()?;
        let len = usize::try_from(segment.len).unwrap_or(usize::MAX).min(limit);
        // SAFETY: the segment lies within the layout, whose bytes the constructor's caller promised to be writable.
        Some(unsafe { WriteSpan::new(self.base.wrapping_offset(segment.offset as isize), len) })
    }

    /// Room for the next contiguous bytes, and for those behind them; `None` at the end or when the bytes are dropped.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<(WriteSpan, UpcomingRoom<'_>)> {
        if self.is_discard() {
            return None;
        }
        let (Segment { offset, len }, behind) = self.segments.upcoming()?;
        // SAFETY: as for `peek`.
        let next = unsafe { WriteSpan::new(self.base.wrapping_offset(offset as isize), len as usize) };
        Some((next, UpcomingRoom { base: self.base, behind }))
    }

    /// The next segments that one loop makes; `None` at the end or when the bytes are dropped.
    #[inline]
    pub(crate) fn peek_blocks(&self) -> Option<WriteBlocks> {
        let run = if self.is_discard() { None } else { self.segments.peek_run() }?;
        // SAFETY: each is a segment of the layout, whose bytes the constructor's caller promised to be writable.
        Some(unsafe { WriteBlocks::new(self.base.wrapping_offset(run.offset as isize), run) })
    }

    /// Says that the next `len` bytes have arrived.
    pub fn advance(&mut self, len: usize) {
        self.segments.advance(len as u64);
    }

    /// The same bytes for reading; those of a [`Scatter::discard`] cannot be read.
    ///
    /// # Panics
    /// When the bytes are dropped and there are some.
    #[must_use]
    pub fn as_gather(&self) -> Gather<L>
    where
        L: Clone,
    {
        assert!(!self.is_discard() || self.remaining() == 0, "what is dropped cannot be read");
        Gather { base: self.base, segments: self.segments.clone() }
    }

    /// Stores `from` in the next bytes (or drops it) and advances.
    ///
    /// # Panics
    /// When `from` is longer than what remains.
    pub fn write(&mut self, from: &[u8]) {
        assert!(from.len() as u64 <= self.remaining(), "the caller brought more bytes than remain");
        // SAFETY: the slice outlives the call, and nothing writes it meanwhile.
        self.copy_from(unsafe { ReadSpan::new(from.as_ptr(), from.len()) });
    }

    /// Stores the start of `from` in the next bytes (or drops it), as many as both sides have, and advances; says how many.
    pub fn copy_from(&mut self, from: ReadSpan) -> usize {
        // As in `Gather::copy_to`.
        match self.peek(from.len()) {
            Some(run) if run.len() == from.len() => {
                run.write_from(from);
                self.advance(from.len());
                from.len()
            }
            _ => Gather::span(from).transfer(self) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Loop;
    use super::*;

    #[test]
    fn gather_and_scatter_move_the_same_bytes_in_any_pieces() {
        let source: Vec<u8> = (0..64).collect();
        let layout = Layout::nest(1, 3, &[Loop { count: 5, stride: 9 }]).unwrap();
        for step in [1, 2, 3, 7, 15] {
            let mut target = vec![0u8; 64];
            // SAFETY: the layout reaches from byte 1 to byte 40 of vectors of 64 that outlive the walk.
            let (mut gather, mut scatter) = unsafe {
                (Gather::new(source.as_ptr(), &layout), Scatter::new(target.as_mut_ptr(), &layout))
            };
            let mut buffer = vec![0u8; step];
            while gather.remaining() > 0 {
                let len = step.min(gather.remaining() as usize);
                gather.read(&mut buffer[..len]);
                scatter.write(&buffer[..len]);
            }
            assert_eq!(scatter.remaining(), 0);
            for (i, byte) in target.iter().enumerate() {
                let covered = i >= 1 && (i - 1) % 9 < 3 && i < 40;
                assert_eq!(*byte, if covered { i as u8 } else { 0 }, "byte {i}, step {step}");
            }
        }
    }

    #[test]
    fn a_transfer_moves_what_both_sides_have_whatever_their_blocks() {
        let source: Vec<u8> = (1..=200).collect();
        let layouts = |len: u64| {
            let count = 24 / len;
            let evenly = [(len as i64, 0), (len as i64 + 3, 2), (-(len as i64) - 1, 150)]
                .map(|(stride, first)| Layout::nest(first, len, &[Loop { count, stride }]).unwrap());
            // Pieces at uneven distances: one list, and a shorter one within two loops.
            let list = move |pieces: u64| {
                let at = |i| (i * (len + 2) + i % 2) as i64;
                Layout::blocks((0..pieces).map(|i| (at(i), len))).unwrap()
            };
            let quarter = list(count / 4).repeated(2, 40).unwrap().repeated(2, 90).unwrap();
            let listed = [list(count), quarter].into_iter().filter(|layout| layout.size() == 24);
            evenly.into_iter().chain(listed).collect::<Vec<_>>()
        };
        for from in [1, 2, 3, 4, 8, 24].into_iter().flat_map(layouts) {
            for to in [1, 2, 3, 4, 8, 24].into_iter().flat_map(layouts) {
                let mut target = vec![0u8; 200];
                // SAFETY: all layouts lie within 200 bytes, and the vectors outlive the walk.
                let (mut gather, mut scatter) =
                    unsafe { (Gather::new(source.as_ptr(), &from), Scatter::new(target.as_mut_ptr(), &to)) };
                assert_eq!(gather.transfer(&mut scatter), 24);
                assert_eq!((gather.remaining(), scatter.remaining()), (0, 0));
                let offsets = |layout: &Layout| {
                    let mut walk = layout.segments();
                    let mut offsets = Vec::new();
                    while let Some(segment) = walk.peek() {
                        offsets
                            .extend(segment.offset as usize..segment.offset as usize + segment.len as usize);
                        walk.advance(segment.len);
                    }
                    offsets
                };
                let mut expected = vec![0u8; 200];
                for (to, from) in offsets(&to).into_iter().zip(offsets(&from)) {
                    expected[to] = source[from];
                }
                assert_eq!(target, expected, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn offsets_from_a_null_base_are_addresses() {
        let mut target = vec![0u8; 8];
        let at = target.as_mut_ptr().expose_provenance() as i64;
        let layout = Layout::nest(at + 2, 2, &[Loop { count: 2, stride: 3 }]).unwrap();
        // SAFETY: the layout lies within the vector, which outlives the call.
        let mut scatter = unsafe { Scatter::new(std::ptr::with_exposed_provenance_mut(0), &layout) };
        assert!(!scatter.is_discard());
        scatter.write(&[1, 2, 3, 4]);
        assert_eq!(target, [0, 0, 1, 2, 0, 3, 4, 0]);
    }

    #[test]
    fn bytes_of_a_span_go_into_segments_as_far_as_both_sides_have_any() {
        let (source, mut target) = ([1u8, 2, 3, 4, 5], vec![0u8; 12]);
        let layout = Layout::nest(1, 1, &[Loop { count: 4, stride: 3 }]).unwrap();
        // SAFETY: the layout lies within the vector, and both outlive the calls.
        let mut scatter = unsafe { Scatter::new(target.as_mut_ptr(), &layout) };
        // SAFETY: the array is only read.
        let from = unsafe { ReadSpan::new(source.as_ptr(), source.len()) };
        assert_eq!((scatter.copy_from(from.part(0, 1)), scatter.copy_from(from)), (1, 3));
        assert_eq!((scatter.copy_from(from), Scatter::discard(3).copy_from(from)), (0, 3));
        assert_eq!(target, [0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0]);
    }

    #[test]
    fn discarding_takes_any_bytes_and_offers_no_memory() {
        let mut scatter = Scatter::discard(10);
        assert_eq!(scatter.peek(4), None);
        scatter.write(&[1; 6]);
        scatter.advance(4);
        assert_eq!(scatter.remaining(), 0);
    }
}
