//! Combining runs of words in place on x86-64, by AVX2 or, in [`super::avx512_x86_64`], more at once: defined also when others
//! write the bytes meanwhile.
//!
//! As with copies, instructions of an `asm!` block access memory as the processor does, whatever other
//! threads do: what is read is some value that was stored there. Each word of the target is loaded once to be
//! combined, and once more if the old value is kept, and stored once, wherever it lies; a word that is
//! naturally aligned is not torn, because the steps begin at one. What takes several instructions is in
//! [`super::vectors_x86_64`].

use super::avx512_x86_64 as avx512;
use super::copy::copy_bytes;
use super::span::{Fold, LaneType};
use super::vectors_x86_64 as vectors;
use std::arch::asm;

/// Bytes that an instruction combines. The loop takes four of these at a turn, and what is left behind it one by one.
pub(super) const STEP: usize = 32;

/// Bytes whose old values are kept at a time: they are copied to the result and then combined, while they lie
/// in the first-level cache. One loop that stores the old word and the new one takes half as long again on some processors,
/// because it writes to two places in turns; with 4 KiB, a result that begins within a line takes a seventh longer.
const PIECE: usize = 2 << 10;
const _: () = assert!(PIECE.is_multiple_of(STEP));

/// One loop for one fold. Takes where, the operands, and how many bytes.
pub(super) type CombineFn = unsafe fn(*mut u8, *const u8, usize);

/// A loop that this processor can carry out.
#[derive(Clone, Copy, Debug)]
pub(super) enum FoldLoop {
    /// By whole steps.
    Avx2(CombineFn),
    Avx512(CombineFn),
}

impl FoldLoop {
    #[inline]
    pub(super) fn avx2(fold: Fold) -> Option<Self> {
        is_x86_feature_detected!("avx2").then(|| Self::Avx2(loop_of(fold)))
    }

    /// `width` is [`avx512::VectorWidth::here`], or another width where that is some.
    #[inline]
    pub(super) fn avx512(fold: Fold, width: avx512::VectorWidth) -> Option<Self> {
        avx512::loop_of(fold, width).map(Self::Avx512)
    }

    /// The loop of a fold, if this processor has one.
    #[inline]
    pub(super) fn here(fold: Fold) -> Option<Self> {
        avx512::VectorWidth::here().and_then(|width| Self::avx512(fold, width)).or_else(|| Self::avx2(fold))
    }

    /// Combines the words of `to` with those of `from`, as far as the processor does many at once, and stores in `before`, unless
    /// it is null, what they were; answers for how many bytes it has. Words of `to` are whole and aligned; others would be combined in parts.
    ///
    /// # Safety
    /// `from` must be readable, `to` and `before`, if not null, writable for `len` bytes. Others may access all of them at the same
    /// time.
    #[inline(always)] // into callers that know the loop
    pub(super) unsafe fn run(self, to: *mut u8, from: *const u8, before: *mut u8, len: usize) -> usize {
        let whole = match self {
            Self::Avx2(_) => len - len % STEP,
            Self::Avx512(_) => len,
        };
        if whole == 0 {
            return 0;
        }
        if before.is_null() {
            // SAFETY: not more bytes than the caller promises.
            unsafe { self.combine(to, from, whole) }
            return whole;
        }
        let mut at = 0;
        while at < whole {
            let len = PIECE.min(whole - at);
            // SAFETY: as above, for `len` bytes from `at` on, which are steps because a piece is.
            unsafe {
                let to = to.add(at);
                copy_bytes(before.add(at), to, len);
                self.combine(to, from.add(at), len);
            }
            at += len;
        }
        whole
    }

    /// # Safety
    /// `to` is writable and `from` readable for `len` bytes: whole words, not 0, and for AVX2 whole steps.
    #[inline]
    unsafe fn combine(self, to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: the processor has what the loop needs, or there would be none; the rest is the caller's promise.
        unsafe {
            match self {
                Self::Avx2(combine) => combine(to, from, len),
                Self::Avx512(combine) => avx512::combine(combine, to, from, len),
            }
        }
    }
}

#[inline]
fn loop_of(fold: Fold) -> CombineFn {
    use LaneType as L;
    match fold {
        Fold::Add(L::U8 | L::I8) => add_8::combine,
        Fold::Add(L::U16 | L::I16) => add_16::combine,
        Fold::Add(L::U32 | L::I32) => add_32::combine,
        Fold::Add(L::U64 | L::I64) => add_64::combine,
        Fold::Add(L::F32) => add_f32::combine,
        Fold::Add(L::F64) => add_f64::combine,
        Fold::Multiply(L::U8 | L::I8) => vectors::multiply_8,
        Fold::Multiply(L::U16 | L::I16) => multiply_16::combine,
        Fold::Multiply(L::U32 | L::I32) => multiply_32::combine,
        Fold::Multiply(L::U64 | L::I64) => vectors::multiply_64,
        Fold::Multiply(L::F32) => multiply_f32::combine,
        Fold::Multiply(L::F64) => multiply_f64::combine,
        Fold::Minimum(lane) => minimum_of(lane),
        Fold::Maximum(lane) => maximum_of(lane),
        Fold::And => and::combine,
        Fold::Or => or::combine,
        Fold::Xor => xor::combine,
    }
}

fn minimum_of(lane: LaneType) -> CombineFn {
    match lane {
        LaneType::U8 => minimum_u8::combine,
        LaneType::U16 => minimum_u16::combine,
        LaneType::U32 => minimum_u32::combine,
        LaneType::U64 => vectors::minimum_u64,
        LaneType::I8 => minimum_i8::combine,
        LaneType::I16 => minimum_i16::combine,
        LaneType::I32 => minimum_i32::combine,
        LaneType::I64 => vectors::minimum_i64,
        LaneType::F32 => vectors::minimum_f32,
        LaneType::F64 => vectors::minimum_f64,
    }
}

fn maximum_of(lane: LaneType) -> CombineFn {
    match lane {
        LaneType::U8 => maximum_u8::combine,
        LaneType::U16 => maximum_u16::combine,
        LaneType::U32 => maximum_u32::combine,
        LaneType::U64 => vectors::maximum_u64,
        LaneType::I8 => maximum_i8::combine,
        LaneType::I16 => maximum_i16::combine,
        LaneType::I32 => maximum_i32::combine,
        LaneType::I64 => vectors::maximum_i64,
        LaneType::F32 => vectors::maximum_f32,
        LaneType::F64 => vectors::maximum_f64,
    }
}

/// Each step is loaded, combined and stored before the next: with the loads of a turn first and its stores last, memory beyond the
/// second-level cache takes a tenth longer on AMD's first processors of this kind, and nothing is faster.
macro_rules! loops {
    ($($name:ident: $instruction:literal;)*) => {$(
        mod $name {
            use super::asm;

            /// # Safety
            /// The processor has AVX2; `to` is writable and `from` readable for `len` bytes, a multiple of the step and not 0.
            pub(super) unsafe fn combine(to: *mut u8, from: *const u8, len: usize) {
                // SAFETY: the caller's promise; a turn of the first loop takes 128 of the bytes that are left, less 128, and is made
                // where these are not negative; one of the second takes a step of as many as are left.
                unsafe {
                    asm!(
                        "sub {left}, 128",
                        "jb 3f",
                        ".p2align 5",
                        "2:",
                        "vmovdqu ymm0, [{to}]",
                        concat!($instruction, " ymm0, ymm0, [{from}]"),
                        "vmovdqu [{to}], ymm0",
                        "vmovdqu ymm1, [{to} + 32]",
                        concat!($instruction, " ymm1, ymm1, [{from} + 32]"),
                        "vmovdqu [{to} + 32], ymm1",
                        "vmovdqu ymm2, [{to} + 64]",
                        concat!($instruction, " ymm2, ymm2, [{from} + 64]"),
                        "vmovdqu [{to} + 64], ymm2",
                        "vmovdqu ymm3, [{to} + 96]",
                        concat!($instruction, " ymm3, ymm3, [{from} + 96]"),
                        "vmovdqu [{to} + 96], ymm3",
                        "sub {to}, -128",
                        "sub {from}, -128",
                        "sub {left}, 128",
                        "jae 2b",
                        "3:",
                        "add {left}, 128",
                        "jz 5f",
                        "4:",
                        "vmovdqu ymm0, [{to}]",
                        concat!($instruction, " ymm0, ymm0, [{from}]"),
                        "vmovdqu [{to}], ymm0",
                        "add {to}, 32",
                        "add {from}, 32",
                        "sub {left}, 32",
                        "jnz 4b",
                        "5:",
                        "vzeroupper",
                        to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) len => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                        out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _,
                        out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
                        out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        options(nostack),
                    );
                }
            }
        }
    )*};
}

loops! {
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
    minimum_i8: "vpminsb";
    minimum_i16: "vpminsw";
    minimum_i32: "vpminsd";
    maximum_u8: "vpmaxub";
    maximum_u16: "vpmaxuw";
    maximum_u32: "vpmaxud";
    maximum_i8: "vpmaxsb";
    maximum_i16: "vpmaxsw";
    maximum_i32: "vpmaxsd";
    and: "vpand";
    or: "vpor";
    xor: "vpxor";
}
