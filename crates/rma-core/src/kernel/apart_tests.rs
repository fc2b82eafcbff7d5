//! Words that do not lie side by side against the same words side by side: every operation and type, in steps and in plain code, within
//! any reach, with operands and room that do and do not lie side by side.

use super::pieces::Operands;
use super::{Admission, Exclusion, Kernel, ReduceOp};
use crate::datatype::{BasicType, Layout, Loop, Scatter};
use crate::mem::WriteSpan;
use crate::mem::testing::{bytes, memory};
use std::cell::RefCell;

const COUNT: usize = 80;

/// Admits to so many bytes at a time, and notes what it has been asked for.
struct Reach {
    bytes: usize,
    is_plain: bool,
    asked: RefCell<Vec<usize>>,
}

impl Exclusion for Reach {
    type Guard<'a> = ();
    type Entry<'a> = ();

    fn exclude(&self) {}

    fn enter(&self, _: WriteSpan) {}

    fn enter_run(&self, _: WriteSpan, bytes: usize) -> Admission<()> {
        self.asked.borrow_mut().push(bytes);
        Admission { entry: (), reach: self.bytes, is_plain: self.is_plain }
    }
}

/// Words of `size` bytes, so many words apart, in memory of `4 * COUNT` words; negative distances go down from its end.
fn apart(size: usize, distance: i64) -> Layout {
    let first = if distance < 0 { (4 * COUNT - 1) * size } else { size };
    let stride = distance * size as i64;
    Layout::nest(first as i64, size as u64, &[Loop { count: COUNT as u64, stride }]).unwrap()
}

/// Pieces of one to four words at uneven distances, the second half before the first.
fn pieces(size: usize) -> Layout {
    let mut at = 1;
    let mut pieces: Vec<_> = [1, 3, 2, 4]
        .into_iter()
        .cycle()
        .take(COUNT / 10 * 4)
        .enumerate()
        .map(|(i, words)| {
            let piece = ((at * size) as i64, (words * size) as u64);
            at += words + 1 + i * i % 3;
            piece
        })
        .collect();
    pieces.rotate_left(7);
    Layout::blocks(pieces).unwrap()
}

/// Two planes of ten rows of four words.
fn rows(size: usize) -> Layout {
    let loops = [(2, 90), (COUNT as u64 / 8, 7)]
        .map(|(count, words): (u64, i64)| Loop { count, stride: words * size as i64 });
    Layout::nest(3 * size as i64, 4 * size as u64, &loops).unwrap()
}

/// Ten rows of eight words, the last one first.
fn rows_back(size: usize) -> Layout {
    let stride = -9 * size as i64;
    let first = 100 * size as i64;
    Layout::nest(first, 8 * size as u64, &[Loop { count: COUNT as u64 / 8, stride }]).unwrap()
}

/// Two rows of half the words, each as long as many of [`rows`]; for operands and old values.
fn long_rows(size: usize) -> Layout {
    let loops = [Loop { count: 2, stride: (COUNT * size) as i64 }];
    Layout::nest(size as i64, (COUNT / 2 * size) as u64, &loops).unwrap()
}

/// Two pieces again and again.
fn pairs_of_pieces(size: usize) -> Layout {
    let pair = [(0, 1), (2, 3)].map(|(at, words)| (at * size as i64, words * size as u64));
    Layout::blocks(pair).unwrap().repeated(COUNT as u64 / 4, 8 * size as i64).unwrap()
}

/// Pieces of a word and a half, so that every third word is torn; for operands and old values.
fn torn(size: usize) -> Layout {
    let lens = [3 * size].repeat(COUNT / 3).into_iter().flat_map(|len| [len.div_ceil(2), len / 2]);
    let lens = lens.chain([COUNT % 3 * size]);
    Layout::blocks(lens.enumerate().map(|(i, len)| ((3 * i * size) as i64, len as u64))).unwrap()
}

fn words_of(span: WriteSpan, layout: &Layout, len: usize) -> Vec<u8> {
    let mut words = vec![0; len];
    Scatter::within(span, 0, layout).unwrap().as_gather().read(&mut words);
    words
}

fn check(kernel: Kernel, layout: &Layout, exclusion: &Reach) {
    let size = kernel.ty().size();
    let (len, name) = (COUNT * size, format!("{} on {}, {layout:?}", kernel.op(), kernel.ty()));
    // Small numbers of any type but floating point, whose bits make ordinary ones.
    let data = |seed: usize| (0..4 * len).map(|at| (at * seed / size % 63) as u8).collect::<Vec<_>>();
    let (all, operands, room) = (memory(4 * len), memory(4 * len), memory(4 * len));
    operands.write(&data(11));
    let start = data(7);
    all.write(&start);
    let before = words_of(all, layout, len);
    let sides = [apart(size, 3), pieces(size), rows(size), rows_back(size), long_rows(size), torn(size)];
    let sides = [Layout::contiguous(len as u64)].into_iter().chain(sides).collect::<Vec<_>>();
    for (side, keeps) in sides.iter().flat_map(|side| [(side, true), (side, false)]) {
        let (mut right, operand) = (before.clone(), words_of(operands, side, len));
        kernel.combine(&mut right, &operand);
        all.write(&start);
        room.clear();
        let target = Scatter::within(all, 0, layout).unwrap();
        let from = || Operands::Memory(Scatter::within(operands, 0, side).unwrap().as_gather());
        if keeps {
            let old = Scatter::within(room, 0, side).unwrap();
            kernel.fetch_scattered(&target, from(), &old, exclusion);
            assert_eq!(words_of(room, side, len), before, "{name}: old values");
        } else if kernel.op().is_accumulate() {
            kernel.accumulate_scattered(&target, from(), exclusion);
        } else {
            continue;
        }
        assert_eq!(words_of(all, layout, len), right, "{name}");
        let mut expected = start.clone();
        let span = memory(4 * len);
        span.write(&expected);
        Scatter::within(span, 0, layout).unwrap().write(&right);
        expected.copy_from_slice(&bytes(span));
        assert_eq!(bytes(all), expected, "{name}: words in between");
    }
}

#[test]
fn words_that_do_not_lie_side_by_side_equal_those_that_do() {
    for ty in BasicType::ALL.iter().filter(|ty| ty.is_word()) {
        for op in ReduceOp::ALL.iter().filter(|op| op.is_defined_on(*ty)) {
            let kernel = Kernel::new(*op, *ty).unwrap();
            for (is_plain, bytes) in
                [(false, usize::MAX), (true, usize::MAX), (true, 300), (true, 100), (true, 8), (true, 1)]
            {
                let by_distance = [2, 3, -2].map(|distance| apart(ty.size(), distance));
                let others = [pieces, rows, rows_back, pairs_of_pieces].map(|layout| layout(ty.size()));
                let dense = Layout::contiguous((COUNT * ty.size()) as u64);
                for layout in by_distance.iter().chain(&others).chain([&dense]) {
                    check(kernel, layout, &Reach { bytes, is_plain, asked: RefCell::default() });
                }
            }
        }
    }
}

#[test]
fn words_apart_are_changed_under_as_few_entries_as_reach_to_them() {
    const WORDS: usize = 4096;
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    let (all, ones) = (memory(16 * WORDS), vec![1; 8 * WORDS]);
    let layout = Layout::nest(0, 8, &[Loop { count: WORDS as u64, stride: 16 }]).unwrap();
    for (bytes, is_plain, entries) in [(usize::MAX, false, 2), (16 << 10, true, 4)] {
        let exclusion = Reach { bytes, is_plain, asked: RefCell::default() };
        let target = Scatter::within(all, 0, &layout).unwrap();
        sum.accumulate_scattered(&target, Operands::Bytes(&ones), &exclusion);
        assert_eq!(exclusion.asked.into_inner(), [8 * WORDS].repeat(entries), "all of the transfer counts");
    }
}

#[test]
fn rows_are_changed_under_one_entry_as_far_as_it_reaches() {
    const LEN: usize = 64;
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    let ones = memory(16 * 2 * LEN);
    let layout = Layout::nest(0, LEN as u64, &[Loop { count: 16, stride: 2 * LEN as i64 }]).unwrap();
    let dense = Layout::contiguous(16 * LEN as u64);
    // Rows that begin within the reach but end behind it wait for the next entry; one that is longer is cut.
    for (bytes, entries) in [(usize::MAX, 1), (8 * 2 * LEN, 2), (2 * LEN + LEN - 1, 16), (LEN, 16)] {
        for side in [&layout, &dense] {
            let all = memory(16 * 2 * LEN);
            let exclusion = Reach { bytes, is_plain: true, asked: RefCell::default() };
            let target = Scatter::within(all, 0, &layout).unwrap();
            let from = Scatter::within(ones, 0, side).unwrap().as_gather();
            sum.accumulate_scattered(&target, Operands::Memory(from), &exclusion);
            assert_eq!(exclusion.asked.into_inner().len(), entries, "{bytes} bytes, {side:?}");
        }
    }
}

#[test]
fn too_few_operands_are_refused() {
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    let all = memory(16 * COUNT);
    let layout = Layout::nest(0, 8, &[Loop { count: COUNT as u64, stride: 16 }]).unwrap();
    let (operands, few) = (memory(8 * COUNT), 8 * COUNT - 8);
    let exclusion = Reach { bytes: usize::MAX, is_plain: true, asked: RefCell::default() };
    let call = || {
        let few = Layout::contiguous(few as u64);
        let from = Scatter::within(operands, 0, &few).unwrap().as_gather();
        let target = Scatter::within(all, 0, &layout).unwrap();
        sum.accumulate_scattered(&target, Operands::Memory(from), &exclusion);
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
}
