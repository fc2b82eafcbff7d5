//! Lock_all and unlock_all of ranks that map each other, which need no engine while nothing else goes on (`rma-core`,
//! `window/quick.rs`): that they do without, that the engine can take the epoch over at any call, that the locks are what others
//! see, and that nobody is left asleep.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Origin, TargetArea};
use rma_core::{Error, ErrorClass};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, from, local, run};

const ROUNDS: u64 = 320;

fn refused(outcome: Result<(), Error>, words: &[&str]) {
    let error = outcome.expect_err("the call is wrong");
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    let text = error.to_string();
    words.iter().for_each(|word| assert!(text.contains(word), "{word:?} is not said: {text}"));
}

#[test]
fn they_take_no_step_of_the_engine() {
    let world = Stepped::new(&Setup::direct(3), 41);
    let windows = world.allocate(4);
    let before = world.engine(0).counters().progress_steps;
    for round in 1..=ROUNDS {
        let value = [round];
        windows[0].lock_all(Assert::NONE).unwrap();
        (0..3).for_each(|target| windows[0].put(from(&value), Rank(target), Disp(2)).unwrap());
        windows[0].flush_all().unwrap();
        windows[0].unlock_all().unwrap();
        assert!(windows.iter().all(|window| local(window, 2) == round));
    }
    let taken = world.engine(0).counters().progress_steps - before;
    assert!(taken < ROUNDS / 4, "{taken} steps in {ROUNDS} epochs");
    assert!((0..3).all(|target| world.is_free(&windows[1], target)), "no lock is left behind");
}

#[test]
fn the_engine_takes_the_epoch_over_at_any_call() {
    let world = Stepped::new(&Setup::direct(3), 42);
    let windows = world.allocate(4);
    let (origin, value) = (&windows[0], [9]);
    let ty = Datatype::basic(BasicType::U64);
    let others: [&dyn Fn(); 8] = [
        &|| refused(origin.lock(Exclusive, Rank(1), Assert::NONE), &["lock_all"]),
        &|| refused(origin.unlock(Rank(1)), &["lock"]),
        &|| refused(origin.lock_all(Assert::NONE), &["lock_all"]),
        &|| refused(origin.start(&[Rank(1)], Assert::NONE), &["lock_all"]),
        &|| refused(origin.fence(Assert::NONE), &["lock_all"]),
        &|| refused(origin.clone().free(), &["lock_all"]),
        &|| world.finish(origin, "flush_all", origin.begin_flush_all().unwrap()).unwrap(),
        &|| {
            let words = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
            let area = TargetArea { disp: Disp(3), count: 1, ty: &ty };
            // SAFETY: the value lives until the end of the test.
            assert!(unsafe { origin.rput(words, Rank(2), area) }.unwrap().is_complete().unwrap());
        },
    ];
    for (case, other) in others.into_iter().enumerate() {
        for takes_over in [true, false] {
            origin.lock_all(Assert::NONE).unwrap();
            if takes_over {
                other();
                world.pump();
            }
            origin.put(from(&value), Rank(1), Disp(1)).unwrap();
            // Others see the locks either way.
            let mut waits = windows[1].begin_lock(Exclusive, Rank(2), Assert::NONE).unwrap();
            assert!(!windows[1].poll_sync(&mut waits).unwrap(), "case {case}");
            world.finish(origin, "unlock_all", origin.begin_unlock_all().unwrap()).unwrap();
            world.finish(&windows[1], "lock", waits).unwrap();
            windows[1].unlock(Rank(2)).unwrap();
            refused(origin.unlock_all(), &["lock_all has not been called"]);
            assert!((0..3).all(|target| world.is_free(&windows[1], target)), "case {case}");
            assert_eq!(local(&windows[1], 1), 9);
        }
    }
}

#[test]
fn what_is_locked_or_open_already_takes_the_long_way() {
    let world = Stepped::new(&Setup::direct(3), 43);
    let windows = world.allocate(4);
    windows[0].lock(Shared, Rank(2), Assert::NONE).unwrap();
    refused(windows[0].lock_all(Assert::NONE), &["lock"]);
    windows[0].unlock(Rank(2)).unwrap();
    refused(windows[0].unlock_all(), &["lock_all has not been called"]);
    // Another rank has the last one's lock: those taken before it are given back, and taken again in line.
    windows[1].lock(Exclusive, Rank(2), Assert::NONE).unwrap();
    let mut lock = windows[0].begin_lock_all(Assert::NONE).unwrap();
    assert!(!windows[0].poll_sync(&mut lock).unwrap());
    windows[1].unlock(Rank(2)).unwrap();
    world.finish(&windows[0], "lock_all", lock).unwrap();
    windows[0].unlock_all().unwrap();
    assert!((0..3).all(|target| world.is_free(&windows[1], target)));
    // Without checks no lock is taken, and none given back.
    windows[0].lock_all(Assert::NO_CHECK).unwrap();
    assert!(world.is_free(&windows[1], 2));
    windows[0].unlock_all().unwrap();
}

#[test]
fn what_was_locked_in_vain_is_given_back_before_the_call_waits_in_line() {
    let world = Stepped::new(&Setup::direct(3), 44);
    let windows = world.allocate(4);
    windows[1].lock(Exclusive, Rank(2), Assert::NONE).unwrap();
    let waited = || world.engine(0).counters().locks_waited;
    let before = waited();
    let origin = &windows[0];
    let is_open = std::thread::scope(|scope| {
        let epoch = scope.spawn(|| {
            origin.lock_all(Assert::NONE).unwrap();
            origin.unlock_all().unwrap();
        });
        while waited() == before && !epoch.is_finished() {
            std::thread::yield_now();
        }
        let is_open = (0..3).any(|target| origin.direct_path().is_locked_now(Rank(target)));
        windows[1].unlock(Rank(2)).unwrap();
        while !epoch.is_finished() {
            world.pump();
        }
        is_open
    });
    assert!(waited() > before && !is_open, "it stood in line");
    assert!((0..3).all(|target| world.is_free(&windows[1], target)), "each lock was given back once");
}

#[test]
fn nobody_who_waits_in_line_is_passed() {
    let world = Stepped::new(&Setup::direct(3), 45);
    let windows = world.allocate(4);
    windows[1].lock(Shared, Rank(0), Assert::NONE).unwrap();
    let mut waits = windows[2].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    assert!(!windows[2].poll_sync(&mut waits).unwrap());
    let waited = || world.engine(0).counters().locks_waited;
    let (before, origin) = (waited(), &windows[0]);
    std::thread::scope(|scope| {
        let epoch = scope.spawn(|| {
            origin.lock_all(Assert::NONE).unwrap();
            origin.unlock_all().unwrap();
        });
        while waited() == before && !epoch.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(waited() - before, 1, "it stands in line behind the exclusive lock");
        windows[1].unlock(Rank(0)).unwrap();
        world.finish(&windows[2], "lock", waits).unwrap();
        windows[2].unlock(Rank(0)).unwrap();
        while !epoch.is_finished() {
            world.pump();
        }
    });
    assert!((0..3).all(|target| world.is_free(&windows[1], target)));
}

/// Epochs of all ranks beside exclusive locks of all ranks: each change is seen whole, and who waits is rung.
#[test]
fn they_exclude_exclusive_locks_and_ring_those_who_wait() {
    for setup in [Setup::direct(3), Setup::direct(3).smallest()] {
        run(&setup, |rank| {
            let window = rank.allocate(8);
            rank.barrier();
            for round in 0..150u32 {
                let target = (rank.me + round) % rank.size;
                if round % 3 == rank.me {
                    window.lock(Exclusive, Rank(target), Assert::NONE).unwrap();
                    let old = window.fetch_add(target, 0, 1).unwrap();
                    assert_eq!(window.fetch_add(target, 1, 1).unwrap(), old, "nobody came in between");
                    window.unlock(Rank(target)).unwrap();
                } else {
                    window.lock_all(Assert::NONE).unwrap();
                    for target in 0..rank.size {
                        let counts = [0, 1].map(|at| window.fetch_add(target, at, 0).unwrap());
                        assert_eq!(counts[0], counts[1], "an exclusive lock is inside");
                    }
                    window.unlock_all().unwrap();
                }
            }
            rank.barrier();
            window.lock_all(Assert::NONE).unwrap();
            let sum: u64 = (0..rank.size).map(|target| window.fetch_add(target, 0, 0).unwrap()).sum();
            assert_eq!(sum, 150);
            window.unlock_all().unwrap();
            rank.barrier();
            window.free().unwrap();
        });
    }
}

#[test]
fn threads_that_open_an_epoch_at_a_time_are_refused_or_let_in_one_by_one() {
    run(&Setup::direct(2), |rank| {
        let window = rank.allocate(8);
        rank.barrier();
        let opened = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        match window.lock_all(Assert::NONE) {
                            Ok(()) => {
                                opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                                window.fetch_add(0, 3, 1).unwrap();
                                window.unlock_all().unwrap();
                            }
                            Err(error) => assert_eq!(error.class(), ErrorClass::RmaSync, "{error}"),
                        }
                    }
                });
            }
        });
        let opened = opened.into_inner();
        assert!(opened > 0);
        rank.barrier();
        window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
        let sum = window.fetch_add(0, 3, 0).unwrap();
        window.unlock(Rank(0)).unwrap();
        assert!(sum >= opened);
        rank.barrier();
        window.free().unwrap();
    });
}
