//! Held stores: a store that is held back for a flush has one element, one packet, and its place among all that follows.

use rma_ch_sim::SimConfig;
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Window;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, run, run_all};

/// The lock of rank 1, held and not only called for.
fn hold(window: &Window) {
    window.lock(Shared, Rank(1), Assert::NONE).unwrap();
    window.fetch_add(1, 0, 0).unwrap();
}

/// Runs `body` on rank 0 of two with rank 1's lock held; then rank 1's elements must be these.
fn leaves(expected: &[u64], body: impl Fn(&TestRank, &Window) + Send + Sync) {
    leaves_in(&Setup::packets(2), expected, body);
}

fn leaves_in(setup: &Setup, expected: &[u64], body: impl Fn(&TestRank, &Window) + Send + Sync) {
    run(setup, |rank| {
        let window = rank.allocate(expected.len() as u64);
        if rank.me == 0 {
            hold(&window);
            body(rank, &window);
            window.unlock(Rank(1)).unwrap();
        }
        rank.barrier();
        if rank.me == 1 {
            let found = (0..expected.len()).map(|at| local(&window, at)).collect::<Vec<_>>();
            assert_eq!(found, expected);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn it_has_one_element_and_leaves_with_the_flush() {
    leaves(&[0, 9, 4], |rank, window| {
        let before = rank.packets();
        window.put(from(&[9]), Rank(1), Disp(1)).unwrap();
        let counters = window.counters();
        assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
        assert_eq!((window.outstanding_to(Rank(1)), window.outstanding_to(Rank(0))), (1, 0));
        rank.engine.poll();
        assert_eq!(rank.packets() - before, 0, "it is held back");
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 2, "the store and its acknowledgement");
        assert_eq!((window.elements().ops, window.outstanding()), (0, 0));
        assert_eq!(window.elements().most_ops, 1, "one operation at a time");
        assert_eq!(window.counters().ops_issued - counters.ops_issued, 1);
        assert_eq!(counters.ops_queued, window.counters().ops_queued);

        window.accumulate(from(&[4]), kernel(ReduceOp::Sum), Rank(1), Disp(2)).unwrap();
        assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
        window.flush_local(Rank(1)).unwrap();
        assert_eq!((rank.packets() - before, window.outstanding()), (3, 0), "no acknowledgement");
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 5, "what has left is asked for");
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 5, "nothing is outstanding");
    });
}

/// Puts and accumulates so many words, each as one operation and one packet.
fn are_held(words: &[usize], setup: &Setup) {
    for &len in words {
        let expected: Vec<u64> = (1..=len as u64).map(|at| 2 * at).collect();
        leaves_in(setup, &expected, |rank, window| {
            let values: Vec<u64> = (1..=len as u64).collect();
            let before = rank.packets();
            window.put(from(&values), Rank(1), Disp(0)).unwrap();
            assert_eq!((window.elements().ops, window.outstanding()), (1, 1), "{len} words");
            window.flush(Rank(1)).unwrap();
            window.accumulate(from(&values), kernel(ReduceOp::Sum), Rank(1), Disp(0)).unwrap();
            assert_eq!(window.elements().ops, 1, "{len} words");
            window.flush(Rank(1)).unwrap();
            assert_eq!(rank.packets() - before, 4, "two stores and their acknowledgements");
        });
    }
}

#[test]
fn it_is_one_packet_whatever_its_length() {
    are_held(&[16, 17, 128, 129], &Setup::packets(2));
}

#[test]
fn it_is_one_packet_whatever_the_channel_carries() {
    let mut setup = Setup::packets(2);
    setup.sim.bulk_from = 800;
    are_held(&[16, 100, 101], &setup);
    setup.sim = SimConfig { max_packet: 400, ..setup.sim };
    are_held(&[16, 44, 60], &setup);
    setup.sim.bulk_from = 1;
    are_held(&[16, 17], &setup);
    // An accumulate goes in pieces of a unit.
    setup = Setup::packets(2);
    setup.engine.unit_bytes = 160;
    are_held(&[20], &setup);
}

#[test]
fn what_follows_it_finds_it_done() {
    let sum = kernel(ReduceOp::Sum);
    // Each kind of call behind one; all see the element as the store left it, or change it after that.
    leaves(&[5 + 1 + 10 + 100, 2, 0, 70, 71, 72], |_, window| {
        let (mut old, mut several) = ([0; 4], [0; 2]);
        let [fetched, swapped, accumulated, got] = old.each_mut().map(|old| into(std::slice::from_mut(old)));
        window.accumulate(from(&[5]), kernel(ReduceOp::Replace), Rank(1), Disp(0)).unwrap();
        window.accumulate(from(&[1]), sum, Rank(1), Disp(0)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.accumulate(from(&[10]), sum, Rank(1), Disp(0)).unwrap();
        window.fetch_and_op(&100u64.to_ne_bytes(), fetched, sum, Rank(1), Disp(0)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.accumulate(from(&[1]), sum, Rank(1), Disp(1)).unwrap();
        let swap = rma_core::kernel::CompareAndSwap::new(rma_core::datatype::BasicType::U64).unwrap();
        let (compare, new) = (1u64.to_ne_bytes(), 2u64.to_ne_bytes());
        window.compare_and_swap(&new, &compare, swapped, swap, Rank(1), Disp(1)).unwrap();
        window.flush_all().unwrap();
        window.accumulate(from(&[6]), sum, Rank(1), Disp(2)).unwrap();
        let replace = kernel(ReduceOp::Replace);
        window.fetch_and_op(&0u64.to_ne_bytes(), accumulated, replace, Rank(1), Disp(2)).unwrap();
        window.flush_local_all().unwrap();
        let values = [70, 71, 72];
        window.put(from(&values[..1]), Rank(1), Disp(3)).unwrap();
        window.put(from(&values[1..]), Rank(1), Disp(4)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.get(got, Rank(1), Disp(3)).unwrap();
        window.get(into(&mut several), Rank(1), Disp(4)).unwrap();
        window.flush(Rank(1)).unwrap();
        assert_eq!((old, several), ([16, 1, 6, 70], [71, 72]));
    });
}

#[test]
fn every_call_that_ends_or_completes_takes_it_along() {
    leaves(&[7, 8, 9], |rank, window| {
        let before = rank.packets();
        window.put(from(&[7]), Rank(1), Disp(0)).unwrap();
        window.unlock(Rank(1)).unwrap();
        assert_eq!(
            rank.packets() - before,
            2,
            "the release rides on it, and one acknowledgement answers both"
        );
        window.lock_all(Assert::NONE).unwrap();
        window.fetch_add(1, 1, 0).unwrap();
        window.put(from(&[8]), Rank(1), Disp(1)).unwrap();
        assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
        window.unlock_all().unwrap();
        hold(window);
        window.put(from(&[9]), Rank(1), Disp(2)).unwrap();
        let mut flush = window.begin_flush(Rank(1)).unwrap();
        while !window.poll_sync(&mut flush).unwrap() {
            rank.engine.poll();
        }
        assert_eq!(window.outstanding(), 0);
    });
}

#[test]
fn stores_to_several_targets_do_not_meet() {
    run_all(4, |rank| {
        let window = rank.allocate(4 * 24);
        let values = (0..48).map(|i| 1000 * u64::from(rank.me) + i + 1).collect::<Vec<_>>();
        window.lock_all(Assert::NONE).unwrap();
        rank.barrier();
        for i in 0..48u64 {
            // Two of them wait at a time; the flush is of the first or of the second.
            let (first, second) = (Rank((i % 4) as u32), Rank(((i + 1) % 4) as u32));
            let disp = u64::from(rank.me) * 24 + i / 4;
            window.put(from(&values[i as usize..][..1]), first, Disp(disp)).unwrap();
            window.put(from(&values[i as usize..][..1]), second, Disp(disp + 12)).unwrap();
            window.flush(if i % 3 == 0 { first } else { second }).unwrap();
        }
        window.unlock_all().unwrap();
        rank.barrier();
        for origin in 0..4 {
            for at in 0..12 {
                let value = |i| 1000 * origin + i + 1;
                let expected =
                    (value(4 * at + u64::from(rank.me)), value(4 * at + u64::from((rank.me + 3) % 4)));
                let place = (origin * 24 + at) as usize;
                let found = (local(&window, place), local(&window, place + 12));
                assert_eq!(found, expected, "of {origin} at {at}");
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn settings_that_hold_nothing_back_have_none() {
    type Change = fn(&mut Setup);
    let changes: [Change; 4] = [
        |setup| setup.engine.piggyback_threshold = 0,
        |setup| setup.engine.pack_from = 1,
        |setup| (setup.engine.op_pool_window, setup.engine.op_pool_global) = (0, 4),
        |setup| setup.engine.unit_bytes = 8,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut setup = Setup::packets(2);
        change(&mut setup);
        run(&setup, |rank| {
            let window = rank.allocate(2);
            if rank.me == 0 {
                hold(&window);
                window.put(from(&[1, 2]), Rank(1), Disp(0)).unwrap();
                assert_eq!((window.elements().ops, window.outstanding()), (1, 1), "change {number}");
                window.flush(Rank(1)).unwrap();
                window.unlock(Rank(1)).unwrap();
            }
            rank.barrier();
            assert_eq!([local(&window, 0), local(&window, 1)], if rank.me == 1 { [1, 2] } else { [0, 0] });
            rank.barrier();
            window.free().unwrap();
        });
    }
}

#[test]
fn a_store_outside_the_window_is_refused_at_once() {
    leaves(&[0, 0], |rank, window| {
        let before = rank.packets();
        for disp in [1, 2, u64::MAX] {
            let error = window.put(from(&[1, 2]), Rank(1), Disp(disp)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        }
        window.flush(Rank(1)).unwrap();
        assert_eq!((rank.packets() - before, window.outstanding()), (0, 0));
    });
}

/// A stepped world of two ranks, rank 0 of which holds the lock of rank 1 on each window.
fn stepped(setup: &Setup, windows: usize) -> (Stepped, Vec<Vec<Window>>) {
    let world = Stepped::new(setup, 11);
    let windows = (0..windows).map(|_| world.allocate(4)).collect::<Vec<_>>();
    for ranks in &windows {
        let window = &ranks[0];
        world.finish(window, "lock", window.begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap()).unwrap();
        window.put(from(&[1]), Rank(1), Disp(3)).unwrap();
        world.finish(window, "flush", window.begin_flush(Rank(1)).unwrap()).unwrap();
        // The lock is held from here on, so this one waits alone; its packet takes a microsecond at least.
        window.accumulate(from(&[2]), kernel(ReduceOp::Sum), Rank(1), Disp(3)).unwrap();
        assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
        let flush = window.begin_flush(Rank(1)).unwrap();
        assert_eq!((local(&ranks[1], 3), window.outstanding()), (1, 0), "it is under way");
        world.finish(window, "flush", flush).unwrap();
        assert_eq!(local(&ranks[1], 3), 3, "it is there");
    }
    (world, windows)
}

#[test]
fn a_full_lane_makes_it_wait_as_an_operation() {
    let mut setup = Setup::packets(2);
    setup.sim.lane_packets = 1;
    let (world, windows) = stepped(&setup, 2);
    let [busy, window] = [&windows[0][0], &windows[1][0]];
    busy.put(from(&[2]), Rank(1), Disp(0)).unwrap();
    let first = busy.begin_flush(Rank(1)).unwrap();
    window.put(from(&[3]), Rank(1), Disp(0)).unwrap();
    assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
    let full = world.engine(0).counters().channel_full;
    let second = window.begin_flush(Rank(1)).unwrap();
    assert_eq!(world.engine(0).counters().channel_full - full, 1, "the lane holds one packet");
    assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
    world.finish(window, "the second flush", second).unwrap();
    world.finish(busy, "the first flush", first).unwrap();
    assert_eq!((local(&windows[0][1], 0), local(&windows[1][1], 0)), (2, 3));
}

#[test]
fn its_target_may_die() {
    for is_flushed in [false, true] {
        let (mut world, mut windows) = stepped(&Setup::packets(2), 1);
        let window = windows[0][0].clone();
        window.put(from(&[2]), Rank(1), Disp(0)).unwrap();
        assert_eq!((window.elements().ops, window.outstanding()), (1, 1));
        let flush = is_flushed.then(|| window.begin_flush(Rank(1)).unwrap());
        windows[0].truncate(1);
        world.engines[1] = None;
        world.settle();
        assert_eq!(window.outstanding(), 0, "what waited is given up");
        let flush = flush.map_or_else(|| window.begin_flush(Rank(1)), Ok);
        let error = flush.and_then(|flush| world.finish(&window, "flush", flush)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
        let error = window.put(from(&[2]), Rank(1), Disp(0)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
    }
}

#[test]
fn a_local_flush_behind_one_that_waits_asks_for_what_that_one_owes() {
    let (world, windows) = stepped(&Setup::packets(2), 1);
    let [origin, target] = [&windows[0][0], &windows[0][1]];
    origin.put(from(&[4]), Rank(1), Disp(0)).unwrap();
    world.finish(origin, "a local flush", origin.begin_flush_local(Rank(1)).unwrap()).unwrap();
    origin.put(from(&[5]), Rank(1), Disp(1)).unwrap();
    let all = origin.begin_flush(Rank(1)).unwrap();
    origin.put(from(&[6]), Rank(1), Disp(2)).unwrap();
    let local_only = origin.begin_flush_local(Rank(1)).unwrap();
    world.finish(origin, "a local flush", local_only).unwrap();
    world.finish(origin, "the flush", all).unwrap();
    assert_eq!([local(target, 0), local(target, 1)], [4, 5], "what the flush waited for");
    world.finish(origin, "flush", origin.begin_flush(Rank(1)).unwrap()).unwrap();
    assert_eq!(local(target, 2), 6);
}

#[test]
fn it_stays_whole_when_others_take_its_window() {
    let (world, windows) = stepped(&Setup::packets(2), 2);
    let [window, other] = [&windows[0][0], &windows[1][0]];
    let is_held = || (window.elements().ops, window.outstanding()) == (1, 1);
    let put = |value: &'static [u64; 1]| window.put(from(value), Rank(1), Disp(0)).unwrap();
    let flushed = |value| {
        world.finish(window, "flush", window.begin_flush(Rank(1)).unwrap()).unwrap();
        assert_eq!(local(&windows[0][1], 0), value);
    };
    put(&[4]);
    assert!(is_held());
    window.set_hints(&rma_core::window::Hints::default());
    assert!(is_held(), "hints take the window");
    flushed(4);
    put(&[5]);
    // A lock call of another window looks at all whose locks are not held yet; this one's is.
    world.finish(other, "unlock", other.begin_unlock(Rank(1)).unwrap()).unwrap();
    world.finish(other, "lock", other.begin_lock(Shared, Rank(1), Assert::NONE).unwrap()).unwrap();
    other.put(from(&[1]), Rank(1), Disp(1)).unwrap();
    world.finish(other, "flush", other.begin_flush(Rank(1)).unwrap()).unwrap();
    assert_eq!(window.outstanding(), 1);
    flushed(5);
    // A local flush ends the row of flushes that would have the next store leave at once.
    put(&[5]);
    world.finish(window, "flush_local", window.begin_flush_local(Rank(1)).unwrap()).unwrap();
    put(&[6]);
    // A request of rank 1 that asks for a lock of this window of rank 0.
    let back = &windows[0][1];
    world.finish(back, "lock", back.begin_lock(Shared, Rank(0), Assert::NONE).unwrap()).unwrap();
    back.put(from(&[9]), Rank(0), Disp(2)).unwrap();
    world.finish(back, "unlock", back.begin_unlock(Rank(0)).unwrap()).unwrap();
    assert_eq!((local(window, 2), window.outstanding()), (9, 1));
    flushed(6);
}

#[test]
fn threads_that_store_and_flush_find_all_their_stores_done() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 300;
    run(&Setup::packets(2), |rank| {
        let window = rank.allocate(THREADS as u64);
        if rank.me == 0 {
            hold(&window);
            std::thread::scope(|scope| {
                for thread in 0..THREADS as u64 {
                    let window = window.clone();
                    scope.spawn(move || {
                        for round in 1..=ROUNDS {
                            let mut got = [0];
                            window.put(from(&[round]), Rank(1), Disp(thread)).unwrap();
                            window.flush(Rank(1)).unwrap();
                            window.get(into(&mut got), Rank(1), Disp(thread)).unwrap();
                            window.flush(Rank(1)).unwrap();
                            assert_eq!(got, [round], "of thread {thread}");
                        }
                    });
                }
            });
            window.unlock(Rank(1)).unwrap();
        }
        rank.barrier();
        window.free().unwrap();
    });
}
