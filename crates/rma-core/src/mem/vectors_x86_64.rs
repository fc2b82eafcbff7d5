//! The loops of [`super::combine`] for what takes several instructions of AVX2: minima and maxima of words of 64 bits and of
//! floating point, products of words of 8 and 64 bits.
//!
//! Memory is loaded and stored by `asm!` alone, for the reason given there. What is computed in between is private to
//! registers, so it is written in the compiler's vector functions, which leaves the choice of registers and the order of
//! instructions to the compiler. A loop of one instruction is better off in `asm!` as a whole: the instruction loads its operand itself.

use super::combine::STEP;
use std::arch::asm;
use std::arch::x86_64::*;

macro_rules! loops {
    ($($name:ident($current:ident, $operand:ident) = $new:expr;)*) => {$(
        /// # Safety
        /// The processor has AVX2; `to` is writable and `from` readable for `len` bytes, a multiple of the step.
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $name(to: *mut u8, from: *const u8, len: usize) {
            // SAFETY: the caller's promise.
            unsafe { each(to, from, len, |$current, $operand| $new) }
        }
    )*};
}

loops! {
    multiply_8(a, b) = product_of_bytes(a, b);
    multiply_64(a, b) = product_of_longs(a, b);
    minimum_i64(a, b) = _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
    maximum_i64(a, b) = _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
    minimum_u64(a, b) = _mm256_blendv_epi8(a, b, is_above(a, b));
    maximum_u64(a, b) = _mm256_blendv_epi8(b, a, is_above(a, b));
}

/// The least or greatest of floating point numbers: by `$extreme`, where it does not matter which operand comes first, and by `$exact`
/// where it does.
macro_rules! extremes {
    ($($name:ident: $extreme:ident, $exact:ident, $from:ident, $to:ident;)*) => {$(
        /// # Safety
        /// The processor has AVX2; `to` is writable and `from` readable for `len` bytes, a multiple of the step.
        #[target_feature(enable = "avx2")]
        pub(super) unsafe fn $name(to: *mut u8, from: *const u8, len: usize) {
            let extreme = |a, b| $to($extreme($from(a), $from(b)));
            // SAFETY: the caller's promise.
            unsafe { each_extreme(to, from, len, extreme, |a, b| $exact(a, b)) }
        }
    )*};
}

extremes! {
    minimum_f32: _mm256_min_ps, exact_minimum_f32, _mm256_castsi256_ps, _mm256_castps_si256;
    maximum_f32: _mm256_max_ps, exact_maximum_f32, _mm256_castsi256_ps, _mm256_castps_si256;
    minimum_f64: _mm256_min_pd, exact_minimum_f64, _mm256_castsi256_pd, _mm256_castpd_si256;
    maximum_f64: _mm256_max_pd, exact_maximum_f64, _mm256_castsi256_pd, _mm256_castpd_si256;
}

#[target_feature(enable = "avx2")]
#[inline]
fn exact_minimum_f32(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let signs = _mm256_and_ps(a, _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b));
    let least = _mm256_or_ps(_mm256_min_ps(a, b), signs);
    _mm256_castps_si256(_mm256_blendv_ps(least, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(b, b)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn exact_maximum_f32(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    let signs = _mm256_or_ps(a, _mm256_cmp_ps::<_CMP_NEQ_UQ>(a, b));
    let greatest = _mm256_and_ps(_mm256_max_ps(a, b), signs);
    _mm256_castps_si256(_mm256_blendv_ps(greatest, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(b, b)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn exact_minimum_f64(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_pd(a), _mm256_castsi256_pd(b));
    let signs = _mm256_and_pd(a, _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b));
    let least = _mm256_or_pd(_mm256_min_pd(a, b), signs);
    _mm256_castpd_si256(_mm256_blendv_pd(least, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(b, b)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn exact_maximum_f64(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_pd(a), _mm256_castsi256_pd(b));
    let signs = _mm256_or_pd(a, _mm256_cmp_pd::<_CMP_NEQ_UQ>(a, b));
    let greatest = _mm256_and_pd(_mm256_max_pd(a, b), signs);
    _mm256_castpd_si256(_mm256_blendv_pd(greatest, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(b, b)))
}

/// Bytes have no product of their own: those at even places are the low halves of products of 16 bits, those at odd places are
/// multiplied where they are.
#[target_feature(enable = "avx2")]
#[inline]
fn product_of_bytes(a: __m256i, b: __m256i) -> __m256i {
    let low = _mm256_set1_epi16(0xff);
    let even = _mm256_and_si256(_mm256_mullo_epi16(a, b), low);
    let odd = _mm256_mullo_epi16(_mm256_srli_epi16::<8>(a), _mm256_andnot_si256(low, b));
    _mm256_or_si256(even, odd)
}

/// By halves, as on paper; the product of the high ones is beyond the word.
#[target_feature(enable = "avx2")]
#[inline]
fn product_of_longs(a: __m256i, b: __m256i) -> __m256i {
    let (high_a, high_b) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
    let crosswise = _mm256_add_epi64(_mm256_mul_epu32(high_a, b), _mm256_mul_epu32(a, high_b));
    _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(crosswise))
}

/// AVX2 compares signed words alone, and the order of unsigned ones is theirs with the sign turned.
#[target_feature(enable = "avx2")]
#[inline]
fn is_above(a: __m256i, b: __m256i) -> __m256i {
    let sign = _mm256_set1_epi64x(i64::MIN);
    _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign))
}

/// Combines a step at a time; four at a turn while there are so many, because their instructions depend on each other only
/// within one.
///
/// # Safety
/// `to` is writable and `from` readable for `len` bytes, a multiple of the step.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn each(mut to: *mut u8, mut from: *const u8, len: usize, new: impl Fn(__m256i, __m256i) -> __m256i) {
    const TURN: usize = 4 * STEP;
    // SAFETY: the first loop goes over whole turns of the bytes that the caller promises, the second over the steps behind them.
    unsafe {
        for _ in 0..len / TURN {
            let first = new(load::<0>(to), load::<0>(from));
            let second = new(load::<STEP>(to), load::<STEP>(from));
            let third = new(load::<{ 2 * STEP }>(to), load::<{ 2 * STEP }>(from));
            let fourth = new(load::<{ 3 * STEP }>(to), load::<{ 3 * STEP }>(from));
            store::<0>(to, first);
            store::<STEP>(to, second);
            store::<{ 2 * STEP }>(to, third);
            store::<{ 3 * STEP }>(to, fourth);
            (to, from) = (to.add(TURN), from.add(TURN));
        }
        for _ in 0..len % TURN / STEP {
            store::<0>(to, new(load::<0>(to), load::<0>(from)));
            (to, from) = (to.add(STEP), from.add(STEP));
        }
    }
}

/// As [`each`], by the processor's own lesser or greater. It gives its second operand for two zeros and where one is no number: so
/// where both orders give the same bits, these are right, and a turn with others, which is rare, is made by `exact`.
///
/// # Safety
/// As [`each`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn each_extreme(
    mut to: *mut u8,
    mut from: *const u8,
    len: usize,
    extreme: impl Fn(__m256i, __m256i) -> __m256i,
    exact: impl Fn(__m256i, __m256i) -> __m256i,
) {
    const TURN: usize = 4 * STEP;
    // SAFETY: the loop goes over whole turns of the bytes that the caller promises, and what is behind them is steps.
    unsafe {
        for _ in 0..len / TURN {
            let current =
                [load::<0>(to), load::<STEP>(to), load::<{ 2 * STEP }>(to), load::<{ 3 * STEP }>(to)];
            let operand =
                [load::<0>(from), load::<STEP>(from), load::<{ 2 * STEP }>(from), load::<{ 3 * STEP }>(from)];
            let mut new = current;
            let mut doubts = _mm256_setzero_si256();
            for at in 0..4 {
                new[at] = extreme(current[at], operand[at]);
                let doubt = _mm256_xor_si256(new[at], extreme(operand[at], current[at]));
                doubts = _mm256_or_si256(doubts, doubt);
            }
            if _mm256_testz_si256(doubts, doubts) == 0 {
                for at in 0..4 {
                    new[at] = exact(current[at], operand[at]);
                }
            }
            let [first, second, third, fourth] = new;
            store::<0>(to, first);
            store::<STEP>(to, second);
            store::<{ 2 * STEP }>(to, third);
            store::<{ 3 * STEP }>(to, fourth);
            (to, from) = (to.add(TURN), from.add(TURN));
        }
        each(to, from, len % TURN, exact);
    }
}

/// # Safety
/// A step from `AT` on must be readable. Others may write it at the same time.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load<const AT: usize>(from: *const u8) -> __m256i {
    let vector;
    // SAFETY: reads what the caller promises to be readable.
    unsafe {
        asm!(
            "vmovdqu {vector}, [{from} + {at}]",
            vector = lateout(ymm_reg) vector, from = in(reg) from, at = const AT,
            options(nostack, preserves_flags, readonly),
        );
    }
    vector
}

/// # Safety
/// A step from `AT` on must be writable. Others may access it at the same time.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn store<const AT: usize>(to: *mut u8, vector: __m256i) {
    // SAFETY: writes what the caller promises to be writable.
    unsafe {
        asm!(
            "vmovdqu [{to} + {at}], {vector}",
            vector = in(ymm_reg) vector, to = in(reg) to, at = const AT,
            options(nostack, preserves_flags),
        );
    }
}
