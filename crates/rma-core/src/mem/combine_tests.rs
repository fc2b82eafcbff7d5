//! Every fold against plain code for one word, on all pairs of values that are special, at lengths that are no whole number of
//! steps, with and without old values.

use super::avx512_x86_64::VectorWidth;
use super::combine::FoldLoop;
use super::span::{Fold, LaneType};

/// Bytes that one instruction combines.
const STEP: usize = 32;

/// Longer than the pieces by which old values are kept, and than all pairs of values below.
const LONG: usize = (4 << 10) + 3 * 128 + 2 * STEP + 8;

/// Checks a fold on pairs of `values`, between bytes that must stay.
fn check<const N: usize>(fold: Fold, values: &[[u8; N]], apply: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    assert!(values.len().pow(2) * N <= LONG, "not all pairs are met");
    if let Some(combine) = FoldLoop::avx2(fold) {
        check_loop(fold, combine, STEP, values, &apply);
    }
    let widths = VectorWidth::here().map(|_| [VectorWidth::Whole, VectorWidth::Half]);
    for combine in widths.into_iter().flatten().filter_map(|width| FoldLoop::avx512(fold, width)) {
        check_loop(fold, combine, 1, values, &apply);
    }
}

/// [`check`] of a loop that combines whole steps of so many bytes.
fn check_loop<const N: usize>(
    fold: Fold,
    combine: FoldLoop,
    step: usize,
    values: &[[u8; N]],
    apply: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let lens = [0, 8, 24, 32, 40, 56, 64, 96, 128, 136, 160, 248, 256, 312, 328, 520, 4104, LONG];
    for (len, keeps) in lens.into_iter().flat_map(|len| [(len, false), (len, true)]) {
        let words = |of: &dyn Fn(usize) -> usize| -> Vec<u8> {
            (0..len / N).flat_map(|at| values[of(at) % values.len()]).collect()
        };
        let start = [vec![0xa5; 8], words(&|at| at), vec![0x5a; 8]].concat();
        let operand = words(&|at| at / values.len());
        let (mut target, mut kept) = (start.clone(), vec![0; len]);
        let before = if keeps { kept.as_mut_ptr() } else { std::ptr::null_mut() };
        // SAFETY: all have `len` bytes from there on.
        let done = unsafe { combine.run(target[8..].as_mut_ptr(), operand.as_ptr(), before, len) };
        assert_eq!(done, len - len % step);
        let mut expected = start.clone();
        for at in (0..done).step_by(N) {
            let word = |bytes: &[u8]| <[u8; N]>::try_from(&bytes[..N]).unwrap();
            let (a, b) = (word(&start[8 + at..]), word(&operand[at..]));
            expected[8 + at..][..N].copy_from_slice(&apply(a, b));
            assert_eq!(word(&target[8 + at..]), word(&expected[8 + at..]), "{fold:?} of {a:x?} and {b:x?}");
        }
        assert!(target == expected, "{fold:?}, {len} bytes");
        assert!(!keeps || kept[..done] == start[8..8 + done], "{fold:?}, {len} bytes");
    }
}

macro_rules! check_integers {
    ($($number:ident $lane:ident;)*) => {$(
        let middle = <$number>::MAX / 2;
        let values = [
            0, 1, 2, 3, <$number>::MAX, <$number>::MAX - 1, <$number>::MIN, <$number>::MIN + 1, middle,
            middle + 1, 100, 0x5a, 0x6b_6b_6b_6b_6b_6b_6b_6b_u64 as $number,
            0xb6_b6_b6_b6_12_34_b6_b6_u64 as $number, 0x8000_0000_u64 as $number, 0x7fff_ffff_u64 as $number,
            0x1_0000_0000_u64 as $number, 0x8000_u64 as $number,
        ].map(<$number>::to_ne_bytes);
        let of = <$number>::from_ne_bytes;
        check(Fold::Add(LaneType::$lane), &values, |a, b| of(a).wrapping_add(of(b)).to_ne_bytes());
        check(Fold::Multiply(LaneType::$lane), &values, |a, b| of(a).wrapping_mul(of(b)).to_ne_bytes());
        check(Fold::Minimum(LaneType::$lane), &values, |a, b| of(a).min(of(b)).to_ne_bytes());
        check(Fold::Maximum(LaneType::$lane), &values, |a, b| of(a).max(of(b)).to_ne_bytes());
    )*};
}

#[test]
fn integers_are_combined_as_one_by_one() {
    check_integers! { u8 U8; u16 U16; u32 U32; u64 U64; i8 I8; i16 I16; i32 I32; i64 I64; }
}

#[test]
fn bits_are_combined_as_one_by_one() {
    let values = [0, 0xff, 0x0f, 0x33, 0x55, 0x81].map(|byte: u8| [byte]);
    check(Fold::And, &values, |[a], [b]| [a & b]);
    check(Fold::Or, &values, |[a], [b]| [a | b]);
    check(Fold::Xor, &values, |[a], [b]| [a ^ b]);
}

macro_rules! check_floats {
    ($($number:ident $lane:ident;)*) => {$(
        let numbers = [
            0.0, -0.0, 1.0, -1.0, 1.5, -2.25, <$number>::MAX, <$number>::MIN, <$number>::MIN_POSITIVE,
            <$number>::EPSILON, <$number>::INFINITY, <$number>::NEG_INFINITY, <$number>::from_bits(1),
            -<$number>::from_bits(1),
        ].map(<$number>::to_ne_bytes);
        let of = <$number>::from_ne_bytes;
        // What NaN an addition or multiplication makes is left open.
        let made = |new: $number| if new.is_nan() { <$number>::NAN } else { new }.to_ne_bytes();
        let finite = &numbers[..10];
        check(Fold::Add(LaneType::$lane), finite, |a, b| made(of(a) + of(b)));
        check(Fold::Multiply(LaneType::$lane), finite, |a, b| made(of(a) * of(b)));
        let infinity = <$number>::INFINITY.to_bits();
        let quiet = <$number>::NAN.to_bits();
        let nans = [quiet, quiet | 5, (-<$number>::NAN).to_bits() | 7, infinity | 1];
        let nans = nans.map(<$number>::from_bits).map(<$number>::to_ne_bytes);
        let values = [&numbers[..], &nans].concat();
        let is_first = |a: $number, b: $number, wanted| {
            b.is_nan() || (!a.is_nan() && a.total_cmp(&b) == wanted)
        };
        let of_two = |a, b, wanted| if is_first(of(a), of(b), wanted) { a } else { b };
        check(Fold::Minimum(LaneType::$lane), &values, |a, b| of_two(a, b, std::cmp::Ordering::Less));
        check(Fold::Maximum(LaneType::$lane), &values, |a, b| of_two(a, b, std::cmp::Ordering::Greater));
    )*};
}

#[test]
fn floating_point_is_combined_as_one_by_one() {
    check_floats! { f32 F32; f64 F64; }
}
