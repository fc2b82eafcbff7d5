//! Copies of equal blocks at equal distances: the inner loop of every strided transfer.

use super::copy::{MAX_SHORT, copy_bytes, copy_half_in_line, copy_in_line, copy_short_in_line};

/// One side of a strided copy: the first block's address, and the distance from each block to the next in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<P> {
    pub(crate) start: P,
    pub(crate) stride: isize,
}

/// Blocks between two jumps: a word's copy is two instructions, and a loop around one word spends more on itself.
const AT_ONCE: usize = 4;

/// From here on a block is worth the larger vectors.
const HALF: usize = MAX_SHORT / 2;

/// Calls a function with its arguments and the copy of one block of `$len` bytes, each of which is chosen before its loop begins. The
/// length is constant in the first two, so that the copy is two instructions there. It is the same for all blocks of the others, whose
/// code stands in the loop, so that the compiler makes a loop of each of its branches: a call for every block, which decides again, takes
/// five to nine times as long.
macro_rules! by_length {
    ($len:ident, $each:ident($($argument:expr),+)) => {
        match $len {
            8 => $each($($argument,)+ |to, from| copy_bytes(to, from, 8)),
            4 => $each($($argument,)+ |to, from| copy_bytes(to, from, 4)),
            HALF..=MAX_SHORT => $each($($argument,)+ |to, from| copy_half_in_line(to, from, $len)),
            ..=MAX_SHORT => $each($($argument,)+ |to, from| copy_short_in_line(to, from, $len)),
            _ => $each($($argument,)+ |to, from| copy_in_line(to, from, $len)),
        }
    };
}

/// Copies `count` blocks of `len` bytes, first to last. Blocks of 4 and 8 bytes move as a whole.
///
/// # Safety
/// Every block of `from` must be readable, and every block of `to` writable, as [`super::ReadSpan::new`] and
/// [`super::WriteSpan::new`] say. Where blocks of the two sides overlap, bytes read later may be new ones.
pub(crate) unsafe fn copy_blocks(to: Side<*mut u8>, from: Side<*const u8>, len: usize, count: usize) {
    // SAFETY: the caller's promise for the block that the closures' arguments lead to; each loop visits exactly the `count` blocks.
    unsafe { by_length!(len, each_apart(to, from, count)) }
}

/// Copies blocks of `len` bytes, as many as both sides have, as [`copy_blocks`]. A side is an address, and the blocks' offsets from there.
///
/// # Safety
/// As [`copy_blocks`].
#[inline(always)]
pub(crate) unsafe fn copy_each(
    (to, to_offsets): (*mut u8, impl Iterator<Item = i64>),
    (from, from_offsets): (*const u8, impl Iterator<Item = i64>),
    len: usize,
) {
    let offsets = to_offsets.zip(from_offsets);
    // Moved, so that the addresses stay in registers: memory that holds them is read again behind each copy.
    let places =
        offsets.map(move |(at, of)| (to.wrapping_offset(at as isize), from.wrapping_offset(of as isize)));
    // SAFETY: the caller's promise for the block that the closures' arguments lead to.
    unsafe { by_length!(len, each_place(places)) }
}

/// Copies one block, in line as far as it is short.
///
/// # Safety
/// As [`copy_blocks`].
#[inline(always)]
pub(crate) unsafe fn copy_block(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            8 => copy_bytes(to, from, 8),
            4 => copy_bytes(to, from, 4),
            ..=MAX_SHORT => copy_short_in_line(to, from, len),
            _ => copy_bytes(to, from, len),
        }
    }
}

#[inline(always)]
fn each_apart(
    mut to: Side<*mut u8>,
    mut from: Side<*const u8>,
    count: usize,
    copy: impl Fn(*mut u8, *const u8),
) {
    let mut next = || {
        copy(to.start, from.start);
        to.start = to.start.wrapping_offset(to.stride);
        from.start = from.start.wrapping_offset(from.stride);
    };
    for _ in 0..count / AT_ONCE {
        (0..AT_ONCE).for_each(|_| next());
    }
    (0..count % AT_ONCE).for_each(|_| next());
}

#[inline(always)]
fn each_place(places: impl Iterator<Item = (*mut u8, *const u8)>, copy: impl Fn(*mut u8, *const u8)) {
    places.for_each(|(to, from)| copy(to, from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::testing::{bytes, memory};

    #[test]
    fn blocks_of_any_length_arrive_where_the_strides_say() {
        let around = [MAX_SHORT - 1, MAX_SHORT, MAX_SHORT + 1, 100, 128, 130];
        for len in (0..=33).chain(around) {
            let (source, target) = (memory(4096), memory(4096));
            source.write(&(0..=250).cycle().take(4096).collect::<Vec<u8>>());
            let from = Side { start: source.as_read().as_ptr(), stride: 131 };
            let to = Side { start: target.part(3000 - len, len).as_mut_ptr(), stride: -139 };
            let again = memory(4096);
            let offsets = |stride: i64| (0..21).map(move |block| block * stride);
            // SAFETY: 21 blocks up to offset 20 * 131 + 130, and down from 3000 by 20 * 139 + 130, are within 4096 bytes.
            unsafe {
                copy_blocks(to, from, len, 21);
                let to = again.part(3000 - len, len).as_mut_ptr();
                copy_each((to, offsets(-139)), (from.start, offsets(131)), len);
            }
            assert_eq!(bytes(target), bytes(again), "blocks of {len}");
            let (source, target) = (bytes(source), bytes(target));
            let mut expected = vec![0; 4096];
            for block in 0..21 {
                let at = 3000 - len - 139 * block;
                expected[at..at + len].copy_from_slice(&source[131 * block..131 * block + len]);
            }
            assert_eq!(target, expected, "blocks of {len}");
        }
    }
}
