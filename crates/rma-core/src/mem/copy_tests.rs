//! Every form of the copy against `copy_within` of a slice: lengths around each change of method, alignments, overlap.

use super::copy::{
    MAX_SHORT, copy_at_once, copy_block_at_once, copy_bytes, copy_half_in_line, copy_in_line,
    copy_short_in_line,
};
use super::testing::memory;
use super::{ReadSpan, WriteSpan};
use std::ops::RangeInclusive;

pub(super) type Copy = unsafe fn(*mut u8, *const u8, usize);

/// Lengths around every threshold of every form, from `least` on.
pub(super) fn lengths(least: usize) -> impl Iterator<Item = usize> {
    let around = |n: usize| n - 2..n + 3;
    let long = [511, 1000].into_iter().chain(around(4096)).chain(around(16384));
    (0..=300).chain(long).filter(move |len| *len >= least)
}

/// Checks one form for lengths from `least` on: the target is right and nothing beside it changes.
pub(super) fn check(copy: Copy, least: usize) {
    for len in lengths(least) {
        for (to, from) in [(0, 0), (0, 1), (1, 0), (7, 3), (31, 32), (33, 5)] {
            check_one(copy, len, 64 + to, 64 + len + 64 + from);
            check_one(copy, len, 64 + len + 64 + to, 64 + from);
        }
        let overlaps =
            [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 128, 129, 255, len / 2, len.saturating_sub(1)];
        for distance in overlaps.into_iter().filter(|d| *d <= len) {
            check_one(copy, len, 64 + distance, 64);
            check_one(copy, len, 64, 64 + distance);
            check_one(copy, len, 77 + distance, 77);
            check_one(copy, len, 77, 77 + distance);
        }
    }
}

fn check_one(copy: Copy, len: usize, to: usize, from: usize) {
    let mut expected: Vec<u8> = (0..2 * len + 300).map(|i| (i ^ i >> 8).wrapping_mul(31) as u8).collect();
    let mut found = expected.clone();
    expected.copy_within(from..from + len, to);
    assert!(to + len <= found.len() && from + len <= found.len());
    let start = found.as_mut_ptr();
    // SAFETY: both ranges lie within `found`, as checked.
    unsafe { copy(start.add(to), start.add(from), len) };
    assert!(found == expected, "copy of {len} bytes from {from} to {to}");
}

/// Checks a form for short copies alone.
fn check_short(copy: Copy, lens: RangeInclusive<usize>) {
    for len in lens {
        for (to, from) in [(64, 200), (200, 64), (65, 64), (64, 65), (70, 64), (77, 77)] {
            check_one(copy, len, to, from);
        }
    }
}

#[test]
fn the_chosen_form_copies() {
    check(copy_bytes, 0);
    check(copy_in_line, 0);
    check_short(copy_short_in_line, 0..=MAX_SHORT);
    check_short(copy_half_in_line, MAX_SHORT / 2..=MAX_SHORT);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[path = "copy.rs"]
mod generic;

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn the_generic_form_copies() {
    check(generic::copy_bytes, 0);
    check(generic::copy_in_line, 0);
    check_short(generic::copy_short_in_line, 0..=generic::MAX_SHORT);
    check_short(generic::copy_half_in_line, MAX_SHORT / 2..=MAX_SHORT);
}

/// Lengths that are one store, but no word.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BLOCKS: [usize; 2] = [16, 32];
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
const BLOCKS: [usize; 0] = [];

/// Checks that one form copies what must be one store, nothing else but what `may` be, and that whole or not at all.
fn check_at_once(must: &[usize], may: &[usize], copy: impl Fn(*mut u8, *const u8, usize) -> bool) {
    let (source, target) = (memory(512), memory(512));
    source.write(&[7; 512]);
    for len in 1..=300 {
        target.clear();
        let is_done = copy(target.as_mut_ptr(), source.as_read().as_ptr(), len);
        let mut found = [0; 512];
        target.as_read().read(&mut found);
        let copied = found.iter().filter(|byte| **byte == 7).count();
        assert_eq!(copied, if is_done { len } else { 0 }, "{len} bytes");
        assert!(is_done || !must.contains(&len), "{len} bytes");
        assert!(!is_done || may.contains(&len), "{len} bytes");
    }
}

#[test]
fn the_chosen_form_copies_at_once_what_is_one_store() {
    // SAFETY: both sides are memory of 512 bytes, and copies are of 300 at most.
    check_at_once(&[4, 8], &[1, 2, 4, 8], |to, from, len| unsafe { copy_at_once(to, from, len) });
    // SAFETY: as above.
    check_at_once(&[], &BLOCKS, |to, from, len| unsafe { copy_block_at_once(to, from, len) });
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn the_generic_form_copies_at_once_what_is_one_store() {
    // SAFETY: as above.
    check_at_once(&[4, 8], &[1, 2, 4, 8], |to, from, len| unsafe { generic::copy_at_once(to, from, len) });
    // SAFETY: as above.
    check_at_once(&[], &[], |to, from, len| unsafe { generic::copy_block_at_once(to, from, len) });
}

#[test]
fn words_are_never_torn() {
    const ROUNDS: u64 = 20_000;
    let (source, target) = (memory(8), memory(8));
    let pattern = |round: u64| (round % 251).wrapping_mul(0x0101_0101_0101_0101);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                source.set_word(0, pattern(round));
            }
        });
        for round in 0..ROUNDS {
            for len in [2, 4, 8] {
                target.write_from(source.as_read().part(0, len));
                let word: u64 = target.as_read().word(0);
                let read = &word.to_ne_bytes()[..len];
                assert!(read.iter().all(|b| *b == read[0]), "round {round}: {len} bytes are {read:?}");
            }
        }
    });
}

#[test]
fn spans_copy_between_each_other_and_slices() {
    let span: WriteSpan = memory(40_000);
    let bytes: Vec<u8> = (0..20_000).map(|i| i as u8).collect();
    span.part(5, bytes.len()).write(&bytes);
    span.part(17_000, bytes.len()).write_from(span.as_read().part(5, bytes.len()));
    let mut out = vec![0; bytes.len()];
    span.as_read().part(17_000, bytes.len()).read(&mut out);
    assert!(out == bytes);
    WriteSpan::EMPTY.write_from(ReadSpan::EMPTY);
}
