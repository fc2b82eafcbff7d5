//! Stores that tell their target: counters, what they count, and waits for them.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::notify::{self, CounterSetting, NotificationRequest, Notifications, Notifying};
use rma_core::window::{Destination, Hints, Origin, TargetArea, Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, TestRank, from, into, local, run, run_all, set_local};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

fn words() -> Datatype {
    Datatype::basic(BasicType::U64)
}

/// A window with so many counters at each rank.
fn counted(rank: &TestRank, elements: u64, counters: u32) -> Window {
    let window = rank.allocate(elements);
    notify::set_counters(&window, counters).unwrap();
    window
}

fn hinted(rank: &TestRank, elements: u64, key: &str, value: &str) -> Window {
    let mut hints = Hints::default();
    assert!(hints.set(key, value));
    let spec = WindowSpec::Allocate { len: elements * 8, unit: 8 };
    rank.engine.create_window_with(rank.group(), spec, hints).unwrap()
}

#[test]
fn each_form_moves_its_data_and_raises_its_counter_once() {
    run_all(3, |rank| {
        let window = counted(rank, 64, 5);
        let (next, last) = ((rank.me + 1) % rank.size, (rank.me + rank.size - 1) % rank.size);
        (0..64).for_each(|index| set_local(&window, index, 1000 + u64::from(rank.me)));
        rank.barrier();
        let (ty, mine) = (words(), u64::from(rank.me));
        let strided = Datatype::vector(4, 1, 2, &ty).unwrap();
        let values = [mine + 1, mine + 2, mine + 3, mine + 4];
        let origin = || Origin { base: values.as_ptr().cast(), count: 4, ty: &ty };
        let at = |disp, count| TargetArea { disp: Disp(disp), count, ty: &ty };
        let (mut got, mut old, mut requested) = ([0u64; 4], [0u64; 4], [0u64; 4]);
        let to =
            |values: &mut [u64; 4]| Destination { base: values.as_mut_ptr().cast(), count: 4, ty: words4() };
        window.lock_all(Assert::NONE).unwrap();
        let target = Rank(next);
        let call = |counter| Notifying::of(&window, counter);
        // SAFETY: the buffers are kept until the flush.
        let requests = unsafe {
            call(0).put(from(&values), target, Disp(0)).unwrap();
            call(0)
                .put_typed(origin(), target, TargetArea { disp: Disp(8), count: 1, ty: &strided })
                .unwrap();
            call(1).get(into(&mut got), target, Disp(60)).unwrap();
            call(2).accumulate(origin(), ReduceOp::Sum, target, at(20, 4)).unwrap();
            call(3).get_accumulate(origin(), to(&mut old), ReduceOp::Sum, target, at(24, 4)).unwrap();
            [
                call(4).rput(origin(), target, at(30, 4)).unwrap(),
                call(4).rget(to(&mut requested), target, at(56, 4)).unwrap(),
                call(4).raccumulate(origin(), ReduceOp::Sum, target, at(34, 4)).unwrap(),
                call(4)
                    .rget_accumulate(origin(), to(&mut [0; 4]), ReduceOp::NoOp, target, at(38, 4))
                    .unwrap(),
            ]
        };
        requests.iter().for_each(|request| request.wait().unwrap());
        let own = Notifications::of(&window);
        for (counter, number) in [(0, 2), (1, 1), (2, 1), (3, 1), (4, 4)] {
            assert_eq!(own.wait(counter, number).unwrap(), number, "counter {counter}");
        }
        // What the counters say is there can be read without any other call.
        let before = u64::from(last);
        let initial = 1000 + mine;
        for lane in 0..4 {
            let value = before + 1 + lane as u64;
            assert_eq!((local(&window, lane), local(&window, 8 + 2 * lane)), (value, value));
            assert_eq!(local(&window, 9 + 2 * lane), initial, "between the blocks");
            assert_eq!(
                (local(&window, 20 + lane), local(&window, 24 + lane)),
                (initial + value, initial + value)
            );
            assert_eq!((local(&window, 30 + lane), local(&window, 34 + lane)), (value, initial + value));
        }
        window.unlock_all().unwrap();
        assert_eq!(
            (got, old, requested),
            ([1000 + u64::from(next); 4], [1000 + u64::from(next); 4], [1000 + u64::from(next); 4])
        );
        rank.barrier();
        assert_eq!((own.take(4).unwrap(), own.value(4).unwrap(), own.value(0).unwrap()), (4, 0, 2));
        notify::set_counters(&window, 5).unwrap();
        assert_eq!(own.value(0).unwrap(), 0, "setting their number resets them");
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn numbers_that_differ_are_learnt_by_more_ranks_than_a_host_combines_at_a_time() {
    run(&Setup::packets(35), |rank| {
        let of = |rank: u32| 1 + rank % 7;
        let window = counted(rank, 1, of(rank.me));
        for other in 0..rank.size {
            assert_eq!(notify::counters_of(&window, Rank(other)), Ok(of(other)));
        }
        rank.barrier();
        window.free().unwrap();
    });
}

fn words4() -> &'static Datatype {
    static WORDS: std::sync::OnceLock<Datatype> = std::sync::OnceLock::new();
    WORDS.get_or_init(words)
}

#[test]
fn a_counter_that_the_target_has_not_in_use_is_an_error_of_its_own_and_moves_nothing() {
    run_all(3, |rank| {
        let window = counted(rank, 4, rank.me + 1);
        let numbers = [0, 1, 2].map(|of| notify::counters_of(&window, Rank(of)).unwrap());
        assert_eq!(numbers, [1, 2, 3], "each rank has its own number");
        let target = (rank.me + 1) % rank.size;
        window.lock(Shared, Rank(target), Assert::NONE).unwrap();
        let data = [7u64];
        let error = Notifying::of(&window, target + 1).put(from(&data), Rank(target), Disp(0)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaNotification, "{error}");
        assert!(
            error.to_string().contains(&format!("counter {} is not among the {}", target + 1, target + 1)),
            "{error}"
        );
        Notifying::of(&window, target).put(from(&data), Rank(target), Disp(1)).unwrap();
        Notifying::of(&window, 99).put(from(&data), Rank::NULL, Disp(0)).unwrap();
        let outside = Notifying::of(&window, 0).put(from(&data), Rank(target), Disp(4)).unwrap_err();
        assert_eq!(outside.class(), ErrorClass::RmaRange);
        window.unlock(Rank(target)).unwrap();
        let own = Notifications::of(&window);
        assert_eq!(own.wait(rank.me, 1).unwrap(), 1);
        rank.barrier();
        assert_eq!((local(&window, 0), local(&window, 1)), (0, 7));
        if rank.me > 0 {
            assert_eq!(own.value(0).unwrap(), 0, "an access outside the window raises nothing");
        }
        for error in [own.value(rank.me + 1).unwrap_err(), own.wait(9, 1).unwrap_err()] {
            assert_eq!(error.class(), ErrorClass::RmaNotification, "{error}");
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn one_bad_number_of_counters_is_an_error_everywhere_and_changes_nothing() {
    run_all(2, |rank| {
        let window = hinted(rank, 1, "mpi_assert_max_num_notify", if rank.me == 0 { "2" } else { "40" });
        assert_eq!(notify::room_for_counters(&window), [2, 40][rank.me as usize]);
        notify::set_counters(&window, 2).unwrap();
        for number in [3, 40] {
            let error = notify::set_counters(&window, number).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Arg, "{error}");
            assert_eq!(error.to_string().contains("mpi_assert_max_num_notify"), rank.me == 0, "{error}");
            assert_eq!(notify::counters_of(&window, Rank(1 - rank.me)).unwrap(), 2);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn no_bytes_raise_a_counter_too_and_active_epochs_have_no_notices() {
    run_all(2, |rank| {
        let (window, other) = (counted(rank, 1, 2), Rank(1 - rank.me));
        let ty = words();
        window.lock_all(Assert::NONE).unwrap();
        let origin = Origin { base: std::ptr::null(), count: 0, ty: &ty };
        let area = TargetArea { disp: Disp(0), count: 0, ty: &ty };
        Notifying::of(&window, 0).put(from(&[]), other, Disp(0)).unwrap();
        // SAFETY: nothing is read.
        let request = unsafe {
            Notifying::of(&window, 0).accumulate(origin, ReduceOp::Sum, other, area).unwrap();
            Notifying::of(&window, 0).rput(origin, other, area).unwrap()
        };
        request.wait().unwrap();
        assert_eq!(Notifications::of(&window).wait(0, 3).unwrap(), 3);
        window.unlock_all().unwrap();
        window.fence(Assert::NONE).unwrap();
        let error = Notifying::of(&window, 0).put(from(&[1]), other, Disp(0)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_eq!((Notifications::of(&window).value(0).unwrap(), local(&window, 0)), (3, 0));
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_waiter_that_sleeps_is_woken_by_the_operation() {
    for setup in [Setup::direct(2), Setup::packets(2), Setup::direct(2).smallest()] {
        let turn = AtomicU32::new(0);
        let wait_outside = |number| {
            let start = Instant::now();
            while turn.load(SeqCst) < number {
                assert!(start.elapsed() < Duration::from_secs(20), "the waiter was not woken");
                std::thread::yield_now();
            }
        };
        run(&setup, |rank| {
            let window = counted(rank, 1, 2);
            window.lock_all(Assert::NONE).unwrap();
            rank.barrier();
            for round in 1..=10 {
                if rank.me == 0 {
                    // Time for the other rank to fall asleep; how far it comes does not matter.
                    std::thread::sleep(Duration::from_millis(2));
                    Notifying::of(&window, round % 2)
                        .put(from(&[u64::from(round)]), Rank(1), Disp(0))
                        .unwrap();
                    wait_outside(round);
                } else {
                    let own = Notifications::of(&window);
                    match round % 3 {
                        0 => assert_eq!(own.wait_any(0..2, 1, None).unwrap(), Some(round % 2)),
                        1 => NotificationRequest::new(&window, round % 2, 1).unwrap().wait().unwrap(),
                        _ => assert_eq!(own.wait(round % 2, 1).unwrap(), 1),
                    }
                    assert_eq!((own.take(round % 2).unwrap(), local(&window, 0)), (1, round.into()));
                    turn.store(round, SeqCst);
                }
            }
            window.unlock_all().unwrap();
            rank.barrier();
            window.free().unwrap();
        });
    }
}

/// Its thread does nothing else for as long as no call of it waits.
#[test]
fn waits_that_find_their_counter_serve_peers() {
    const LIMIT: Duration = Duration::from_secs(20);
    run(&Setup::packets(2), |rank| {
        let window = counted(rank, 1, 1);
        if rank.me == 1 {
            window.lock(Shared, Rank(0), Assert::NONE).unwrap();
            window.put(from(&[7u64]), Rank(0), Disp(0)).unwrap();
            window.unlock(Rank(0)).unwrap();
        } else {
            let (path, began) = (window.direct_path(), Instant::now());
            while local(&window, 0) != 7 {
                assert!(began.elapsed() < LIMIT, "the put is not served");
                if path.try_wait_notify(0, 0).is_none() {
                    assert_eq!(Notifications::of(&window).wait(0, 0).unwrap(), 0);
                }
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_wait_for_any_counter_has_a_limit() {
    run_all(2, |rank| {
        let window = counted(rank, 1, 4);
        let own = Notifications::of(&window);
        assert_eq!(own.wait_any(0..4, 1, Some(Duration::ZERO)).unwrap(), None);
        let (start, limit) = (Instant::now(), Duration::from_millis(5));
        assert_eq!(own.wait_any(1..3, 1, Some(limit)).unwrap(), None);
        assert!(start.elapsed() >= limit);
        assert_eq!(own.wait_any(2..2, 1, None).unwrap_err().class(), ErrorClass::Arg);
        assert_eq!(own.wait_any(2..5, 1, None).unwrap_err().class(), ErrorClass::RmaNotification);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_notified_put_is_one_packet_that_leaves_with_its_call() {
    for setup in [Setup::packets(2), Setup::packets(2).smallest()] {
        run(&setup, |rank| {
            let window = counted(rank, 2, 1);
            for round in 0..2 {
                if rank.me == 0 {
                    window.lock(Shared, Rank(1), Assert::NO_CHECK).unwrap();
                }
                rank.barrier();
                if rank.me == 0 {
                    let before = window.counters().packets_sent;
                    Notifying::of(&window, 0).put(from(&[1]), Rank(1), Disp(0)).unwrap();
                    assert_eq!(window.counters().packets_sent - before, 1, "round {round}");
                } else {
                    Notifications::of(&window).wait(0, round + 1).unwrap();
                }
                rank.barrier();
                if rank.me == 0 {
                    window.unlock(Rank(1)).unwrap();
                }
                rank.barrier();
            }
            window.free().unwrap();
        });
    }
}

/// Creates a window at ranks that one thread drives, with one counter each and these hints.
fn stepped_windows(world: &Stepped, elements: u64, hints: &Hints) -> Vec<Window> {
    let windows = world.allocate(elements);
    windows.iter().for_each(|window| window.set_hints(hints));
    let mut settings: Vec<_> =
        windows.iter().map(|window| CounterSetting::begin(window, Ok(1)).unwrap()).collect();
    world.until("counters", || {
        settings.retain_mut(|setting| !setting.poll().unwrap());
        settings.is_empty()
    });
    windows
}

#[test]
fn a_wait_ends_when_a_rank_that_may_raise_the_counter_dies() {
    for setup in [Setup::packets(2), Setup::direct(2)] {
        let mut world = Stepped::new(&setup, 1);
        let mut windows = stepped_windows(&world, 1, &Hints::default());
        windows.pop();
        world.engines[1] = None;
        let window = &windows[0];
        let own = Notifications::of(window);
        assert_eq!(own.wait(0, 0).unwrap(), 0, "what has come counts");
        let mut ended = None;
        world.until("the death is noticed", || {
            ended = own.wait_any(0..1, 1, Some(Duration::ZERO)).err();
            ended.is_some()
        });
        let error = ended.unwrap();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
        assert!(error.to_string().contains("rank 1"), "{error}");
        let request = NotificationRequest::new(window, 0, 1).unwrap();
        assert_eq!(request.is_complete().unwrap_err().class(), ErrorClass::ProcFailed);
    }
}

#[test]
fn a_notice_that_covers_earlier_operations_waits_for_their_transfers() {
    let mut setup = Setup::packets(2);
    setup.sim.transfers = 1;
    for is_ordered in [false, true] {
        let mut raised_early = 0;
        for seed in 0..20 {
            let world = Stepped::new(&setup, seed);
            let mut hints = Hints::default();
            assert!(hints.set("mpix_notify_ordered", if is_ordered { "true" } else { "false" }));
            let windows = stepped_windows(&world, 1000, &hints);
            let mut lock = windows[0].begin_lock(Shared, Rank(1), Assert::NO_CHECK).unwrap();
            world.until("lock", || windows[0].poll_sync(&mut lock).unwrap());
            let data = vec![9u64; 900];
            // The first put asks for the key of the memory.
            for _ in 0..2 {
                assert!(windows[0].try_put(from(&data[..100]), Rank(1), Disp(0)).unwrap());
                let mut flush = windows[0].begin_flush(Rank(1)).unwrap();
                world.until("flush", || windows[0].poll_sync(&mut flush).unwrap());
            }
            assert!(windows[0].try_put(from(&data), Rank(1), Disp(0)).unwrap());
            let ty = words();
            let origin = Origin { base: data.as_ptr().cast(), count: 1, ty: &ty };
            let area = TargetArea { disp: Disp(999), count: 1, ty: &ty };
            // SAFETY: the data are kept until the flush.
            assert!(unsafe { Notifying::of(&windows[0], 0).try_put_typed(origin, Rank(1), area) }.unwrap());
            world.until("notice", || Notifications::of(&windows[1]).value(0).unwrap() == 1);
            assert_eq!(local(&windows[1], 999), 9, "its own data");
            raised_early += u32::from(local(&windows[1], 899) != 9);
            let mut flush = windows[0].begin_flush(Rank(1)).unwrap();
            world.until("flush", || windows[0].poll_sync(&mut flush).unwrap());
            assert!(windows[0].counters().transfers > 0, "the puts are transfers");
            let mut unlock = windows[0].begin_unlock(Rank(1)).unwrap();
            world.until("unlock", || windows[0].poll_sync(&mut unlock).unwrap());
        }
        assert_eq!(raised_early > 0, !is_ordered, "{raised_early} of 20 notices came before the transfers");
    }
}

#[test]
fn an_access_that_the_target_refuses_raises_nothing() {
    run_all(2, |rank| {
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        notify::set_counters(&window, 1).unwrap();
        let other = Rank(1 - rank.me);
        window.lock(Shared, other, Assert::NONE).unwrap();
        let put = Notifying::of(&window, 0).put(from(&[1]), other, Disp(4096));
        let error = put.and(window.unlock(other)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        rank.barrier();
        assert_eq!(Notifications::of(&window).value(0).unwrap(), 0);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_wait_is_for_a_number_or_more_and_one_for_any_counter_gives_the_first() {
    run_all(2, |rank| {
        let (window, other) = (counted(rank, 1, 4), Rank(1 - rank.me));
        window.lock_all(Assert::NONE).unwrap();
        for counter in [2, 2, 1, 1] {
            Notifying::of(&window, counter).put(from(&[7]), other, Disp(0)).unwrap();
        }
        let own = Notifications::of(&window);
        assert_eq!((own.wait(1, 2).unwrap(), own.wait(2, 2).unwrap()), (2, 2));
        assert_eq!((own.wait(1, 1).unwrap(), own.wait_any(0..4, 1, None).unwrap()), (2, Some(1)));
        window.unlock_all().unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_waiter_is_woken_by_another_thread_of_its_rank() {
    for setup in [Setup::direct(1), Setup::packets(1)] {
        run(&setup, |rank| {
            let window = counted(rank, 1, 1);
            window.lock_all(Assert::NONE).unwrap();
            for round in 1..=5 {
                std::thread::scope(|scope| {
                    let slept = rank.engine.counters().sleeps;
                    let waiter = scope.spawn(|| Notifications::of(&window).wait(0, round));
                    let start = Instant::now();
                    while rank.engine.counters().sleeps == slept {
                        assert!(start.elapsed() < Duration::from_secs(20), "the waiter does not fall asleep");
                        std::thread::yield_now();
                    }
                    Notifying::of(&window, 0).put(from(&[round]), Rank(0), Disp(0)).unwrap();
                    assert_eq!(waiter.join().unwrap(), Ok(round));
                });
            }
            window.unlock_all().unwrap();
            window.free().unwrap();
        });
    }
}

#[test]
fn counters_of_a_revoked_window_are_not_set_or_waited_for() {
    run_all(2, |rank| {
        let window = counted(rank, 1, 1);
        rank.barrier();
        window.revoke();
        let set = notify::set_counters(&window, 1).unwrap_err();
        let waited = Notifications::of(&window).wait(0, 1).unwrap_err();
        assert_eq!((set.class(), waited.class()), (ErrorClass::Revoked, ErrorClass::Revoked));
        rank.barrier();
        let _ = window.free();
    });
}

#[test]
fn a_request_for_a_counter_ends_with_its_window() {
    run_all(2, |rank| {
        let window = counted(rank, 1, 1);
        let (request, reached) =
            (NotificationRequest::new(&window, 0, 1), NotificationRequest::new(&window, 0, 0));
        rank.barrier();
        window.free().unwrap();
        for ended in
            [request.as_ref().unwrap().is_complete(), request.as_ref().unwrap().wait().map(|()| true)]
        {
            assert_eq!(ended.unwrap_err().class(), ErrorClass::Win);
        }
        assert!(reached.unwrap().is_complete().unwrap(), "what has come counts");
    });
}

#[test]
fn there_is_room_for_so_many_counters_and_no_more() {
    run(&Setup::direct(1), |rank| {
        let window = hinted(rank, 1, "mpi_assert_max_num_notify", "2000000");
        assert_eq!(notify::room_for_counters(&window), 1 << 20);
        window.free().unwrap();
    });
}
