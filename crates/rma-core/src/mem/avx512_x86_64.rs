//! The loops of [`super::combine`] by AVX-512, which compares into masks, has an instruction for each extreme, and masks the end
//! of a run, so it covers all lengths; a whole vector is twice as long as one of AVX2.
//!
//! Used on processors with VBMI2 alone: older ones were not measured. The compiler's functions for such
//! vectors need a newer one than this crate does, so the loops are `asm!` throughout, as window memory needs
//! anyway.

use super::cache_x86_64::amd_family;
use super::combine::CombineFn;
use super::span::{Fold, LaneType};
use std::arch::asm;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of a line, and of a whole vector.
const LINE: usize = 64;
/// A run from this length on begins with what is before the first whole line of the target, so that no store of a whole vector
/// is to two lines.
const ALIGNED_FROM: usize = 8 * LINE;

/// How much an instruction combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum VectorWidth {
    /// A vector of 64 bytes.
    Whole = 2,
    /// A vector of 32, on processors that carry out one of 64 in two parts: loops of whole vectors take up to a quarter longer there.
    Half = 3,
}

impl VectorWidth {
    /// What is best on this processor; `None` where it has not what the loops need.
    #[inline]
    pub(super) fn here() -> Option<Self> {
        /// What was found, when a thread has looked.
        static FOUND: AtomicU8 = AtomicU8::new(0);
        const NONE: u8 = 1;
        match FOUND.load(Ordering::Relaxed) {
            found if found == Self::Whole as u8 => Some(Self::Whole),
            found if found == Self::Half as u8 => Some(Self::Half),
            NONE => None,
            _ => {
                let width = Self::look();
                FOUND.store(width.map_or(NONE, |width| width as u8), Ordering::Relaxed);
                width
            }
        }
    }

    #[cold]
    fn look() -> Option<Self> {
        let is_here = is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq");
        is_here.then(|| if has_halves() { Self::Half } else { Self::Whole })
    }

    /// Bytes of a vector.
    const fn bytes(self) -> usize {
        match self {
            Self::Whole => LINE,
            Self::Half => LINE / 2,
        }
    }
}

/// Whether the processor, which has AVX-512, is AMD's Zen 4: no other of family 19h has it.
fn has_halves() -> bool {
    amd_family() == Some(0x19)
}

/// Combines the words of `to`, which are whole and aligned, with those of `from`.
///
/// # Safety
/// [`VectorWidth::here`] is some width; `from` must be readable and `to` writable for `len` bytes.
#[inline]
pub(super) unsafe fn combine(combine: CombineFn, mut to: *mut u8, mut from: *const u8, mut len: usize) {
    let before_line = to.align_offset(LINE);
    if len >= ALIGNED_FROM && before_line > 0 {
        // SAFETY: fewer bytes than the caller promises. Words are aligned, so these are whole ones.
        unsafe {
            combine(to, from, before_line);
            (to, from) = (to.add(before_line), from.add(before_line));
        }
        len -= before_line;
    }
    // SAFETY: the caller's promise, of what is left.
    unsafe { combine(to, from, len) }
}

/// The loop of a fold, if there is one.
#[inline]
pub(super) fn loop_of(fold: Fold, width: VectorWidth) -> Option<CombineFn> {
    use LaneType as L;
    let of: fn(VectorWidth) -> CombineFn = match fold {
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
    };
    Some(of(width))
}

/// One instruction, on a vector of the target and one of operands, which replaces the first.
macro_rules! single {
    ($v:literal, $current:literal, $operand:literal, $instruction:literal) => {
        concat!($instruction, " ", $v, $current, ", ", $v, $current, ", ", $v, $operand)
    };
}

/// A turn of four of them, each stored before the next is loaded.
macro_rules! four_singles {
    ($v:literal, $instruction:literal) => {
        concat!(
            single_at!($v, "0", "", $instruction),
            single_at!($v, "1", " + {one}", $instruction),
            single_at!($v, "2", " + {two}", $instruction),
            single_at!($v, "3", " + {three}", $instruction),
        )
    };
}

macro_rules! single_at {
    ($v:literal, $current:literal, $at:literal, $instruction:literal) => {
        concat!(
            concat!("vmovdqu64 ", $v, $current, ", [{to}", $at, "]\n"),
            concat!($instruction, " ", $v, $current, ", ", $v, $current, ", [{from}", $at, "]\n"),
            concat!("vmovdqu64 [{to}", $at, "], ", $v, $current, "\n"),
        )
    };
}

/// The lesser or greater of numbers: that of the processor, which gives the operand for two zeros and where
/// one is no number. So of two that are equal the bits that both have, or either has, decide, which
/// distinguishes zeros; and where the operand is no number what was there stays.
macro_rules! extreme {
    (
        $v:literal, $current:literal, $operand:literal, $extreme:literal, $range:literal, $choice:literal,
        $compare:literal, $bits:literal, $move:literal
    ) => {
        concat!(
            concat!($extreme, " ", $v, "15, ", $v, $current, ", ", $v, $operand, "\n"),
            concat!($compare, " k2, ", $v, $current, ", ", $v, $operand, ", 0\n"),
            concat!($compare, " k3, ", $v, $operand, ", ", $v, $operand, ", 7\n"),
            concat!($bits, " ", $v, "15 {{k2}}, ", $v, $current, ", ", $v, $operand, "\n"),
            concat!($move, " ", $v, $current, " {{k3}}, ", $v, "15"),
        )
    };
}

/// A turn of four of them, in pairs.
macro_rules! four_extremes {
    ($v:literal, $($part:literal),*) => {
        concat!(
            two_extremes!($v, "", " + {one}", "7", "8", $($part),*),
            two_extremes!($v, " + {two}", " + {three}", "17", "18", $($part),*),
        )
    };
}

/// A pair of them, at two distances, by the one instruction that distinguishes zeros, and numbers from what is none unless that
/// signals. `$choice` is 4 for the lesser and 5 for the greater, each with the sign that it has. Where
/// signals come in, or two that are no numbers meet, the result is no number, and both are made by
/// [`extreme`] instead, in [`two_extremes_aside`].
macro_rules! two_extremes {
    (
        $v:literal, $first:literal, $second:literal, $aside:literal, $back:literal, $extreme:literal,
        $range:literal, $choice:literal, $compare:literal, $bits:literal, $move:literal
    ) => {
        concat!(
            concat!("vmovdqu64 ", $v, "0, [{to}", $first, "]\n"),
            concat!($range, " ", $v, "8, ", $v, "0, [{from}", $first, "], ", $choice, "\n"),
            concat!("vmovdqu64 ", $v, "1, [{to}", $second, "]\n"),
            concat!($range, " ", $v, "9, ", $v, "1, [{from}", $second, "], ", $choice, "\n"),
            concat!($compare, " k2, ", $v, "8, ", $v, "9, 3\n"),
            "kortestw k2, k2\n",
            concat!("jnz ", $aside, "f\n"),
            concat!("vmovdqu64 [{to}", $first, "], ", $v, "8\n"),
            concat!("vmovdqu64 [{to}", $second, "], ", $v, "9\n"),
            concat!($back, ":\n"),
        )
    };
}

/// The pairs of [`four_extremes`] that have met what is no number, out of its way.
macro_rules! four_extremes_aside {
    ($v:literal, $($part:literal),*) => {
        concat!(
            "jmp 9f\n",
            two_extremes_aside!($v, "", " + {one}", "7", "8", $($part),*),
            two_extremes_aside!($v, " + {two}", " + {three}", "17", "18", $($part),*),
        )
    };
}

macro_rules! two_extremes_aside {
    ($v:literal, $first:literal, $second:literal, $aside:literal, $back:literal, $($part:literal),*) => {
        concat!(
            concat!($aside, ":\n"),
            concat!("vmovdqu64 ", $v, "4, [{from}", $first, "]\n"),
            concat!("vmovdqu64 ", $v, "5, [{from}", $second, "]\n"),
            concat!(extreme!($v, "0", "4", $($part),*), "\n", extreme!($v, "1", "5", $($part),*), "\n"),
            concat!("vmovdqu64 [{to}", $first, "], ", $v, "0\n"),
            concat!("vmovdqu64 [{to}", $second, "], ", $v, "1\n"),
            concat!("jmp ", $back, "b\n"),
        )
    };
}

macro_rules! nothing_aside {
    ($($part:literal),*) => {
        ""
    };
}

/// A fold by vectors of one width, whose registers `$v` names.
macro_rules! combine {
    ($v:literal, $width:expr, $step:ident, $turn:ident, $aside:ident, $($part:literal),*) => {{
        /// # Safety
        /// The processor has the instructions; `to` is writable and `from` readable for `len` bytes.
        unsafe fn combine(to: *mut u8, from: *const u8, len: usize) {
            // A bit for each byte behind the last whole vector.
            let mask = (1u64 << (len % $width.bytes())) - 1;
            // SAFETY: the caller's promise. A turn of the first loop takes four vectors of the bytes that are left, less as many, and is
            // made where these are not negative; one of the second a vector, likewise; and the last step touches the bytes of the
            // mask alone.
            unsafe {
                asm!(
                    "sub {left}, {four}",
                    "jl 3f",
                    ".p2align 5",
                    "2:",
                    $turn!($v, $($part),*),
                    "add {to}, {four}",
                    "add {from}, {four}",
                    "sub {left}, {four}",
                    "jge 2b",
                    "3:",
                    "add {left}, {three}",
                    "jl 5f",
                    "4:",
                    concat!("vmovdqu64 ", $v, "0, [{to}]"),
                    concat!("vmovdqu64 ", $v, "4, [{from}]"),
                    $step!($v, "0", "4", $($part),*),
                    concat!("vmovdqu64 [{to}], ", $v, "0"),
                    "add {to}, {one}",
                    "add {from}, {one}",
                    "sub {left}, {one}",
                    "jge 4b",
                    "5:",
                    "test {mask}, {mask}",
                    "jz 6f",
                    "kmovq k1, {mask}",
                    concat!("vmovdqu8 ", $v, "0 {{k1}} {{z}}, [{to}]"),
                    concat!("vmovdqu8 ", $v, "4 {{k1}} {{z}}, [{from}]"),
                    $step!($v, "0", "4", $($part),*),
                    concat!("vmovdqu8 [{to}] {{k1}}, ", $v, "0"),
                    "6:",
                    "vzeroupper",
                    $aside!($v, $($part),*),
                    "9:",
                    to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) len => _,
                    mask = in(reg) mask,
                    one = const $width.bytes(), two = const 2 * $width.bytes(),
                    three = const 3 * $width.bytes(), four = const 4 * $width.bytes(),
                    out("k1") _, out("k2") _, out("k3") _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                    out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
                    out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
        }
        combine
    }};
}

macro_rules! loops {
    ($step:ident, $turn:ident, $aside:ident; $($name:ident: $($part:literal),*;)*) => {$(
        fn $name(width: VectorWidth) -> CombineFn {
            match width {
                VectorWidth::Whole => combine!("zmm", VectorWidth::Whole, $step, $turn, $aside, $($part),*),
                VectorWidth::Half => combine!("ymm", VectorWidth::Half, $step, $turn, $aside, $($part),*),
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
