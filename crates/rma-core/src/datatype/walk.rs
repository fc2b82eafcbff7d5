//! The resumable walk over a layout's bytes. Its whole position is one number (lessons, decision 6); what else it keeps
//! follows from that, so that the next run of a list is found without a search.

use super::layout::{Block, Layout, Pieces, Segment};

/// A walk over a layout's bytes in order.
#[derive(Clone, Debug)]
pub struct Segments {
    layout: Layout,
    position: u64,
    end: u64,
    cursor: Cursor,
}

/// Where a walk stands in a list of runs. Follows from the position; not used for other layouts.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    /// Offset of the list's first byte in this repetition.
    base: i64,
    /// Bytes of this repetition that are behind the walk.
    within: u64,
    /// The run that the next byte is in.
    index: usize,
    /// Number of the repetition within the innermost loop.
    inner: u64,
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

impl Segments {
    pub(super) fn new(layout: Layout) -> Self {
        let end = layout.size();
        let cursor = Cursor { base: layout.first, ..Cursor::default() };
        Self { layout, position: 0, end, cursor }
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

    /// The segments at the current position that one loop makes; `None` at the end.
    pub fn peek_run(&self) -> Option<Run> {
        let remaining = self.remaining();
        if remaining == 0 {
            return None;
        }
        let run = match list(&self.layout) {
            Some(blocks) => self.cursor.run(blocks),
            None => run_at(&self.layout, self.position),
        };
        if run.len >= remaining {
            return Some(Run { len: remaining, count: 1, ..run });
        }
        Some(Run { count: run.count.min(remaining / run.len), ..run })
    }

    /// Cuts off the next `len` bytes as a walk of their own; this one goes on behind them.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[must_use]
    pub fn split_to(&mut self, len: u64) -> Self {
        let mut front = self.clone();
        self.advance(len);
        front.end = self.position;
        front
    }

    /// Moves forward by `len` bytes, in the middle of a segment or over several.
    ///
    /// # Panics
    /// When fewer bytes remain.
    #[inline]
    pub fn advance(&mut self, len: u64) {
        assert!(len <= self.remaining(), "advance by {len} with {} bytes left", self.remaining());
        self.position += len;
        if let Some(blocks) = list(&self.layout)
            && self.remaining() > 0
        {
            self.cursor.within += len;
            if self.cursor.within >= self.layout.block {
                self.cursor.repeat(&self.layout, self.position);
            }
            self.cursor.find(blocks);
        }
    }
}

impl Cursor {
    /// Goes on to the repetition that `position` lies in, which is a later one.
    fn repeat(&mut self, layout: &Layout, position: u64) {
        self.index = 0;
        let within = self.within - layout.block;
        match layout.loops.last() {
            // The next one of the same loop: no division.
            Some(inner) if within < layout.block && self.inner + 1 < inner.count => {
                self.inner += 1;
                self.base += inner.stride;
                self.within = within;
            }
            inner => {
                (self.base, self.within) = repetition(layout, position);
                self.inner = inner.map_or(0, |inner| position / layout.block % inner.count);
            }
        }
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
    fn run(self, blocks: &[Block]) -> Run {
        let block = blocks[self.index];
        let start = self.index.checked_sub(1).map_or(0, |before| blocks[before].end);
        single(self.base + block.offset + (self.within - start) as i64, block.end - self.within)
    }
}

/// The runs of a layout whose body is a list of them.
#[inline]
fn list(layout: &Layout) -> Option<&[Block]> {
    match &layout.body.as_deref()?.pieces {
        Pieces::Blocks(blocks) => Some(blocks),
        Pieces::Parts(_) => None,
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
        if layout.loops.is_empty() && layout.body.is_none() {
            return single(offset + layout.first + position as i64, layout.block - position);
        }
        let (base, within) = repetition(layout, position);
        offset += base;
        let Some(body) = &layout.body else {
            let run = single(offset + within as i64, layout.block - within);
            return match layout.loops.last() {
                Some(inner) if within == 0 => {
                    let index = position / layout.block % inner.count;
                    Run { count: inner.count - index, stride: inner.stride, ..run }
                }
                _ => run,
            };
        };
        match &body.pieces {
            Pieces::Blocks(blocks) => {
                let index = blocks.partition_point(|block| block.end <= within);
                return Cursor { base: offset, within, index, inner: 0 }.run(blocks);
            }
            Pieces::Parts(parts) => {
                let at = parts.partition_point(|part| part.end <= within);
                position = within - at.checked_sub(1).map_or(0, |before| parts[before].end);
                layout = &parts[at].layout;
            }
        }
    }
}

fn single(offset: i64, len: u64) -> Run {
    Run { offset, len, count: 1, stride: 0 }
}
