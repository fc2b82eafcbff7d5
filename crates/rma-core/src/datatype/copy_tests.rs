//! Copies between layouts of every kind against a plain model: the list of each side's bytes, one by one.

use super::{Layout, Scatter};
use crate::mem::testing::{bytes, memory};
use std::ops::Range;

/// Bytes of every layout here.
const SIZE: u64 = 576;
/// Bytes of the memory of each side, and where offsets count from: a multiple of no word.
const ROOM: usize = 1 << 15;
const BASE: i64 = (ROOM / 2 + 3) as i64;

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % sides
    }

    fn one_of(&mut self, lens: &[u64]) -> u64 {
        lens[self.below(lens.len() as u64) as usize]
    }
}

/// A layout, and the offset of each of its bytes in order.
#[derive(Debug)]
struct Side {
    layout: Layout,
    places: Vec<i64>,
}

impl Side {
    fn of_runs(runs: &[(i64, u64)]) -> Self {
        let places = runs.iter().flat_map(|(at, len)| *at..*at + *len as i64).collect();
        Self { layout: Layout::blocks(runs.iter().copied()).unwrap(), places }
    }

    fn repeated(self, count: u64, stride: i64) -> Self {
        let places = (0..count as i64).flat_map(|i| self.places.iter().map(move |at| at + i * stride));
        Self { places: places.collect(), layout: self.layout.repeated(count, stride).unwrap() }
    }

    fn followed_by(self, other: Self, by: i64) -> Self {
        let layout = Layout::sequence(vec![self.layout, other.layout.shifted(by).unwrap()]).unwrap();
        Self {
            layout,
            places: self.places.into_iter().chain(other.places.iter().map(|at| at + by)).collect(),
        }
    }
}

/// Runs of these lengths, the second part before the first; with gaps of any length, or up to half a run over each other.
fn list(dice: &mut Dice, lens: &[u64], overlaps: bool) -> Side {
    let mut at = 0;
    let mut runs = vec![];
    for len in lens {
        runs.push((at, *len));
        at += if overlaps { *len as i64 / 2 } else { *len as i64 } + 1 + dice.below(11) as i64;
    }
    let middle = dice.below(runs.len() as u64) as usize;
    runs.rotate_left(middle);
    Side::of_runs(&runs)
}

fn evenly(len: u64, bytes: u64) -> Vec<u64> {
    vec![len; (bytes / len) as usize]
}

/// Lengths with these bytes in all, drawn from one seed so that two sides may have the same.
fn unevenly(seed: u64, bytes: u64) -> Vec<u64> {
    let mut dice = Dice(seed);
    let (mut lens, mut left) = (vec![], bytes);
    while left > 0 {
        let len = dice.one_of(&[1, 2, 4, 4, 8, 8, 8, 12, 16, 40]).min(left);
        lens.push(len);
        left -= len;
    }
    lens
}

/// A layout of any kind. Where it may be read only, its bytes may be the same ones more than once.
fn random_side(dice: &mut Dice, overlaps: bool) -> Side {
    let len = dice.one_of(&[1, 2, 3, 4, 6, 8, 8, 12, 16, 24, 36, 48, 72, 144]);
    let seed = dice.below(3);
    let run = |len| Side::of_runs(&[(0, len)]);
    let gap = dice.below(9) as i64;
    match dice.below(9) {
        0 => run(SIZE),
        1 => run(len).repeated(SIZE / len, len as i64 + gap),
        2 => run(len).repeated(SIZE / len, -(len as i64) - gap),
        3 => run(len).repeated(SIZE / len / 4, len as i64 + gap).repeated(4, 2048),
        4 => run(len)
            .repeated(SIZE / len / 4, 2 * len as i64 + 40)
            .repeated(2, len as i64 + 3)
            .repeated(2, -9000),
        5 => list(dice, &evenly(len, SIZE), overlaps),
        6 => list(dice, &unevenly(seed, SIZE), overlaps),
        7 => {
            let side = match seed {
                0 => list(dice, &unevenly(1, SIZE / 4), overlaps),
                1 => list(dice, &unevenly(1, SIZE / 8), overlaps).repeated(2, 900),
                _ => list(dice, &evenly(len, SIZE / 4), overlaps),
            };
            side.repeated(2, 4001).repeated(2, -8003)
        }
        _ => {
            let first = list(dice, &evenly(4, SIZE / 4), false).repeated(2, 3000);
            first.followed_by(list(dice, &evenly(8, SIZE / 2), overlaps), 6001)
        }
    }
}

/// Copies these parts of two layouts, as far as both go, and compares all memory.
fn check(from: &Side, read: Range<u64>, to: &Side, written: Range<u64>, say: impl Fn() -> String) {
    let (source, target) = (memory(ROOM), memory(ROOM));
    source.write(&(0..ROOM).map(|at| (at % 253 + 1) as u8).collect::<Vec<_>>());
    let mut gather = Scatter::within(source, BASE, &from.layout).unwrap().as_gather();
    let mut scatter = Scatter::within(target, BASE, &to.layout).unwrap();
    assert_eq!((from.places.len(), to.places.len()), (SIZE as usize, SIZE as usize), "{}", say());
    let _ = (gather.split_to(read.start), scatter.split_to(written.start));
    let (mut gather, mut scatter) =
        (gather.split_to(read.end - read.start), scatter.split_to(written.end - written.start));
    let wanted = gather.remaining().min(scatter.remaining());
    let left = (gather.remaining() - wanted, scatter.remaining() - wanted);
    assert_eq!(gather.transfer(&mut scatter), wanted, "{}", say());
    assert_eq!((gather.remaining(), scatter.remaining()), left, "{}", say());
    let (source, mut expected) = (bytes(source), vec![0; ROOM]);
    for i in 0..wanted {
        let place = |side: &Side, start: u64| (BASE + side.places[(start + i) as usize]) as usize;
        expected[place(to, written.start)] = source[place(from, read.start)];
    }
    assert!(bytes(target) == expected, "{}", say());
}

#[test]
fn any_part_of_any_layout_arrives_in_any_part_of_any_other() {
    for seed in 0..if cfg!(miri) { 40 } else { 6000 } {
        let mut dice = Dice(seed);
        let (from, to) = (random_side(&mut dice, true), random_side(&mut dice, false));
        let mut part = || match dice.below(3) {
            0 => 0..SIZE,
            _ => {
                let start = dice.below(SIZE);
                start..start + dice.below(SIZE + 1 - start)
            }
        };
        let (read, written) = (part(), part());
        check(&from, read.clone(), &to, written.clone(), || {
            format!("seed {seed}: {read:?} of {:?} to {written:?} of {:?}", from.layout, to.layout)
        });
    }
}

#[test]
fn lists_of_blocks_of_one_length_arrive_from_and_at_lists_loops_and_single_runs() {
    for len in (1..=SIZE / 2).filter(|len| SIZE.is_multiple_of(*len)) {
        let mut dice = Dice(len);
        let lens = evenly(len, SIZE);
        let lists = [list(&mut dice, &lens, false), list(&mut dice, &lens, false)];
        let run = Side::of_runs(&[(0, SIZE)]);
        let evenly_apart = Side::of_runs(&[(0, len)]).repeated(SIZE / len, len as i64 + 5);
        let all = lists.iter().chain([&run, &evenly_apart]).collect::<Vec<_>>();
        for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            check(from, 0..SIZE, to, 0..SIZE, || format!("blocks of {len}: {from:?} to {to:?}"));
        }
    }
}

#[test]
fn blocks_of_the_source_may_overlap_and_lists_know_whether_their_runs_are_alike() {
    for len in [4, 8, 24, 64] {
        let lens = evenly(len, SIZE);
        let (from, to) = (list(&mut Dice(1), &lens, true), list(&mut Dice(2), &lens, false));
        assert_eq!(to.layout.body.as_ref().map(|body| body.each), Some(len));
        check(&from, 0..SIZE, &to, 0..SIZE, || format!("blocks of {len}"));
    }
    let uneven = list(&mut Dice(3), &unevenly(1, SIZE), false);
    assert_eq!(uneven.layout.body.as_ref().map(|body| body.each), Some(0));
}
