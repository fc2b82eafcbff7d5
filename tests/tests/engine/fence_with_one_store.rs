//! Fences of two ranks of a node whose memory is their own: the word of a fence leaves with the only store of its epoch, and what is
//! more than that takes the slow path with the same result.

use super::own_memory::{ELEMENTS, NarrowLane, one_more, slow_answers};
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, TestRank, from, into, kernel, local, run};

/// Runs `body` on both of two ranks of one node, with a window of their own memory in the epoch of a fence.
fn fenced(setup: &Setup, body: impl Fn(&TestRank, &Window) + Send + Sync) {
    run(setup, |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        window.fence(Assert::NONE).unwrap();
        body(rank, &window);
        window.fence(Assert::NO_SUCCEED).unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

fn found(window: &Window) -> [u64; ELEMENTS] {
    std::array::from_fn(|at| local(window, at))
}

#[test]
fn the_only_store_of_an_epoch_is_the_word_of_its_fence() {
    fenced(&Setup::direct(2), |rank, window| {
        let other = Rank(1 - rank.me);
        for round in 0..6 {
            let before = window.counters();
            let value = [100 * u64::from(rank.me) + round];
            match round % 3 {
                0 => window.put(from(&value), other, Disp(round)).unwrap(),
                1 => window.accumulate(from(&value), kernel(ReduceOp::Replace), other, Disp(round)).unwrap(),
                _ => {}
            }
            let sent = u64::from(round % 3 < 2);
            if round > 0 {
                // The first one makes the element of the target.
                assert_eq!(
                    (window.elements().ops, window.outstanding()),
                    (sent as u32, sent),
                    "round {round}"
                );
            }
            rank.engine.poll();
            window.fence(Assert::NONE).unwrap();
            assert_eq!(window.outstanding(), 0);
            let after = window.counters();
            assert_eq!(after.ops_issued - before.ops_issued, sent);
            assert_eq!(after.packets_sent - before.packets_sent, 1, "the word, and no acknowledgement");
            if round % 3 < 2 {
                assert_eq!(local(window, round as usize), 100 * u64::from(1 - rank.me) + round);
            }
        }
        assert_eq!(window.elements().most_ops, 1, "one operation at a time");
    });
}

#[test]
fn what_is_no_single_store_joins_it_and_goes_before_the_word() {
    for piggyback_threshold in [0, 8] {
        let mut setup = Setup::direct(2);
        setup.engine.piggyback_threshold = piggyback_threshold;
        fenced(&setup, |rank, window| {
            let other = Rank(1 - rank.me);
            let values: [u64; ELEMENTS] = std::array::from_fn(|at| 10 + at as u64);
            window.put(from(&values[..1]), other, Disp(0)).unwrap();
            window.fence(Assert::NONE).unwrap();
            // Two stores, a store and a get behind it, a get alone, a fetch, a store longer than one that waits alone may be.
            window.put(from(&values[1..2]), other, Disp(1)).unwrap();
            window.accumulate(from(&values[2..3]), kernel(ReduceOp::Sum), other, Disp(1)).unwrap();
            window.fence(Assert::NONE).unwrap();
            assert_eq!(found(window)[..2], [10, 11 + 12]);
            let mut seen = [0; 2];
            let [first, second] = seen.each_mut().map(|seen| into(std::slice::from_mut(seen)));
            window.accumulate(from(&values[3..4]), kernel(ReduceOp::Sum), other, Disp(2)).unwrap();
            window.get(first, other, Disp(0)).unwrap();
            window.fence(Assert::NONE).unwrap();
            window.fetch_and_op(&5u64.to_ne_bytes(), second, kernel(ReduceOp::Sum), other, Disp(2)).unwrap();
            window.fence(Assert::NONE).unwrap();
            assert_eq!((seen, local(window, 2)), ([10, 13], 18));
            window.fence(Assert::NONE).unwrap();
            window.put(from(&values), other, Disp(0)).unwrap();
            window.fence(Assert::NONE).unwrap();
            assert_eq!(found(window), values);
        });
    }
}

#[test]
fn a_store_outside_the_window_is_refused_and_the_others_arrive() {
    fenced(&Setup::direct(2), |rank, window| {
        let other = Rank(1 - rank.me);
        for at in 0..4 {
            window.put(from(one_more(at)), other, Disp(at)).unwrap();
            let error = window.put(from(&[9]), other, Disp(ELEMENTS as u64)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            window.fence(Assert::NONE).unwrap();
            assert_eq!(local(window, at as usize), at + 1);
        }
    });
}

#[test]
fn no_other_epoch_begins_and_nothing_is_flushed_while_a_store_waits() {
    fenced(&Setup::direct(2), |rank, window| {
        let other = Rank(1 - rank.me);
        window.put(from(&[1]), other, Disp(0)).unwrap();
        window.fence(Assert::NONE).unwrap();
        window.put(from(&[2]), other, Disp(1)).unwrap();
        assert_eq!(window.elements().ops, 1);
        for error in [
            window.lock(Exclusive, other, Assert::NONE).unwrap_err(),
            window.lock_all(Assert::NONE).unwrap_err(),
            window.start(&[other], Assert::NONE).unwrap_err(),
            window.flush(other).unwrap_err(),
            window.flush_all().unwrap_err(),
            window.unlock(other).unwrap_err(),
        ] {
            assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        }
        window.fence(Assert::NONE).unwrap();
        assert_eq!(found(window)[..2], [1, 2]);
        rank.barrier();
        // With nothing waiting an epoch of another kind may follow.
        window.lock(Exclusive, other, Assert::NONE).unwrap();
        window.put(from(&[3]), other, Disp(2)).unwrap();
        window.unlock(other).unwrap();
        rank.barrier();
        window.fence(Assert::NONE).unwrap();
        window.put(from(&[4]), other, Disp(3)).unwrap();
        window.fence(Assert::NONE).unwrap();
        assert_eq!(found(window)[..4], [1, 2, 3, 4]);
    });
}

#[test]
fn a_fence_is_refused_while_an_exposure_epoch_is_open() {
    fenced(&Setup::direct(2), |rank, window| {
        let other = Rank(1 - rank.me);
        window.put(from(&[1]), other, Disp(0)).unwrap();
        window.fence(Assert::NONE).unwrap();
        rank.barrier();
        window.post_to(&[other], Assert::NONE).unwrap();
        let error = window.fence(Assert::NONE).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        window.start(&[other], Assert::NONE).unwrap();
        window.put(from(&[2]), other, Disp(0)).unwrap();
        window.complete().unwrap();
        window.wait().unwrap();
        assert_eq!(local(window, 0), 2);
        rank.barrier();
        window.fence(Assert::NONE).unwrap();
    });
}

#[test]
fn flushes_in_a_row_send_nothing_ahead_of_a_fence() {
    run(&Setup::direct(2), |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        let other = Rank(1 - rank.me);
        window.lock_all(Assert::NONE).unwrap();
        for at in 0..6 {
            window.put(from(one_more(at)), other, Disp(at)).unwrap();
            window.flush(other).unwrap();
        }
        window.unlock_all().unwrap();
        window.fence(Assert::NONE).unwrap();
        let before = window.counters().packets_sent;
        window.put(from(one_more(6)), other, Disp(6)).unwrap();
        assert_eq!(window.counters().packets_sent - before, 0);
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_eq!(local(&window, 6), 7);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn windows_of_different_sizes_wait_for_the_acknowledgement() {
    let different = |rank: &TestRank, is_known| {
        let mut memory = vec![0; ELEMENTS + rank.me as usize];
        let window = rank.create(&mut memory);
        window.fence(Assert::NONE).unwrap();
        let other = Rank(1 - rank.me);
        let put_outside = |is_known| {
            let put = window.put(from(&[9]), other, Disp(ELEMENTS as u64));
            let fence = window.fence(Assert::NONE);
            if rank.me == 1 {
                let (reported, silent) = if is_known { (put, fence) } else { (fence, put) };
                silent.unwrap();
                assert_eq!(reported.unwrap_err().class(), ErrorClass::RmaRange, "rank 0 has no such element");
                assert_eq!(local(&window, ELEMENTS), 9);
            } else {
                put.and(fence).unwrap();
            }
        };
        put_outside(is_known);
        for at in 0..ELEMENTS as u64 {
            window.put(from(one_more(at)), other, Disp(at)).unwrap();
            window.fence(Assert::NONE).unwrap();
            assert_eq!(local(&window, at as usize), at + 1);
        }
        // The acknowledgements have said it.
        put_outside(true);
        window.fence(Assert::NO_SUCCEED).unwrap();
        rank.barrier();
        window.free().unwrap();
    };
    run(&Setup::packets(2), |rank| different(rank, false));
    // A rank of the node has published how long its window is.
    run(&Setup::direct(2), |rank| different(rank, true));
}

/// The word waits for an answer that is owed, although nothing else follows it.
#[test]
fn a_word_does_not_count_before_the_data_of_a_get_have_left() {
    // The word rides on the request, or comes behind it while the data are leaving.
    slow_answers().iter().for_each(keeps_what_is_leaving);
}

fn keeps_what_is_leaving(setup: &Setup) {
    let long = 4096;
    run(setup, |rank| {
        let mut memory = vec![7 + u64::from(rank.me); long];
        let window = rank.create(&mut memory);
        window.fence(Assert::NONE).unwrap();
        for round in 0..20 {
            let mut seen = vec![0; long];
            if rank.me == 0 {
                window.get(into(&mut seen), Rank(1), Disp(0)).unwrap();
                rank.engine.poll();
                window.put(from(&[6]), Rank(1), Disp(1)).unwrap();
            }
            window.fence(Assert::NONE).unwrap();
            // As soon as the fence is over the memory is its owner's to change.
            rma_tests::world::set_local(&window, long - 1, 100 + round);
            if rank.me == 0 {
                assert_eq!((seen[0], seen[long - 1]), (8, if round == 0 { 8 } else { 99 + round }));
            }
            window.fence(Assert::NONE).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

/// The other's word is there already: only the acknowledgement holds the fence up that has an error to raise.
#[test]
fn an_error_that_only_the_target_knows_is_raised_by_the_fence_of_its_epoch() {
    // On nodes of their own, the ranks know nothing of each other's memory.
    let world = Stepped::new(&Setup::packets(2), 4);
    let mut memory = [[0u64; ELEMENTS]; 2];
    let spans = memory.each_mut().map(|elements| into(elements));
    let windows = world.windows(|me| WindowSpec::Create {
        memory: spans[me as usize].part(0, 8 * (ELEMENTS - 4 * me as usize)),
        unit: 8,
    });
    // No epoch is open before the first fence; and what the fence acknowledges says how much memory there is.
    let rounds = [
        (0, false, true),
        (5, true, false),
        (5, true, false),
        (3, true, true),
        (5, false, true),
        (2, true, true),
    ];
    for (disp, is_put, is_fenced) in rounds {
        let mut first = windows[1].begin_fence(Assert::NONE).unwrap();
        world.pump();
        world.pump();
        let put = windows[0].put(from(&[7]), Rank(1), Disp(disp));
        assert_eq!(put.is_ok(), is_put, "at {disp}: {put:?}");
        let outcome = world.finish(&windows[0], "fence", windows[0].begin_fence(Assert::NONE).unwrap());
        assert_eq!(outcome.is_ok(), is_fenced, "at {disp}: {outcome:?}");
        world.until("the other fence", || windows[1].poll_sync(&mut first).unwrap());
    }
    assert_eq!([0, 1, 2, 3].map(|at| local(&windows[1], at)), [0, 0, 7, 7]);
}

#[test]
fn a_fence_that_nothing_precedes_does_not_wait() {
    let world = Stepped::new(&Setup::direct(2), 5);
    let mut memory = [[0u64; ELEMENTS]; 2];
    let spans = memory.each_mut().map(|elements| into(elements));
    let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
    let fence_all = |assert| {
        let mut fences = [0, 1].map(|me: usize| windows[me].begin_fence(assert).unwrap());
        world.until("the fence", || {
            let are_over = [0, 1].map(|me: usize| windows[me].poll_sync(&mut fences[me]).unwrap());
            are_over == [true; 2]
        });
    };
    fence_all(Assert::NONE);
    windows[0].put(from(&[1]), Rank(1), Disp(0)).unwrap();
    fence_all(Assert::NONE);
    let mut ahead = windows[0].begin_fence(Assert::NO_PRECEDE).unwrap();
    world.engine(0).poll();
    assert!(windows[0].poll_sync(&mut ahead).unwrap(), "rank 1 has not come");
    windows[0].put(from(&[2]), Rank(1), Disp(1)).unwrap();
    let mut behind = windows[1].begin_fence(Assert::NONE).unwrap();
    world.until("the fence of rank 1", || windows[1].poll_sync(&mut behind).unwrap());
    fence_all(Assert::NO_SUCCEED);
    assert_eq!((local(&windows[1], 0), local(&windows[1], 1)), (1, 2));
}

#[test]
fn the_death_of_the_other_ends_a_fence() {
    for has_store in [true, false] {
        let mut world = Stepped::new(&Setup::direct(2), 6);
        let mut memory = [[0u64; ELEMENTS]; 2];
        let spans = memory.each_mut().map(|elements| into(elements));
        let spec = |me: u32| WindowSpec::Create { memory: spans[me as usize], unit: 8 };
        let mut windows: Vec<_> = world.windows(spec).into_iter().map(Some).collect();
        let window = |windows: &[Option<Window>], me: usize| windows[me].clone().expect("the rank lives");
        for _ in 0..2 {
            window(&windows, 0).put(from(&[1]), Rank(1), Disp(0)).unwrap_or_default();
            let mut fences = [0, 1].map(|me: usize| window(&windows, me).begin_fence(Assert::NONE).unwrap());
            world.until("the fence", || {
                let is_over = |me: usize, fence| window(&windows, me).poll_sync(fence).unwrap();
                let [first, second] = &mut fences;
                [is_over(0, first), is_over(1, second)] == [true; 2]
            });
        }
        let survivor = window(&windows, 0);
        if has_store {
            survivor.put(from(&[2]), Rank(1), Disp(1)).unwrap();
        }
        let fence = survivor.begin_fence(Assert::NONE).unwrap();
        (windows[1], world.engines[1]) = (None, None);
        let error = world.finish(&survivor, "fence", fence).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
    }
}

#[test]
fn a_channel_without_room_holds_the_word_back_and_loses_neither() {
    let lane = NarrowLane::new(3);
    let NarrowLane { world, windows, .. } = &lane;
    for round in 0..6 {
        let has_store = round % 3 > 0;
        for window in windows.each_ref().map(|ranks| &ranks[0]).into_iter().filter(|_| has_store) {
            window.put(from(one_more(round)), Rank(1), Disp(round)).unwrap();
        }
        let before = windows[1][0].counters();
        let mut fences = Vec::new();
        for me in [0, 1] {
            for ranks in windows {
                fences.push((&ranks[me], ranks[me].begin_fence(Assert::NONE).unwrap()));
            }
        }
        if round > 1 {
            assert_eq!(windows[1][0].counters().channel_full - before.channel_full, 1, "round {round}");
        }
        world.until("the fences", || {
            fences.iter_mut().fold(true, |all, (window, fence)| window.poll_sync(fence).unwrap() && all)
        });
        for ranks in windows.iter().filter(|_| has_store) {
            assert_eq!(local(&ranks[1], round as usize), round + 1);
        }
    }
}
