//! Random datatypes over a given number of elements of one basic type, with the list of where each element lies.
//!
//! No two elements overlap, so that a type can describe what is written. The list is made beside the type, by the
//! definitions of the constructors, and shares nothing with it.

use crate::random::Random;
use rma_core::datatype::{BasicType, Datatype, Field};

/// A datatype, and the displacement of each of its elements in bytes, in order.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The type.
    pub ty: Datatype,
    /// Where the elements are.
    pub places: Vec<i64>,
}

impl Listed {
    /// Lowest displacement of a byte, and the one behind the highest, when elements have this extent.
    pub fn bounds(&self, extent: u64) -> (i64, i64) {
        let low = self.places.iter().min().copied().unwrap_or(0);
        (low, self.places.iter().max().map_or(0, |last| last + extent as i64))
    }

    fn span(&self, extent: u64) -> i64 {
        let (low, high) = self.bounds(extent);
        high - low
    }
}

/// A random type of `elements` elements.
pub fn random_type(random: &mut Random, basic: BasicType, elements: u64) -> Listed {
    let extent = basic.extent() as u64;
    let base = Datatype::basic(basic);
    let step = extent as i64;
    // Gaps that keep elements aligned, or any.
    let unit = if random.coin() { step } else { 1 };
    let mut gap = |reach: u64| random.below(reach) as i64 * unit;
    let (gap, other_gap) = (gap(4), gap(7));
    let divisors = (1..=elements).filter(|d| elements.is_multiple_of(*d)).collect::<Vec<_>>();
    match random.below(8) {
        0 => {
            let ty = Datatype::contiguous(elements, &base).unwrap();
            Listed { ty, places: (0..elements as i64).map(|i| i * step).collect() }
        }
        direction @ (1 | 2) => {
            let count = random.pick(&divisors);
            let len = (elements / count) as i64;
            let stride = (len * step + gap) * if direction == 1 { 1 } else { -1 };
            let ty = Datatype::hvector(count, len as u64, stride, &base).unwrap();
            let blocks = (0..count as i64).flat_map(|i| (0..len).map(move |j| i * stride + j * step));
            Listed { ty, places: blocks.collect() }
        }
        3 => {
            // Rows of columns: two loops.
            let count = random.pick(&divisors);
            let inner = elements / count;
            let stride = step + gap;
            let row = Datatype::hvector(inner, 1, stride, &base).unwrap();
            let jump = stride * inner as i64 + other_gap;
            let ty = Datatype::hvector(count, 1, jump, &row).unwrap();
            let places =
                (0..count as i64).flat_map(|i| (0..inner as i64).map(move |j| i * jump + j * stride));
            Listed { ty, places: places.collect() }
        }
        4 => random_list(random, &base, step, unit, elements),
        5 if elements > 1 => {
            // Two types one behind the other, in a structure.
            let cut = 1 + random.below(elements - 1);
            let (first, second) =
                (random_type(random, basic, cut), random_type(random, basic, elements - cut));
            let at = first.bounds(extent).1 - second.bounds(extent).0 + gap;
            let fields = [(0, &first), (at, &second)];
            let ty =
                Datatype::structure(fields.map(|(offset, part)| Field { count: 1, offset, ty: &part.ty }));
            let places = fields.iter().flat_map(|(by, part)| part.places.iter().map(move |at| at + by));
            Listed { ty: ty.unwrap(), places: places.collect() }
        }
        6 => {
            // A few of another type, each in a frame of its own.
            let count = random.pick(&divisors);
            let inner = random_type(random, basic, elements / count);
            let frame = inner.span(extent) + other_gap;
            let framed = Datatype::resized(inner.bounds(extent).0, frame, &inner.ty).unwrap();
            let places =
                (0..count as i64).flat_map(|i| inner.places.iter().map(move |at| at + i * frame)).collect();
            Listed { ty: Datatype::contiguous(count, &framed).unwrap(), places }
        }
        _ => {
            let places = (0..elements as i64).map(|i| (step + gap) * i).collect::<Vec<_>>();
            Listed { ty: Datatype::hindexed_block(1, places.clone(), &base).unwrap(), places }
        }
    }
}

/// Blocks of random lengths in random order.
fn random_list(random: &mut Random, base: &Datatype, step: i64, unit: i64, elements: u64) -> Listed {
    let mut blocks = vec![];
    let (mut left, mut at) = (elements, 0);
    while left > 0 {
        let len = 1 + random.below(left.min(5));
        blocks.push((len, at));
        at += len as i64 * step + random.below(9) as i64 * unit;
        left -= len;
    }
    for i in (1..blocks.len()).rev() {
        blocks.swap(i, random.below(i as u64 + 1) as usize);
    }
    let places = blocks.iter().flat_map(|(len, at)| (0..*len as i64).map(move |i| at + i * step)).collect();
    Listed { ty: Datatype::hindexed(blocks, base).unwrap(), places }
}
