//! Reduce operations once more, as plainly as possible: what the oracle computes with.

use rma_core::datatype::BasicType;
use rma_core::kernel::ReduceOp;

/// The data bytes of one element: offset and length.
pub(super) fn parts(basic: BasicType) -> &'static [(usize, usize)] {
    match basic {
        BasicType::ShortInt => &[(0, 2), (4, 4)],
        BasicType::DoubleInt | BasicType::LongInt => &[(0, 12)],
        _ => match basic.size() {
            1 => &[(0, 1)],
            2 => &[(0, 2)],
            4 => &[(0, 4)],
            8 => &[(0, 8)],
            _ => &[(0, 16)],
        },
    }
}

/// What becomes of a target's element; both have the length of the type's extent, and holes stay.
pub(super) fn combine(op: ReduceOp, basic: BasicType, target: &mut [u8], origin: &[u8]) {
    match op {
        ReduceOp::NoOp => {}
        ReduceOp::Replace => {
            for (at, len) in parts(basic) {
                target[*at..at + len].copy_from_slice(&origin[*at..at + len]);
            }
        }
        _ => compute(op, basic, target, origin),
    }
}

macro_rules! integers {
    ($ty:ty, $op:expr, $target:expr, $origin:expr) => {{
        let a = <$ty>::from_ne_bytes($target.try_into().expect("one element"));
        let b = <$ty>::from_ne_bytes($origin.try_into().expect("one element"));
        let truth = |value: bool| value as $ty;
        let value = match $op {
            ReduceOp::Sum => a.wrapping_add(b),
            ReduceOp::Prod => a.wrapping_mul(b),
            ReduceOp::Min => a.min(b),
            ReduceOp::Max => a.max(b),
            ReduceOp::BitAnd => a & b,
            ReduceOp::BitOr => a | b,
            ReduceOp::BitXor => a ^ b,
            ReduceOp::LogicalAnd => truth(a != 0 && b != 0),
            ReduceOp::LogicalOr => truth(a != 0 || b != 0),
            ReduceOp::LogicalXor => truth((a != 0) != (b != 0)),
            other => unreachable!("{other} on integers"),
        };
        $target.copy_from_slice(&value.to_ne_bytes());
    }};
}

macro_rules! floats {
    ($ty:ty, $op:expr, $target:expr, $origin:expr) => {{
        let a = <$ty>::from_ne_bytes((&*$target).try_into().expect("one element"));
        let b = <$ty>::from_ne_bytes($origin.try_into().expect("one element"));
        let value = match $op {
            ReduceOp::Sum => a + b,
            ReduceOp::Prod => a * b,
            // Minus zero is below plus zero.
            ReduceOp::Min => {
                if b.total_cmp(&a).is_lt() {
                    b
                } else {
                    a
                }
            }
            ReduceOp::Max => {
                if b.total_cmp(&a).is_gt() {
                    b
                } else {
                    a
                }
            }
            other => unreachable!("{other} on numbers"),
        };
        $target.copy_from_slice(&value.to_ne_bytes());
    }};
}

fn compute(op: ReduceOp, basic: BasicType, target: &mut [u8], origin: &[u8]) {
    match basic {
        BasicType::I8 | BasicType::Logical8 => integers!(i8, op, (&mut *target), origin),
        BasicType::U8 | BasicType::Byte => integers!(u8, op, (&mut *target), origin),
        BasicType::I16 => integers!(i16, op, (&mut *target), origin),
        BasicType::U16 => integers!(u16, op, (&mut *target), origin),
        BasicType::I32 | BasicType::Logical32 => integers!(i32, op, (&mut *target), origin),
        BasicType::U32 => integers!(u32, op, (&mut *target), origin),
        BasicType::I64 => integers!(i64, op, (&mut *target), origin),
        BasicType::U64 => integers!(u64, op, (&mut *target), origin),
        BasicType::F32 => floats!(f32, op, target, origin),
        BasicType::F64 => floats!(f64, op, target, origin),
        BasicType::ComplexF64 => {
            floats!(f64, op, &mut target[..8], &origin[..8]);
            floats!(f64, op, &mut target[8..], &origin[8..]);
        }
        BasicType::DoubleInt | BasicType::IntInt | BasicType::ShortInt => {
            let (a, b) = (located(basic, target), located(basic, origin));
            let is_better = if op == ReduceOp::MinLoc { b.0 < a.0 } else { b.0 > a.0 };
            if is_better || (b.0 == a.0 && b.1 < a.1) {
                combine(ReduceOp::Replace, basic, target, origin);
            }
        }
        other => unreachable!("no region has elements of {other}"),
    }
}

/// Value and location of a pair.
fn located(basic: BasicType, bytes: &[u8]) -> (f64, i32) {
    let word = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    match basic {
        BasicType::DoubleInt => (f64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes")), word(8)),
        BasicType::IntInt => (word(0).into(), word(4)),
        _ => (i16::from_ne_bytes(bytes[..2].try_into().expect("two bytes")).into(), word(4)),
    }
}
