//! The resumable walk over a layout's bytes. Its whole position is one number (lessons, decision 6); what else it keeps
//! follows from that, so that the next run is found without a search or a division.

use super::behind::Behind;
use super::layout::{Block, Layout, Loop, Members, Segment};
use std::borrow::Borrow;
use std::ops::ControlFlow;

/// A walk over a layout's bytes in order. The layout is the walk's own, or borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Segments<L = Layout> {
    layout: L,
    position: u64,
    end: u64,
    cursor: Cursor,
}

/// Where a walk stands in loops around a run or a list of runs. Follows from the position; not used for lists of layouts.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    /// Offset of the body's first byte in this repetition.
    base: i64,
    /// Bytes of this repetition that are behind the walk.
    within: u64,
    /// The run of a list that the next byte is in.
    index: usize,
    /// Number of the repetition within the innermost loop.
    inner: u64,
    /// Number of the repetition of that within the loop around it.
    outer: u64,
}

/// Equal segments at equal distances, in the order of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Offset of the first byte of the first segment.
    pub offset: i64,
    /// Bytes of each segment, at least one.
    pub len: u64,
    /// Number of segments, at least one.
    pub count: u64,
    /// Bytes from one segment to the next; has no meaning for a single one.
    pub stride: i64,
}

impl<L: Borrow<Layout>> Segments<L> {
    #[inline]
    pub(super) fn new(layout: L) -> Self {
        let Layout { first, size: end, .. } = *layout.borrow();
        Self { layout, position: 0, end, cursor: Cursor { base: first, ..Cursor::default() } }
    }

    /// The layout that is walked over.
    #[inline]
    pub(super) fn layout(&self) -> &Layout {
        self.layout.borrow()
    }

    /// Ends the walk where `end` bytes of the layout are behind it, which is not behind its end as it is.
    #[inline]
    pub(super) fn end_at(&mut self, end: u64) {
        self.end = self.end.min(end).max(self.position);
    }

    /// A walk over the same bytes from here on.
    #[inline]
    pub(super) fn ahead(&self) -> Segments<&Layout> {
        let Self { position, end, cursor, .. } = *self;
        Segments { layout: self.layout(), position, end, cursor }
    }

    /// Bytes not yet walked over.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.end - self.position
    }

    /// Bytes walked over so far.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The contiguous bytes at the current position, up to the end of their run; `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<Segment> {
        self.peek_run().map(|run| Segment { offset: run.offset, len: run.len })
    }

    /// The segments of the whole layout, when one loop makes them and none of its bytes is behind the walk or cut off.
    #[inline(always)] // a few loads, where a search for the current position would be most of a short transfer
    pub(super) fn whole_run(&self) -> Option<Run> {
        let Layout { first, block, loops, body, size, .. } = self.layout();
        let is_whole = self.position == 0 && self.end == *size && *size > 0;
        if !is_whole || body.is_some() {
            return None;
        }
        match loops.as_slice() {
            [] => Some(single(*first, *block)),
            [Loop { count, stride }] => {
                Some(Run { offset: *first, len: *block, count: *count, stride: *stride })
            }
            _ => None,
        }
    }

    /// The segments at the current position that one loop makes; `None` at the end.
    #[inline]
    pub fn peek_run(&self) -> Option<Run> {
        let remaining = self.remaining();
        if remaining == 0 {
            return None;
        }
        let run = match body(self.layout()) {
            Body::Run => self.cursor.run_of_loop(self.layout()),
            Body::List(blocks) => self.cursor.run_of_list(blocks),
            Body::Layouts => run_at(self.layout(), self.position),
        };
        if run.len >= remaining {
            return Some(Run { len: remaining, count: 1, ..run });
        }
        // A product of the layout's, so that it fits; a division would cost as much as all else here.
        let is_within = run.len * run.count <= remaining;
        Some(Run { count: if is_within { run.count } else { remaining / run.len }, ..run })
    }

    /// The segment at the current position, and those behind it as far as two loops and a list within them make them, which may go
    /// on behind the walk's end; `None` at the end.
    #[inline]
    pub(super) fn upcoming(&self) -> Option<(Segment, Behind<'_>)> {
        self.peek_run().map(|run| self.upcoming_from(run))
    }

    /// As [`Segments::upcoming`], with the segments that [`Segments::peek_run`] has found.
    #[inline(always)] // moved, it would be read in other pieces than it was just written in
    pub(super) fn upcoming_from(&self, run: Run) -> (Segment, Behind<'_>) {
        let (layout, Cursor { base, index, inner, outer, .. }) = (self.layout(), self.cursor);
        let (blocks, next, start) = match body(layout) {
            Body::Run => (&[][..], [].iter(), 0),
            Body::List(blocks) => (blocks, blocks[index + 1..].iter(), blocks[index].end),
            Body::Layouts => return Behind::of(run),
        };
        let mut loops = layout.loops.iter().rev();
        let [l, around] = [(); 2].map(|()| loops.next().copied().unwrap_or(Loop { count: 1, stride: 0 }));
        let behind = Behind {
            blocks,
            next,
            start,
            len: layout.body.as_ref().map_or(layout.block, |body| body.each),
            base,
            stride: l.stride,
            more: l.count - 1 - inner,
            // Of two offsets within the layout, so that it fits.
            around: around.stride.wrapping_sub((l.count - 1) as i64 * l.stride),
            count: l.count,
            more_around: around.count - 1 - outer,
        };
        (Segment { offset: run.offset, len: run.len }, behind)
    }

    /// Calls `visit` with the segment at the current position and those behind it, until it breaks off.
    #[inline]
    pub(super) fn each_segment(&self, mut visit: impl FnMut(Segment) -> ControlFlow<()>) {
        let mut walk = self.ahead();
        while let Some((mut segment, mut behind)) = walk.upcoming() {
            let mut left = walk.remaining();
            loop {
                let len = segment.len.min(left);
                left -= len;
                if visit(Segment { len, ..segment }).is_break() || left == 0 {
                    return;
                }
                match behind.next() {
                    Some(next) => segment = next,
                    None => break,
                }
            }
            let done = walk.remaining() - left;
            walk.advance(done);
        }
    }

    /// Cuts off the next `len` bytes as a walk of their own; this one goes on behind them.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[must_use]
    pub fn split_to(&mut self, len: u64) -> Self
    where
        L: Clone,
    {
        let mut front = self.clone();
        self.advance(len);
        front.end = self.position;
        front
    }

    /// Moves forward by `len` bytes, in the middle of a segment or over several.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[inline(always)] // to the end, as mostly, it is one store
    pub fn advance(&mut self, len: u64) {
        if len == self.remaining() {
            self.position = self.end;
        } else {
            self.advance_within(len);
        }
    }

    /// As the caller, to a byte before the end.
    #[inline(never)]
    fn advance_within(&mut self, len: u64) {
        let remaining = self.remaining();
        assert!(len < remaining, "advance by {len} with {remaining} bytes left");
        self.position += len;
        let (layout, cursor) = (self.layout.borrow(), &mut self.cursor);
        cursor.within += len;
        match body(layout) {
            Body::Run if cursor.within >= layout.block => cursor.repeat(layout, self.position),
            Body::List(blocks) => {
                if cursor.within >= layout.block {
                    cursor.repeat(layout, self.position);
                }
                cursor.find(blocks);
            }
            Body::Run | Body::Layouts => {}
        }
    }
}

impl Segments<&Layout> {
    /// The same with a layout of its own.
    pub(super) fn into_owned(self) -> Segments {
        let Self { layout, position, end, cursor } = self;
        Segments { layout: layout.clone(), position, end, cursor }
    }
}

impl Cursor {
    /// Goes on to the repetition that `position` lies in, which is a later one.
    #[inline]
    fn repeat(&mut self, layout: &Layout, position: u64) {
        self.index = 0;
        if let Some(l) = layout.loops.last() {
            let rest = l.count - self.inner;
            // Mostly it is the next one, or the loop is over.
            let steps = match self.within {
                within if within < 2 * layout.block => 1,
                within if within == layout.block * rest => rest,
                within => within / layout.block,
            };
            if steps < rest {
                self.within -= steps * layout.block;
                self.inner += steps;
                self.base += steps as i64 * l.stride;
                return;
            }
            let around = layout.loops.len().checked_sub(2).map(|at| layout.loops[at]);
            if let Some(around) = around.filter(|around| steps == rest && self.outer + 1 < around.count) {
                self.within -= steps * layout.block;
                self.base += around.stride - self.inner as i64 * l.stride;
                self.inner = 0;
                self.outer += 1;
                return;
            }
        }
        *self = Self::at(layout, position);
    }

    /// At the repetition that `position` lies in, before the first run of its list.
    #[cold]
    fn at(layout: &Layout, position: u64) -> Self {
        let (base, within) = repetition(layout, position);
        let mut numbers = layout.loops.iter().rev().scan(position / layout.block, |index, l| {
            let number = *index % l.count;
            *index /= l.count;
            Some(number)
        });
        let [inner, outer] = [0; 2].map(|_: u64| numbers.next().unwrap_or(0));
        Self { base, within, index: 0, inner, outer }
    }

    /// Moves `index` to the run that the next byte is in, which is at or behind it.
    #[inline]
    fn find(&mut self, blocks: &[Block]) {
        // Mostly it is the same run or the next.
        for _ in 0..2 {
            if blocks[self.index].end > self.within {
                return;
            }
            self.index += 1;
        }
        self.index += blocks[self.index..].partition_point(|block| block.end <= self.within);
    }

    #[inline]
    fn run_of_list(self, blocks: &[Block]) -> Run {
        let block = blocks[self.index];
        let start = self.index.checked_sub(1).map_or(0, |before| blocks[before].end);
        single(self.base + block.offset + (self.within - start) as i64, block.end - self.within)
    }

    #[inline]
    fn run_of_loop(self, layout: &Layout) -> Run {
        let run = single(self.base + self.within as i64, layout.block - self.within);
        match layout.loops.last() {
            Some(l) if self.within == 0 => Run { count: l.count - self.inner, stride: l.stride, ..run },
            _ => run,
        }
    }
}

/// What is within a layout's loops.
enum Body<'a> {
    Run,
    List(&'a [Block]),
    Layouts,
}

#[inline]
fn body(layout: &Layout) -> Body<'_> {
    match &layout.body {
        None => Body::Run,
        Some(body) => match &body.members {
            Members::Blocks(blocks) => Body::List(blocks),
            Members::Parts(_) => Body::Layouts,
        },
    }
}

/// Offset of the first byte of the repetition that `position` lies in, and the bytes of it before that.
fn repetition(layout: &Layout, position: u64) -> (i64, u64) {
    let (mut index, within) = (position / layout.block, position % layout.block);
    let mut offset = layout.first;
    for l in layout.loops.iter().rev() {
        offset += (index % l.count) as i64 * l.stride;
        index /= l.count;
    }
    (offset, within)
}

/// The run that `position` lies in, from there on. The position is before the layout's end.
fn run_at(layout: &Layout, position: u64) -> Run {
    // Every sum below is the offset of a byte of the layout, so none overflows.
    let (mut layout, mut position, mut offset) = (layout, position, 0);
    loop {
        let mut cursor = Cursor::at(layout, position);
        cursor.base += offset;
        match layout.body.as_ref().map(|body| &body.members) {
            None => return cursor.run_of_loop(layout),
            Some(Members::Blocks(blocks)) => {
                cursor.find(blocks);
                return cursor.run_of_list(blocks);
            }
            Some(Members::Parts(parts)) => {
                let at = parts.partition_point(|part| part.end <= cursor.within);
                position = cursor.within - at.checked_sub(1).map_or(0, |before| parts[before].end);
                (layout, offset) = (&parts[at].layout, cursor.base);
            }
        }
    }
}

fn single(offset: i64, len: u64) -> Run {
    Run { offset, len, count: 1, stride: 0 }
}
