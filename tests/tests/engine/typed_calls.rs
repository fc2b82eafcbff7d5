//! Calls with datatypes: what they cost in packets, what they refuse, and that wide elements change in one step.

use rma_core::config::EngineConfig;
use rma_core::datatype::{BasicType, Datatype, Field};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::{ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, Origin, TargetArea, Window, WindowSpec};
use rma_tests::world::{Setup, TestRank, local, run, run_all, set_local};

fn double() -> Datatype {
    Datatype::basic(BasicType::F64)
}

fn origin<'a>(values: &[f64], count: u64, ty: &'a Datatype) -> Origin<'a> {
    Origin { base: values.as_ptr().cast(), count, ty }
}

fn into<'a>(values: &mut [f64], count: u64, ty: &'a Datatype) -> Destination<'a> {
    Destination { base: values.as_mut_ptr().cast(), count, ty }
}

fn area(disp: u64, count: u64, ty: &Datatype) -> TargetArea<'_> {
    TargetArea { disp: Disp(disp), count, ty }
}

fn put(window: &Window, from: Origin<'_>, target: Rank, to: TargetArea<'_>) -> Result<()> {
    // SAFETY: tests keep the buffers until a synchronization call has completed the operation.
    unsafe { window.put_typed(from, target, to) }
}

fn get(window: &Window, into: Destination<'_>, target: Rank, from: TargetArea<'_>) -> Result<()> {
    // SAFETY: as for `put`.
    unsafe { window.get_typed(into, target, from) }
}

fn accumulate(
    window: &Window,
    from: Origin<'_>,
    op: ReduceOp,
    target: Rank,
    to: TargetArea<'_>,
) -> Result<()> {
    // SAFETY: as for `put`.
    unsafe { window.accumulate_typed(from, op, target, to) }
}

fn get_accumulate(
    window: &Window,
    from: Origin<'_>,
    into: Destination<'_>,
    op: ReduceOp,
    target: Rank,
    to: TargetArea<'_>,
) -> Result<()> {
    // SAFETY: as for `put`.
    unsafe { window.get_accumulate(from, into, op, target, to) }
}

/// Packets that `pattern` on rank 0 of two ranks causes.
fn packets(elements: u64, pattern: impl Fn(&Window) + Send + Sync) -> u64 {
    packets_in(&Setup::packets(2), elements, pattern)
}

fn packets_in(setup: &Setup, elements: u64, pattern: impl Fn(&Window) + Send + Sync) -> u64 {
    let count = std::sync::Mutex::new(0);
    run(setup, |rank| {
        let window = rank.allocate(elements);
        // The second round finds connections made and elements used before.
        for _ in 0..2 {
            rank.barrier();
            let before = rank.packets();
            rank.barrier();
            if rank.me == 0 {
                pattern(&window);
            }
            // A bulk packet is counted by its sender when it has left, which may be after it has arrived.
            rank.barrier();
            if rank.me == 0 {
                *count.lock().unwrap() = rank.packets() - before;
            }
        }
        window.free().unwrap();
    });
    count.into_inner().unwrap()
}

#[test]
fn regular_types_cost_the_same_packets_whatever_their_counts() {
    let column = Datatype::vector(1, 1, 1, &double()).unwrap();
    let column = Datatype::resized(0, 24, &column).unwrap();
    for count in [100, 10_000] {
        let window_elements = 3 * count;
        let values = vec![1.0; count as usize];
        let put_it = packets(window_elements, |window| {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            put(window, origin(&values, count, &double()), Rank(1), area(0, count, &column)).unwrap();
            window.unlock(Rank(1)).unwrap();
        });
        let get_it = packets(window_elements, |window| {
            let mut values = vec![1.0; count as usize];
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            get(window, into(&mut values, count, &double()), Rank(1), area(0, count, &column)).unwrap();
            window.unlock(Rank(1)).unwrap();
            assert_eq!(values[0], 0.0);
        });
        // A small put rides on the lock, a large one waits for the grant; a get is always small.
        assert_eq!((put_it, get_it), (if count == 100 { 2 } else { 4 }, 2), "{count} elements");
    }
}

#[test]
fn an_irregular_list_costs_one_packet_for_each_shape_that_fits_one() {
    let count = 1000;
    let list = Datatype::indexed_block(1, (0..count).map(|i| i * (i + 1) / 2), &double()).unwrap();
    let values = vec![1.0; count as usize];
    let mut setup = Setup::packets(2);
    // A run of a list as long as this one takes eight bytes, and a packet has room for 502 of them.
    for (runs, pieces) in [(10, 100), (60, 17), (200, 5), (EngineConfig::default().shape_entries, 2)] {
        setup.engine.shape_entries = runs;
        let cost = packets_in(&setup, count as u64 * (count as u64 + 1) / 2, |window| {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            put(window, origin(&values, count as u64, &double()), Rank(1), area(0, 1, &list)).unwrap();
            window.unlock(Rank(1)).unwrap();
        });
        // The lock and its grant, pieces of so many runs, the acknowledgement.
        assert_eq!(cost, 2 + pieces + 1, "{runs} runs");
    }
}

#[test]
fn a_long_shape_waits_for_the_lock_as_long_data_do() {
    let mut setup = Setup::packets(2);
    setup.engine.lock_data_bytes = 2048;
    // A run of such a list takes eight bytes.
    for (count, cost) in [(200, 2), (300, 4)] {
        let list = Datatype::indexed_block(1, (0..count).map(|i| i * (i + 1) / 2), &double()).unwrap();
        let packets = packets_in(&setup, count as u64 * (count as u64 + 1) / 2, |window| {
            let mut values = vec![1.0; count as usize];
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            get(window, into(&mut values, count as u64, &double()), Rank(1), area(0, 1, &list)).unwrap();
            window.unlock(Rank(1)).unwrap();
            assert!(values.iter().all(|value| *value == 0.0));
        });
        assert_eq!(packets, cost, "a get of {count} runs");
    }
}

#[test]
fn a_get_accumulate_of_any_size_travels_in_pieces_with_a_reply_each() {
    let count = 900_000;
    let units = (count * 8_u64).div_ceil(EngineConfig::default().unit_bytes);
    assert_eq!(units, 7, "more than the pieces that keep the target at work");
    let values = vec![1.0; count as usize];
    let cost = packets(count, |window| {
        let mut old = vec![9.0; count as usize];
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        let ty = double();
        let (from, into) = (origin(&values, count, &ty), into(&mut old, count, &ty));
        get_accumulate(window, from, into, ReduceOp::Sum, Rank(1), area(0, count, &ty)).unwrap();
        window.unlock(Rank(1)).unwrap();
        assert!(old.iter().all(|v| *v == old[0]) && old[0] < 2.0);
    });
    assert_eq!(cost, 2 + 2 * units);
}

#[track_caller]
fn refused(outcome: Result<()>, class: ErrorClass, words: &[&str]) {
    let error = outcome.expect_err("should have been refused");
    assert_eq!(error.class(), class, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

#[test]
fn types_that_do_not_match_are_refused_before_anything_moves() {
    run_all(2, |rank| {
        let window = rank.allocate(16);
        let target = Rank(1 - rank.me);
        let values = [1.0; 16];
        let mut old = [2.0; 16];
        let (double, int) = (double(), Datatype::basic(BasicType::I64));
        let mixed = [Field { count: 1, offset: 0, ty: &double }, Field { count: 1, offset: 8, ty: &int }];
        let mixed = Datatype::structure(mixed).unwrap();
        window.lock(Shared, target, Assert::NONE).unwrap();
        refused(
            put(&window, origin(&values, 3, &double), target, area(0, 2, &double)),
            ErrorClass::Truncate,
            &["put", "24 bytes", "16"],
        );
        refused(
            put(&window, origin(&values, 2, &double), target, area(0, 3, &double)),
            ErrorClass::Type,
            &["put", "16 bytes", "24"],
        );
        refused(
            get(&window, into(&mut old, 1, &double), target, area(0, 2, &double)),
            ErrorClass::Truncate,
            &["get"],
        );
        let sum = ReduceOp::Sum;
        for (from, to) in [(&double, &int), (&int, &double), (&mixed, &mixed)] {
            let call = accumulate(&window, origin(&values, 1, from), sum, target, area(0, 1, to));
            refused(call, ErrorClass::Type, &["accumulate", "basic type"]);
        }
        let call =
            accumulate(&window, origin(&values, 1, &double), ReduceOp::NoOp, target, area(0, 1, &double));
        refused(call, ErrorClass::Op, &["accumulate", "MPI_NO_OP"]);
        let call =
            accumulate(&window, origin(&values, 1, &double), ReduceOp::BitOr, target, area(0, 1, &double));
        refused(call, ErrorClass::Op, &["accumulate", "MPI_BOR", "f64"]);
        let (from, result) = (origin(&values, 1, &double), into(&mut old, 1, &int));
        let call = get_accumulate(&window, from, result, sum, target, area(0, 1, &double));
        refused(call, ErrorClass::Type, &["get_accumulate"]);
        let huge = Datatype::contiguous(1 << 60, &Datatype::basic(BasicType::Byte)).unwrap();
        let call = put(&window, origin(&values, 8, &huge), target, area(0, 8, &huge));
        refused(call, ErrorClass::Count, &["put"]);
        window.unlock(target).unwrap();
        rank.barrier();
        assert!((0..16).all(|i| local(&window, i) == 0), "nothing moved");
        assert_eq!(old, [2.0; 16]);
        rank.barrier();
        window.free().unwrap();
    });
}

/// Types that reach outside 16 elements from displacement 8, to either side, and the first byte they touch.
fn outside() -> Vec<(Datatype, &'static str)> {
    vec![
        (Datatype::vector(2, 1, 8, &double()).unwrap(), "byte 64"),
        (Datatype::vector(2, 1, -9, &double()).unwrap(), "before it"),
        (Datatype::hindexed([(1, 0), (1, 57)], &double()).unwrap(), "byte 64"),
        (Datatype::vector(2, 1, 1 << 40, &double()).unwrap(), "byte 64"),
        (Datatype::vector(2, 1, -(1 << 40), &double()).unwrap(), "before it"),
    ]
}

fn each_call(window: &Window, target: Rank, ty: &Datatype, check: impl Fn(Result<()>)) {
    let values: &'static [f64] = &[1.0; 2];
    let old: &'static mut [f64] = Box::leak(Box::new([3.0; 2]));
    let pair = double();
    let to = area(8, 1, ty);
    check(put(window, origin(values, 2, &pair), target, to));
    check(get(window, into(old, 2, &pair), target, to));
    check(accumulate(window, origin(values, 2, &pair), ReduceOp::Sum, target, to));
    let (from, result) = (origin(values, 2, &pair), into(old, 2, &pair));
    check(get_accumulate(window, from, result, ReduceOp::Sum, target, to));
}

#[test]
fn types_that_reach_outside_a_window_touch_nothing() {
    run_all(2, |rank| {
        let window = rank.allocate(16);
        let target = Rank(1 - rank.me);
        for (ty, at) in outside() {
            window.lock(Shared, target, Assert::NONE).unwrap();
            each_call(&window, target, &ty, |call| {
                refused(call, ErrorClass::RmaRange, &[at, "128 bytes", "rank"]);
            });
            window.unlock(target).unwrap();
        }
        rank.barrier();
        assert!((0..16).all(|i| local(&window, i) == 0), "the byte within the window is untouched too");
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn the_target_finds_out_what_the_origin_cannot_know() {
    run_all(2, |rank| {
        // Different sizes, so that the origin of a packet does not know the target's.
        let spec = WindowSpec::Allocate { len: 128 + 128 * u64::from(rank.me), unit: 8 };
        let window = rank.engine.create_window(rank.group(), spec).unwrap();
        rank.barrier();
        if rank.me == 1 {
            for (ty, at) in outside() {
                window.lock(Shared, Rank(0), Assert::NONE).unwrap();
                each_call(&window, Rank(0), &ty, |call| {
                    let flushed = window.flush(Rank(0));
                    let reported = if window.is_direct(Rank(0)) { call } else { call.and(flushed) };
                    refused(reported, ErrorClass::RmaRange, &[at, "128 bytes", "rank 0"]);
                });
                window.unlock(Rank(0)).unwrap();
            }
        }
        rank.barrier();
        assert!((0..16).all(|i| local(&window, i) == 0));
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn elements_of_several_words_change_in_one_step() {
    const ROUNDS: u64 = 60;
    run_all(3, |rank| {
        let window = rank.allocate(64);
        let complex = Datatype::basic(BasicType::ComplexF64);
        // Every third number: what lies between is not accessed.
        let column = Datatype::vector(4, 1, 3, &complex).unwrap();
        let values: Vec<f64> = (0..8).map(|i| f64::from(1 + i % 2)).collect();
        let mut old = vec![0.0; 8];
        let mut seen = vec![];
        rank.barrier();
        window.lock(Shared, Rank(0), Assert::NONE).unwrap();
        for _ in 0..ROUNDS {
            let (from, result) = (origin(&values, 4, &complex), into(&mut old, 4, &complex));
            get_accumulate(&window, from, result, ReduceOp::Sum, Rank(0), area(0, 1, &column)).unwrap();
            window.flush(Rank(0)).unwrap();
            for number in old.chunks(2) {
                assert_eq!(number[1], 2.0 * number[0], "no part of an update is seen without the other");
            }
            seen.push(old[0]);
        }
        window.unlock(Rank(0)).unwrap();
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "one rank's updates are in order");
        rank.barrier();
        if rank.me == 0 {
            let total = (3 * ROUNDS) as f64;
            for i in 0..24 {
                let right = match i % 6 {
                    0 => total,
                    1 => 2.0 * total,
                    _ => 0.0,
                };
                assert_eq!(f64::from_bits(local(&window, i)), right, "element {i}");
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

fn fetch_and_op(rank: &TestRank, window: &Window) {
    // A pair with a hole, and a complex number: no word, so they take the way of a get-accumulate.
    let target = Rank((rank.me + 1) % rank.size);
    set_local(window, 0, u64::from_ne_bytes([7, 0, 0xee, 0xee, 9, 0, 0, 0]));
    rank.barrier();
    let mine = [3u8, 0, 0xaa, 0xaa, 5, 0, 0, 0];
    let mut old = [0u8; 8];
    window.lock(Exclusive, target, Assert::NONE).unwrap();
    let (ty, op) = (BasicType::ShortInt, ReduceOp::MinLoc);
    // SAFETY: the buffers live until the epoch has been closed.
    unsafe { window.fetch_and_op_typed(mine.as_ptr(), old.as_mut_ptr(), ty, op, target, Disp(0)) }.unwrap();
    window.unlock(target).unwrap();
    assert_eq!(old, [7, 0, 0, 0, 9, 0, 0, 0], "the hole is not part of the element");
    rank.barrier();
    assert_eq!(local(window, 0).to_ne_bytes(), [3, 0, 0xee, 0xee, 5, 0, 0, 0]);
    rank.barrier();
}

#[test]
fn single_elements_of_any_type() {
    run_all(2, |rank| {
        let window = rank.allocate(4);
        fetch_and_op(rank, &window);
        let target = Rank(1 - rank.me);
        set_local(&window, 1, 5);
        rank.barrier();
        let (new, right, wrong, mut old) = (8u32, 5u32, 6u32, [0u32; 2]);
        window.lock(Exclusive, target, Assert::NONE).unwrap();
        for (compare, found) in [(&wrong, 5), (&right, 5), (&right, 8)] {
            let (new, compare) = ((&raw const new).cast(), (&raw const *compare).cast());
            let (ty, result) = (BasicType::Logical32, old.as_mut_ptr().cast());
            // SAFETY: the buffers live until the flush.
            unsafe { window.compare_and_swap_typed(new, compare, result, ty, target, Disp(1)) }.unwrap();
            window.flush(target).unwrap();
            assert_eq!(old, [found, 0]);
        }
        let byte = [0u8; 16];
        let result = old.as_mut_ptr().cast();
        // SAFETY: as above.
        let refusal = unsafe {
            window.compare_and_swap_typed(
                byte.as_ptr(),
                byte.as_ptr(),
                result,
                BasicType::F64,
                target,
                Disp(1),
            )
        };
        refused(refusal, ErrorClass::Type, &["compare_and_swap", "f64"]);
        // SAFETY: as above.
        let refusal = unsafe {
            window.fetch_and_op_typed(byte.as_ptr(), result, BasicType::Char, ReduceOp::Sum, target, Disp(1))
        };
        refused(refusal, ErrorClass::Op, &["fetch_and_op", "MPI_SUM", "char"]);
        window.unlock(target).unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn long_blocks_are_a_transfer_each_and_short_ones_packets() {
    let mut setup = Setup::packets(2);
    setup.sim.transfers = 16;
    run(&setup, |rank| {
        let window = rank.allocate(1000);
        if rank.me == 0 {
            window.lock_all(Assert::NO_CHECK).unwrap();
            // Of 400 bytes and of 200: transfers pay from 256 on.
            for (block, transfers) in [(50, 8), (25, 0)] {
                let count = 4 * block;
                let values = (0..count).map(|i| (block + i) as f64).collect::<Vec<_>>();
                let blocks = Datatype::vector(4, block, 100, &double()).unwrap();
                let transfers_of_both = || {
                    let before = window.counters().transfers;
                    let mut got = vec![0.0; count as usize];
                    put(&window, origin(&values, count, &double()), Rank(1), area(3, 1, &blocks)).unwrap();
                    window.flush(Rank(1)).unwrap();
                    get(&window, into(&mut got, count, &double()), Rank(1), area(3, 1, &blocks)).unwrap();
                    window.flush(Rank(1)).unwrap();
                    assert_eq!(got, values);
                    window.counters().transfers - before
                };
                // The first of all asks for the key.
                transfers_of_both();
                assert_eq!(transfers_of_both(), transfers, "blocks of {block} doubles");
            }
            window.unlock_all().unwrap();
        }
        rank.barrier();
        window.free().unwrap();
    });
}
