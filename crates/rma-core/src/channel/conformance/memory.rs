//! Memory of bulk bodies: any shape, filled with a pattern that identifies its packet, and checked byte by
//! byte.
//!
//! The only file of the suite with `unsafe`. Invariant: the memory of a body is owned by a rank of a world, and every
//! channel of that world is dropped before it (`world.rs`, `rank.rs`), so no channel can outlive a span.

use crate::channel::{Exposure, RemoteMemory};
use crate::datatype::{Gather, Layout, Loop, Scatter};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What stands where no body byte lies.
const GAP: u8 = 0xa5;
/// What stands in memory that a channel must not touch any more.
const POISON: u8 = 0xee;

/// How a body lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One run, at an odd address.
    Contiguous,
    /// Blocks with gaps between them.
    Strided,
    /// Blocks from the highest address to the lowest.
    Backwards,
    /// Two loops.
    Nested,
    /// Nowhere: the receiver drops the body.
    Discard,
}

impl Shape {
    /// Shapes for both sides.
    pub(super) const MEMORY: [Self; 4] = [Self::Contiguous, Self::Strided, Self::Backwards, Self::Nested];
}

/// The memory of one body.
#[derive(Debug)]
pub(super) struct LentBody {
    bytes: Box<[AtomicU8]>,
    layout: Layout,
}

/// Byte `index` of the packet part that `seed` names.
pub(super) fn pattern(seed: u64, index: usize) -> u8 {
    let mixed = (seed ^ (index as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

impl LentBody {
    /// Memory for `len` bytes in this shape, without the pattern.
    pub(super) fn new(len: usize, shape: Shape) -> Self {
        let layout = layout(len as u64, shape);
        let (low, high) = layout.bounds();
        assert!(low >= 0, "shapes start in their memory");
        Self { bytes: (0..high as usize + 9).map(|_| AtomicU8::new(GAP)).collect(), layout }
    }

    /// Memory with the pattern of `seed`, for a sender.
    pub(super) fn with_pattern(len: usize, shape: Shape, seed: u64) -> Self {
        let body = Self::new(len, shape);
        body.each(|index, byte| byte.store(pattern(seed, index), Relaxed));
        body
    }

    /// The sender's view.
    pub(super) fn gather(&self) -> Gather {
        // SAFETY: the layout lies within `bytes` by construction, and the body's holder keeps it until the
        // channel that gets this is dropped (see the file's invariant).
        unsafe { Gather::new(self.bytes.as_ptr().cast(), self.layout.clone()) }
    }

    /// The receiver's view.
    pub(super) fn scatter(&self) -> Scatter {
        // SAFETY: as in `gather`; the bytes are atomics, so writing them through a shared pointer is allowed.
        unsafe { Scatter::new(self.bytes.as_ptr().cast_mut().cast(), self.layout.clone()) }
    }

    /// Exposes a body of one run to peers.
    pub(super) fn expose(&self, remote: &mut dyn RemoteMemory) -> Exposure {
        let run = self.scatter().peek(usize::MAX).expect("a body has bytes");
        // SAFETY: as in `gather`, whatever is withdrawn before.
        unsafe { remote.expose(run) }.expect("the network exposes a little memory")
    }

    /// A copy of the bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut gather = self.gather();
        let mut bytes = vec![0; gather.remaining() as usize];
        gather.read(&mut bytes);
        bytes
    }

    /// Whether the body has the pattern and the gaps are untouched.
    pub(super) fn check(&self, seed: u64) -> Result<(), String> {
        let mut covered = vec![false; self.bytes.len()];
        let mut wrong = None;
        self.each_at(|index, offset, byte| {
            covered[offset] = true;
            let (has, wants) = (byte.load(Relaxed), pattern(seed, index));
            if has != wants && wrong.is_none() {
                wrong = Some(format!("byte {index} of the body is {has:#04x} instead of {wants:#04x}"));
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        match covered.iter().zip(&self.bytes).position(|(c, byte)| !c && byte.load(Relaxed) != GAP) {
            Some(offset) => Err(format!("byte {offset} of the memory is written, but lies in a gap")),
            None => Ok(()),
        }
    }

    /// Overwrites everything: the contract says that the channel is done with this memory.
    pub(super) fn poison(&self) {
        self.bytes.iter().for_each(|byte| byte.store(POISON, Relaxed));
    }

    /// Whether there was no write since [`LentBody::poison`].
    pub(super) fn check_poison(&self) -> Result<(), String> {
        match self.bytes.iter().position(|byte| byte.load(Relaxed) != POISON) {
            Some(offset) => Err(format!("byte {offset} was written after the channel said it was done")),
            None => Ok(()),
        }
    }

    fn each(&self, mut visit: impl FnMut(usize, &AtomicU8)) {
        self.each_at(|index, _, byte| visit(index, byte));
    }

    fn each_at(&self, mut visit: impl FnMut(usize, usize, &AtomicU8)) {
        let mut walk = self.layout.segments();
        let mut index = 0;
        while let Some(segment) = walk.peek() {
            for i in 0..segment.len as usize {
                let offset = segment.offset as usize + i;
                visit(index, offset, &self.bytes[offset]);
                index += 1;
            }
            walk.advance(segment.len);
        }
    }
}

fn layout(len: u64, shape: Shape) -> Layout {
    // Blocks of the largest small divisor; large lengths without one would be walked byte by byte.
    let block = [7, 5, 3, 2, 1].into_iter().find(|d| len.is_multiple_of(*d)).unwrap_or(1);
    let block = if len > 1 << 16 && len.is_multiple_of(block * 512) { block * 512 } else { block };
    let (count, gap) = (len / block, 2);
    let stride = (block + gap) as i64;
    let contiguous = Layout::nest(1, len, &[]);
    let nest = match shape {
        Shape::Contiguous | Shape::Discard => contiguous,
        Shape::Strided => Layout::nest(3, block, &[Loop { count, stride }]),
        Shape::Backwards => {
            Layout::nest(stride * (count as i64 - 1), block, &[Loop { count, stride: -stride }])
        }
        Shape::Nested if count.is_multiple_of(2) => {
            let inner = Loop { count: count / 2, stride };
            Layout::nest(0, block, &[Loop { count: 2, stride: (count / 2) as i64 * stride + 11 }, inner])
        }
        Shape::Nested => contiguous,
    };
    nest.expect("lengths of tests fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_carries_its_pattern_and_shows_wrong_bytes() {
        for len in [1, 2, 3, 7, 8, 63, 64, 1000] {
            for shape in Shape::MEMORY {
                let body = LentBody::with_pattern(len, shape, 42);
                assert_eq!(body.check(42), Ok(()), "{len} bytes {shape:?}");
                assert!(body.check(43).is_err() || len < 3, "{len} bytes {shape:?}");
                let mut copied = vec![0; len];
                body.gather().read(&mut copied);
                assert!((0..len).all(|i| copied[i] == pattern(42, i)));
                let landed = LentBody::new(len, shape);
                landed.scatter().write(&copied);
                assert_eq!(landed.check(42), Ok(()));
                landed.bytes[landed.bytes.len() - 1].store(0, Relaxed);
                assert!(landed.check(42).unwrap_err().contains("gap"));
                landed.poison();
                assert_eq!(landed.check_poison(), Ok(()));
                landed.bytes[0].store(0, Relaxed);
                assert!(landed.check_poison().is_err());
            }
        }
    }
}
