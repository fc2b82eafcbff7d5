//! Elements that are not one word: extended precision against what an x87 computed, complex numbers and pairs against
//! plain references, in private memory and in place.

use super::{Kernel, ReduceOp, Sole};
use crate::datatype::{BasicType, TypeClass};
use crate::mem::testing::{bytes, memory};

/// Sign with exponent, and mantissa.
type Bits = (u16, u64);

/// Two numbers, their sum and their product, as an x87 rounded them to nearest.
#[rustfmt::skip]
const COMPUTED: &[[Bits; 4]] = &[
    [(0x0000, 0x0000000000000000), (0x0000, 0x0000000000000000),
     (0x0000, 0x0000000000000000), (0x0000, 0x0000000000000000)],
    [(0x0000, 0x0000000000000000), (0x3ffd, 0xaaaaaaaaaaaaaaab),
     (0x3ffd, 0xaaaaaaaaaaaaaaab), (0x0000, 0x0000000000000000)],
    [(0x8000, 0x0000000000000000), (0x8000, 0x0000000000000000),
     (0x8000, 0x0000000000000000), (0x0000, 0x0000000000000000)],
    [(0x8000, 0x0000000000000000), (0x7ffe, 0xffffffffffffffff),
     (0x7ffe, 0xffffffffffffffff), (0x8000, 0x0000000000000000)],
    [(0x8000, 0x0000000000000000), (0xc064, 0xa41543f69393f015),
     (0xc064, 0xa41543f69393f015), (0x0000, 0x0000000000000000)],
    [(0x3fff, 0x8000000000000000), (0x3fff, 0x8000000000000000),
     (0x4000, 0x8000000000000000), (0x3fff, 0x8000000000000000)],
    [(0x3fff, 0x8000000000000000), (0x0001, 0x8000000000000000),
     (0x3fff, 0x8000000000000000), (0x0001, 0x8000000000000000)],
    [(0x3fff, 0x8000000000000000), (0x3fb9, 0x8000000080000000),
     (0x3fff, 0x8000000000000000), (0x3fb9, 0x8000000080000000)],
    [(0xbfff, 0xc000000000000000), (0xbfff, 0xc000000000000000),
     (0xc000, 0xc000000000000000), (0x4000, 0x9000000000000000)],
    [(0xbfff, 0xc000000000000000), (0x0000, 0x2000000000000000),
     (0xbfff, 0xc000000000000000), (0x8000, 0x3000000000000000)],
    [(0x3ffd, 0xaaaaaaaaaaaaaaab), (0x3ffd, 0xaaaaaaaaaaaaaaab),
     (0x3ffe, 0xaaaaaaaaaaaaaaab), (0x3ffb, 0xe38e38e38e38e38f)],
    [(0x3ffd, 0xaaaaaaaaaaaaaaab), (0x7fff, 0x8000000000000000),
     (0x7fff, 0x8000000000000000), (0x7fff, 0x8000000000000000)],
    [(0x7ffe, 0xffffffffffffffff), (0x7ffe, 0xffffffffffffffff),
     (0x7fff, 0x8000000000000000), (0x7fff, 0x8000000000000000)],
    [(0x7ffe, 0xffffffffffffffff), (0xc064, 0xa41543f69393f015),
     (0x7ffe, 0xffffffffffffffff), (0xffff, 0x8000000000000000)],
    [(0x0001, 0x8000000000000000), (0x0001, 0x8000000000000000),
     (0x0002, 0x8000000000000000), (0x0000, 0x0000000000000000)],
    [(0x0001, 0x8000000000000000), (0x3fb9, 0x8000000080000000),
     (0x3fb9, 0x8000000080000000), (0x0000, 0x0000000000000000)],
    [(0x0000, 0x2000000000000000), (0x0000, 0x2000000000000000),
     (0x0000, 0x4000000000000000), (0x0000, 0x0000000000000000)],
    [(0x7fff, 0x8000000000000000), (0x7fff, 0x8000000000000000),
     (0x7fff, 0x8000000000000000), (0x7fff, 0x8000000000000000)],
    [(0xc064, 0xa41543f69393f015), (0xc064, 0xa41543f69393f015),
     (0xc065, 0xa41543f69393f015), (0x40c9, 0xd25681b04b29813f)],
    [(0x3fb9, 0x8000000080000000), (0x3fb9, 0x8000000080000000),
     (0x3fba, 0x8000000080000000), (0x3f73, 0x8000000100000000)],
];

fn extended((exponent, mantissa): Bits) -> Vec<u8> {
    [&mantissa.to_le_bytes()[..], &exponent.to_le_bytes(), &[0; 6]].concat()
}

fn combined(op: ReduceOp, ty: BasicType, a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut inout = a.to_vec();
    Kernel::new(op, ty).unwrap().combine(&mut inout, b);
    inout
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "long double is another format")]
fn extended_numbers_are_computed_as_the_processor_does() {
    for [a, b, sum, product] in COMPUTED.iter().map(|row| row.map(extended)) {
        for (a, b) in [(&a, &b), (&b, &a)] {
            assert_eq!(combined(ReduceOp::Sum, BasicType::F80, a, b), sum, "{a:?} + {b:?}");
            assert_eq!(combined(ReduceOp::Prod, BasicType::F80, a, b), product, "{a:?} * {b:?}");
        }
    }
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "long double is another format")]
fn bytes_that_an_extended_number_does_not_use_do_not_count() {
    let mut a = extended((0x3fff, 1 << 63));
    a[12] = 0xa5;
    let two = extended((0x4000, 1 << 63));
    assert_eq!(combined(ReduceOp::Sum, BasicType::F80, &a, &extended((0x3fff, 1 << 63))), two);
    assert_eq!(combined(ReduceOp::Replace, BasicType::F80, &two, &a), a, "a replacement is all bytes");
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "long double is another format")]
fn of_extended_numbers_the_smaller_and_the_larger_are_found() {
    let nan = extended((0x7fff, 0b11 << 62));
    let ascending = [
        extended((0xffff, 1 << 63)),
        extended((0xbfff, 0xc << 60)),
        extended((0x8000, 0)),
        extended((0, 0)),
        extended((0, 1)),
        extended((0x3fff, 1 << 63)),
        extended((0x7fff, 1 << 63)),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for b in &ascending[i..] {
            for (x, y) in [(a, b), (b, a)] {
                assert_eq!(&combined(ReduceOp::Min, BasicType::F80, x, y), a);
                assert_eq!(&combined(ReduceOp::Max, BasicType::F80, x, y), b);
            }
        }
        for op in [ReduceOp::Min, ReduceOp::Max] {
            assert_eq!(&combined(op, BasicType::F80, a, &nan), a);
            assert_eq!(&combined(op, BasicType::F80, &nan, a), a);
        }
    }
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "long double is another format")]
fn complex_numbers_add_and_multiply() {
    let f32s = |v: [f32; 2]| v.map(f32::to_ne_bytes).concat();
    let f64s = |v: [f64; 2]| v.map(f64::to_ne_bytes).concat();
    let sum = [4.0, -1.5];
    let (a, b) = ([1.0, 2.0], [3.0, -3.5]);
    let right = [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    for (op, right) in [(ReduceOp::Sum, sum), (ReduceOp::Prod, right)] {
        assert_eq!(combined(op, BasicType::ComplexF64, &f64s(a), &f64s(b)), f64s(right), "{op}");
        let narrow = |v: [f64; 2]| f32s(v.map(|part| part as f32));
        assert_eq!(combined(op, BasicType::ComplexF32, &narrow(a), &narrow(b)), narrow(right), "{op}");
    }
    // i * i = -1, in extended precision.
    let (zero, one, minus_one) = ((0, 0), (0x3fff, 1 << 63), (0xbfff, 1 << 63));
    let i = [extended(zero), extended(one)].concat();
    let found = combined(ReduceOp::Prod, BasicType::ComplexF80, &i, &i);
    assert_eq!(found, [extended(minus_one), extended(zero)].concat());
}

#[test]
fn pairs_keep_the_location_of_the_extreme_value() {
    macro_rules! check {
        ($ty:ident, $value:ty, $location:ty) => {
            let pair = |value: i8, location: i8| {
                let parts =
                    [&<$value>::from(value).to_ne_bytes()[..], &<$location>::from(location).to_ne_bytes()];
                parts.concat()
            };
            for (a, b, least, most) in [
                ((5, 1), (3, 2), (3, 2), (5, 1)),
                ((-5, 9), (3, 2), (-5, 9), (3, 2)),
                ((4, 9), (4, 2), (4, 2), (4, 2)),
                ((4, -9), (4, 2), (4, -9), (4, -9)),
            ] {
                let [a, b, least, most] = [a, b, least, most].map(|(value, location)| pair(value, location));
                for (a, b) in [(&a, &b), (&b, &a)] {
                    let ty = BasicType::$ty;
                    assert_eq!(a.len(), ty.size());
                    assert_eq!(combined(ReduceOp::MinLoc, ty, a, b), least, "{ty}");
                    assert_eq!(combined(ReduceOp::MaxLoc, ty, a, b), most, "{ty}");
                    assert_eq!(&combined(ReduceOp::Replace, ty, a, b), b, "{ty}");
                    assert_eq!(&combined(ReduceOp::NoOp, ty, a, b), a, "{ty}");
                }
            }
        };
    }
    check!(FloatInt, f32, i32);
    check!(DoubleInt, f64, i32);
    check!(LongInt, i64, i32);
    check!(IntInt, i32, i32);
    check!(ShortInt, i16, i32);
    check!(FloatFloat, f32, f32);
    check!(DoubleDouble, f64, f64);
    let long = |bits: Bits, location: i32| [&extended(bits)[..], &location.to_ne_bytes()].concat();
    let (one, two) = (long((0x3fff, 1 << 63), 7), long((0x4000, 1 << 63), 3));
    assert_eq!(combined(ReduceOp::MinLoc, BasicType::LongDoubleInt, &two, &one), one);
    assert_eq!(combined(ReduceOp::MaxLoc, BasicType::LongDoubleInt, &two, &one), two);
}

#[test]
fn elements_in_place_equal_those_in_private_memory_at_every_alignment() {
    for count in [1, 3, 4, 5, 150, 2500] {
        check_elements(count);
    }
}

fn check_elements(count: usize) {
    let wide = BasicType::ALL.iter().filter(|ty| !ty.is_word() && ty.is_dense());
    for ty in wide {
        let len = count * ty.size();
        // Any bits will do for all but extended precision, whose parts are made ordinary numbers.
        let fill = |seed: u8| {
            let mut data: Vec<u8> =
                (0..len).map(|i| ((i * i * usize::from(seed)) >> 3) as u8 & 0x3f).collect();
            for number in data.chunks_mut(16) {
                if ty.size() >= 16 {
                    number[7] |= 0x80;
                }
            }
            data
        };
        let (targets, origins) = (fill(5), fill(11));
        for op in ReduceOp::ALL.iter().filter(|op| op.is_defined_on(*ty)) {
            let kernel = Kernel::new(*op, *ty).unwrap();
            let mut right = targets.clone();
            kernel.combine(&mut right, &origins);
            assert!(count < 150 || (right != targets) == (*op != ReduceOp::NoOp), "{op} on {ty}");
            for shift in [0, 1, 8] {
                let target = memory(len + 8).part(shift, len);
                target.write(&targets);
                let mut old = vec![0; len];
                kernel.fetch_accumulate(target, &origins[..], &mut old[..], &Sole);
                assert_eq!((bytes(target), &old), (right.clone(), &targets), "{op} on {ty}");
                if op.is_accumulate() {
                    target.write(&targets);
                    let origin = memory(len);
                    origin.write(&origins);
                    kernel.accumulate(target, origin.as_read(), &Sole);
                    assert_eq!(bytes(target), right, "{op} on {ty}");
                }
            }
        }
    }
    assert!(BasicType::ALL.iter().any(|ty| !ty.is_dense() && ty.class() == TypeClass::Pair));
}
