//! The audited copy: any length, any alignment, overlap allowed, defined also when others write the bytes meanwhile.
//!
//! The form for every processor: relaxed atomic words. Naturally aligned words of 2, 4 and 8 bytes are moved as a whole.
//! An architecture may have a faster file of the same function beside this one; Miri always uses this one.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<u64>();
/// As elsewhere, where it makes a difference.
pub(super) const MAX_SHORT: usize = 64;

/// Copies `len` bytes from `from` to `to`, as if through a buffer in between.
///
/// # Safety
/// `from` must be readable and `to` writable for `len` bytes. Others may access both at the same time.
pub(super) unsafe fn copy_bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise for 2 or 4 bytes, and both sides are aligned to that.
    unsafe {
        match len {
            2 if are_aligned(to, from, 2) => {
                (*to.cast::<AtomicU16>()).store((*from.cast::<AtomicU16>()).load(Relaxed), Relaxed);
                return;
            }
            4 if are_aligned(to, from, 4) => {
                (*to.cast::<AtomicU32>()).store((*from.cast::<AtomicU32>()).load(Relaxed), Relaxed);
                return;
            }
            _ => {}
        }
    }
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: the caller's promise; the destination does not start inside the source, so ascending order never
        // reads a byte it has written.
        unsafe { copy_ascending(to, from, len) }
    } else {
        // SAFETY: the caller's promise; the destination starts inside the source, so descending order never reads a
        // byte it has written.
        unsafe { copy_descending(to, from, len) }
    }
}

/// [`copy_bytes`].
///
/// # Safety
/// As [`copy_bytes`].
pub(super) unsafe fn copy_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_bytes(to, from, len) }
}

/// [`copy_bytes`] of at most [`MAX_SHORT`].
///
/// # Safety
/// As [`copy_bytes`].
pub(super) unsafe fn copy_short_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_bytes(to, from, len) }
}

/// [`copy_bytes`] of at least half of [`MAX_SHORT`], and at most that.
///
/// # Safety
/// As [`copy_bytes`].
pub(super) unsafe fn copy_half_in_line(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_bytes(to, from, len) }
}

/// [`copy_bytes`], if it is one store of the processor; says whether it was, and copies nothing otherwise.
///
/// # Safety
/// As [`copy_bytes`].
pub(super) unsafe fn copy_at_once(to: *mut u8, from: *const u8, len: usize) -> bool {
    let is_one = len < 2 || (matches!(len, 2 | 4 | 8) && are_aligned(to, from, len));
    if is_one {
        // SAFETY: the caller's promise.
        unsafe { copy_bytes(to, from, len) }
    }
    is_one
}

/// [`copy_at_once`] for what is no word of a general register: nothing here.
///
/// # Safety
/// None beyond that of [`copy_bytes`].
pub(super) unsafe fn copy_block_at_once(_to: *mut u8, _from: *const u8, _len: usize) -> bool {
    false
}

fn are_aligned(to: *mut u8, from: *const u8, size: usize) -> bool {
    (to as usize | from as usize).is_multiple_of(size)
}

/// # Safety
/// `to` is writable and `from` readable for `len` bytes.
unsafe fn copy_ascending(to: *mut u8, from: *const u8, len: usize) {
    let mut at = 0;
    if (to as usize) % WORD == (from as usize) % WORD {
        while at < len && !(to as usize + at).is_multiple_of(WORD) {
            // SAFETY: `at < len`.
            unsafe { copy_byte(to, from, at) };
            at += 1;
        }
        while len - at >= WORD {
            // SAFETY: `at + WORD <= len`, both addresses are multiples of the word size, and atomics of that size have
            // its alignment on all supported targets.
            unsafe {
                let word = (*from.add(at).cast::<AtomicU64>()).load(Relaxed);
                (*to.add(at).cast::<AtomicU64>()).store(word, Relaxed);
            }
            at += WORD;
        }
    }
    while at < len {
        // SAFETY: `at < len`.
        unsafe { copy_byte(to, from, at) };
        at += 1;
    }
}

/// # Safety
/// As for [`copy_ascending`].
unsafe fn copy_descending(to: *mut u8, from: *const u8, len: usize) {
    for at in (0..len).rev() {
        // SAFETY: `at < len`.
        unsafe { copy_byte(to, from, at) };
    }
}

/// # Safety
/// `to` is writable and `from` readable at `at`.
unsafe fn copy_byte(to: *mut u8, from: *const u8, at: usize) {
    // SAFETY: the caller has checked `at` against the length both sides are valid for.
    unsafe {
        let byte = (*from.add(at).cast::<AtomicU8>()).load(Relaxed);
        (*to.add(at).cast::<AtomicU8>()).store(byte, Relaxed);
    }
}
