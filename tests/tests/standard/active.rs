//! General active target synchronization (MPI 3.1 §11.5.2) on every path and with the smallest pools.

use rma_core::ErrorClass;
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, run, run_all, set_local};

fn all(rank: &TestRank) -> Vec<Rank> {
    (0..rank.size).map(Rank).collect()
}

#[test]
fn what_was_put_is_there_after_wait() {
    run_all(4, |rank| {
        let window = rank.allocate(8);
        // No barrier between rounds: fast origins run ahead of slow targets, and fast targets of slow origins.
        for round in 1..30 {
            let (left, right) = ((rank.me + 3) % 4, (rank.me + 1) % 4);
            let value = [round];
            window.post_to(&[Rank(left)], Assert::NONE).unwrap();
            window.start(&[Rank(right)], Assert::NONE).unwrap();
            window.put(from(&value), Rank(right), Disp(3)).unwrap();
            window.complete().unwrap();
            window.wait().unwrap();
            assert_eq!(local(&window, 3), round);
        }
        window.free().unwrap();
    });
}

#[test]
fn groups_may_be_all_ranks_the_caller_included_and_none() {
    run_all(3, |rank| {
        let window = rank.allocate(8);
        for round in 1..12u64 {
            let everybody = all(rank);
            let value = [round * 10 + u64::from(rank.me)];
            let mut old = [0; 3];
            window.post_to(&everybody, Assert::NONE).unwrap();
            window.start(&everybody, Assert::NONE).unwrap();
            for target in &everybody {
                window.put(from(&value), *target, Disp(u64::from(rank.me))).unwrap();
            }
            for (target, slot) in old.chunks_mut(1).enumerate() {
                let one = 1u64.to_ne_bytes();
                let sum = kernel(ReduceOp::Sum);
                window.fetch_and_op(&one, into(slot), sum, Rank(target as u32), Disp(4)).unwrap();
            }
            window.complete().unwrap();
            assert!(old.iter().all(|old| old / 3 == round - 1), "round {round}: {old:?}");
            window.wait().unwrap();
            for origin in 0..3 {
                assert_eq!(local(&window, origin), round * 10 + origin as u64);
            }
            window.post_to(&[], Assert::NONE).unwrap();
            window.start(&[], Assert::NONE).unwrap();
            window.complete().unwrap();
            assert!(window.test().unwrap());
        }
        window.free().unwrap();
    });
}

#[test]
fn one_origin_many_targets_and_many_origins_one_target() {
    run_all(5, |rank| {
        let window = rank.allocate(8);
        for round in 1..15 {
            let (hub, mine) = (Rank(round as u32 % 5), [round]);
            let spokes = all(rank).into_iter().filter(|r| *r != hub).collect::<Vec<_>>();
            if rank.me == hub.0 {
                window.start(&spokes, Assert::NONE).unwrap();
                // Some targets get no operation, and are notified all the same.
                for target in spokes.iter().filter(|target| target.0 % 2 == 0) {
                    window.put(from(&mine), *target, Disp(0)).unwrap();
                }
                window.complete().unwrap();
                window.post_to(&spokes, Assert::NONE).unwrap();
                window.wait().unwrap();
                assert_eq!(local(&window, 1), 4);
                set_local(&window, 1, 0);
            } else {
                window.post_to(&[hub], Assert::NONE).unwrap();
                window.wait().unwrap();
                if rank.me % 2 == 0 {
                    assert_eq!(local(&window, 0), round);
                }
                let one = [1];
                window.start(&[hub], Assert::NONE).unwrap();
                window.accumulate(from(&one), kernel(ReduceOp::Sum), hub, Disp(1)).unwrap();
                window.complete().unwrap();
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn wait_returns_only_when_no_rank_reads_the_window_any_more() {
    run_all(3, |rank| {
        let elements = 30_000;
        let window = rank.allocate(elements);
        for round in 1..6 {
            if rank.me == 0 {
                (0..elements as usize).for_each(|at| set_local(&window, at, round));
                window.post_to(&[Rank(1), Rank(2)], Assert::NONE).unwrap();
                while !window.test().unwrap() {
                    std::thread::yield_now();
                }
                // A rank that still reads would see this.
                (0..elements as usize).for_each(|at| set_local(&window, at, 0));
            } else {
                let mut got = vec![9; elements as usize];
                window.start(&[Rank(0)], Assert::NONE).unwrap();
                window.get(into(&mut got), Rank(0), Disp(0)).unwrap();
                window.complete().unwrap();
                assert!(got.iter().all(|value| *value == round));
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn without_checks_no_rank_posts_or_waits_for_posts() {
    run_all(3, |rank| {
        let window = rank.allocate(4);
        for round in 1..10 {
            let assert = if round % 3 == 0 { Assert::NONE } else { Assert::NO_CHECK };
            let mine = [round];
            if rank.me == 0 {
                let with = assert.with(Assert::NO_STORE);
                window.post_to(&[Rank(1), Rank(2)], with).unwrap();
            }
            // The post calls have been made when start is called, as no-check says.
            rank.barrier();
            if rank.me > 0 {
                window.start(&[Rank(0)], assert).unwrap();
                window.put(from(&mine), Rank(0), Disp(u64::from(rank.me))).unwrap();
                window.complete().unwrap();
            } else {
                window.wait().unwrap();
                assert_eq!([local(&window, 1), local(&window, 2)], [round; 2]);
            }
        }
        window.free().unwrap();
    });
}

#[test]
fn access_and_exposure_are_independent() {
    // Lessons, fixed 15: locks inside an exposure epoch; and the other way round.
    run_all(3, |rank| {
        let window = rank.allocate(4);
        let next = Rank((rank.me + 1) % 3);
        for _ in 0..5 {
            rank.barrier();
            if rank.me == 0 {
                window.post_to(&[Rank(1)], Assert::NONE).unwrap();
                window.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
                window.fetch_add(2, 0, 1).unwrap();
                window.unlock(Rank(2)).unwrap();
                window.wait().unwrap();
            } else if rank.me == 1 {
                let one = [1];
                window.start(&[Rank(0)], Assert::NONE).unwrap();
                window.accumulate(from(&one), kernel(ReduceOp::Sum), Rank(0), Disp(0)).unwrap();
                window.complete().unwrap();
            }
            // The ring: each rank's exposure overlaps with its access.
            let one = [1];
            window.post_to(&[Rank((rank.me + 2) % 3)], Assert::NONE).unwrap();
            window.start(&[next], Assert::NONE).unwrap();
            window.accumulate(from(&one), kernel(ReduceOp::Sum), next, Disp(1)).unwrap();
            window.complete().unwrap();
            window.wait().unwrap();
        }
        rank.barrier();
        assert_eq!([local(&window, 0), local(&window, 1)], [[5, 5], [0, 5], [5, 5]][rank.me as usize]);
        window.free().unwrap();
    });
}

#[test]
fn a_start_right_after_a_fence_does_not_hang_while_others_are_in_the_fence() {
    // Lessons, still there 1.
    run_all(4, |rank| {
        let window = rank.allocate(2);
        for round in 1..15 {
            let value = [round];
            let assert = if round % 2 == 0 { Assert::NO_PRECEDE } else { Assert::NONE };
            window.fence(assert).unwrap();
            if rank.me == 3 {
                std::thread::yield_now();
            }
            match rank.me {
                0 => {
                    window.start(&[Rank(1)], Assert::NONE).unwrap();
                    window.put(from(&value), Rank(1), Disp(0)).unwrap();
                    window.complete().unwrap();
                }
                1 => {
                    window.post_to(&[Rank(0)], Assert::NONE).unwrap();
                    window.wait().unwrap();
                    assert_eq!(local(&window, 0), round);
                }
                _ => {}
            }
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn start_does_not_wait_for_packet_targets_and_complete_notifies_those_that_have_posted() {
    let world = Stepped::new(&Setup::packets(3), 20);
    let windows = world.allocate(4);
    let (window, value) = (&windows[0], [7]);
    let mut start = window.begin_start(&[Rank(1), Rank(2)], Assert::NONE).unwrap();
    assert!(window.poll_sync(&mut start).unwrap(), "start returns at once");
    assert!(window.try_put(from(&value), Rank(1), Disp(0)).unwrap());
    assert!(window.try_put(from(&value), Rank(2), Disp(0)).unwrap());
    let mut complete = window.begin_complete().unwrap();
    world.settle();
    assert!(!window.poll_sync(&mut complete).unwrap());
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (0, 0), "no rank has posted");
    // Rank 2 is served although rank 1, which stands before it, has not posted.
    windows[2].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(&windows[2], "wait", windows[2].begin_wait().unwrap()).unwrap();
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (0, 7));
    assert!(!window.poll_sync(&mut complete).unwrap());
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(window, "complete", complete).unwrap();
    world.finish(&windows[1], "wait", windows[1].begin_wait().unwrap()).unwrap();
    assert_eq!(local(&windows[1], 0), 7);
}

#[test]
fn an_early_post_opens_the_epoch_that_it_belongs_to() {
    let world = Stepped::new(&Setup::packets(3), 21);
    let windows = world.allocate(4);
    let (window, values) = (&windows[0], [1, 2]);
    let group = [Rank(1), Rank(2)];
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(window, "start", window.begin_start(&group, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values), Rank(1), Disp(0)).unwrap());
    let mut complete = window.begin_complete().unwrap();
    world.finish(&windows[1], "wait", windows[1].begin_wait().unwrap()).unwrap();
    // Rank 1 opens its second epoch while rank 0 is still in the first one, waiting for rank 2.
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.settle();
    assert!(!window.poll_sync(&mut complete).unwrap());
    windows[2].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(window, "complete", complete).unwrap();
    let mut wait = windows[1].begin_wait().unwrap();
    world.settle();
    assert!(!windows[1].poll_sync(&mut wait).unwrap(), "the second epoch has not been accessed yet");
    world.finish(window, "start", window.begin_start(&[Rank(1)], Assert::NONE).unwrap()).unwrap();
    world.finish(window, "complete", window.begin_complete().unwrap()).unwrap();
    world.finish(&windows[1], "wait", wait).unwrap();
    world.finish(&windows[2], "wait", windows[2].begin_wait().unwrap()).unwrap();
}

#[test]
fn an_error_at_the_target_is_raised_by_the_next_synchronization_call() {
    // Different sizes, so that only the target knows its own.
    let setup = Setup::packets(2);
    run(&setup, |rank| {
        let window = rank.allocate(1 + u64::from(rank.me));
        for _ in 0..3 {
            if rank.me == 0 {
                let values = [1, 2, 3];
                window.start(&[Rank(1)], Assert::NONE).unwrap();
                for _ in 0..200 {
                    window.put(from(&values), Rank(1), Disp(0)).unwrap();
                }
                // By now, or when the barrier is over.
                let first = window.complete().err();
                rank.barrier();
                let next = window.lock(Exclusive, Rank(1), Assert::NONE);
                if next.is_ok() {
                    window.unlock(Rank(1)).unwrap();
                }
                let errors = first.into_iter().chain(next.err()).collect::<Vec<_>>();
                assert!(!errors.is_empty());
                assert!(errors.iter().all(|error| error.class() == ErrorClass::RmaRange), "{errors:?}");
            } else {
                window.post_to(&[Rank(0)], Assert::NONE).unwrap();
                window.wait().unwrap();
                rank.barrier();
                assert_eq!(local(&window, 0), 0);
            }
            rank.barrier();
            // Whatever was on its way has been raised or comes before this fence ends.
            let _late = window.fence(Assert::NO_SUCCEED);
        }
        rank.barrier();
        let _late = window.free();
    });
}

#[test]
fn wait_and_complete_name_the_lost_rank() {
    let world = &mut Stepped::new(&Setup::packets(3), 22);
    let mut windows = world.allocate(4);
    let value = [7];
    windows[1].try_post_to(&[Rank(0), Rank(2)], Assert::NONE).unwrap();
    world.settle();
    world.finish(&windows[0], "start", windows[0].begin_start(&[Rank(1)], Assert::NONE).unwrap()).unwrap();
    assert!(windows[0].try_put(from(&value), Rank(1), Disp(0)).unwrap());
    let mut wait = windows[1].begin_wait().unwrap();
    windows.remove(2);
    world.engines[2] = None;
    world.settle();
    assert!(!windows[1].poll_sync(&mut wait).unwrap(), "rank 0 is alive");
    world.finish(&windows[0], "complete", windows[0].begin_complete().unwrap()).unwrap();
    let error = world.finish(&windows[1], "wait", wait).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    assert!(error.to_string().contains("rank 2"), "{error}");
    assert_eq!(local(&windows[1], 0), 7);
    // Both sides can be used again.
    let start = windows[0].begin_start(&[Rank(1), Rank(2)], Assert::NONE).unwrap();
    world.finish(&windows[0], "start", start).unwrap();
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    let error = world.finish(&windows[0], "complete", windows[0].begin_complete().unwrap()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    world.finish(&windows[1], "wait", windows[1].begin_wait().unwrap()).unwrap();
}

#[test]
fn wrong_calls_name_what_is_wrong() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        let (me, other, value) = (Rank(rank.me), Rank(1 - rank.me), [1]);
        let refused = |outcome: Result<(), rma_core::Error>, class, words: &[&str]| {
            let error = outcome.expect_err("the call is wrong");
            let text = error.to_string();
            assert_eq!(error.class(), class, "{text}");
            words.iter().for_each(|word| assert!(text.contains(word), "{word:?} is not said: {text}"));
        };
        use ErrorClass::{Assert as BadAssert, Group, Rank as BadRank, RmaSync};
        refused(window.wait(), RmaSync, &["wait", "post"]);
        refused(window.test().map(drop), RmaSync, &["test", "post"]);
        refused(window.complete(), RmaSync, &["complete", "start has not been called"]);
        refused(window.unlock_all(), RmaSync, &["unlock_all", "lock_all has not been called"]);
        refused(window.flush_all(), RmaSync, &["flush_all", "no epoch is open"]);
        refused(window.sync(), RmaSync, &["win_sync", "no epoch is open"]);
        refused(window.start(&[other, other], Assert::NONE), Group, &["start", "more than once"]);
        refused(window.post_to(&[Rank(2)], Assert::NONE), BadRank, &["post", "0 to 1"]);
        refused(window.start(&[other], Assert::NO_PUT), BadAssert, &["start"]);
        refused(window.lock_all(Assert::NO_STORE), BadAssert, &["lock_all"]);
        rank.barrier();
        window.post_to(&[me], Assert::NONE).unwrap();
        window.start(&[me], Assert::NONE).unwrap();
        refused(
            window.put(from(&value), other, Disp(0)),
            RmaSync,
            &["group of the start call", "opened by start"],
        );
        refused(window.lock_all(Assert::NONE), RmaSync, &["call complete first", "opened by start"]);
        refused(window.flush(me), RmaSync, &["is not locked", "opened by start"]);
        refused(window.flush_all(), RmaSync, &["opened by start"]);
        refused(window.fence(Assert::NONE), RmaSync, &["call complete first"]);
        refused(window.post_to(&[me], Assert::NONE), RmaSync, &["opened by post", "wait"]);
        window.complete().unwrap();
        refused(window.fence(Assert::NONE), RmaSync, &["opened by post"]);
        refused(window.clone().free(), RmaSync, &["opened by post"]);
        window.wait().unwrap();
        window.lock_all(Assert::NONE).unwrap();
        refused(
            window.lock(Exclusive, me, Assert::NONE),
            RmaSync,
            &["unlock_all first", "opened by lock_all"],
        );
        refused(window.unlock(me), RmaSync, &["is not locked", "opened by lock_all"]);
        refused(window.start(&[me], Assert::NONE), RmaSync, &["unlock_all first"]);
        window.unlock_all().unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn posts_and_dones_in_shared_memory_name_the_lost_rank_and_no_other() {
    let world = &mut Stepped::new(&Setup::direct(4), 23);
    let mut windows = world.allocate(4).into_iter().map(Some).collect::<Vec<_>>();
    let window = |windows: &[Option<rma_core::window::Window>], rank: usize| windows[rank].clone().unwrap();
    // Rank 1 waits for ranks 0, 2 and 3; rank 2 is done before it dies, rank 3 is not.
    let target = window(&windows, 1);
    target.try_post_to(&[Rank(0), Rank(2), Rank(3)], Assert::NONE).unwrap();
    let done = window(&windows, 2);
    world.finish(&done, "start", done.begin_start(&[Rank(1)], Assert::NONE).unwrap()).unwrap();
    world.finish(&done, "complete", done.begin_complete().unwrap()).unwrap();
    let mut wait = target.begin_wait().unwrap();
    assert!(!target.poll_sync(&mut wait).unwrap());
    drop(done);
    for rank in [2, 3] {
        windows[rank] = None;
        world.engines[rank] = None;
    }
    world.settle();
    assert!(!target.poll_sync(&mut wait).unwrap(), "rank 0 is alive");
    let origin = window(&windows, 0);
    world.finish(&origin, "start", origin.begin_start(&[Rank(1)], Assert::NONE).unwrap()).unwrap();
    world.finish(&origin, "complete", origin.begin_complete().unwrap()).unwrap();
    let error = world.finish(&target, "wait", wait).unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("rank 3"), "{error}");
    // An epoch to a dead rank is one to the living, which wait for its end; complete names the lost rank.
    target.try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    let start = origin.begin_start(&[Rank(1), Rank(3)], Assert::NONE).unwrap();
    world.finish(&origin, "start", start).unwrap();
    let value = [9u64];
    origin.put(from(&value), Rank(1), Disp(0)).unwrap();
    let error = world.finish(&origin, "complete", origin.begin_complete().unwrap()).unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("rank 3"), "{error}");
    world.finish(&target, "wait", target.begin_wait().unwrap()).unwrap();
    assert_eq!(local(&target, 0), 9);
}
