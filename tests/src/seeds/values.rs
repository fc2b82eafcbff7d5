//! Elements drawn from a seed: what operations bring.

use super::program::Shape;
use super::reference::parts;
use crate::random::Random;
use rma_core::datatype::{BasicType, TypeClass};
use rma_core::kernel::ReduceOp;

/// Types of ordered accumulates.
pub(super) const ORDERED: [BasicType; 16] = [
    BasicType::I8,
    BasicType::U8,
    BasicType::I16,
    BasicType::U16,
    BasicType::I32,
    BasicType::U32,
    BasicType::I64,
    BasicType::U64,
    BasicType::F32,
    BasicType::F64,
    BasicType::Byte,
    BasicType::Logical32,
    BasicType::ComplexF64,
    BasicType::DoubleInt,
    BasicType::IntInt,
    BasicType::ShortInt,
];

/// Operations whose order does not matter, with types on which that is exact.
pub(super) const COMMUTING: [(BasicType, ReduceOp); 8] = [
    (BasicType::U64, ReduceOp::Sum),
    (BasicType::I32, ReduceOp::Sum),
    (BasicType::I8, ReduceOp::Prod),
    (BasicType::U8, ReduceOp::BitXor),
    (BasicType::I16, ReduceOp::Max),
    (BasicType::U32, ReduceOp::BitOr),
    (BasicType::F64, ReduceOp::Sum),
    (BasicType::IntInt, ReduceOp::MinLoc),
];

/// The elements that an operation with this seed brings: bytes of each, in order, with zeros in holes.
pub(super) fn elements(shape: &Shape, data: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(data);
    (0..shape.elements).map(|_| element(shape.basic, &mut random)).collect()
}

/// One element: numbers are small where sums have to be exact.
fn element(basic: BasicType, random: &mut Random) -> Vec<u8> {
    let small = random.below(17) as i32 - 8;
    let mut bytes = vec![0; basic.extent()];
    match basic.class() {
        TypeClass::Signed | TypeClass::Unsigned | TypeClass::Byte | TypeClass::Character => {
            let word = if random.coin() { random.next() } else { random.below(5) };
            let len = bytes.len().min(8);
            bytes[..len].copy_from_slice(&word.to_ne_bytes()[..len]);
        }
        TypeClass::Float | TypeClass::Complex => {
            for part in bytes.chunks_mut(if basic == BasicType::F32 { 4 } else { 8 }) {
                match part.len() {
                    4 => part.copy_from_slice(&(small as f32).to_ne_bytes()),
                    _ => part.copy_from_slice(&f64::from(small).to_ne_bytes()),
                }
            }
        }
        TypeClass::Logical => bytes[0] = random.below(3) as u8,
        TypeClass::Pair => {
            let location = random.below(9) as i32;
            match basic {
                BasicType::DoubleInt => {
                    bytes[..8].copy_from_slice(&f64::from(small).to_ne_bytes());
                    bytes[8..12].copy_from_slice(&location.to_ne_bytes());
                }
                BasicType::ShortInt => {
                    bytes[..2].copy_from_slice(&(small as i16).to_ne_bytes());
                    bytes[4..].copy_from_slice(&location.to_ne_bytes());
                }
                _ => {
                    bytes[..4].copy_from_slice(&small.to_ne_bytes());
                    bytes[4..].copy_from_slice(&location.to_ne_bytes());
                }
            }
        }
    }
    bytes
}

/// Lays elements out in a buffer that begins at the shape's lowest byte; holes are filled with `fill`.
pub(super) fn scatter(shape: &Shape, elements: &[Vec<u8>], fill: u8) -> Vec<u8> {
    let (low, high) = shape.bounds();
    let mut buffer = vec![fill; (high - low) as usize];
    for (place, element) in shape.listed().places.iter().zip(elements) {
        let start = (place - low) as usize;
        for (at, len) in parts(shape.basic) {
            buffer[start + at..start + at + len].copy_from_slice(&element[*at..at + len]);
        }
    }
    buffer
}

/// Operations that an ordered region of this type takes, no-op apart.
pub(super) fn operations_on(basic: BasicType) -> Vec<ReduceOp> {
    let is_exact = |op: &ReduceOp| {
        op.is_accumulate()
            && op.is_defined_on(basic)
            && !(basic == BasicType::ComplexF64 && *op == ReduceOp::Prod)
    };
    ReduceOp::ALL.iter().copied().filter(is_exact).collect()
}
