//! The copies on x86-64 that use AVX, vectors of 32 bytes, and AVX-512, vectors of 64.
//!
//! Called by `copy_x86_64.rs`, which says what all copies promise and has found out that the processor has AVX.

use std::arch::asm;

/// Instructions that change vector registers of 32 bytes: a function without AVX can name their lower halves alone.
macro_rules! asm_avx {
    ([$($template:expr),+], [$($operand:tt)+], [$($option:ident),+]) => {
        asm!(
            $($template,)+
            $($operand)+,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options($($option),+),
        )
    };
}

/// # Safety
/// The processor has AVX; `to` is writable and `from` readable for 32 bytes.
#[inline(always)]
pub(super) unsafe fn copy_32_avx(to: *mut u8, from: *const u8) {
    // SAFETY: the caller promises 32 bytes on both sides.
    unsafe {
        asm_avx!(["vmovdqu ymm0, [{from}]", "vmovdqu [{to}], ymm0", "vzeroupper"],
            [from = in(reg) from, to = in(reg) to], [nostack, preserves_flags]);
    }
}

/// From 32 to 64 bytes: first part and last part, overlapping in the middle.
///
/// # Safety
/// The processor has AVX; `to` is writable and `from` readable for `len` bytes, 32 to 64.
#[inline(always)]
pub(super) unsafe fn copy_64_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len` bytes on both sides, at least 32.
    unsafe {
        asm_avx!([
            "vmovdqu ymm0, [{from}]",
            "vmovdqu ymm1, [{from} + {len} - 32]",
            "vmovdqu [{to}], ymm0",
            "vmovdqu [{to} + {len} - 32], ymm1",
            "vzeroupper"], [from = in(reg) from, to = in(reg) to, len = in(reg) len], [nostack, preserves_flags]);
    }
}

/// From 64 to 128 bytes: first part and last part, overlapping in the middle.
///
/// # Safety
/// The processor has AVX; `to` is writable and `from` readable for `len` bytes, 64 to 128.
#[inline(always)]
pub(super) unsafe fn copy_128_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len` bytes on both sides, at least 64.
    unsafe {
        asm_avx!([
            "vmovdqu ymm0, [{from}]",
            "vmovdqu ymm1, [{from} + 32]",
            "vmovdqu ymm2, [{from} + {len} - 64]",
            "vmovdqu ymm3, [{from} + {len} - 32]",
            "vmovdqu [{to}], ymm0",
            "vmovdqu [{to} + 32], ymm1",
            "vmovdqu [{to} + {len} - 64], ymm2",
            "vmovdqu [{to} + {len} - 32], ymm3",
            "vzeroupper"], [from = in(reg) from, to = in(reg) to, len = in(reg) len], [nostack, preserves_flags]);
    }
}

/// From 128 to 256 bytes, likewise: to begin with a whole line would take longer.
///
/// # Safety
/// The processor has AVX; `to` is writable and `from` readable for `len` bytes, 128 to 256.
#[inline(always)]
pub(super) unsafe fn copy_256_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len` bytes on both sides, at least 128.
    unsafe {
        asm_avx!([
            "vmovdqu ymm0, [{from}]",
            "vmovdqu ymm1, [{from} + 32]",
            "vmovdqu ymm2, [{from} + 64]",
            "vmovdqu ymm3, [{from} + 96]",
            "vmovdqu ymm4, [{from} + {len} - 128]",
            "vmovdqu ymm5, [{from} + {len} - 96]",
            "vmovdqu ymm6, [{from} + {len} - 64]",
            "vmovdqu ymm7, [{from} + {len} - 32]",
            "vmovdqu [{to}], ymm0",
            "vmovdqu [{to} + 32], ymm1",
            "vmovdqu [{to} + 64], ymm2",
            "vmovdqu [{to} + 96], ymm3",
            "vmovdqu [{to} + {len} - 128], ymm4",
            "vmovdqu [{to} + {len} - 96], ymm5",
            "vmovdqu [{to} + {len} - 64], ymm6",
            "vmovdqu [{to} + {len} - 32], ymm7",
            "vzeroupper"], [from = in(reg) from, to = in(reg) to, len = in(reg) len], [nostack, preserves_flags]);
    }
}

/// Moves forward by 0 to 63 bytes, to where the target begins a line, and keeps where it began.
macro_rules! to_line {
    () => {
        "mov {start}, {to}
        mov {skip}, {to}
        neg {skip}
        and {skip}, 63
        add {from}, {skip}
        add {to}, {skip}
        sub {left}, {skip}"
    };
}

/// Blocks of 128 bytes to whole cache lines by the instruction `$store`; the first 64 bytes, unless they begin a line, and the last 128 wait
/// in registers until the end, so that their overlap with the blocks is stored twice with the same values. `$end` comes after all stores.
///
/// At the loop's start `left` bytes remain and `left > 0`, more than 128 where the target is aligned; a block is moved only while more
/// than 128 are left.
macro_rules! ascend_avx {
    ($to:ident, $from:ident, $len:ident, $store:literal, $end:literal) => {
        asm_avx!([
            "vmovdqu ymm8, [{from}]",
            "vmovdqu ymm9, [{from} + 32]",
            "vmovdqu ymm4, [{from} + {left} - 128]",
            "vmovdqu ymm5, [{from} + {left} - 96]",
            "vmovdqu ymm6, [{from} + {left} - 64]",
            "vmovdqu ymm7, [{from} + {left} - 32]",
            to_line!(),
            "cmp {left}, 128",
            "jbe 3f",
            ".p2align 5",
            "2:",
            "vmovdqu ymm0, [{from}]",
            "vmovdqu ymm1, [{from} + 32]",
            "vmovdqu ymm2, [{from} + 64]",
            "vmovdqu ymm3, [{from} + 96]",
            concat!($store, " [{to}], ymm0"),
            concat!($store, " [{to} + 32], ymm1"),
            concat!($store, " [{to} + 64], ymm2"),
            concat!($store, " [{to} + 96], ymm3"),
            "sub {from}, -128",
            "sub {to}, -128",
            "add {left}, -128",
            "cmp {left}, 128",
            "ja 2b",
            "3:",
            "vmovdqu [{to} + {left} - 128], ymm4",
            "vmovdqu [{to} + {left} - 96], ymm5",
            "vmovdqu [{to} + {left} - 64], ymm6",
            "vmovdqu [{to} + {left} - 32], ymm7",
            "test {skip}, {skip}",
            "jz 4f",
            "vmovdqu [{start}], ymm8",
            "vmovdqu [{start} + 32], ymm9",
            "4:",
            $end,
            "vzeroupper"], [from = inout(reg) $from => _, to = inout(reg) $to => _,
            left = inout(reg) $len => _, start = out(reg) _, skip = out(reg) _], [nostack])
    };
}

/// # Safety
/// The processor has AVX; `to` is writable and `from` readable for `len` bytes, more than 128.
#[inline(always)]
pub(super) unsafe fn copy_ascending_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 128` bytes on both sides.
    unsafe { ascend_avx!(to, from, len, "vmovdqa", "") }
}

/// As [`copy_ascending_avx`], by vectors of a whole line: in blocks of 256 bytes, of which the last ones wait in registers. A copy within
/// the first cache takes up to a quarter less time where the processor moves a line at once.
///
/// # Safety
/// The processor has AVX-512; `to` is writable and `from` readable for `len` bytes, more than 256.
pub(super) unsafe fn copy_ascending_avx512(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 256` bytes on both sides; as in `ascend_avx`, a block is moved only while more than 256 are left.
    unsafe {
        asm_avx!([
            "vmovdqu64 zmm8, [{from}]",
            "vmovdqu64 zmm4, [{from} + {left} - 256]",
            "vmovdqu64 zmm5, [{from} + {left} - 192]",
            "vmovdqu64 zmm6, [{from} + {left} - 128]",
            "vmovdqu64 zmm7, [{from} + {left} - 64]",
            to_line!(),
            "cmp {left}, 256",
            "jbe 3f",
            ".p2align 5",
            "2:",
            "vmovdqu64 zmm0, [{from}]",
            "vmovdqu64 zmm1, [{from} + 64]",
            "vmovdqu64 zmm2, [{from} + 128]",
            "vmovdqu64 zmm3, [{from} + 192]",
            "vmovdqa64 [{to}], zmm0",
            "vmovdqa64 [{to} + 64], zmm1",
            "vmovdqa64 [{to} + 128], zmm2",
            "vmovdqa64 [{to} + 192], zmm3",
            "add {from}, 256",
            "add {to}, 256",
            "sub {left}, 256",
            "cmp {left}, 256",
            "ja 2b",
            "3:",
            "vmovdqu64 [{to} + {left} - 256], zmm4",
            "vmovdqu64 [{to} + {left} - 192], zmm5",
            "vmovdqu64 [{to} + {left} - 128], zmm6",
            "vmovdqu64 [{to} + {left} - 64], zmm7",
            "test {skip}, {skip}",
            "jz 4f",
            "vmovdqu64 [{start}], zmm8",
            "4:",
            "vzeroupper"], [from = inout(reg) from => _, to = inout(reg) to => _, left = inout(reg) len => _,
            start = out(reg) _, skip = out(reg) _], [nostack]);
    }
}

/// As [`copy_ascending_avx`], past the caches. The fence is for its stores: what the thread stores afterwards is seen after them.
///
/// An ordinary store to a line first reads it, from memory where source and target together are larger than the last cache. Shorter
/// copies must not be made so: what is stored past the caches comes from memory when it is read.
///
/// # Safety
/// As for [`copy_ascending_avx`].
pub(super) unsafe fn copy_streaming_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 128` bytes on both sides.
    unsafe { ascend_avx!(to, from, len, "vmovntdq", "sfence") }
}

/// Blocks of 128 bytes from the end; the first 128 bytes wait in registers.
///
/// # Safety
/// As for [`copy_ascending_avx`].
#[inline(always)]
pub(super) unsafe fn copy_descending_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 128` bytes on both sides; a block is moved only while more than 128 are left.
    unsafe {
        asm_avx!([
            "vmovdqu ymm4, [{from}]",
            "vmovdqu ymm5, [{from} + 32]",
            "vmovdqu ymm6, [{from} + 64]",
            "vmovdqu ymm7, [{from} + 96]",
            "2:",
            "vmovdqu ymm0, [{from} + {left} - 32]",
            "vmovdqu ymm1, [{from} + {left} - 64]",
            "vmovdqu ymm2, [{from} + {left} - 96]",
            "vmovdqu ymm3, [{from} + {left} - 128]",
            "vmovdqu [{to} + {left} - 32], ymm0",
            "vmovdqu [{to} + {left} - 64], ymm1",
            "vmovdqu [{to} + {left} - 96], ymm2",
            "vmovdqu [{to} + {left} - 128], ymm3",
            "add {left}, -128",
            "cmp {left}, 128",
            "ja 2b",
            "vmovdqu [{to}], ymm4",
            "vmovdqu [{to} + 32], ymm5",
            "vmovdqu [{to} + 64], ymm6",
            "vmovdqu [{to} + 96], ymm7",
            "vzeroupper"], [from = in(reg) from, to = in(reg) to, left = inout(reg) len => _], [nostack]);
    }
}
