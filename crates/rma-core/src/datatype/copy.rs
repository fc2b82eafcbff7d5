//! The copy from one walk to another: equal blocks that both sides go on with at once, whatever makes them, and segment by segment where
//! their lengths differ.

use super::behind::{Behind, Offsets};
use super::blocks::Matched;
use super::layout::{Block, Layout, Segment};
use super::walk::Segments;
use crate::mem::{Side, copy_block, copy_blocks, copy_each};
use std::borrow::Borrow;

/// So many equal blocks, of which some are of a list, are copied by a loop of their own; fewer of them by the one that goes on with
/// whatever is behind them.
const WORTH_A_LOOP: u64 = 8;

/// Copies the bytes that come next, as many as both sides have, and advances both; says how many.
///
/// # Safety
/// The bytes of the one layout must be writable and those of the other readable, as [`copy_blocks`] says.
#[inline(always)]
pub(super) unsafe fn copy<T: Borrow<Layout>, F: Borrow<Layout>>(
    (written, to): (*mut u8, &mut Segments<T>),
    (read, from): (*const u8, &mut Segments<F>),
) -> u64 {
    // Most layouts are one run, or one loop around it.
    if let (Some(to_run), Some(from_run)) = (to.whole_run(), from.whole_run()) {
        let wanted = to.remaining().min(from.remaining());
        let matched = Matched::of(from_run, to_run);
        if matched.bytes() == wanted {
            let Matched { len, count, from_stride, to_stride } = matched;
            let to_offsets = Offsets::Apart { offset: to_run.offset, stride: to_stride };
            let from_offsets = Offsets::Apart { offset: from_run.offset, stride: from_stride };
            // SAFETY: the blocks are segments, or parts of segments, that the caller promises the bytes of.
            unsafe { copy_at((written, to_offsets), (read, from_offsets), len as usize, count as usize) };
            to.advance(wanted);
            from.advance(wanted);
            return wanted;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { copy_step_by_step((written, to), (read, from)) }
}

/// As [`copy`].
///
/// # Safety
/// As [`copy`].
#[inline(never)]
unsafe fn copy_step_by_step<T: Borrow<Layout>, F: Borrow<Layout>>(
    (written, to): (*mut u8, &mut Segments<T>),
    (read, from): (*const u8, &mut Segments<F>),
) -> u64 {
    let wanted = to.remaining().min(from.remaining());
    let mut left = wanted;
    while left > 0
        && let (Some(to_run), Some(from_run)) = (to.peek_run(), from.peek_run())
    {
        // SAFETY: the caller's promise.
        let moved = unsafe {
            // A side that lies side by side is not walked over.
            if from_run.len >= left {
                copy_to_upcoming(written, to.upcoming_from(to_run), (read, from_run.offset), left)
            } else if to_run.len >= left {
                copy_from_upcoming((written, to_run.offset), read, from.upcoming_from(from_run), left)
            } else {
                let (next_to, next_from) = (to.upcoming_from(to_run), from.upcoming_from(from_run));
                copy_upcoming((written, next_to), (read, next_from), left)
            }
        };
        to.advance(moved);
        from.advance(moved);
        left -= moved;
    }
    wanted - left
}

/// As [`copy`], `wanted` bytes at most, and up to the end of what two loops, and a list in them, make of either side.
///
/// # Safety
/// As [`copy`].
#[inline(always)] // into its caller: what it gets would be read in other pieces than it was just written in
unsafe fn copy_upcoming(
    (written, (mut to, mut behind_to)): (*mut u8, (Segment, Behind<'_>)),
    (read, (mut from, mut behind_from)): (*const u8, (Segment, Behind<'_>)),
    wanted: u64,
) -> u64 {
    // Moved for the same reason as in `copy_each`.
    let copy = move |to: i64, from: i64, len: u64| {
        let (to, from) = (written.wrapping_offset(to as isize), read.wrapping_offset(from as isize));
        // SAFETY: parts of segments before the ends of the two walks, as the caller promises.
        unsafe { copy_block(to, from, len as usize) }
    };
    let mut left = wanted;
    loop {
        let (to_run, from_run) = (behind_to.run(to), behind_from.run(from));
        if to_run.count > 1 || from_run.count > 1 {
            let matched = Matched::of(from_run, to_run).within(left);
            let Matched { len, count, from_stride, to_stride } = matched;
            let are_listed = behind_to.is_list() || behind_from.is_list();
            if count >= if are_listed { WORTH_A_LOOP } else { 2 } {
                let to_offsets = behind_to.offsets(to, len, count, to_stride);
                let from_offsets = behind_from.offsets(from, len, count, from_stride);
                // SAFETY: as above.
                unsafe {
                    copy_at((written, to_offsets), (read, from_offsets), len as usize, count as usize);
                }
                left -= matched.bytes();
                if left == 0
                    || !behind_to.pass(&mut to, len, count)
                    || !behind_from.pass(&mut from, len, count)
                {
                    return wanted - left;
                }
                continue;
            }
        }
        let len = to.len.min(from.len).min(left);
        copy(to.offset, from.offset, len);
        left -= len;
        let before = left;
        // Lists are mostly alike, whatever the lengths of their runs.
        if to.len == from.len {
            left -=
                behind_to.each_alike(&mut behind_from, left, |to, from| copy(to.offset, from.offset, to.len));
        }
        if left == 0 || !behind_to.step(&mut to, len) || !behind_from.step(&mut from, len) {
            return wanted - left;
        }
        // Where they are not for long, to look at it again and again costs more than it saves.
        if before - left < WORTH_A_LOOP * len {
            // SAFETY: as above.
            let moved = unsafe { copy_pieces((written, to, behind_to), (read, from, behind_from), left) };
            return wanted - left + moved;
        }
    }
}

/// As [`copy_upcoming`], where segments of the two sides have little in common: piece by piece, without a look at what is behind them.
///
/// # Safety
/// As [`copy`].
#[inline(never)]
unsafe fn copy_pieces(
    (written, mut to, mut behind_to): (*mut u8, Segment, Behind<'_>),
    (read, mut from, mut behind_from): (*const u8, Segment, Behind<'_>),
    wanted: u64,
) -> u64 {
    let mut left = wanted;
    loop {
        let len = to.len.min(from.len).min(left);
        let target = written.wrapping_offset(to.offset as isize);
        let source = read.wrapping_offset(from.offset as isize);
        // SAFETY: as in `copy_upcoming`.
        unsafe { copy_block(target, source, len as usize) };
        left -= len;
        if left == 0 || !behind_to.step(&mut to, len) || !behind_from.step(&mut from, len) {
            return wanted - left;
        }
    }
}

/// As [`copy_upcoming`], from bytes side by side.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn copy_to_upcoming(
    written: *mut u8,
    (to, behind_to): (Segment, Behind<'_>),
    (read, from): (*const u8, i64),
    wanted: u64,
) -> u64 {
    let start = read.wrapping_offset(from as isize);
    each_part(
        (to, behind_to),
        wanted,
        move |to, done, len| {
            let (to, from) = (written.wrapping_offset(to as isize), start.wrapping_add(done as usize));
            // SAFETY: a part of a segment before the end of the walk, and of the bytes, as the caller promises.
            unsafe { copy_block(to, from, len as usize) }
        },
        |offsets, done, len, count| {
            let from = Offsets::Apart { offset: done as i64, stride: len as i64 };
            // SAFETY: as above.
            unsafe { copy_at((written, offsets), (start, from), len as usize, count as usize) }
        },
    )
}

/// As [`copy_to_upcoming`], the other way around.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn copy_from_upcoming(
    (written, to): (*mut u8, i64),
    read: *const u8,
    (from, behind_from): (Segment, Behind<'_>),
    wanted: u64,
) -> u64 {
    let start = written.wrapping_offset(to as isize);
    each_part(
        (from, behind_from),
        wanted,
        move |from, done, len| {
            let (to, from) = (start.wrapping_add(done as usize), read.wrapping_offset(from as isize));
            // SAFETY: as in `copy_to_upcoming`.
            unsafe { copy_block(to, from, len as usize) }
        },
        |offsets, done, len, count| {
            let to = Offsets::Apart { offset: done as i64, stride: len as i64 };
            // SAFETY: as above.
            unsafe { copy_at((start, to), (read, offsets), len as usize, count as usize) }
        },
    )
}

/// Calls `copy` with segments, and how many bytes came before each, or `copy_group` with many of one length, `wanted` bytes at most; says
/// how many there were.
#[inline(always)]
fn each_part(
    (mut segment, mut behind): (Segment, Behind<'_>),
    wanted: u64,
    copy: impl Fn(i64, u64, u64),
    copy_group: impl Fn(Offsets<'_>, u64, u64, u64),
) -> u64 {
    let mut done = 0;
    loop {
        let (run, left) = (behind.run(segment), wanted - done);
        let count = if run.len * run.count <= left { run.count } else { left / run.len };
        let is_more = if count >= if behind.is_list() { WORTH_A_LOOP } else { 2 } {
            copy_group(behind.offsets(segment, run.len, count, run.stride), done, run.len, count);
            done += run.len * count;
            behind.pass(&mut segment, run.len, count)
        } else {
            let len = segment.len.min(left);
            copy(segment.offset, done, len);
            done += len;
            let before = done;
            done += behind
                .each_listed(wanted - before, |next, within| copy(next.offset, before + within, next.len));
            behind.step(&mut segment, len)
        };
        if done == wanted || !is_more {
            return done;
        }
    }
}

/// Copies `count` blocks of `len` bytes from and to such offsets from these addresses.
///
/// # Safety
/// As [`copy_blocks`], for the blocks there.
#[inline(always)] // as far as no list is looked at
unsafe fn copy_at(to: (*mut u8, Offsets<'_>), from: (*const u8, Offsets<'_>), len: usize, count: usize) {
    use Offsets::{Apart, Listed};
    let at = |base: i64| to.0.wrapping_offset(base as isize);
    let of = |base: i64| from.0.wrapping_offset(base as isize);
    // SAFETY: the caller's promise.
    unsafe {
        match (to.1, from.1) {
            (Apart { offset: to, stride: to_stride }, Apart { offset: from, stride: from_stride }) => {
                let to = Side { start: at(to), stride: to_stride as isize };
                let from = Side { start: of(from), stride: from_stride as isize };
                copy_blocks(to, from, len, count);
            }
            (Listed { base: to, blocks: to_blocks }, Listed { base: from, blocks }) => {
                copy_lists((at(to), to_blocks), (of(from), blocks), len);
            }
            (Listed { base, blocks }, Apart { offset, stride }) => {
                copy_to_list((at(base), blocks), (of(offset), stride), len);
            }
            (Apart { offset, stride }, Listed { base, blocks }) => {
                copy_from_list((at(offset), stride), (of(base), blocks), len);
            }
        }
    }
}

/// Copies from and to the runs of lists, as many as either has, each of `len` bytes.
///
/// # Safety
/// As [`copy_each`], as for the next two.
#[inline(never)]
unsafe fn copy_lists(to: (*mut u8, &[Block]), from: (*const u8, &[Block]), len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_each((to.0, listed(to.1)), (from.0, listed(from.1)), len) }
}

/// As [`copy_lists`], from equal distances.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn copy_to_list(to: (*mut u8, &[Block]), from: (*const u8, i64), len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_each((to.0, listed(to.1)), (from.0, apart(to.1.len(), from.1)), len) }
}

/// As [`copy_lists`], to equal distances.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn copy_from_list(to: (*mut u8, i64), from: (*const u8, &[Block]), len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_each((to.0, apart(from.1.len(), to.1)), (from.0, listed(from.1)), len) }
}

fn apart(count: usize, stride: i64) -> impl Iterator<Item = i64> {
    (0..count as i64).map(move |index| index * stride)
}

fn listed(blocks: &[Block]) -> impl Iterator<Item = i64> {
    blocks.iter().map(|block| block.offset)
}
