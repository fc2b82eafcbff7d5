//! Pieces of a layout that a packet can describe: loops around a short list of runs.
//!
//! A regular layout is one piece, whatever its counts. Of an irregular one each piece takes as many runs as one packet has
//! room to name, so that a transfer of any shape needs bounded memory on both sides.

use super::layout::{Layout, ListOfRuns, Loop, Members};
use std::ops::ControlFlow;

/// A part of a layout: `len` of the bytes of a layout that a packet can describe, from byte `from` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) layout: Layout,
    pub(crate) from: u64,
    pub(crate) len: u64,
}

/// Most of what a description of a layout may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeLimits {
    /// Loops and runs.
    pub(crate) entries: usize,
    /// Bytes that all of them take, at least [`ShapeLimits::LEAST`].
    pub(crate) bytes: usize,
}

impl ShapeLimits {
    /// Enough for one entry of any layout.
    pub(crate) const LEAST: usize = LOOP_LEN;
}

/// Bytes of the description of each loop.
pub(crate) const LOOP_LEN: usize = 16;

/// Bytes of a number that describes a run: the gap before it, or its length. As few as hold any distance within the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberLen {
    Two,
    Four,
    Eight,
}

impl NumberLen {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// For lists that reach over so many bytes.
    fn of_reach(reach: u64) -> Self {
        if i16::try_from(reach).is_ok() {
            Self::Two
        } else if i32::try_from(reach).is_ok() {
            Self::Four
        } else {
            Self::Eight
        }
    }

    /// Bytes of the description of each run.
    fn run_len(self) -> usize {
        2 * self.bytes()
    }
}

impl Layout {
    /// The layout repeated by `loops` (outermost first) and moved by `first`. `None` if the number of bytes or an offset does not
    /// fit 63 bits.
    pub(crate) fn repeated_from(self, first: i64, loops: &[Loop]) -> Option<Self> {
        let mut layout = self;
        for l in loops.iter().rev() {
            layout = layout.repeated(l.count, l.stride)?;
        }
        layout.shifted(first)
    }

    /// Offset of the first byte.
    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    /// The loops, outermost first.
    pub(crate) fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The runs inside the loops, each as the gap between it and the one before, and its length; none when the body is a list of
    /// layouts.
    #[inline]
    pub(crate) fn inner_runs(&self) -> impl Iterator<Item = (i64, u64)> {
        let (single, blocks) = match self.body.as_deref().map(|body| &body.members) {
            None => (Some((0, self.block)), &[][..]),
            Some(Members::Blocks(blocks)) => (None, &blocks[..]),
            Some(Members::Parts(_)) => (None, &[][..]),
        };
        let (mut start, mut past) = (0, 0);
        let listed = blocks.iter().map(move |block| {
            let (gap, len) = (block.offset - past, block.end - start);
            (start, past) = (block.end, block.offset + len as i64);
            (gap, len)
        });
        single.into_iter().chain(listed)
    }

    /// How long the numbers of [`Layout::inner_runs`] are.
    pub(crate) fn number_len(&self) -> NumberLen {
        let reach = self.body.as_deref().map_or(self.block, |body| body.high.abs_diff(body.low));
        NumberLen::of_reach(reach)
    }

    /// Bytes of the description of its loops and runs; `None` when the body is a list of layouts.
    pub(crate) fn described_len(&self) -> Option<usize> {
        Some(LOOP_LEN * self.loops.len() + self.number_len().run_len() * self.number_of_runs()?)
    }

    /// Whether every run is whole words of `word` bytes.
    pub(crate) fn is_words(&self, word: u64) -> bool {
        self.number_of_runs().is_some() && self.inner_runs().all(|(_, len)| len.is_multiple_of(word))
    }

    /// The number of the byte up to which a part from byte `from` on has at most `most` runs, or a few more where it begins
    /// or ends within the body; for layouts that a packet can describe.
    pub(crate) fn within_runs(&self, from: u64, most: u64) -> u64 {
        let runs = self.number_of_runs().map_or(1, |runs| runs as u64);
        let bodies = (most / runs).max(1);
        (from / self.block).saturating_add(bodies).saturating_mul(self.block).min(self.size)
    }

    /// How many runs there are inside the loops; `None` when the body is a list of layouts.
    pub(crate) fn number_of_runs(&self) -> Option<usize> {
        match self.body.as_deref().map(|body| &body.members) {
            None => Some(1),
            Some(Members::Blocks(blocks)) => Some(blocks.len()),
            Some(Members::Parts(_)) => None,
        }
    }

    /// Whether there is room for its description.
    fn fits(&self, limits: ShapeLimits) -> bool {
        let Some(len) = self.described_len() else { return false };
        len <= limits.bytes
            && self.number_of_runs().is_some_and(|runs| self.loops.len() + runs <= limits.entries)
    }

    /// The bytes from `position` on that there is room to describe: as many as possible, at least one. `position` is before the
    /// end.
    pub(crate) fn piece(&self, position: u64, limits: ShapeLimits) -> Piece {
        debug_assert!(position < self.size && limits.entries > 0 && limits.bytes >= ShapeLimits::LEAST);
        let (mut layout, mut from) = (self.clone(), position);
        loop {
            if layout.fits(limits) {
                let len = layout.size - from;
                let layout = layout.bounded().expect("a part of a layout that fits");
                return Piece { layout, from, len };
            }
            if let Some(outer) = layout.loops.first().copied() {
                layout.loops.remove(0);
                layout.size /= outer.count;
                layout.first += (from / layout.size) as i64 * outer.stride;
                from %= layout.size;
                continue;
            }
            // A list within this one reaches no further.
            let most = limits.entries.min(limits.bytes / layout.number_len().run_len());
            // Without loops it has a body, or it would be one run.
            let Some(Members::Parts(parts)) = layout.body.as_deref().map(|body| &body.members) else {
                return layout.listed(from, most);
            };
            let at = parts.partition_point(|part| part.end <= from);
            let part = &parts[at];
            if part.layout.runs() < most as u64 {
                return layout.listed(from, most);
            }
            from -= at.checked_sub(1).map_or(0, |before| parts[before].end);
            let inner = Self { first: layout.first + part.layout.first, ..part.layout.clone() };
            layout = inner;
        }
    }

    /// The next runs from `position` on, at most so many.
    fn listed(&self, position: u64, most: usize) -> Piece {
        let mut walk = self.segments();
        walk.advance(position);
        let mut runs =
            ListOfRuns::with_room(usize::try_from(self.runs()).map_or(most, |runs| runs.min(most)));
        let mut left = most;
        walk.each_segment(|segment| {
            runs.push(segment.offset, segment.len).expect("runs of a layout that fits");
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let layout = runs.into_layout().expect("runs of a layout that fits");
        Piece { from: 0, len: layout.size, layout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(layout: &Layout, from: u64, len: u64) -> Vec<i64> {
        let mut walk = layout.segments();
        walk.advance(from);
        let mut walk = walk.split_to(len);
        let mut offsets = vec![];
        while let Some(segment) = walk.peek() {
            offsets.extend(segment.offset..segment.offset + segment.len as i64);
            walk.advance(segment.len);
        }
        offsets
    }

    fn pieces(layout: &Layout, entries: usize) -> Vec<Piece> {
        pieces_in(layout, ShapeLimits { entries, bytes: usize::MAX })
    }

    fn pieces_in(layout: &Layout, limits: ShapeLimits) -> Vec<Piece> {
        let mut pieces = vec![];
        let mut position = 0;
        while position < layout.size() {
            let piece = layout.piece(position, limits);
            assert!(piece.len > 0 && piece.layout.fits(limits), "{piece:?}");
            assert_eq!(
                offsets(&piece.layout, piece.from, piece.len),
                offsets(layout, position, piece.len),
                "{piece:?} at {position}"
            );
            let mut past = 0;
            let runs = piece.layout.inner_runs().map(|(gap, len)| {
                let offset = past + gap;
                past = offset + len as i64;
                (offset, len)
            });
            let list = Layout::blocks(runs).unwrap();
            let again = list.repeated_from(piece.layout.first(), piece.layout.loops()).unwrap();
            assert_eq!(again, piece.layout, "a layout is normal, so it survives being described");
            position += piece.len;
            pieces.push(piece);
        }
        assert_eq!(position, layout.size());
        pieces
    }

    #[test]
    fn a_regular_layout_is_one_piece_whatever_its_counts() {
        for count in [5, 1000] {
            let nest = [Loop { count, stride: 5000 }, Loop { count: 7, stride: -100 }];
            let layout = Layout::nest(3, 8, &nest).unwrap();
            assert_eq!(pieces(&layout, 3).len(), 1);
            let record = Layout::blocks([(0, 4), (8, 8), (17, 1)]).unwrap().repeated(count, 24).unwrap();
            assert_eq!(pieces(&record, 4).len(), 1);
        }
    }

    #[test]
    fn an_irregular_layout_falls_into_pieces_of_as_many_runs_as_fit() {
        let runs = (0..100).map(|i| (i * i * 10, 3 + i as u64 % 3));
        let list = Layout::blocks(runs).unwrap();
        assert_eq!(pieces(&list, 8).len(), 100_usize.div_ceil(8));
        assert_eq!(pieces(&list, 100).len(), 1);
        assert_eq!(pieces(&list.repeated(3, 200_000).unwrap(), 8).len(), 3 * 100_usize.div_ceil(8));
        let nest =
            [Loop { count: 5, stride: 5000 }, Loop { count: 7, stride: -100 }, Loop { count: 2, stride: 9 }];
        assert_eq!(pieces(&Layout::nest(3, 8, &nest).unwrap(), 2).len(), 35);
        assert_eq!(pieces(&Layout::nest(3, 8, &nest).unwrap(), 1).len(), 70);
    }

    #[test]
    fn a_run_takes_as_few_bytes_as_the_list_allows_and_pieces_as_many_runs_as_there_are_bytes_for() {
        let list = |reach: i64| Layout::blocks([(0, 2), (9, 8), (20, 3), (reach - 1, 1)]).unwrap();
        for (reach, run_len, number) in
            [(32_767, 4, 1), (32_768, 8, 2), (i64::from(i32::MAX), 8, 2), (1 << 31, 16, 4), (i64::MAX, 16, 4)]
        {
            assert_eq!(list(reach).described_len(), Some(4 * run_len), "{reach} bytes");
            for (bytes, number) in [(4 * run_len, 1), (31, number)] {
                let limits = ShapeLimits { entries: 1000, bytes };
                assert_eq!(pieces_in(&list(reach), limits).len(), number, "{reach} bytes in {limits:?}");
            }
        }
        let repeated = list(100).repeated(3, 7).unwrap();
        assert_eq!(repeated.described_len(), Some(16 + 4 * 4));
    }

    #[test]
    fn large_parts_are_pieces_and_small_ones_are_listed_together() {
        let column = |at: i64| Layout::nest(at, 8, &[Loop { count: 1000, stride: 100 }]).unwrap();
        let small = |at: i64| Layout::blocks([(at, 1), (at + 2, 2)]).unwrap();
        let mut parts = vec![column(0), column(16), column(1_000_000)];
        parts.extend((0..40).map(|i| small(2_000_000 + i * i)));
        parts.push(column(3_000_000));
        let layout = Layout::sequence(parts).unwrap();
        let found = pieces(&layout, 8);
        assert_eq!(found.iter().filter(|piece| piece.layout.loops().len() == 1).count(), 4);
        assert!(found.len() < 20, "{} pieces", found.len());
    }
}
