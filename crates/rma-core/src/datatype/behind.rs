//! What comes behind a segment of a walk, as far as two loops, and a list of runs within them, make it: segment by segment, or all that
//! are alike at once. Knows no memory and no end of the walk.

use super::layout::{Block, Segment};
use super::walk::Run;
use std::slice;

/// Segments that two loops, and a list of runs within them, make one after the other.
#[derive(Clone, Debug)]
pub(super) struct Behind<'a> {
    /// The list; empty for a single run.
    pub(super) blocks: &'a [Block],
    /// Its runs that come next in this repetition.
    pub(super) next: slice::Iter<'a, Block>,
    /// The list's bytes before those.
    pub(super) start: u64,
    /// Bytes of the single run, or of each of the list; 0 when those differ.
    pub(super) len: u64,
    /// Offset of the body's first byte in this repetition.
    pub(super) base: i64,
    /// From one repetition to the next.
    pub(super) stride: i64,
    /// Repetitions behind this one.
    pub(super) more: u64,
    /// Repetitions in all.
    pub(super) count: u64,
    /// From the last repetition to the first one of the loop around.
    pub(super) around: i64,
    pub(super) more_around: u64,
}

/// Offsets of equal blocks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offsets<'a> {
    /// At equal distances.
    Apart { offset: i64, stride: i64 },
    /// Where the runs of a list say, counted from a base.
    Listed { base: i64, blocks: &'a [Block] },
}

impl Iterator for Behind<'_> {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        let block = match self.next.next() {
            Some(block) => *block,
            None => {
                self.repeat()?;
                if self.blocks.is_empty() {
                    return Some(Segment { offset: self.base, len: self.len });
                }
                self.start = 0;
                self.next = self.blocks.iter();
                *self.next.next()?
            }
        };
        let segment = Segment { offset: self.base + block.offset, len: block.end - self.start };
        self.start = block.end;
        Some(segment)
    }
}

impl<'a> Behind<'a> {
    /// The first segment of a run, and the others behind it.
    pub(super) fn of(run: Run) -> (Segment, Self) {
        let Run { offset, len, count, stride } = run;
        let (blocks, next) = (&[][..], [].iter());
        let (more, around, more_around) = (count - 1, 0, 0);
        let behind =
            Self { blocks, next, start: 0, len, base: offset, stride, more, count, around, more_around };
        (Segment { offset, len }, behind)
    }

    /// Whether the segments are those of a list.
    #[inline]
    pub(super) fn is_list(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// A segment, which is the last one that came or the rest of it, with those behind it that are as long, up to the end of the list or
    /// the inner loop. Their distance has no meaning where they are of a list.
    #[inline(always)]
    pub(super) fn run(&self, Segment { offset, len }: Segment) -> Run {
        let more = match self.blocks.is_empty() {
            _ if len != self.len => 0,
            true => self.more,
            false => self.next.len() as u64,
        };
        Run { offset, len, count: more + 1, stride: self.stride }
    }

    /// Where the first `count` blocks of `len` bytes of such a run are, of which the first segment is as long, or has that many bytes
    /// as all of them. `stride` is their distance where they are not of a list.
    #[inline(always)]
    pub(super) fn offsets(&self, segment: Segment, len: u64, count: u64, stride: i64) -> Offsets<'a> {
        if segment.len > len || self.blocks.is_empty() {
            return Offsets::Apart { offset: segment.offset, stride };
        }
        let at = self.blocks.len() - self.next.len() - 1;
        Offsets::Listed { base: self.base, blocks: &self.blocks[at..at + count as usize] }
    }

    /// Goes on behind these blocks; says whether there is anything.
    #[inline(always)]
    pub(super) fn pass(&mut self, segment: &mut Segment, len: u64, count: u64) -> bool {
        let more = count - 1;
        if segment.len > len {
            return self.step(segment, len * count);
        } else if self.blocks.is_empty() {
            self.more -= more;
            self.base += more as i64 * self.stride;
        } else {
            self.start += more * len;
            self.next = self.next.as_slice()[more as usize..].iter();
        }
        self.step(segment, len)
    }

    /// Goes on by `len` bytes of a segment, and behind its end to the next; says whether there is one.
    #[inline(always)]
    pub(super) fn step(&mut self, segment: &mut Segment, len: u64) -> bool {
        if segment.len > len {
            *segment = segment.after(len);
            return true;
        }
        self.next().map(|next| *segment = next).is_some()
    }

    /// Calls `visit` with the segments of both lists that come next, as far as each is as long as its counterpart, both lists end
    /// together and no more than `most` bytes come; says how many did on either side.
    #[inline(always)]
    pub(super) fn each_alike(
        &mut self,
        other: &mut Behind<'_>,
        most: u64,
        mut visit: impl FnMut(Segment, Segment),
    ) -> u64 {
        let mut done = 0;
        while self.is_list() && other.is_list() {
            let (base, before, blocks) = (self.base, self.start, self.next.as_slice());
            let (other_base, other_blocks) = (other.base, other.next.as_slice());
            // What the bytes before a segment are more in the other list.
            let more = other.start.wrapping_sub(before);
            let (mut start, mut visited) = (before, 0);
            for (block, other) in blocks.iter().zip(other_blocks) {
                if block.end.wrapping_add(more) != other.end || block.end - before > most - done {
                    break;
                }
                let len = block.end - start;
                let offset = other_base + other.offset;
                visit(Segment { offset: base + block.offset, len }, Segment { offset, len });
                start = block.end;
                visited += 1;
            }
            done += start - before;
            (self.start, other.start) = (start, start.wrapping_add(more));
            (self.next, other.next) = (blocks[visited..].iter(), other_blocks[visited..].iter());
            let is_end = visited == blocks.len() && visited == other_blocks.len() && done < most;
            // Where one has no other repetition, the caller finds its end.
            if !is_end || self.begin_again().is_none() || other.begin_again().is_none() {
                break;
            }
        }
        done
    }

    /// Calls `visit` with the segments of the list that come next, also in the next repetitions, as far as no more than `most` bytes
    /// come, and the number of bytes before each; says how many bytes there were.
    #[inline(always)]
    pub(super) fn each_listed(&mut self, most: u64, mut visit: impl FnMut(Segment, u64)) -> u64 {
        let mut done = 0;
        while self.is_list() {
            let (base, before, blocks) = (self.base, self.start, self.next.as_slice());
            let (mut start, mut visited) = (before, 0);
            for block in blocks {
                if block.end - before > most - done {
                    break;
                }
                visit(
                    Segment { offset: base + block.offset, len: block.end - start },
                    done + (start - before),
                );
                start = block.end;
                visited += 1;
            }
            done += start - before;
            self.start = start;
            self.next = blocks[visited..].iter();
            if visited < blocks.len() || done == most || self.begin_again().is_none() {
                break;
            }
        }
        done
    }

    /// Goes to the beginning of the list in the next repetition; `None`, and nothing is changed, when there is none.
    #[inline]
    fn begin_again(&mut self) -> Option<()> {
        self.repeat()?;
        self.start = 0;
        self.next = self.blocks.iter();
        Some(())
    }

    #[inline]
    fn repeat(&mut self) -> Option<()> {
        if let Some(more) = self.more.checked_sub(1) {
            self.more = more;
            self.base += self.stride;
        } else {
            self.more_around = self.more_around.checked_sub(1)?;
            self.base += self.around;
            self.more = self.count - 1;
        }
        Some(())
    }
}
