//! Pieces of a layout that a packet can describe: loops around a short list of runs.
//!
//! A regular layout is one piece, whatever its counts. Of an irregular one each piece takes as many runs as one packet has
//! room to name, so that a transfer of any shape needs bounded memory on both sides.

use super::layout::{Layout, Loop, Pieces};
use smallvec::SmallVec;

/// A part of a layout: `len` of the bytes of a layout that a packet can describe, from byte `from` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) layout: Layout,
    pub(crate) from: u64,
    pub(crate) len: u64,
}

impl Layout {
    /// The layout of `loops` (outermost first) around `runs`, moved by `first`. `None` if the number of bytes or an offset
    /// does not fit 63 bits.
    pub(crate) fn of_entries(
        first: i64,
        loops: &[Loop],
        runs: impl IntoIterator<Item = (i64, u64)>,
    ) -> Option<Self> {
        let mut layout = Self::blocks(runs)?;
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

    /// The runs inside the loops, counted from the first one; `None` when the body is a list of layouts.
    pub(crate) fn inner_runs(&self) -> Option<SmallVec<[(i64, u64); 8]>> {
        let Some(body) = &self.body else { return Some(SmallVec::from_elem((0, self.block), 1)) };
        match &body.pieces {
            Pieces::Parts(_) => None,
            Pieces::Blocks(blocks) => {
                let mut start = 0;
                let run = |block: &super::layout::Block| {
                    let len = block.end - start;
                    start = block.end;
                    (block.offset, len)
                };
                Some(blocks.iter().map(run).collect())
            }
        }
    }

    /// Whether every run is whole words of `word` bytes.
    pub(crate) fn is_words(&self, word: u64) -> bool {
        self.inner_runs().is_some_and(|runs| runs.iter().all(|(_, len)| len.is_multiple_of(word)))
    }

    /// The number of the byte up to which a part from byte `from` on has at most `most` runs, or a few more where it begins
    /// or ends within the body; for layouts that a packet can describe.
    pub(crate) fn within_runs(&self, from: u64, most: u64) -> u64 {
        let runs = self.inner_runs().map_or(1, |runs| runs.len() as u64);
        let bodies = (most / runs).max(1);
        (from / self.block).saturating_add(bodies).saturating_mul(self.block).min(self.size)
    }

    /// How many loops and runs describe the layout; `None` when the body is a list of layouts.
    fn entries(&self) -> Option<usize> {
        let runs = match self.body.as_deref().map(|body| &body.pieces) {
            None => 1,
            Some(Pieces::Blocks(blocks)) => blocks.len(),
            Some(Pieces::Parts(_)) => return None,
        };
        Some(self.loops.len() + runs)
    }

    /// The bytes from `position` on that `room` loops and runs can describe: as many as possible, at least one. `position`
    /// is before the end.
    pub(crate) fn piece(&self, position: u64, room: usize) -> Piece {
        debug_assert!(position < self.size && room > 0);
        let (mut layout, mut from) = (self.clone(), position);
        loop {
            if layout.entries().is_some_and(|entries| entries <= room) {
                let len = layout.size - from;
                return Piece { layout, from, len };
            }
            if let Some(outer) = layout.loops.first().copied() {
                layout.loops.remove(0);
                layout.size /= outer.count;
                layout.first += (from / layout.size) as i64 * outer.stride;
                from %= layout.size;
                continue;
            }
            // Without loops it has a body, or it would be one run.
            let Some(Pieces::Parts(parts)) = layout.body.as_deref().map(|body| &body.pieces) else {
                return layout.listed(from, room);
            };
            let at = parts.partition_point(|part| part.end <= from);
            let part = &parts[at];
            if part.layout.runs() < room as u64 {
                return layout.listed(from, room);
            }
            from -= at.checked_sub(1).map_or(0, |before| parts[before].end);
            let inner = Self { first: layout.first + part.layout.first, ..part.layout.clone() };
            layout = inner;
        }
    }

    /// The next `room` runs from `position` on.
    fn listed(&self, position: u64, room: usize) -> Piece {
        let mut walk = self.segments();
        walk.advance(position);
        let mut runs = SmallVec::<[(i64, u64); 8]>::new();
        while let Some(segment) = walk.peek().filter(|_| runs.len() < room) {
            runs.push((segment.offset, segment.len));
            walk.advance(segment.len);
        }
        let layout = Self::blocks(runs).expect("runs of a layout that fits");
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

    fn pieces(layout: &Layout, room: usize) -> Vec<Piece> {
        let mut pieces = vec![];
        let mut position = 0;
        while position < layout.size() {
            let piece = layout.piece(position, room);
            assert!(piece.len > 0 && piece.layout.entries().unwrap() <= room, "{piece:?}");
            assert_eq!(
                offsets(&piece.layout, piece.from, piece.len),
                offsets(layout, position, piece.len),
                "{piece:?} at {position}"
            );
            let runs = piece.layout.inner_runs().unwrap();
            let again = Layout::of_entries(piece.layout.first(), piece.layout.loops(), runs).unwrap();
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
