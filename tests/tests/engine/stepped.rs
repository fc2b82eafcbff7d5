//! Exact orders of events in virtual time: what went wrong once, or nearly did, with its cause as the name.

use rma_core::ErrorClass;
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::WindowSpec;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, kernel, local};

const ONE: Rank = Rank(1);
const TWO: Rank = Rank(2);

fn one_target_element(ranks: u32) -> Setup {
    let mut setup = Setup::packets(ranks);
    setup.engine.target_pool_window = 1;
    setup.engine.target_pool_global = 0;
    setup
}

#[test]
fn a_flush_asks_for_its_acknowledgement_past_operations_that_are_held_back() {
    let world = Stepped::new(&Setup::packets(2), 1);
    let windows = world.allocate(4);
    let window = &windows[0];
    let values = [3, 4];
    world.finish(window, "lock", window.begin_lock(Shared, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[1..]), ONE, Disp(0)).unwrap());
    world.finish(window, "flush", window.begin_flush(ONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[..1]), ONE, Disp(0)).unwrap());
    world.finish(window, "flush_local", window.begin_flush_local(ONE).unwrap()).unwrap();
    let flush = window.begin_flush(ONE).unwrap();
    // As another thread would: after the flush has begun, and held back for piggybacking.
    assert!(window.try_put(from(&values[1..]), ONE, Disp(1)).unwrap());
    world.finish(window, "flush", flush).unwrap();
    assert_eq!(local(&windows[1], 0), 3);
    world.finish(window, "unlock", window.begin_unlock(ONE).unwrap()).unwrap();
    assert_eq!(local(&windows[1], 1), 4);
}

#[test]
fn a_reply_acknowledges_for_a_flush_what_a_later_store_does_not_take_back() {
    let world = Stepped::new(&Setup::packets(2), 2);
    let windows = world.allocate(16);
    let window = &windows[0];
    let (values, mut got) = ([5; 10], [9]);
    world.finish(window, "lock", window.begin_lock(Shared, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[..1]), ONE, Disp(0)).unwrap());
    world.finish(window, "flush", window.begin_flush(ONE).unwrap()).unwrap();
    assert!(window.try_get(into(&mut got), ONE, Disp(0)).unwrap());
    let flush = window.begin_flush(ONE).unwrap();
    world.pump_only(|rank| rank == 0);
    for at in 1..10 {
        assert!(window.try_put(from(&values[at..=at]), ONE, Disp(at as u64)).unwrap());
    }
    let before = world.engine(0).counters().packets_sent;
    world.finish(window, "flush", flush).unwrap();
    assert_eq!(got, [5]);
    assert!(world.engine(0).counters().packets_sent - before <= 2, "no acknowledgement is asked for twice");
    world.finish(window, "unlock", window.begin_unlock(ONE).unwrap()).unwrap();
    assert!((0..10).all(|at| local(&windows[1], at) == 5));
}

#[test]
fn an_element_that_waits_for_a_bare_lock_is_not_reclaimed() {
    let world = Stepped::new(&one_target_element(4), 3);
    let windows = world.allocate(4);
    let window = &windows[0];
    let value = [7];
    world.finish(window, "lock 1", window.begin_lock(Shared, ONE, Assert::NONE).unwrap()).unwrap();
    world.finish(window, "lock 3", window.begin_lock(Shared, Rank(3), Assert::NO_CHECK).unwrap()).unwrap();
    // The lock of mapped memory, which is taken in the call, has that of rank 1 asked for without an operation; rank 1 does not
    // answer yet.
    let mut second = window.begin_lock(Shared, Rank(0), Assert::NONE).unwrap();
    (0..50).for_each(|_| world.pump_only(|rank| rank == 0));
    assert!(!window.poll_sync(&mut second).unwrap());
    let mut posted = window.try_put(from(&value), Rank(3), Disp(0)).unwrap();
    world.finish(window, "lock 0", second).unwrap();
    world.until("an element", || {
        posted = posted || window.try_put(from(&value), Rank(3), Disp(0)).unwrap();
        posted
    });
    for rank in [1, 0, 3] {
        world.finish(window, "unlock", window.begin_unlock(Rank(rank)).unwrap()).unwrap();
    }
    assert_eq!(local(&windows[3], 0), 7);
}

#[test]
fn an_unlock_that_is_over_does_not_need_its_element_any_more() {
    for assert in [Assert::NONE, Assert::NO_CHECK] {
        let world = Stepped::new(&one_target_element(3), 4);
        let windows = world.allocate(4);
        let window = &windows[0];
        let value = [7];
        world.finish(window, "lock 1", window.begin_lock(Exclusive, ONE, assert).unwrap()).unwrap();
        world.finish(window, "lock 2", window.begin_lock(Shared, TWO, Assert::NO_CHECK).unwrap()).unwrap();
        assert!(window.try_put(from(&value), ONE, Disp(0)).unwrap());
        let unlock = window.begin_unlock(ONE).unwrap();
        world.settle();
        assert!(window.try_put(from(&value), TWO, Disp(0)).unwrap(), "the element of rank 1 owes nothing");
        world.finish(window, "unlock 1", unlock).unwrap();
        world.finish(window, "unlock 2", window.begin_unlock(TWO).unwrap()).unwrap();
        assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (7, 7));
    }
}

#[test]
fn a_streamed_operation_does_not_ride_on_a_lock() {
    let mut setup = Setup::packets(3);
    (setup.engine.unit_bytes, setup.engine.lock_queue_bytes) = (16, 0);
    let world = Stepped::new(&setup, 5);
    let windows = world.allocate(8);
    let (window, other) = (&windows[0], &windows[2]);
    let (ones, zero) = ([1; 8], [0]);
    world.finish(other, "lock", other.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(other.try_accumulate(from(&zero), kernel(ReduceOp::Sum), ONE, Disp(0)).unwrap());
    world.finish(other, "flush", other.begin_flush(ONE).unwrap()).unwrap();
    world.finish(window, "lock", window.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_accumulate(from(&ones), kernel(ReduceOp::Sum), ONE, Disp(0)).unwrap());
    let unlock = window.begin_unlock(ONE).unwrap();
    world.settle();
    world.finish(other, "unlock", other.begin_unlock(ONE).unwrap()).unwrap();
    world.finish(window, "unlock", unlock).unwrap();
    assert_eq!((0..8).map(|at| local(&windows[1], at)).collect::<Vec<_>>(), [1; 8]);
}

#[test]
fn a_lock_is_released_although_its_dead_holder_was_still_being_answered() {
    let world = &mut Stepped::new(&Setup::packets(3), 6);
    let mut windows = world.allocate(4096);
    let mut got = vec![0; 4000];
    let window = windows[0].clone();
    world.finish(&window, "lock", window.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_get(into(&mut got), ONE, Disp(0)).unwrap());
    let unlock = window.begin_unlock(ONE).unwrap();
    // The request with the unlock arrives, and the reply cannot leave: rank 0 does not read any more.
    for _ in 0..50 {
        world.pump_only(|rank| rank == 0);
        if world.engine(0).counters().packets_sent >= 1 {
            break;
        }
    }
    (0..50).for_each(|_| world.pump_only(|rank| rank == 1));
    drop((window, unlock, windows.remove(0)));
    world.engines[0] = None;
    let next = &windows[1];
    let value = [8];
    world.finish(next, "lock", next.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(next.try_put(from(&value), ONE, Disp(0)).unwrap());
    world.finish(next, "unlock", next.begin_unlock(ONE).unwrap()).unwrap();
    assert_eq!(local(&windows[0], 0), 8);
}

#[test]
fn a_lock_call_does_not_wait_for_the_lock_of_a_dead_rank() {
    for operations in [0, 1] {
        let world = &mut Stepped::new(&Setup::packets(3), 7);
        let mut windows = world.allocate(4);
        let window = windows[0].clone();
        let value = [1];
        world.finish(&window, "lock 1", window.begin_lock(Shared, ONE, Assert::NONE).unwrap()).unwrap();
        if operations > 0 {
            assert!(window.try_put(from(&value), ONE, Disp(0)).unwrap());
        }
        windows.remove(1);
        world.engines[1] = None;
        world.finish(&window, "lock 2", window.begin_lock(Shared, TWO, Assert::NONE).unwrap()).unwrap();
        assert!(window.try_put(from(&value), TWO, Disp(0)).unwrap());
        world.finish(&window, "unlock 2", window.begin_unlock(TWO).unwrap()).unwrap();
        assert_eq!(local(&windows[1], 0), 1, "what does not depend on the dead goes on");
        let error = world.finish(&window, "unlock 1", window.begin_unlock(ONE).unwrap()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{operations} operations: {error}");
    }
}

#[test]
fn each_flush_of_a_dead_rank_says_so_and_no_other() {
    let world = &mut Stepped::new(&Setup::packets(3), 8);
    let mut windows = world.allocate(4);
    let window = windows[0].clone();
    let value = [1];
    for rank in [ONE, TWO] {
        world.finish(&window, "lock", window.begin_lock(Shared, rank, Assert::NONE).unwrap()).unwrap();
        assert!(window.try_put(from(&value), rank, Disp(0)).unwrap());
    }
    windows.remove(1);
    world.engines[1] = None;
    let lost = window.begin_flush(ONE).unwrap();
    world.settle();
    world.finish(&window, "flush 2", window.begin_flush(TWO).unwrap()).unwrap();
    assert_eq!(world.finish(&window, "flush 1", lost).unwrap_err().class(), ErrorClass::ProcFailed);
    let error = window.try_put(from(&value), ONE, Disp(0)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    let again = world.finish(&window, "flush 1", window.begin_flush(ONE).unwrap()).unwrap_err();
    assert_eq!(again.class(), ErrorClass::ProcFailed);
    assert!(world.finish(&window, "unlock 1", window.begin_unlock(ONE).unwrap()).is_err());
    world.finish(&window, "unlock 2", window.begin_unlock(TWO).unwrap()).unwrap();
}

#[test]
fn a_fence_that_never_opens_ends_the_operations_that_wait_for_it() {
    let world = &mut Stepped::new(&Setup::packets(3), 9);
    let mut windows = world.allocate(4);
    let window = windows[0].clone();
    let value = [1];
    world.finish(&window, "fence", window.begin_fence(Assert::NO_PRECEDE).unwrap()).unwrap();
    assert!(window.try_put(from(&value), ONE, Disp(0)).unwrap());
    windows.remove(2);
    world.engines[2] = None;
    let error = world.finish(&window, "fence", window.begin_fence(Assert::NONE).unwrap()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    assert_eq!(local(&windows[1], 0), 0, "rank 1 has not opened its epoch");
    assert_eq!(window.outstanding(), 0);
    // The window can still be used for what does not need the dead.
    world.finish(&window, "lock", window.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&value), ONE, Disp(0)).unwrap());
    world.finish(&window, "unlock", window.begin_unlock(ONE).unwrap()).unwrap();
    assert_eq!(local(&windows[1], 0), 1);
}

#[test]
fn a_window_is_freed_after_a_fence_epoch_lost_a_target() {
    let world = &mut Stepped::new(&Setup::packets(2), 10);
    let mut windows = world.allocate(4);
    let mut fences = [0, 1].map(|rank: usize| windows[rank].begin_fence(Assert::NONE).unwrap());
    world.until("a fence", || {
        // Both take every step.
        let over = [0, 1].map(|rank| windows[rank].poll_sync(&mut fences[rank]).unwrap());
        over == [true, true]
    });
    let value = [1];
    assert!(windows[0].try_put(from(&value), ONE, Disp(0)).unwrap());
    windows.remove(1);
    world.engines[1] = None;
    // Contact is made by the next packets; the put is held back, so no rank has noticed yet.
    let lost = windows[0].begin_fence(Assert::NONE).unwrap();
    let error = world.finish(&windows[0], "fence", lost).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    let window = windows.remove(0);
    let mut free = window.begin_free().map_err(|(_, error)| error).unwrap();
    let mut outcome = Ok(false);
    world.until("free", || {
        outcome = free.poll();
        !matches!(outcome, Ok(false))
    });
    assert_eq!(outcome.unwrap_err().class(), ErrorClass::ProcFailed);
}

#[test]
fn a_release_that_comes_after_all_have_met_finds_the_window() {
    let world = Stepped::new(&Setup::packets(2), 35);
    let mut windows = world.allocate(4);
    let (target, origin) = (windows.pop().unwrap(), windows.pop().unwrap());
    let value = [1];
    for kind in [Exclusive, Shared] {
        world.finish(&origin, "lock", origin.begin_lock(kind, ONE, Assert::NONE).unwrap()).unwrap();
        assert!(origin.try_put(from(&value), ONE, Disp(0)).unwrap());
        world.finish(&origin, "flush", origin.begin_flush(ONE).unwrap()).unwrap();
        if kind == Exclusive {
            world.finish(&origin, "unlock", origin.begin_unlock(ONE).unwrap()).unwrap();
        }
    }
    let mut unlock = origin.begin_unlock(ONE).unwrap();
    // A release has no answer: its origin goes on.
    while !origin.poll_sync(&mut unlock).unwrap() {
        world.pump_only(|rank| rank == 0);
    }
    let mut frees = [origin, target].map(|window| window.begin_free().map_err(|(_, error)| error).unwrap());
    for _ in 0..100 {
        // The target looks whether all have met, and not at what has come.
        frees[0].poll().unwrap();
        assert!(!frees[1].poll().unwrap(), "the release is under way");
        world.pump_only(|rank| rank == 0);
    }
    world.until("free", || frees[1].poll().unwrap());
    assert_eq!(world.engine(1).live_windows(), 0);
    world.settle();
    assert!(frees[0].poll().unwrap(), "no rank has refused anything");
}

#[test]
fn a_packet_that_comes_before_the_end_of_creation_finds_the_unit() {
    let world = Stepped::new(&Setup::packets(2), 12);
    let spec = WindowSpec::Allocate { len: 64, unit: 8 };
    let mut creations = [0, 1].map(|me| world.engine(me).begin_window(world.group(me), spec).unwrap());
    let (mut first, mut late) = (None, None);
    world.until("rank 0's window", || {
        // Rank 1 takes the steps that rank 0 waits for, and does not look whether the last one is over.
        if world.engine(1).live_windows() == 0 {
            late = creations[1].poll().unwrap();
        }
        first = creations[0].poll().unwrap();
        first.is_some()
    });
    let (window, value) = (first.unwrap(), [7]);
    world.finish(&window, "lock", window.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&value), ONE, Disp(3)).unwrap());
    world.finish(&window, "unlock", window.begin_unlock(ONE).unwrap()).unwrap();
    assert!(late.is_none());
    world.until("rank 1's window", || {
        late = creations[1].poll().unwrap();
        late.is_some()
    });
    assert_eq!(local(&late.unwrap(), 3), 7);
}

#[test]
fn a_creation_that_fails_gives_back_what_it_took() {
    // The third rank dies at each step of the creation.
    for rounds in 0.. {
        let world = &mut Stepped::new(&Setup::packets(3), 11);
        let spec = WindowSpec::Allocate { len: 64, unit: 8 };
        let mut creations = (0..3)
            .map(|me| world.engine(me).begin_window(world.group(me), spec).unwrap())
            .collect::<Vec<_>>();
        for _ in 0..rounds {
            if creations.iter_mut().any(|creation| creation.poll().unwrap().is_some()) {
                return;
            }
            world.pump();
        }
        creations.pop();
        world.engines[2] = None;
        let mut outcomes = [None, None];
        world.until("an end of the creation", || {
            for (creation, outcome) in creations.iter_mut().zip(&mut outcomes).filter(|(_, o)| o.is_none()) {
                *outcome =
                    creation.poll().map(|window| window.map(Ok)).unwrap_or_else(|error| Some(Err(error)));
            }
            outcomes.iter().all(Option::is_some)
        });
        for (me, outcome) in outcomes.into_iter().flatten().enumerate() {
            let is_made = outcome.map_err(|error| assert_eq!(error.class(), ErrorClass::ProcFailed)).is_ok();
            assert_eq!(world.engine(me as u32).live_windows(), usize::from(is_made), "after {rounds} rounds");
        }
    }
}

#[test]
fn a_lock_all_epoch_goes_on_without_the_dead_and_says_so_at_its_end() {
    // In both protocols, and at every time: the doomed rank dies later and later.
    for elements in [1, 16] {
        for rounds in 0..60 {
            let mut setup = Setup::packets(4);
            (setup.engine.target_pool_window, setup.engine.target_pool_global) = (elements, 0);
            let world = &mut Stepped::new(&setup, 13);
            let mut windows = world.allocate(4);
            let (window, values) = (windows[0].clone(), [1, 2]);
            world.finish(&window, "lock_all", window.begin_lock_all(Assert::NONE).unwrap()).unwrap();
            assert!(window.try_put(from(&values[..1]), TWO, Disp(0)).unwrap());
            // Asks every rank when there is one element only.
            let mut queued = window.try_put(from(&values[1..]), ONE, Disp(0)).unwrap();
            (0..rounds).for_each(|_| world.pump());
            windows.remove(2);
            world.engines[2] = None;
            world.until("an operation on the living", || {
                queued = queued || window.try_put(from(&values[1..]), ONE, Disp(0)).unwrap();
                queued
            });
            world.finish(&window, "flush", window.begin_flush(ONE).unwrap()).unwrap();
            assert_eq!(local(&windows[1], 0), 2);
            let end = world.finish(&window, "unlock_all", window.begin_unlock_all().unwrap());
            let is_lost = |error: &rma_core::Error| error.class() == ErrorClass::ProcFailed;
            assert!(end.as_ref().err().is_none_or(is_lost), "{end:?}");
            assert!(elements == 1 || end.is_err(), "the put was held back, so its target was needed");
            // All other locks are free again, and the window can be used.
            for target in [ONE, Rank(3)] {
                let lock = window.begin_lock(Exclusive, target, Assert::NONE).unwrap();
                world.finish(&window, "lock", lock).unwrap();
                assert!(window.try_put(from(&values[..1]), target, Disp(1)).unwrap());
                world.finish(&window, "unlock", window.begin_unlock(target).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn unlock_all_waits_for_the_window_protocol_that_an_operation_began() {
    let mut setup = Setup::packets(5);
    (setup.engine.target_pool_window, setup.engine.target_pool_global) = (1, 0);
    (setup.engine.credits, setup.sim.lane_packets) = (1, 1);
    let world = Stepped::new(&setup, 14);
    let windows = world.allocate(4);
    let (window, values) = (&windows[0], [1, 2]);
    world.finish(window, "lock_all", window.begin_lock_all(Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[..1]), ONE, Disp(0)).unwrap());
    assert!(!window.try_put(from(&values[1..]), TWO, Disp(0)).unwrap(), "no element is left");
    world.finish(window, "unlock_all", window.begin_unlock_all().unwrap()).unwrap();
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (1, 0), "what was not queued is not done");
    for other in &windows[1..] {
        for target in 1..5 {
            let lock = other.begin_lock(Exclusive, Rank(target), Assert::NONE).unwrap();
            world.finish(other, "lock", lock).unwrap();
            assert!(other.try_put(from(&values[..1]), Rank(target), Disp(1)).unwrap());
            world.finish(other, "unlock", other.begin_unlock(Rank(target)).unwrap()).unwrap();
        }
    }
}

#[test]
fn a_fence_in_shared_memory_names_the_dead_to_every_rank() {
    for doomed in 0..4 {
        let world = &mut Stepped::new(&Setup::direct(4), 15);
        let mut windows = world.allocate(4).into_iter().map(Some).collect::<Vec<_>>();
        for round in 0..2 {
            // All meet once; then one is missing.
            let mut fences =
                windows.iter().flatten().map(|w| w.begin_fence(Assert::NONE)).collect::<Vec<_>>();
            if round == 1 {
                windows[doomed] = None;
                world.engines[doomed] = None;
                // Given up by a rank that lives, it would go on.
                drop(fences.remove(doomed));
            }
            let mut outcomes = vec![None; fences.len()];
            world.until("the ends of the fence", || {
                let living = windows.iter().flatten().zip(&mut fences).zip(&mut outcomes);
                for ((window, fence), outcome) in living.filter(|(_, outcome)| outcome.is_none()) {
                    match window.poll_sync(fence.as_mut().unwrap()) {
                        Ok(false) => {}
                        Ok(true) => *outcome = Some(None),
                        Err(error) => *outcome = Some(Some(error.class())),
                    }
                }
                outcomes.iter().all(Option::is_some)
            });
            let expected = if round == 0 { None } else { Some(ErrorClass::ProcFailed) };
            assert!(outcomes.iter().all(|outcome| *outcome == Some(expected)), "{doomed}: {outcomes:?}");
        }
    }
}

#[test]
fn a_start_with_a_dead_target_is_open_to_the_living_and_complete_fails() {
    let world = &mut Stepped::new(&Setup::direct(3), 16);
    let mut windows = world.allocate(4);
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    // Rank 0 has seen rank 1's post when it learns that rank 2 will not post.
    let mut start = windows[0].begin_start(&[ONE, TWO], Assert::NONE).unwrap();
    assert!(!windows[0].poll_sync(&mut start).unwrap());
    world.settle();
    windows.remove(2);
    world.engines[2] = None;
    world.finish(&windows[0], "start", start).unwrap();
    let value = [5];
    assert!(windows[0].try_put(from(&value), ONE, Disp(0)).unwrap());
    let complete = windows[0].begin_complete().unwrap();
    let error = world.finish(&windows[0], "complete", complete).unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("rank 2"), "{error}");
    world.finish(&windows[1], "wait", windows[1].begin_wait().unwrap()).unwrap();
    assert_eq!(local(&windows[1], 0), 5);
    // The epoch is over, and the next one is as any other.
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(&windows[0], "start", windows[0].begin_start(&[ONE], Assert::NONE).unwrap()).unwrap();
    world.finish(&windows[0], "complete", windows[0].begin_complete().unwrap()).unwrap();
    world.finish(&windows[1], "wait", windows[1].begin_wait().unwrap()).unwrap();
}

#[test]
fn a_start_without_checks_and_without_a_post_is_an_error_of_the_program() {
    let world = Stepped::new(&Setup::packets(2), 17);
    let windows = world.allocate(1000);
    // The "done" rides on the put, small or bulk, or travels alone.
    for len in [0, 1, 900] {
        let (window, values) = (&windows[0], vec![3; len]);
        world.finish(window, "start", window.begin_start(&[ONE], Assert::NO_CHECK).unwrap()).unwrap();
        assert!(window.try_put(from(&values), ONE, Disp(0)).unwrap());
        let completed = world.finish(window, "complete", window.begin_complete().unwrap());
        world.settle();
        let error = completed.and_then(|()| window.begin_lock(Exclusive, ONE, Assert::NONE).map(drop));
        let error = error.unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        assert!(error.to_string().contains("rank 1 had not called post"), "{error}");
        // No rank is lost.
        world.finish(window, "lock", window.begin_lock(Exclusive, ONE, Assert::NONE).unwrap()).unwrap();
        assert!(window.try_put(from(&[8]), ONE, Disp(5)).unwrap());
        world.finish(window, "unlock", window.begin_unlock(ONE).unwrap()).unwrap();
        assert_eq!(local(&windows[1], 5), 8);
    }
}

#[test]
fn the_line_of_a_lock_goes_on_past_those_that_died_in_it() {
    for doomed in [[1, 2], [2, 3], [1, 3]] {
        for kind in [Exclusive, Shared] {
            let world = &mut Stepped::new(&Setup::direct(5), 19);
            let mut windows = world.allocate(4).into_iter().map(Some).collect::<Vec<_>>();
            let zero = Rank(0);
            // Rank 4 holds the lock, and the others stand in line in the order of their ranks.
            let holder = windows[4].clone().unwrap();
            world.finish(&holder, "lock", holder.begin_lock(Exclusive, zero, Assert::NONE).unwrap()).unwrap();
            let mut waiting = Vec::new();
            for (rank, window) in windows.iter().flatten().enumerate().take(4).skip(1) {
                let mut lock = window.begin_lock(kind, zero, Assert::NONE).unwrap();
                assert!(!window.poll_sync(&mut lock).unwrap());
                waiting.push((rank, lock));
            }
            world.settle();
            for rank in doomed {
                windows[rank] = None;
                world.engines[rank] = None;
            }
            world.settle();
            world.finish(&holder, "unlock", holder.begin_unlock(zero).unwrap()).unwrap();
            let (rank, lock) = waiting.into_iter().find(|(rank, _)| !doomed.contains(rank)).unwrap();
            let window = windows[rank].as_ref().unwrap();
            world.finish(window, "the lock behind the dead", lock).unwrap();
            world.finish(window, "unlock", window.begin_unlock(zero).unwrap()).unwrap();
            // The line is empty: a newcomer gets the lock at once, and so does the owner.
            for window in [&holder, windows[0].as_ref().unwrap()] {
                world
                    .finish(window, "lock", window.begin_lock(Exclusive, zero, Assert::NONE).unwrap())
                    .unwrap();
                world.finish(window, "unlock", window.begin_unlock(zero).unwrap()).unwrap();
            }
        }
    }
}

#[test]
fn issue_takes_one_packet_of_each_target_in_turn() {
    let mut setup = Setup::packets(3);
    setup.engine.poll_packets = 5;
    let world = Stepped::new(&setup, 20);
    let windows = world.allocate(32);
    let (window, values) = (&windows[0], [1; 20]);
    world.finish(window, "lock_all", window.begin_lock_all(Assert::NO_CHECK).unwrap()).unwrap();
    // Contact is made.
    for target in [ONE, TWO] {
        assert!(window.try_put(from(&values[..1]), target, Disp(31)).unwrap());
    }
    world.finish(window, "flush_all", window.begin_flush_all().unwrap()).unwrap();
    for target in [ONE, TWO] {
        for (at, value) in values.chunks(1).enumerate() {
            assert!(window.try_put(from(value), target, Disp(at as u64)).unwrap());
        }
    }
    let flush = window.begin_flush_all().unwrap();
    world.pump_only(|rank| rank == 0);
    (0..100).for_each(|_| world.pump_only(|rank| rank != 0));
    let arrived = |rank: usize| (0..20).map(|at| local(&windows[rank], at)).sum::<u64>();
    assert_eq!((arrived(1), arrived(2)), (5, 5), "as many rounds as a step has");
    world.finish(window, "flush_all", flush).unwrap();
    assert_eq!((arrived(1), arrived(2)), (20, 20));
    world.finish(window, "unlock_all", window.begin_unlock_all().unwrap()).unwrap();
}

#[test]
fn an_element_is_restored_in_an_issued_epoch_when_the_others_have_come() {
    let values = [3, 4];
    // A fence that no other rank has entered: nothing may leave, so no element can be given up.
    let world = Stepped::new(&one_target_element(3), 21);
    let windows = world.allocate(4);
    let window = &windows[0];
    world.finish(window, "fence", window.begin_fence(Assert::NO_PRECEDE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[..1]), ONE, Disp(0)).unwrap());
    for _ in 0..50 {
        world.pump();
        assert!(!window.try_put(from(&values[1..]), TWO, Disp(0)).unwrap());
    }
    for other in &windows[1..] {
        world.finish(other, "fence", other.begin_fence(Assert::NO_PRECEDE).unwrap()).unwrap();
    }
    world.until("an element", || window.try_put(from(&values[1..]), TWO, Disp(0)).unwrap());
    let mut fences =
        windows.iter().map(|w| (w, w.begin_fence(Assert::NO_SUCCEED).unwrap())).collect::<Vec<_>>();
    world.until("the last fence", || {
        fences.retain_mut(|(window, fence)| !window.poll_sync(fence).unwrap());
        fences.is_empty()
    });
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (3, 4));

    // An access epoch whose targets post one after the other: what has posted gives its element up for what has not.
    let world = Stepped::new(&one_target_element(3), 22);
    let windows = world.allocate(4);
    let window = &windows[0];
    world.finish(window, "start", window.begin_start(&[ONE, TWO], Assert::NONE).unwrap()).unwrap();
    assert!(window.try_put(from(&values[..1]), ONE, Disp(0)).unwrap());
    for _ in 0..50 {
        world.pump();
        assert!(!window.try_put(from(&values[1..]), TWO, Disp(0)).unwrap());
    }
    windows[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.until("an element", || window.try_put(from(&values[1..]), TWO, Disp(0)).unwrap());
    windows[2].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    world.finish(window, "complete", window.begin_complete().unwrap()).unwrap();
    for other in &windows[1..] {
        world.finish(other, "wait", other.begin_wait().unwrap()).unwrap();
    }
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (3, 4));
}
