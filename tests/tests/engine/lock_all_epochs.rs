//! Lock_all and unlock_all of ranks of a node, on memory that all map and on memory of their own: they need
//! no engine while nothing else goes on, and no packet; the engine can take the epoch over at any call, the
//! locks are what others see, go back when operations are complete, and no rank is left asleep.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Origin, TargetArea, Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, refused, run};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ELEMENTS: usize = 8;
const ROUNDS: u64 = 320;

/// Three ranks of a node, and a window of their own memory, of as many elements; the memory is to be kept as long.
fn created(seed: u64, len: impl Fn(u32) -> usize) -> (Stepped, Vec<Option<Window>>, Vec<[u64; ELEMENTS]>) {
    let world = Stepped::new(&Setup::direct(3), seed);
    let mut memory = vec![[0; ELEMENTS]; 3];
    let spans: Vec<_> = memory.iter_mut().map(|elements| into(elements)).collect();
    let spec = |me: u32| WindowSpec::Create { memory: spans[me as usize].part(0, 8 * len(me)), unit: 8 };
    let windows = world.windows(spec);
    (world, windows.into_iter().map(Some).collect(), memory)
}

fn window(windows: &[Option<Window>], rank: usize) -> &Window {
    windows[rank].as_ref().expect("the rank lives")
}

/// Three ranks of a node, and a window of memory that all map.
fn mapped(seed: u64) -> (Stepped, Vec<Window>) {
    let world = Stepped::new(&Setup::direct(3), seed);
    let windows = world.allocate(ELEMENTS as u64);
    (world, windows)
}

/// Does `test` with a window of either kind.
fn with_both(seed: u64, test: impl Fn(&Stepped, &[Window; 3])) {
    let (world, windows) = mapped(seed);
    test(&world, &windows.try_into().unwrap());
    let (world, windows, _memory) = created(seed, |_| ELEMENTS);
    test(&world, &[0, 1, 2].map(|rank| window(&windows, rank).clone()));
}

fn are_all_free(world: &Stepped, window: &Window) -> bool {
    (0..3).all(|target| world.is_free(window, target))
}

#[test]
fn epochs_of_mapped_memory_take_no_step_of_the_engine() {
    let (world, windows) = mapped(41);
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
    assert!(are_all_free(&world, &windows[1]), "no lock is left behind");
}

#[test]
fn epochs_without_operations_take_no_step_of_the_engine_and_no_packet() {
    with_both(51, |world, [origin, other, _]| {
        let before = world.engine(0).counters();
        for _ in 0..ROUNDS {
            origin.lock_all(Assert::NONE).unwrap();
            origin.unlock_all().unwrap();
        }
        let after = world.engine(0).counters();
        let steps = after.progress_steps - before.progress_steps;
        assert!(steps < ROUNDS / 4, "{steps} steps in {ROUNDS} epochs");
        assert_eq!(after.packets_sent, before.packets_sent);
        assert!(are_all_free(world, other), "no lock is left behind");
    });
}

#[test]
fn the_engine_takes_the_epoch_over_at_any_call() {
    with_both(52, |world, [origin, other, _]| {
        let (ty, value, mut old) = (Datatype::basic(BasicType::U64), [9], [0]);
        let result = into(&mut old);
        let calls: [&dyn Fn(); 11] = [
            &|| {},
            &|| refused(origin.lock(Exclusive, Rank(1), Assert::NONE), &["lock_all"]),
            &|| refused(origin.unlock(Rank(1)), &["lock"]),
            &|| refused(origin.lock_all(Assert::NONE), &["lock_all"]),
            &|| refused(origin.start(&[Rank(1)], Assert::NONE), &["lock_all"]),
            &|| refused(origin.fence(Assert::NONE), &["lock_all"]),
            &|| refused(origin.clone().free(), &["lock_all"]),
            &|| world.finish(origin, "flush_all", origin.begin_flush_all().unwrap()).unwrap(),
            &|| origin.get(result, Rank(2), Disp(7)).unwrap(),
            &|| origin.put(from(&[4]), Rank(2), Disp(6)).unwrap(),
            &|| {
                let words = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
                let area = TargetArea { disp: Disp(3), count: 1, ty: &ty };
                // SAFETY: the value lives until the end of the test.
                let request = unsafe { origin.rput(words, Rank(2), area) }.unwrap();
                assert!(!origin.is_direct(Rank(2)) || request.is_complete().unwrap());
            },
        ];
        for (case, call) in calls.into_iter().enumerate() {
            for comes_first in [true, false] {
                origin.lock_all(Assert::NONE).unwrap();
                if comes_first {
                    call();
                    world.pump();
                }
                origin.put(from(&value), Rank(1), Disp(1)).unwrap();
                if !comes_first {
                    call();
                }
                // Others see the locks either way.
                let mut waits = other.begin_lock(Exclusive, Rank(2), Assert::NONE).unwrap();
                assert!(!other.poll_sync(&mut waits).unwrap(), "case {case}");
                world.finish(origin, "unlock_all", origin.begin_unlock_all().unwrap()).unwrap();
                assert_eq!((local(other, 1), origin.outstanding()), (9, 0), "case {case}");
                world.finish(other, "lock", waits).unwrap();
                world.finish(other, "unlock", other.begin_unlock(Rank(2)).unwrap()).unwrap();
                refused(origin.unlock_all(), &["lock_all has not been called"]);
                assert!(are_all_free(world, other), "case {case}");
            }
        }
    });
}

#[test]
fn what_is_locked_already_is_waited_for_in_line() {
    with_both(53, |world, [origin, other, _]| {
        origin.lock(Shared, Rank(2), Assert::NONE).unwrap();
        refused(origin.lock_all(Assert::NONE), &["lock"]);
        origin.unlock(Rank(2)).unwrap();
        refused(origin.unlock_all(), &["lock_all has not been called"]);
        // Another rank has the last one's lock: those taken before it are given back, and taken again in line.
        other.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
        let mut lock = origin.begin_lock_all(Assert::NONE).unwrap();
        assert!(!origin.poll_sync(&mut lock).unwrap());
        other.unlock(Rank(2)).unwrap();
        world.finish(origin, "lock_all", lock).unwrap();
        origin.unlock_all().unwrap();
        assert!(are_all_free(world, other));
        // Without checks no lock is taken, and none given back.
        origin.lock_all(Assert::NO_CHECK).unwrap();
        assert!(world.is_free(other, 2));
        origin.unlock_all().unwrap();
        assert!(are_all_free(world, other));
    });
}

/// Lets rank 0 of a world lock all, in a thread, while its turn at some rank has not come, and `meanwhile` once it stands in line.
fn lock_all_in_line<T>(world: &Stepped, origin: &Window, meanwhile: impl FnOnce() -> T) -> T {
    let waited = || world.engine(0).counters().locks_waited;
    let before = waited();
    std::thread::scope(|scope| {
        let epoch = scope.spawn(|| {
            origin.lock_all(Assert::NONE).unwrap();
            origin.unlock_all().unwrap();
        });
        while waited() == before && !epoch.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(waited() - before, 1, "it stands in line");
        let seen = meanwhile();
        while !epoch.is_finished() {
            world.pump();
        }
        seen
    })
}

#[test]
fn what_was_locked_in_vain_is_given_back_before_the_call_waits_in_line() {
    let (world, windows) = mapped(44);
    windows[1].lock(Exclusive, Rank(2), Assert::NONE).unwrap();
    let is_open = lock_all_in_line(&world, &windows[0], || {
        let is_open = (0..3).any(|target| windows[0].direct_path().is_locked(Rank(target)));
        windows[1].unlock(Rank(2)).unwrap();
        is_open
    });
    assert!(!is_open);
    assert!(are_all_free(&world, &windows[1]), "each lock was given back once");
}

#[test]
fn no_rank_that_waits_in_line_is_passed() {
    let (world, windows) = mapped(45);
    windows[1].lock(Shared, Rank(0), Assert::NONE).unwrap();
    let mut waits = windows[2].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    assert!(!windows[2].poll_sync(&mut waits).unwrap());
    lock_all_in_line(&world, &windows[0], || {
        windows[1].unlock(Rank(0)).unwrap();
        world.finish(&windows[2], "lock", waits).unwrap();
        windows[2].unlock(Rank(0)).unwrap();
    });
    assert!(are_all_free(&world, &windows[1]));
}

/// Epochs of all ranks beside exclusive locks of all ranks: each change is seen whole, waiting ranks are
/// rung, and the locks are given back when operations are complete and not before.
#[test]
fn they_keep_exclusive_locks_out_until_operations_are_complete() {
    for setup in [Setup::direct(3), Setup::direct(3).smallest()] {
        run(&setup, |rank| excludes(rank, &rank.allocate(ELEMENTS as u64)));
    }
    run(&Setup::direct(3), |rank| {
        let mut memory = [0; ELEMENTS];
        excludes(rank, &rank.create(&mut memory));
    });
}

fn excludes(rank: &TestRank, window: &Window) {
    const ROUNDS: u32 = 150;
    rank.barrier();
    for round in 0..ROUNDS {
        let target = (rank.me + round) % rank.size;
        if round % 3 == rank.me {
            window.lock(Exclusive, Rank(target), Assert::NONE).unwrap();
            let old = window.fetch_add(target, 0, 1).unwrap();
            assert_eq!(window.fetch_add(target, 1, 1).unwrap(), old, "no other came in between");
            window.unlock(Rank(target)).unwrap();
            continue;
        }
        window.lock_all(Assert::NONE).unwrap();
        let values = [u64::from(round)];
        match round % 5 {
            // Nothing, a look, one store, stores to all, and more than one to each.
            0 => {}
            1 => {
                for target in 0..rank.size {
                    let counts = [0, 1].map(|at| window.fetch_add(target, at, 0).unwrap());
                    assert_eq!(counts[0], counts[1], "an exclusive lock is inside");
                }
            }
            2 => window.put(from(&values), Rank(target), Disp(2)).unwrap(),
            rest => {
                for target in 0..rank.size {
                    for at in 3..rest.into() {
                        window.put(from(&values), Rank(target), Disp(at)).unwrap();
                    }
                    window.accumulate(from(&[1]), kernel(ReduceOp::Sum), Rank(target), Disp(5)).unwrap();
                }
            }
        }
        window.unlock_all().unwrap();
        assert_eq!(window.outstanding(), 0);
    }
    rank.barrier();
    window.lock_all(Assert::NONE).unwrap();
    let sums = [0, 5].map(|at| (0..3).map(|target| window.fetch_add(target, at, 0).unwrap()).sum::<u64>());
    let calls = (0..ROUNDS).flat_map(|round| (0..3u32).map(move |me| (round, me)));
    let (inside, outside): (Vec<_>, Vec<_>) = calls.partition(|(round, me)| round % 3 == *me);
    let stores = outside.iter().filter(|(round, _)| round % 5 > 2).count() as u64;
    assert_eq!(sums, [inside.len() as u64, 3 * stores]);
    window.unlock_all().unwrap();
    rank.barrier();
    window.clone().free().unwrap();
}

#[test]
fn threads_that_open_an_epoch_at_a_time_are_refused_or_let_in_one_by_one() {
    run(&Setup::direct(2), |rank| {
        let window = rank.allocate(8);
        rank.barrier();
        let opened = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        match window.lock_all(Assert::NONE) {
                            Ok(()) => {
                                opened.fetch_add(1, Relaxed);
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

#[test]
fn an_error_that_only_the_target_knows_is_raised_by_unlock_all_and_the_locks_go_back() {
    let address = AtomicU64::new(0);
    run(&Setup::direct(2), |rank| {
        let mut memory = vec![0; ELEMENTS];
        let window = rank.engine.create_window(rank.group(), WindowSpec::Dynamic).unwrap();
        if rank.me == 1 {
            // SAFETY: the memory is dropped after the window.
            unsafe { window.attach(into(&mut memory)) }.unwrap();
            address.store(memory.as_ptr() as u64, Relaxed);
        }
        rank.barrier();
        if rank.me == 0 {
            window.lock_all(Assert::NONE).unwrap();
            window.put(from(&[1]), Rank(1), Disp(5)).unwrap();
            let error = window.unlock_all().unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            window.put(from(&[2]), Rank(1), Disp(address.load(Relaxed) + 24)).unwrap();
            window.unlock(Rank(1)).unwrap();
        }
        rank.barrier();
        if rank.me == 1 {
            assert_eq!(std::hint::black_box(&memory)[3], 2);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn an_error_that_has_come_already_is_raised_by_unlock_all() {
    let mut memory = [0; ELEMENTS];
    let world = Stepped::new(&Setup::direct(3), 55);
    let windows = world.windows(|_| WindowSpec::Dynamic).into_iter().map(Some).collect::<Vec<_>>();
    // SAFETY: the memory is dropped after the windows.
    unsafe { window(&windows, 1).attach(into(&mut memory)) }.unwrap();
    let place = Disp(memory.as_ptr() as u64);
    let (origin, ty) = (window(&windows, 0), Datatype::basic(BasicType::U64));
    let (value, mut seen) = ([3], [0]);
    origin.lock_all(Assert::NONE).unwrap();
    origin.put(from(&value), Rank(1), place).unwrap();
    world.finish(origin, "flush", origin.begin_flush(Rank(1)).unwrap()).unwrap();
    let words = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
    let area = TargetArea { disp: Disp(6), count: 1, ty: &ty };
    // SAFETY: the value lives until the end of the test.
    assert!(unsafe { origin.rput(words, Rank(1), area) }.unwrap().is_complete().unwrap());
    origin.get(into(&mut seen), Rank(1), place).unwrap();
    (0..100).for_each(|_| world.pump());
    assert_eq!((seen, origin.outstanding()), ([3], 0), "nothing is under way any more");
    assert_eq!(origin.unlock_all().unwrap_err().class(), ErrorClass::RmaRange);
    assert!(are_all_free(&world, window(&windows, 1)), "and the locks go back");
}

#[test]
fn the_death_of_a_target_is_told_by_unlock_all_and_the_others_locks_go_back() {
    let cases = [(true, false), (true, true), (false, false)];
    let asserts = [Assert::NONE, Assert::NO_CHECK];
    for (assert, (has_store, is_far)) in
        asserts.into_iter().flat_map(|assert| cases.map(|case| (assert, case)))
    {
        let (mut world, mut windows, _memory) = created(54, |_| ELEMENTS);
        let seen = [1];
        {
            let origin = window(&windows, 0);
            origin.lock_all(Assert::NONE).unwrap();
            // The first store makes the element of its target.
            origin.put(from(&seen), Rank(1), Disp(1)).unwrap();
            world.finish(origin, "flush", origin.begin_flush(Rank(1)).unwrap()).unwrap();
            world.finish(origin, "unlock_all", origin.begin_unlock_all().unwrap()).unwrap();
            origin.lock_all(assert).unwrap();
            if has_store {
                origin.put(from(&seen), Rank(1), Disp(2)).unwrap();
            }
        }
        if is_far {
            world.pump();
        }
        (windows[1], world.engines[1]) = (None, None);
        world.pump();
        let origin = window(&windows, 0);
        let outcome = origin.begin_unlock_all().and_then(|end| world.finish(origin, "unlock_all", end));
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::ProcFailed, "{assert:?} {has_store} {is_far}");
        assert!(world.is_free(window(&windows, 2), 2), "the lock of the living rank is free");
    }
}

/// What a call answers that goes by without a poll, once `polls` has let it.
fn now<T>(mut call: impl FnMut() -> Option<T>, polls: impl Fn()) -> T {
    for _ in 0..100 {
        if let Some(answer) = call() {
            return answer;
        }
        polls();
    }
    panic!("the call has not gone by in 100 tries")
}

#[test]
fn locks_taken_in_vain_go_back_and_waiters_are_woken_by_a_caller_without_a_frame() {
    let world = Stepped::new(&Setup::direct(3), 61);
    let windows = world.allocate(2);
    let path = windows[0].direct_path();
    windows[1].lock(Exclusive, Rank(1), Assert::NONE).unwrap();
    let lock_and_unlock = || {
        windows[0].lock(Exclusive, Rank(2), Assert::NONE).unwrap();
        windows[0].unlock(Rank(2)).unwrap();
    };
    let held = now(|| path.try_lock_all(), lock_and_unlock).unwrap_err();
    let mut waiting = windows[2].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    assert!(
        !windows[2].poll_sync(&mut waiting).unwrap(),
        "the lock of rank 0 is held until it is given back"
    );
    windows[0].give_back(held);
    world.finish(&windows[2], "lock", waiting).unwrap();
    windows[2].unlock(Rank(0)).unwrap();
    windows[1].unlock(Rank(1)).unwrap();
    now(|| path.try_lock_all(), lock_and_unlock).unwrap();
    let mut waiting = windows[2].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
    assert!(!windows[2].poll_sync(&mut waiting).unwrap());
    let released = now(|| path.try_unlock_all(), || windows[0].flush_all().unwrap()).unwrap_err();
    windows[0].end_unlock_all(released);
    world.finish(&windows[2], "lock", waiting).unwrap();
    windows[2].unlock(Rank(1)).unwrap();
    assert!((0..3).all(|rank| world.is_free(&windows[1], rank)));
}
