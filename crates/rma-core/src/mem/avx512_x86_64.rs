//! The loops of [`super::combine`] by AVX-512, which does twice as much at once as AVX2, compares into masks,
//! and masks the end of a run, so it covers all lengths.
//!
//! Used on processors with VBMI2 alone: older ones were not measured. The compiler's functions for such
//! vectors need a newer one than this crate does, so the loops are `asm!` throughout, as window memory needs
//! anyway.

use super::span::{Fold, Lane};
use std::arch::asm;

/// Bytes of a vector.
const VECTOR: usize = 64;
/// A run from this length on begins with what is before the first whole line of the target, so that no store of a whole vector
/// is to two lines.
const ALIGNED_FROM: usize = 8 * VECTOR;

/// One loop for one fold. Takes where, the operands, how many bytes, and the mask of those that are no whole vector.
pub(super) type Combine = unsafe fn(*mut u8, *const u8, usize, u64);

/// Whether this processor has what the loops need.
#[inline]
pub(super) fn is_here() -> bool {
    is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
}

/// Combines the words of `to`, which are whole and aligned, with those of `from`.
///
/// # Safety
/// [`is_here`]; `from` must be readable and `to` writable for `len` bytes.
#[inline]
pub(super) unsafe fn combine(combine: Combine, mut to: *mut u8, mut from: *const u8, mut len: usize) {
    let before_line = to.align_offset(VECTOR);
    if len >= ALIGNED_FROM && before_line > 0 {
        // SAFETY: fewer bytes than the caller promises. Words are aligned, so these are whole ones.
        unsafe {
            combine(to, from, before_line, mask(before_line));
            (to, from) = (to.add(before_line), from.add(before_line));
        }
        len -= before_line;
    }
    // SAFETY: the caller's promise, of what is left.
    unsafe { combine(to, from, len, mask(len)) }
}

/// The bytes behind the last whole vector.
fn mask(len: usize) -> u64 {
    (1 << (len % VECTOR)) - 1
}

/// The loop of a fold, if there is one.
#[inline]
pub(super) fn loop_of(fold: Fold) -> Option<Combine> {
    use Lane as L;
    Some(match fold {
        Fold::Add(L::U8 | L::I8) => add_8,
        Fold::Add(L::U16 | L::I16) => add_16,
        Fold::Add(L::U32 | L::I32) => add_32,
        Fold::Add(L::U64 | L::I64) => add_64,
        Fold::Add(L::F32) => add_f32,
        Fold::Add(L::F64) => add_f64,
        // The first has no instruction, the second one of another extension.
        Fold::Multiply(L::U8 | L::I8 | L::U64 | L::I64) => return None,
        Fold::Multiply(L::U16 | L::I16) => multiply_16,
        Fold::Multiply(L::U32 | L::I32) => multiply_32,
        Fold::Multiply(L::F32) => multiply_f32,
        Fold::Multiply(L::F64) => multiply_f64,
        Fold::Minimum(L::U8) => minimum_u8,
        Fold::Minimum(L::U16) => minimum_u16,
        Fold::Minimum(L::U32) => minimum_u32,
        Fold::Minimum(L::U64) => minimum_u64,
        Fold::Minimum(L::I8) => minimum_i8,
        Fold::Minimum(L::I16) => minimum_i16,
        Fold::Minimum(L::I32) => minimum_i32,
        Fold::Minimum(L::I64) => minimum_i64,
        Fold::Minimum(L::F32) => minimum_f32,
        Fold::Minimum(L::F64) => minimum_f64,
        Fold::Maximum(L::U8) => maximum_u8,
        Fold::Maximum(L::U16) => maximum_u16,
        Fold::Maximum(L::U32) => maximum_u32,
        Fold::Maximum(L::U64) => maximum_u64,
        Fold::Maximum(L::I8) => maximum_i8,
        Fold::Maximum(L::I16) => maximum_i16,
        Fold::Maximum(L::I32) => maximum_i32,
        Fold::Maximum(L::I64) => maximum_i64,
        Fold::Maximum(L::F32) => maximum_f32,
        Fold::Maximum(L::F64) => maximum_f64,
        Fold::And => and,
        Fold::Or => or,
        Fold::Xor => xor,
    })
}

/// One instruction, on a vector of the target and one of operands, which replaces the first.
macro_rules! single {
    ($current:literal, $operand:literal, $instruction:literal) => {
        concat!($instruction, " zmm", $current, ", zmm", $current, ", zmm", $operand)
    };
}

/// Four of them, of a turn, and their stores.
macro_rules! four_singles {
    ($instruction:literal) => {
        concat!(
            concat!(single!("0", "4", $instruction), "\n", single!("1", "5", $instruction), "\n"),
            concat!(single!("2", "6", $instruction), "\n", single!("3", "7", $instruction), "\n"),
            stores!("0", "1", "2", "3"),
        )
    };
}

/// The lesser or greater of numbers: that of the processor, which gives the operand for two zeros and where
/// one is no number. So of two that are equal the bits that both have, or either has, decide, which
/// distinguishes zeros; and where the operand is no number what was there stays.
macro_rules! extreme {
    ($current:literal, $operand:literal, $extreme:literal, $range:literal, $choice:literal, $compare:literal, $bits:literal, $move:literal) => {
        concat!(
            concat!($extreme, " zmm15, zmm", $current, ", zmm", $operand, "\n"),
            concat!($compare, " k2, zmm", $current, ", zmm", $operand, ", 0\n"),
            concat!($compare, " k3, zmm", $operand, ", zmm", $operand, ", 7\n"),
            concat!($bits, " zmm15 {{k2}}, zmm", $current, ", zmm", $operand, "\n"),
            concat!($move, " zmm", $current, " {{k3}}, zmm15"),
        )
    };
}

/// Four of them, by the one instruction that distinguishes zeros, and numbers from what is none unless that
/// signals. `$choice` is 4 for the lesser and 5 for the greater, each with the sign that it has. Where
/// signals come in, or two that are no numbers meet, the result is no number, and all four are made by
/// [`extreme`] instead, in [`four_extremes_aside`].
macro_rules! four_extremes {
    ($extreme:literal, $range:literal, $choice:literal, $compare:literal, $bits:literal, $move:literal) => {
        concat!(
            concat!($range, " zmm8, zmm0, zmm4, ", $choice, "\n"),
            concat!($range, " zmm9, zmm1, zmm5, ", $choice, "\n"),
            concat!($range, " zmm10, zmm2, zmm6, ", $choice, "\n"),
            concat!($range, " zmm11, zmm3, zmm7, ", $choice, "\n"),
            concat!($compare, " k2, zmm8, zmm9, 3\n", $compare, " k3, zmm10, zmm11, 3\n"),
            "kortestw k2, k3\n",
            "jnz 7f\n",
            stores!("8", "9", "10", "11"),
            "\n8:",
        )
    };
}

/// The turn of [`four_extremes`] that has met what is no number, out of its way.
macro_rules! four_extremes_aside {
    ($($part:literal),*) => {
        concat!(
            "jmp 9f\n",
            "7:\n",
            concat!(extreme!("0", "4", $($part),*), "\n", extreme!("1", "5", $($part),*), "\n"),
            concat!(extreme!("2", "6", $($part),*), "\n", extreme!("3", "7", $($part),*), "\n"),
            stores!("0", "1", "2", "3"),
            "\njmp 8b",
        )
    };
}

macro_rules! nothing_aside {
    ($($part:literal),*) => {
        ""
    };
}

macro_rules! stores {
    ($first:literal, $second:literal, $third:literal, $fourth:literal) => {
        concat!(
            concat!("vmovdqu64 [{to}], zmm", $first, "\nvmovdqu64 [{to} + 64], zmm", $second, "\n"),
            concat!("vmovdqu64 [{to} + 128], zmm", $third, "\nvmovdqu64 [{to} + 192], zmm", $fourth),
        )
    };
}

macro_rules! loops {
    ($step:ident, $turn:ident, $aside:ident; $($name:ident: $($part:literal),*;)*) => {$(
        /// # Safety
        /// [`is_here`]; `to` is writable and `from` readable for `len` bytes, and `mask` has a bit for each of those behind the last
        /// whole vector.
        unsafe fn $name(to: *mut u8, from: *const u8, len: usize, mask: u64) {
            // SAFETY: the caller's promise. A turn of the first loop takes 256 of the bytes that are left, less 256, and is made where
            // these are not negative; one of the second a vector, likewise; and the last step touches the bytes of the mask alone.
            unsafe {
                asm!(
                    "sub {left}, 256",
                    "jl 3f",
                    ".p2align 5",
                    "2:",
                    "vmovdqu64 zmm0, [{to}]",
                    "vmovdqu64 zmm1, [{to} + 64]",
                    "vmovdqu64 zmm2, [{to} + 128]",
                    "vmovdqu64 zmm3, [{to} + 192]",
                    "vmovdqu64 zmm4, [{from}]",
                    "vmovdqu64 zmm5, [{from} + 64]",
                    "vmovdqu64 zmm6, [{from} + 128]",
                    "vmovdqu64 zmm7, [{from} + 192]",
                    $turn!($($part),*),
                    "add {to}, 256",
                    "add {from}, 256",
                    "sub {left}, 256",
                    "jge 2b",
                    "3:",
                    "add {left}, 192",
                    "jl 5f",
                    "4:",
                    "vmovdqu64 zmm0, [{to}]",
                    "vmovdqu64 zmm4, [{from}]",
                    $step!("0", "4", $($part),*),
                    "vmovdqu64 [{to}], zmm0",
                    "add {to}, 64",
                    "add {from}, 64",
                    "sub {left}, 64",
                    "jge 4b",
                    "5:",
                    "test {mask}, {mask}",
                    "jz 6f",
                    "kmovq k1, {mask}",
                    "vmovdqu8 zmm0 {{k1}} {{z}}, [{to}]",
                    "vmovdqu8 zmm4 {{k1}} {{z}}, [{from}]",
                    $step!("0", "4", $($part),*),
                    "vmovdqu8 [{to}] {{k1}}, zmm0",
                    "6:",
                    "vzeroupper",
                    $aside!($($part),*),
                    "9:",
                    to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) len => _, mask = in(reg) mask,
                    out("k1") _, out("k2") _, out("k3") _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                    out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
                    out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
        }
    )*};
}

loops! {
    single, four_singles, nothing_aside;
    add_8: "vpaddb";
    add_16: "vpaddw";
    add_32: "vpaddd";
    add_64: "vpaddq";
    add_f32: "vaddps";
    add_f64: "vaddpd";
    multiply_16: "vpmullw";
    multiply_32: "vpmulld";
    multiply_f32: "vmulps";
    multiply_f64: "vmulpd";
    minimum_u8: "vpminub";
    minimum_u16: "vpminuw";
    minimum_u32: "vpminud";
    minimum_u64: "vpminuq";
    minimum_i8: "vpminsb";
    minimum_i16: "vpminsw";
    minimum_i32: "vpminsd";
    minimum_i64: "vpminsq";
    maximum_u8: "vpmaxub";
    maximum_u16: "vpmaxuw";
    maximum_u32: "vpmaxud";
    maximum_u64: "vpmaxuq";
    maximum_i8: "vpmaxsb";
    maximum_i16: "vpmaxsw";
    maximum_i32: "vpmaxsd";
    maximum_i64: "vpmaxsq";
    and: "vpandd";
    or: "vpord";
    xor: "vpxord";
}

loops! {
    extreme, four_extremes, four_extremes_aside;
    minimum_f32: "vminps", "vrangeps", "4", "vcmpps", "vpord", "vmovaps";
    minimum_f64: "vminpd", "vrangepd", "4", "vcmppd", "vporq", "vmovapd";
    maximum_f32: "vmaxps", "vrangeps", "5", "vcmpps", "vpandd", "vmovaps";
    maximum_f64: "vmaxpd", "vrangepd", "5", "vcmppd", "vpandq", "vmovapd";
}
