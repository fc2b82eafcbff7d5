//! Which bytes a transfer covers, in which order: loops around a block of bytes, or around a list of blocks.
//!
//! ```text
//!   layout = first, loops (outermost first), body
//!   body   = one run of bytes | a list of runs | a list of layouts
//! ```
//!
//! What is regular costs the same memory whatever its counts; an irregular list is shared by all layouts made from it.
//! Layouts are normal: no loop of one, no empty part, runs that touch are one run, a loop that goes on evenly where the
//! loop inside ends is merged with it, a list of equal parts at equal distances is a loop, short lists are flat, and the
//! offsets of a body count from its first byte. Offsets and sizes fit 63 bits: the constructors check, nothing else does.

use super::walk::Segments;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Lists of layouts with at most this many runs in all become one list of runs: short enough to be copied, long enough for
/// most structures.
const FLAT_RUNS: u64 = 64;

/// Lists of at most so many runs are made without memory of their own.
const FEW_RUNS: usize = 16;

/// One loop of a layout: `count` repetitions, `stride` bytes apart (negative strides are legal at the origin).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// Number of repetitions.
    pub count: u64,
    /// Distance in bytes from one repetition to the next.
    pub stride: i64,
}

/// The bytes that a transfer covers, relative to a base address. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Offset of the first byte.
    pub(super) first: i64,
    /// Bytes of the body.
    pub(super) block: u64,
    /// Outermost first.
    pub(super) loops: SmallVec<[Loop; 2]>,
    /// `None` is one run of `block` bytes.
    pub(super) body: Option<Arc<CompoundBody>>,
    pub(super) size: u64,
    /// Lowest offset. It follows from all else, as the next one; every call on a window asks for both.
    pub(super) low: i64,
    /// Offset just past the highest byte.
    pub(super) high: i64,
}

/// A body of several runs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CompoundBody {
    pub(super) members: Members,
    /// Lowest offset from the body's first byte.
    pub(super) low: i64,
    /// Offset just past the highest byte.
    pub(super) high: i64,
    /// Bytes of each run of a list, if they are equally long; else 0.
    pub(super) each: u64,
    /// Number of runs; saturates.
    runs: u64,
}

/// In order of the transfer. `end` is the number of the body's bytes up to the end of that member.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Members {
    Blocks(Box<[Block]>),
    Parts(Box<[Part]>),
}

/// A run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub(super) end: u64,
    pub(super) offset: i64,
}

/// A layout within another.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) end: u64,
    pub(super) layout: Layout,
}

/// A run of contiguous bytes: offset from the base, and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte from the base address.
    pub offset: i64,
    /// Number of bytes, at least one.
    pub len: u64,
}

impl Segment {
    /// What is left of it behind `len` bytes.
    #[inline]
    pub(super) fn after(self, len: u64) -> Self {
        Self { offset: self.offset + len as i64, len: self.len - len }
    }
}

impl Layout {
    /// `size` contiguous bytes from the base address.
    ///
    /// # Panics
    /// When `size` does not fit 63 bits: no memory is that large.
    pub fn contiguous(size: u64) -> Self {
        let Ok(high) = i64::try_from(size) else { panic!("{size} contiguous bytes do not fit any memory") };
        Self { first: 0, block: size, loops: SmallVec::new(), body: None, size, low: 0, high }
    }

    /// `block` bytes at offset `first`, repeated by `loops`, outermost first. `None` if the number of bytes or an
    /// offset does not fit 63 bits.
    pub fn nest(first: i64, block: u64, loops: &[Loop]) -> Option<Self> {
        i64::try_from(block).ok()?;
        let mut layout = Self::contiguous(block);
        for l in loops.iter().rev() {
            layout = layout.repeated(l.count, l.stride)?;
        }
        layout.shifted(first)
    }

    /// The runs of `blocks` (offset and length), one after the other. `None` if the number of bytes or an offset does not
    /// fit 63 bits.
    pub fn blocks(blocks: impl IntoIterator<Item = (i64, u64)>) -> Option<Self> {
        const MOST_ROOM: usize = 1 << 16;
        let blocks = blocks.into_iter();
        // A hint is no promise.
        let mut list = ListOfRuns::with_room(blocks.size_hint().0.min(MOST_ROOM));
        for (offset, len) in blocks {
            list.push(offset, len)?;
        }
        list.into_layout()
    }

    /// The layout `by` bytes further on. `None` if an offset does not fit 63 bits.
    pub fn shifted(&self, by: i64) -> Option<Self> {
        if self.size == 0 {
            return Some(Self::contiguous(0));
        }
        Self { first: self.first.checked_add(by)?, ..self.clone() }.bounded()
    }

    /// The layout `count` times, each `stride` bytes behind the one before. `None` if the number of bytes or an offset does
    /// not fit 63 bits.
    pub fn repeated(&self, count: u64, stride: i64) -> Option<Self> {
        let size = self.size.checked_mul(count).filter(|size| i64::try_from(*size).is_ok())?;
        if size == 0 {
            return Some(Self::contiguous(0));
        }
        let mut new = Self { size, ..self.clone() };
        if count > 1 && !new.extend_evenly(count, stride) {
            new.loops.insert(0, Loop { count, stride });
        }
        new.bounded()
    }

    /// All bytes of the first part, then those of the second, and so on. `None` if the number of bytes or an offset does not
    /// fit 63 bits.
    pub fn sequence(parts: Vec<Self>) -> Option<Self> {
        let mut parts = parts;
        parts.retain(|part| part.size > 0);
        let Some(first) = parts.first() else { return Some(Self::contiguous(0)) };
        if let Some(stride) = even_stride(&parts) {
            return first.repeated(parts.len() as u64, stride);
        }
        let runs = parts.iter().map(Self::runs).fold(0, u64::saturating_add);
        if runs <= FLAT_RUNS || runs == parts.len() as u64 {
            return Self::blocks(parts.iter().flat_map(|part| {
                let mut walk = part.segments();
                std::iter::from_fn(move || {
                    let Segment { offset, len } = walk.peek()?;
                    walk.advance(len);
                    Some((offset, len))
                })
            }));
        }
        let origin = first.first;
        let (mut low, mut high) = (0, 0);
        let mut size = 0_u64;
        for part in &mut parts {
            part.first = part.first.checked_sub(origin)?;
            part.find_bounds()?;
            (low, high) = (part.low.min(low), part.high.max(high));
            size = size.checked_add(part.size).filter(|size| i64::try_from(*size).is_ok())?;
        }
        let mut end = 0;
        let parts = parts.into_iter().map(|layout| {
            end += layout.size;
            Part { end, layout }
        });
        let body = CompoundBody { members: Members::Parts(parts.collect()), low, high, each: 0, runs };
        Self::of_body(origin, size, body)
    }

    /// Number of bytes covered.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Number of contiguous runs, as the walk yields them; saturates.
    pub fn runs(&self) -> u64 {
        if self.size == 0 {
            return 0;
        }
        let body = self.body.as_ref().map_or(1, |body| body.runs);
        self.loops.iter().fold(body, |runs, l| runs.saturating_mul(l.count))
    }

    /// The one segment of a contiguous layout; `None` when there are several or no bytes.
    #[inline]
    pub fn as_contiguous(&self) -> Option<Segment> {
        (self.loops.is_empty() && self.body.is_none() && self.size > 0)
            .then_some(Segment { offset: self.first, len: self.size })
    }

    /// Lowest offset, and offset just past the highest byte. Equal when the layout is empty.
    #[inline]
    pub fn bounds(&self) -> (i64, i64) {
        (self.low, self.high)
    }

    /// A walk over all bytes.
    pub fn segments(&self) -> Segments {
        Segments::new(self.clone())
    }

    fn of_body(first: i64, block: u64, body: CompoundBody) -> Option<Self> {
        let (loops, body) = (SmallVec::new(), Some(Arc::new(body)));
        Self { first, block, loops, body, size: block, low: 0, high: 0 }.bounded()
    }

    /// Repeats the layout by changing what is there, if it goes on evenly.
    fn extend_evenly(&mut self, count: u64, stride: i64) -> bool {
        let evenly = |block: u64, step: i64| i128::from(block) * i128::from(step) == i128::from(stride);
        match self.loops.first_mut() {
            // Cannot overflow: every repetition has a byte, and the size fits.
            Some(outer) if evenly(outer.count, outer.stride) => outer.count *= count,
            None if self.body.is_none() && evenly(self.block, 1) => self.block *= count,
            _ => return false,
        }
        true
    }

    /// The same with the bounds that follow from all else. `None` if an offset does not fit 63 bits.
    pub(super) fn bounded(mut self) -> Option<Self> {
        self.find_bounds()?;
        Some(self)
    }

    fn find_bounds(&mut self) -> Option<()> {
        let (low, high) =
            self.body.as_ref().map_or((0, i64::try_from(self.block).ok()?), |body| (body.low, body.high));
        let mut low = self.first.checked_add(low)?;
        let mut high = self.first.checked_add(high)?;
        for l in &self.loops {
            let reach = l.stride.checked_mul(i64::try_from(l.count - 1).ok()?)?;
            if reach < 0 {
                low = low.checked_add(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        // The distance between any two bytes fits as well.
        high.checked_sub(low)?;
        (self.low, self.high) = (low, high);
        Some(())
    }
}

/// A list of runs under construction. Offsets are kept from the first byte of the first run on.
#[derive(Debug)]
pub(crate) struct ListOfRuns {
    runs: SmallVec<[Block; FEW_RUNS]>,
    first: i64,
    low: i64,
    high: i64,
    /// Where the last run ends.
    past: i64,
    size: u64,
}

impl ListOfRuns {
    pub(crate) fn with_room(runs: usize) -> Self {
        Self { runs: SmallVec::with_capacity(runs), first: 0, low: 0, high: 0, past: 0, size: 0 }
    }

    /// Adds `len` bytes at `offset`. `None` if the number of bytes or an offset does not fit 63 bits.
    #[inline]
    pub(crate) fn push(&mut self, offset: i64, len: u64) -> Option<()> {
        if len == 0 {
            return Some(());
        }
        if self.size == 0 {
            self.first = offset;
        }
        let offset = offset.checked_sub(self.first)?;
        let is_next = self.past == offset;
        self.past = offset.checked_add_unsigned(len)?;
        self.size = self.size.checked_add(len).filter(|size| *size <= i64::MAX as u64)?;
        (self.low, self.high) = (offset.min(self.low), self.past.max(self.high));
        match self.runs.last_mut() {
            Some(last) if is_next => last.end = self.size,
            _ => self.runs.push(Block { end: self.size, offset }),
        }
        Some(())
    }

    /// The layout of these runs. `None` if an offset does not fit 63 bits.
    pub(crate) fn into_layout(self) -> Option<Layout> {
        let Self { runs, first, low, high, size, .. } = self;
        let number = runs.len() as u64;
        if number == 0 {
            return Some(Layout::contiguous(0));
        }
        let Some(stride) = even_stride_of_runs(&runs) else {
            let each = even_len_of_runs(&runs).unwrap_or(0);
            let members = Members::Blocks(runs.into_boxed_slice());
            return Layout::of_body(first, size, CompoundBody { members, low, high, each, runs: number });
        };
        let loops = if number == 1 { SmallVec::new() } else { smallvec![Loop { count: number, stride }] };
        Layout { first, block: size / number, loops, body: None, size, low: 0, high: 0 }.bounded()
    }
}

/// The bytes of each run, if they are equally long.
fn even_len_of_runs(runs: &[Block]) -> Option<u64> {
    let len = runs.first()?.end;
    runs.windows(2).all(|pair| pair[1].end - pair[0].end == len).then_some(len)
}

/// The distance from each run to the next, if they are alike and equally far apart.
fn even_stride_of_runs(runs: &[Block]) -> Option<i64> {
    let (len, stride) = (runs.first()?.end, runs.get(1).map_or(0, |second| second.offset));
    let is_next = |pair: &[Block]| {
        pair[1].end - pair[0].end == len && pair[0].offset.checked_add(stride) == Some(pair[1].offset)
    };
    runs.windows(2).all(is_next).then_some(stride)
}

/// The distance from each part to the next, if they are all alike.
fn even_stride(parts: &[Layout]) -> Option<i64> {
    let Some([first, second]) = parts.first_chunk::<2>() else { return Some(0) };
    let stride = second.first.checked_sub(first.first)?;
    let is_like_first =
        |part: &Layout| part.block == first.block && part.loops == first.loops && part.body == first.body;
    let is_even = parts.windows(2).all(|pair| pair[1].first.checked_sub(pair[0].first) == Some(stride));
    (is_even && parts.iter().all(is_like_first)).then_some(stride)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_by_walk(layout: &Layout, step: u64) -> Vec<i64> {
        let mut walk = layout.segments();
        let mut bytes = Vec::new();
        while let Some(segment) = walk.peek() {
            let len = segment.len.min(step);
            bytes.extend((0..len as i64).map(|i| segment.offset + i));
            walk.advance(len);
        }
        bytes
    }

    #[test]
    fn a_walk_lists_the_bytes_of_the_nest_in_order_at_any_step() {
        let outer = Loop { count: 3, stride: -100 };
        let inner = Loop { count: 4, stride: 7 };
        let layout = Layout::nest(500, 5, &[outer, inner]).unwrap();
        let mut expected = Vec::new();
        for o in 0..3 {
            for i in 0..4 {
                expected.extend((0..5).map(|b| 500 - 100 * o + 7 * i + b));
            }
        }
        for step in [1, 2, 5, 1000] {
            assert_eq!(bytes_by_walk(&layout, step), expected, "step {step}");
        }
        assert_eq!(layout.size(), 60);
        assert_eq!(layout.bounds(), (300, 500 + 21 + 5));
    }

    #[test]
    fn a_walk_can_be_cut_anywhere() {
        let layout = Layout::nest(0, 3, &[Loop { count: 4, stride: 10 }]).unwrap();
        let whole = bytes_by_walk(&layout, 100);
        for cut in 0..=12 {
            let mut back = layout.segments();
            let mut front = back.split_to(cut);
            assert_eq!((front.remaining(), back.remaining()), (cut, 12 - cut));
            let mut bytes = Vec::new();
            for walk in [&mut front, &mut back] {
                while let Some(segment) = walk.peek() {
                    bytes.extend((0..segment.len as i64).map(|i| segment.offset + i));
                    walk.advance(segment.len);
                }
            }
            assert_eq!(bytes, whole, "cut at {cut}");
        }
    }

    #[test]
    fn dense_loops_become_contiguous_and_empty_ones_empty() {
        let dense =
            Layout::nest(0, 8, &[Loop { count: 4, stride: 16 }, Loop { count: 2, stride: 8 }]).unwrap();
        assert_eq!(dense, Layout::contiguous(64));
        let empty = Layout::nest(8, 8, &[Loop { count: 0, stride: 16 }]).unwrap();
        assert_eq!((empty.size(), empty.bounds(), empty.segments().peek()), (0, (0, 0), None));
        assert_eq!(empty.as_contiguous(), None);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Layout::nest(0, u64::MAX, &[]), None);
        assert_eq!(Layout::nest(0, 1 << 40, &[Loop { count: 1 << 40, stride: 0 }]), None);
        assert_eq!(Layout::nest(0, 1, &[Loop { count: 3, stride: i64::MAX }]), None);
    }
}
