//! The loop-nest form of a datatype, and the resumable iterator over its contiguous segments.
//!
//! A layout is `block` contiguous bytes, repeated by loops of a count and a stride, outermost loop first. Contiguous
//! transfers have no loop. Layouts are normal: no loop of one, no empty loop unless the layout is empty, and a loop whose
//! stride equals the bytes inside it is merged into the block, so that equal byte lists of this shape are equal values.

use smallvec::SmallVec;

/// One loop of a layout: `count` repetitions, `stride` bytes apart (negative strides are legal at the origin).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// Number of repetitions.
    pub count: u64,
    /// Distance in bytes from one repetition to the next.
    pub stride: i64,
}

/// The bytes that a transfer covers, relative to a base address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    first: i64,
    block: u64,
    loops: SmallVec<[Loop; 2]>,
    size: u64,
}

/// A run of contiguous bytes: offset from the base, and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte from the base address.
    pub offset: i64,
    /// Number of bytes, at least one.
    pub len: u64,
}

/// A resumable walk over a layout's bytes in order. Its whole position is one number (lessons, decision 6).
#[derive(Clone, Debug)]
pub struct Segments {
    layout: Layout,
    position: u64,
    end: u64,
}

impl Layout {
    /// `size` contiguous bytes from the base address.
    pub fn contiguous(size: u64) -> Self {
        Self { first: 0, block: size, loops: SmallVec::new(), size }
    }

    /// `block` bytes at offset `first`, repeated by `loops`, outermost first. `None` if the number of bytes or an
    /// offset does not fit 63 bits.
    pub fn nest(first: i64, block: u64, loops: &[Loop]) -> Option<Self> {
        let mut size = block;
        for l in loops {
            size = size.checked_mul(l.count)?;
        }
        i64::try_from(size).ok()?;
        if size == 0 {
            return Some(Self::contiguous(0));
        }
        let mut normal = Self { first, block, loops: SmallVec::new(), size };
        for l in loops.iter().rev().filter(|l| l.count > 1) {
            if normal.loops.is_empty() && u64::try_from(l.stride) == Ok(normal.block) {
                normal.block *= l.count;
            } else {
                normal.loops.insert(0, *l);
            }
        }
        normal.checked_bounds()?;
        Some(normal)
    }

    /// Number of bytes covered.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The one segment of a contiguous layout; `None` when there are several or no bytes.
    pub fn as_contiguous(&self) -> Option<Segment> {
        (self.loops.is_empty() && self.size > 0).then_some(Segment { offset: self.first, len: self.size })
    }

    /// Lowest offset, and offset just past the highest byte. Equal when the layout is empty.
    pub fn bounds(&self) -> (i64, i64) {
        self.checked_bounds().expect("the constructor has checked that the bounds fit")
    }

    /// A walk over all bytes.
    pub fn segments(&self) -> Segments {
        Segments { layout: self.clone(), position: 0, end: self.size }
    }

    fn checked_bounds(&self) -> Option<(i64, i64)> {
        let mut low = self.first;
        let mut high = self.first.checked_add(i64::try_from(self.block).ok()?)?;
        for l in &self.loops {
            let reach = l.stride.checked_mul(i64::try_from(l.count - 1).ok()?)?;
            if reach < 0 {
                low = low.checked_add(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        Some((low, high))
    }

    fn at(&self, position: u64) -> Segment {
        let (mut index, within) = (position / self.block, position % self.block);
        let mut offset = self.first + within as i64;
        for l in self.loops.iter().rev() {
            offset += (index % l.count) as i64 * l.stride;
            index /= l.count;
        }
        Segment { offset, len: self.block - within }
    }
}

impl Segments {
    /// Bytes not yet walked over.
    pub fn remaining(&self) -> u64 {
        self.end - self.position
    }

    /// Bytes walked over so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The contiguous bytes at the current position, up to the end of their block; `None` at the end.
    pub fn peek(&self) -> Option<Segment> {
        let remaining = self.remaining();
        (remaining > 0).then(|| {
            let segment = self.layout.at(self.position);
            Segment { len: segment.len.min(remaining), ..segment }
        })
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
    pub fn advance(&mut self, len: u64) {
        assert!(len <= self.remaining(), "advance by {len} with {} bytes left", self.remaining());
        self.position += len;
    }
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
