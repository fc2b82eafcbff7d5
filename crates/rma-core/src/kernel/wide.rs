//! Elements that are not one word: extended precision, complex numbers, and pairs of value and location.
//!
//! They are computed in private memory, in the form they have in a message: without holes, in the machine's order of bytes.
//! Of the 16 bytes of an extended number the x87 uses ten; the others are zero in a result.

use super::op::ReduceOp;
use crate::datatype::BasicType;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::X87DoubleExtended;
use std::cmp::Ordering;

/// The new value of an element, from what it was and the operand.
type Function<E> = fn(E, E) -> E;

/// Combines each element of `inout` with the element of `operand` at the same position. `operand` is at least as long, and
/// the operation is defined on the type.
pub(super) fn combine(op: ReduceOp, ty: BasicType, inout: &mut [u8], operand: &[u8]) {
    match op {
        ReduceOp::NoOp => return,
        ReduceOp::Replace => return inout.copy_from_slice(&operand[..inout.len()]),
        _ => {}
    }
    match ty {
        BasicType::F80 => each::<Extended>(inout, operand, number(op)),
        BasicType::ComplexF32 => each::<Complex<f32>>(inout, operand, complex(op)),
        BasicType::ComplexF64 => each::<Complex<f64>>(inout, operand, complex(op)),
        BasicType::ComplexF80 => each::<Complex<Extended>>(inout, operand, complex(op)),
        BasicType::FloatInt => each::<Pair<f32, i32>>(inout, operand, located(op)),
        BasicType::DoubleInt => each::<Pair<f64, i32>>(inout, operand, located(op)),
        BasicType::LongInt => each::<Pair<i64, i32>>(inout, operand, located(op)),
        BasicType::IntInt => each::<Pair<i32, i32>>(inout, operand, located(op)),
        BasicType::ShortInt => each::<Pair<i16, i32>>(inout, operand, located(op)),
        BasicType::LongDoubleInt => each::<Pair<Extended, i32>>(inout, operand, located(op)),
        BasicType::FloatFloat => each::<Pair<f32, f32>>(inout, operand, located(op)),
        BasicType::DoubleDouble => each::<Pair<f64, f64>>(inout, operand, located(op)),
        _ => unreachable!("an element of {ty} is one word"),
    }
}

fn each<E: Part>(inout: &mut [u8], operand: &[u8], function: Function<E>) {
    for (inout, operand) in inout.chunks_exact_mut(E::SIZE).zip(operand.chunks_exact(E::SIZE)) {
        function(E::read(inout), E::read(operand)).write(inout);
    }
}

fn number<N: Real>(op: ReduceOp) -> Function<N> {
    match op {
        ReduceOp::Sum => N::plus,
        ReduceOp::Prod => N::times,
        ReduceOp::Min => |a, b| choose(a, b, Ordering::Less),
        ReduceOp::Max => |a, b| choose(a, b, Ordering::Greater),
        _ => undefined(op),
    }
}

fn complex<N: Real>(op: ReduceOp) -> Function<Complex<N>> {
    match op {
        ReduceOp::Sum => |a, b| Complex(a.0.plus(b.0), a.1.plus(b.1)),
        // The textbook formula; what it makes of infinities is left open by the standard.
        ReduceOp::Prod => {
            |a, b| Complex(a.0.times(b.0).minus(a.1.times(b.1)), a.0.times(b.1).plus(a.1.times(b.0)))
        }
        _ => undefined(op),
    }
}

fn located<V: Part + PartialOrd, L: Part + PartialOrd>(op: ReduceOp) -> Function<Pair<V, L>> {
    match op {
        ReduceOp::MinLoc => |a, b| better(a, b, Ordering::Less),
        ReduceOp::MaxLoc => |a, b| better(a, b, Ordering::Greater),
        _ => undefined(op),
    }
}

fn undefined(op: ReduceOp) -> ! {
    unreachable!("{op} is not defined on this type")
}

/// Of two numbers the one that compares so to the other. As everywhere a number wins over a NaN, and -0 is below +0.
fn choose<N: Real>(a: N, b: N, wanted: Ordering) -> N {
    match a.partial_cmp(&b) {
        Some(Ordering::Equal) if a.is_negative() == (wanted == Ordering::Less) => a,
        Some(Ordering::Equal) => b,
        Some(ordering) if ordering == wanted => a,
        Some(_) => b,
        None if a.partial_cmp(&a).is_none() => b,
        None => a,
    }
}

/// Of two pairs the one whose value compares so to the other's, of equal values the one with the lower location.
fn better<V: PartialOrd, L: PartialOrd>(a: Pair<V, L>, b: Pair<V, L>, wanted: Ordering) -> Pair<V, L> {
    let is_first = match a.0.partial_cmp(&b.0) {
        Some(Ordering::Equal) => a.1 <= b.1,
        Some(ordering) => ordering == wanted,
        None => a.0.partial_cmp(&a.0).is_some(),
    };
    if is_first { a } else { b }
}

/// Something that lies in the bytes of an element.
trait Part: Copy {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

trait Real: Part + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_negative(self) -> bool;
}

#[derive(Clone, Copy)]
struct Complex<N>(N, N);

#[derive(Clone, Copy)]
struct Pair<V, L>(V, L);

/// A number of the x87.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Extended(X87DoubleExtended);

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Part for $number {
            const SIZE: usize = size_of::<$number>();

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; Self::SIZE];
                own.copy_from_slice(&bytes[..Self::SIZE]);
                Self::from_ne_bytes(own)
            }

            fn write(self, bytes: &mut [u8]) {
                bytes[..Self::SIZE].copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
numbers!(i16 i32 i64 f32 f64);

macro_rules! reals {
    ($($number:ty)*) => {$(
        impl Real for $number {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn minus(self, other: Self) -> Self {
                self - other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    )*};
}
reals!(f32 f64);

/// Bytes of the 16 that the x87 stores.
const EXTENDED_BYTES: usize = 10;

impl Part for Extended {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Self {
        let mut own = [0; Self::SIZE];
        own[..EXTENDED_BYTES].copy_from_slice(&bytes[..EXTENDED_BYTES]);
        Self(X87DoubleExtended::from_bits(u128::from_le_bytes(own)))
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].copy_from_slice(&self.0.to_bits().to_le_bytes());
    }
}

impl Real for Extended {
    fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).value)
    }

    fn minus(self, other: Self) -> Self {
        Self((self.0 - other.0).value)
    }

    fn times(self, other: Self) -> Self {
        Self((self.0 * other.0).value)
    }

    fn is_negative(self) -> bool {
        self.0.is_negative()
    }
}

impl<N: Part> Part for Complex<N> {
    const SIZE: usize = 2 * N::SIZE;

    fn read(bytes: &[u8]) -> Self {
        Self(N::read(bytes), N::read(&bytes[N::SIZE..]))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
        self.1.write(&mut bytes[N::SIZE..]);
    }
}

impl<V: Part, L: Part> Part for Pair<V, L> {
    const SIZE: usize = V::SIZE + L::SIZE;

    fn read(bytes: &[u8]) -> Self {
        Self(V::read(bytes), L::read(&bytes[V::SIZE..]))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
        self.1.write(&mut bytes[V::SIZE..]);
    }
}
