//! The audited copy on x86-64: any length, any alignment, overlap allowed, defined also when others write the bytes
//! meanwhile.
//!
//! All accesses are inline assembly, which the compiler neither splits, nor repeats, nor assumes anything about; a race is
//! then what the processor makes of it: every byte read is some value that was stored there. Beyond that, copies of 2, 4 and
//! 8 bytes move them as a whole, so that a naturally aligned word is never torn.
//!
//! Up to 64 bytes, and with AVX up to 256, everything is loaded before anything is stored, by loads that overlap in the
//! middle, so no length needs a loop and no overlap a decision. Longer copies keep their first and last block in
//! registers while a loop moves what is between; those that no cache would keep store past the caches. AVX is used when
//! the processor reports it, and vectors of a whole line where it moves them at once. The string instruction was measured: on AMD's Zen 4 it
//! takes longer below 16 KiB and no less above, on Zen 5 a quarter less from 32 KiB on. `copy.rs` is the form that needs no assembly.

use super::avx512_x86_64::VectorWidth;
use super::cache_x86_64::{amd_family, last_cache_bytes};
use super::copy_avx_x86_64::{
    copy_32_avx, copy_64_avx, copy_128_avx, copy_256_avx, copy_ascending_avx, copy_ascending_avx512,
    copy_descending_avx, copy_streaming_avx,
};
use std::arch::asm;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Longest copy that needs neither a loop nor a choice by processor.
pub(super) const MAX_SHORT: usize = 64;

/// The function for copies past [`MAX_SHORT`] on this processor; until the first such copy, the one that
/// chooses it.
static COPY_LONG: AtomicPtr<()> = AtomicPtr::new(choose_copy_long as CopyLong as *mut ());

/// From this length on a copy stores past the caches: half the last one, if the processor says how large that is.
static STREAMS_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

/// From this length on a copy within the first cache is made by vectors of a whole line: never, where the processor has none or moves
/// them by halves.
static WHOLE_LINES_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Where that is worth it.
const WHOLE_LINES: usize = 512;

/// From this length on a copy within the caches is one string instruction: never, where that takes no less time.
static STRINGS_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Where source and target together fill the first cache, and the vectors of a copy wait for the second one, whatever their length.
const FIRST_CACHE: usize = 24 << 10;

type CopyLong = unsafe fn(*mut u8, *const u8, usize);

/// Copies `len` bytes from `from` to `to`, as if through a buffer in between.
///
/// # Safety
/// `from` must be readable and `to` writable for `len` bytes. Others may access both at the same time.
#[inline(always)]
pub(super) unsafe fn copy_bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise, in each branch for the length it has checked.
    unsafe {
        match len {
            8 => copy_8(to, from),
            4 => copy_4(to, from),
            _ if len <= MAX_SHORT => copy_short(to, from, len),
            _ => copy_long(to, from, len),
        }
    }
}

/// [`copy_bytes`], if it is one store of the processor; says whether it was, and copies nothing otherwise.
///
/// # Safety
/// As [`copy_bytes`].
#[inline(always)]
pub(super) unsafe fn copy_at_once(to: *mut u8, from: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise, in each branch for the length it has checked.
    unsafe {
        match len {
            8 => copy_8(to, from),
            4 => copy_4(to, from),
            _ => return false,
        }
    }
    true
}

/// [`copy_at_once`] for what is no word of a general register.
///
/// # Safety
/// As [`copy_bytes`].
#[inline(always)]
pub(super) unsafe fn copy_block_at_once(to: *mut u8, from: *const u8, len: usize) -> bool {
    // SAFETY: the caller's promise, in each branch for the length it has checked.
    unsafe {
        match len {
            16 => copy_16(to, from),
            32 if is_avx_chosen() => copy_32_avx(to, from),
            _ => return false,
        }
    }
    true
}

/// A copy of so many bytes by one load and one store.
macro_rules! copy_whole {
    ($copy:ident, $len:literal, $load:literal, $store:literal, $class:ident) => {
        #[doc = concat!("# Safety\n`to` is writable and `from` readable for ", $len, " bytes.")]
        #[inline(always)]
        unsafe fn $copy(to: *mut u8, from: *const u8) {
            // SAFETY: the caller promises as many bytes on both sides.
            unsafe {
                asm!(
                    $load,
                    $store,
                    from = in(reg) from, to = in(reg) to, word = out($class) _,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

copy_whole!(copy_16, 16, "movups {word}, [{from}]", "movups [{to}], {word}", xmm_reg);
copy_whole!(copy_8, 8, "mov {word}, qword ptr [{from}]", "mov qword ptr [{to}], {word}", reg);
copy_whole!(copy_4, 4, "mov {word:e}, dword ptr [{from}]", "mov dword ptr [{to}], {word:e}", reg);

/// [`copy_bytes`] without a call, where that is a few instructions.
///
/// # Safety
/// As [`copy_bytes`].
#[inline(always)]
pub(super) unsafe fn copy_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise, in each branch for the length it has checked.
    unsafe {
        match len {
            ..=MAX_SHORT => copy_short_in_line(to, from, len),
            ..=128 if is_avx_chosen() => copy_128_avx(to, from, len),
            129..=256 if is_avx_chosen() => copy_256_avx(to, from, len),
            _ => copy_long(to, from, len),
        }
    }
}

/// # Safety
/// As for [`copy_short_in_line`].
#[inline(never)]
unsafe fn copy_short(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_short_in_line(to, from, len) }
}

/// At most [`MAX_SHORT`] bytes: first part and last part, overlapping in the middle.
///
/// # Safety
/// `to` is writable and `from` readable for `len` bytes, at most [`MAX_SHORT`].
#[inline(always)]
pub(super) unsafe fn copy_short_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise; each block touches the first and the last bytes of the length its branch has checked.
    unsafe {
        if len >= 16 {
            if len <= 32 {
                asm!(
                    "movups {a}, [{from}]",
                    "movups {b}, [{from} + {len} - 16]",
                    "movups [{to}], {a}",
                    "movups [{to} + {len} - 16], {b}",
                    from = in(reg) from, to = in(reg) to, len = in(reg) len,
                    a = out(xmm_reg) _, b = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
            } else {
                asm!(
                    "movups {a}, [{from}]",
                    "movups {b}, [{from} + 16]",
                    "movups {c}, [{from} + {len} - 32]",
                    "movups {d}, [{from} + {len} - 16]",
                    "movups [{to}], {a}",
                    "movups [{to} + 16], {b}",
                    "movups [{to} + {len} - 32], {c}",
                    "movups [{to} + {len} - 16], {d}",
                    from = in(reg) from, to = in(reg) to, len = in(reg) len,
                    a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
            }
        } else if len >= 8 {
            asm!(
                "mov {a}, qword ptr [{from}]",
                "mov {b}, qword ptr [{from} + {len} - 8]",
                "mov qword ptr [{to}], {a}",
                "mov qword ptr [{to} + {len} - 8], {b}",
                from = in(reg) from, to = in(reg) to, len = in(reg) len, a = out(reg) _, b = out(reg) _,
                options(nostack, preserves_flags),
            );
        } else if len >= 4 {
            asm!(
                "mov {a:e}, dword ptr [{from}]",
                "mov {b:e}, dword ptr [{from} + {len} - 4]",
                "mov dword ptr [{to}], {a:e}",
                "mov dword ptr [{to} + {len} - 4], {b:e}",
                from = in(reg) from, to = in(reg) to, len = in(reg) len, a = out(reg) _, b = out(reg) _,
                options(nostack, preserves_flags),
            );
        } else if len >= 2 {
            asm!(
                "movzx {a:e}, word ptr [{from}]",
                "movzx {b:e}, word ptr [{from} + {len} - 2]",
                "mov word ptr [{to}], {a:x}",
                "mov word ptr [{to} + {len} - 2], {b:x}",
                from = in(reg) from, to = in(reg) to, len = in(reg) len, a = out(reg) _, b = out(reg) _,
                options(nostack, preserves_flags),
            );
        } else if len == 1 {
            asm!(
                "mov {a}, byte ptr [{from}]",
                "mov byte ptr [{to}], {a}",
                from = in(reg) from, to = in(reg) to, a = out(reg_byte) _,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// [`copy_short_in_line`] of at least half of [`MAX_SHORT`], by half as many instructions where the processor has them.
///
/// # Safety
/// As for [`copy_short_in_line`].
#[inline(always)]
pub(super) unsafe fn copy_half_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise; the length fits either.
    unsafe { if is_avx_chosen() { copy_64_avx(to, from, len) } else { copy_short_in_line(to, from, len) } }
}

/// More than [`MAX_SHORT`] bytes.
///
/// # Safety
/// `to` is writable and `from` readable for `len` bytes, more than [`MAX_SHORT`].
#[inline]
unsafe fn copy_long(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the pointer was made of a `CopyLong`, here or in `choose_copy_long`; they all ask for what the caller of
    // this promises.
    unsafe {
        let copy = std::mem::transmute::<*mut (), CopyLong>(COPY_LONG.load(Relaxed));
        copy(to, from, len);
    }
}

/// Whether the processor has AVX; not before the first copy past [`MAX_SHORT`].
#[inline(always)]
fn is_avx_chosen() -> bool {
    COPY_LONG.load(Relaxed) == copy_long_avx as CopyLong as *mut ()
}

/// # Safety
/// As for [`copy_long`].
#[cold]
unsafe fn choose_copy_long(to: *mut u8, from: *const u8, len: usize) {
    let copy: CopyLong = if is_x86_feature_detected!("avx") { copy_long_avx } else { copy_long_sse };
    STREAMS_FROM.store(last_cache_bytes().map_or(usize::MAX, |bytes| bytes / 2), Relaxed);
    if VectorWidth::here() == Some(VectorWidth::Whole) {
        WHOLE_LINES_FROM.store(WHOLE_LINES, Relaxed);
    }
    if amd_family().is_some_and(|family| family >= 0x1a) {
        STRINGS_FROM.store(FIRST_CACHE, Relaxed);
    }
    COPY_LONG.store(copy as *mut (), Relaxed);
    // SAFETY: the caller's promise.
    unsafe { copy(to, from, len) }
}

/// # Safety
/// As for [`copy_long`], and the processor has AVX.
unsafe fn copy_long_avx(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise; each function gets a length it is made for, in an order that overlap allows.
    unsafe {
        if len <= 128 {
            copy_128_avx(to, from, len);
        } else if len <= 256 {
            copy_256_avx(to, from, len);
        } else if is_ascending(to, from, len) {
            if len >= STREAMS_FROM.load(Relaxed) {
                copy_streaming_avx(to, from, len);
            } else if len >= STRINGS_FROM.load(Relaxed) && (len >= FAR || !trails_in_page(to, from)) {
                copy_string(to, from, len);
            } else if len >= WHOLE_LINES_FROM.load(Relaxed) && len < FIRST_CACHE {
                copy_ascending_avx512(to, from, len);
            } else {
                copy_ascending_avx(to, from, len);
            }
        } else {
            copy_descending_avx(to, from, len);
        }
    }
}

/// From this length on the string instruction takes less time wherever source and target lie.
const FAR: usize = 256 << 10;

/// Whether the string instruction is slow: its loads wait for stores a little ahead of them within a page.
#[inline]
fn trails_in_page(to: *mut u8, from: *const u8) -> bool {
    const PAGE: usize = 4096;
    (1..64).contains(&(to.addr().wrapping_sub(from.addr()) % PAGE))
}

/// Ascending, by one instruction, which the processor carries out as it likes best. What the thread stores afterwards is seen after it.
///
/// # Safety
/// As for [`copy_bytes`]; the target does not start inside the source.
unsafe fn copy_string(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len` bytes on both sides. The direction is forward, as the calling convention has it.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") len => _, inout("rsi") from => _, inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As for [`copy_long`].
unsafe fn copy_long_sse(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as in `copy_long_avx`.
    unsafe {
        if is_ascending(to, from, len) {
            copy_ascending_sse(to, from, len);
        } else {
            copy_descending_sse(to, from, len);
        }
    }
}

/// Whether an ascending copy reads no byte that it has stored: the target does not start inside the source.
#[inline(always)]
fn is_ascending(to: *mut u8, from: *const u8, len: usize) -> bool {
    to.addr().wrapping_sub(from.addr()) >= len
}

/// As [`copy_ascending_avx`], in blocks of 64 bytes and without aligning.
///
/// # Safety
/// `to` is writable and `from` readable for `len` bytes, more than 64.
#[inline(always)]
unsafe fn copy_ascending_sse(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 64` bytes on both sides; a block is moved only while more than 64 are left.
    unsafe {
        asm!(
            "movups {e}, [{from} + {left} - 64]",
            "movups {f}, [{from} + {left} - 48]",
            "movups {g}, [{from} + {left} - 32]",
            "movups {h}, [{from} + {left} - 16]",
            "2:",
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "movups [{to}], {a}",
            "movups [{to} + 16], {b}",
            "movups [{to} + 32], {c}",
            "movups [{to} + 48], {d}",
            "add {from}, 64",
            "add {to}, 64",
            "sub {left}, 64",
            "cmp {left}, 64",
            "ja 2b",
            "movups [{to} + {left} - 64], {e}",
            "movups [{to} + {left} - 48], {f}",
            "movups [{to} + {left} - 32], {g}",
            "movups [{to} + {left} - 16], {h}",
            from = inout(reg) from => _, to = inout(reg) to => _, left = inout(reg) len => _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            e = out(xmm_reg) _, f = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// As [`copy_descending_avx`], in blocks of 64 bytes.
///
/// # Safety
/// As for [`copy_ascending_sse`].
#[inline(always)]
unsafe fn copy_descending_sse(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises `len > 64` bytes on both sides; a block is moved only while more than 64 are left.
    unsafe {
        asm!(
            "movups {e}, [{from}]",
            "movups {f}, [{from} + 16]",
            "movups {g}, [{from} + 32]",
            "movups {h}, [{from} + 48]",
            "2:",
            "movups {a}, [{from} + {left} - 16]",
            "movups {b}, [{from} + {left} - 32]",
            "movups {c}, [{from} + {left} - 48]",
            "movups {d}, [{from} + {left} - 64]",
            "movups [{to} + {left} - 16], {a}",
            "movups [{to} + {left} - 32], {b}",
            "movups [{to} + {left} - 48], {c}",
            "movups [{to} + {left} - 64], {d}",
            "sub {left}, 64",
            "cmp {left}, 64",
            "ja 2b",
            "movups [{to}], {e}",
            "movups [{to} + 16], {f}",
            "movups [{to} + 32], {g}",
            "movups [{to} + 48], {h}",
            from = in(reg) from, to = in(reg) to, left = inout(reg) len => _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            e = out(xmm_reg) _, f = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::copy_tests::check;
    use super::*;

    #[test]
    fn every_choice_of_instructions_copies() {
        check(copy_long_sse, MAX_SHORT + 1);
        if is_x86_feature_detected!("avx") {
            check(copy_long_avx, MAX_SHORT + 1);
        }
    }

    /// The ascending copy by `$ascend`, and the other one where it is not for such a place.
    macro_rules! ascending {
        ($name:ident, $ascend:ident) => {
            /// # Safety
            /// As for [`copy_long_avx`], of a length that the ascending copy takes.
            unsafe fn $name(to: *mut u8, from: *const u8, len: usize) {
                // SAFETY: the caller's promise.
                unsafe {
                    match is_ascending(to, from, len) {
                        true => $ascend(to, from, len),
                        false => copy_descending_sse(to, from, len),
                    }
                }
            }
        };
    }

    ascending!(by_whole_lines, copy_ascending_avx512);
    ascending!(by_string, copy_string);

    #[test]
    fn copies_by_whole_lines_and_by_string_are_right_at_every_length() {
        check(by_string, MAX_SHORT + 1);
        if VectorWidth::here().is_some() {
            check(by_whole_lines, 257);
        }
    }

    #[test]
    fn copies_of_any_length_may_store_past_the_caches() {
        if is_x86_feature_detected!("avx") {
            // Other tests that copy meanwhile do so past the caches, and have to be right too.
            STREAMS_FROM.store(1000, Relaxed);
            check(copy_long_avx, MAX_SHORT + 1);
        }
    }
}
