//! Elements that are not one word: `long double`, complex numbers, and pairs of value and location.
//!
//! They are computed in private memory, in the form they have in a message: without holes, in the machine's
//! order of bytes. Plain copies, and operations that are the same on each part of an element, are done in
//! place, as on runs of words; the exclusion keeps the elements whole.

use super::exclusion::Exclusion;
use super::function::FloatSum;
use super::long::{MAX_AT_ONCE, plain};
use super::long_double::{Extended, FORMAT, Format, Quadruple};
use super::op::ReduceOp;
use super::operand::{OperandSource, ResultSink};
use crate::datatype::BasicType;
use crate::mem::WriteSpan;
use std::cmp::Ordering;

/// Elements of which copies are changed under one guard, so that a long transfer lets others in.
const ELEMENTS_PER_GUARD: usize = 64;

/// Elements for which larger buffers are not cleared, because that takes longer than to combine them.
const FEW: usize = 4;

/// Any number of elements that lie side by side, and what is done to them.
pub(super) struct WideRun<'a, S, R, E> {
    pub(super) op: ReduceOp,
    pub(super) ty: BasicType,
    pub(super) target: WriteSpan,
    pub(super) origin: S,
    pub(super) result: R,
    pub(super) exclusion: &'a E,
}

impl<S: OperandSource, R: ResultSink, E: Exclusion> WideRun<'_, S, R, E> {
    pub(super) fn run(self) {
        let origin = self.origin;
        match (self.op, self.ty) {
            (ReduceOp::NoOp, _) => self.in_place(|result, target, offset| {
                result.copy_at(offset, target.as_read());
            }),
            (ReduceOp::Replace, _) => self.in_place(|result, target, offset| {
                result.copy_at(offset, target.as_read());
                origin.copy_to(offset, target);
            }),
            (ReduceOp::Sum, BasicType::ComplexF64) if self.target.elements::<u64>().is_some() => self
                .in_place(|result, target, offset| {
                    plain::<u64, FloatSum, S, R>(target, origin, offset, result)
                }),
            (ReduceOp::Sum, BasicType::ComplexF32) if self.target.elements::<u32>().is_some() => self
                .in_place(|result, target, offset| {
                    plain::<u32, FloatSum, S, R>(target, origin, offset, result)
                }),
            _ if self.target.len() <= FEW * self.ty.size() => {
                let len = self.target.len();
                let (mut current, mut operand) =
                    ([0; FEW * BasicType::MAX_SIZE], [0; FEW * BasicType::MAX_SIZE]);
                self.in_copies(&mut current[..len], &mut operand[..len]);
            }
            _ => {
                const LEN: usize = ELEMENTS_PER_GUARD * BasicType::MAX_SIZE;
                let step = ELEMENTS_PER_GUARD * self.ty.size();
                self.in_copies(&mut [0; LEN][..step], &mut [0; LEN][..step]);
            }
        }
    }

    /// Calls `change` under the exclusion, with parts of the target and how far behind its start they are.
    #[inline]
    fn in_place(mut self, change: impl Fn(&mut R, WriteSpan, usize)) {
        // A short run is spared the division.
        let step = match self.target.len() {
            len if len <= MAX_AT_ONCE => len,
            _ => MAX_AT_ONCE - MAX_AT_ONCE % self.ty.size(),
        };
        let mut offset = 0;
        while offset < self.target.len() {
            let target = self.target.part(offset, step.min(self.target.len() - offset));
            let _guard = self.exclusion.exclude();
            change(&mut self.result, target, offset);
            offset += target.len();
        }
    }

    #[inline(never)]
    fn in_copies(mut self, current: &mut [u8], operand: &mut [u8]) {
        let mut offset = 0;
        while offset < self.target.len() {
            let len = current.len().min(self.target.len() - offset);
            let (current, operand) = (&mut current[..len], &mut operand[..len]);
            self.origin.bytes_at(offset, operand);
            let target = self.target.part(offset, len);
            let guard = self.exclusion.exclude();
            target.as_read().read(current);
            self.result.set_bytes_at(offset, current);
            combine(self.op, self.ty, current, operand);
            target.write(current);
            drop(guard);
            offset += len;
        }
    }
}

/// Combines each element of `inout` with the element of `operand` at the same position. `operand` is at least as long, and
/// the operation is defined on the type.
pub(super) fn combine(op: ReduceOp, ty: BasicType, inout: &mut [u8], operand: &[u8]) {
    match op {
        ReduceOp::NoOp => return,
        ReduceOp::Replace => return inout.copy_from_slice(&operand[..inout.len()]),
        _ => {}
    }
    match ty {
        BasicType::F80 | BasicType::ComplexF80 | BasicType::LongDoubleInt => match FORMAT {
            Format::X87 => long_double::<Extended>(op, ty, inout, operand),
            Format::Quad => long_double::<Quadruple>(op, ty, inout, operand),
        },
        BasicType::ComplexF32 => complex::<f32>(op, inout, operand),
        BasicType::ComplexF64 => complex::<f64>(op, inout, operand),
        BasicType::FloatInt => located::<f32, i32>(op, inout, operand),
        BasicType::DoubleInt => located::<f64, i32>(op, inout, operand),
        BasicType::LongInt => located::<i64, i32>(op, inout, operand),
        BasicType::IntInt => located::<i32, i32>(op, inout, operand),
        BasicType::ShortInt => located::<i16, i32>(op, inout, operand),
        BasicType::FloatFloat => located::<f32, f32>(op, inout, operand),
        BasicType::DoubleDouble => located::<f64, f64>(op, inout, operand),
        _ => unreachable!("an element of {ty} is one word"),
    }
}

/// [`combine`] of what is made of numbers of one format of `long double`.
fn long_double<N: Real>(op: ReduceOp, ty: BasicType, inout: &mut [u8], operand: &[u8]) {
    match ty {
        BasicType::ComplexF80 => complex::<N>(op, inout, operand),
        BasicType::LongDoubleInt => located::<N, i32>(op, inout, operand),
        _ => numbers::<N>(op, inout, operand),
    }
}

/// A loop of its own for each function, so that it is not called for every element.
fn each<E: Packed>(inout: &mut [u8], operand: &[u8], function: impl Fn(E, E) -> E) {
    for (inout, operand) in inout.chunks_exact_mut(E::SIZE).zip(operand.chunks_exact(E::SIZE)) {
        function(E::read(inout), E::read(operand)).write(inout);
    }
}

fn numbers<N: Real>(op: ReduceOp, inout: &mut [u8], operand: &[u8]) {
    match op {
        ReduceOp::Sum => each(inout, operand, N::plus),
        ReduceOp::Prod => each(inout, operand, N::times),
        ReduceOp::Min => each::<N>(inout, operand, |a, b| choose(a, b, Ordering::Less)),
        ReduceOp::Max => each::<N>(inout, operand, |a, b| choose(a, b, Ordering::Greater)),
        _ => undefined(op),
    }
}

fn complex<N: Real>(op: ReduceOp, inout: &mut [u8], operand: &[u8]) {
    match op {
        // A sum of complex numbers is the sums of their parts.
        ReduceOp::Sum => each(inout, operand, N::plus),
        // The textbook formula; what it makes of infinities is left open by the standard.
        ReduceOp::Prod => each::<Complex<N>>(inout, operand, |a, b| {
            Complex(a.0.times(b.0).minus(a.1.times(b.1)), a.0.times(b.1).plus(a.1.times(b.0)))
        }),
        _ => undefined(op),
    }
}

fn located<V: Packed + PartialOrd, L: Packed + PartialOrd>(op: ReduceOp, inout: &mut [u8], operand: &[u8]) {
    match op {
        ReduceOp::MinLoc => each::<Pair<V, L>>(inout, operand, |a, b| better(a, b, Ordering::Less)),
        ReduceOp::MaxLoc => each::<Pair<V, L>>(inout, operand, |a, b| better(a, b, Ordering::Greater)),
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

/// A value that lies in the bytes of an element, without holes.
pub(super) trait Packed: Copy {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

pub(super) trait Real: Packed + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_negative(self) -> bool;
}

#[derive(Clone, Copy)]
struct Complex<N>(N, N);

#[derive(Clone, Copy)]
struct Pair<V, L>(V, L);

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Packed for $number {
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

impl<N: Packed> Packed for Complex<N> {
    const SIZE: usize = 2 * N::SIZE;

    fn read(bytes: &[u8]) -> Self {
        Self(N::read(bytes), N::read(&bytes[N::SIZE..]))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
        self.1.write(&mut bytes[N::SIZE..]);
    }
}

impl<V: Packed, L: Packed> Packed for Pair<V, L> {
    const SIZE: usize = V::SIZE + L::SIZE;

    fn read(bytes: &[u8]) -> Self {
        Self(V::read(bytes), L::read(&bytes[V::SIZE..]))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
        self.1.write(&mut bytes[V::SIZE..]);
    }
}
