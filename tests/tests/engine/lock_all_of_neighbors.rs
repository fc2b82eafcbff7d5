//! Lock_all and unlock_all of ranks of a node whose memory is their own (`rma-core`, `window/quick.rs`): the locks are words, the call
//! asks the engine for no more than whether operations are complete, and the engine can take the epoch over at any call.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Origin, TargetArea, Window, WindowSpec};
use rma_core::{Error, ErrorClass};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, from, into, kernel, local, run};

const ELEMENTS: usize = 8;

fn refused(outcome: Result<(), Error>, words: &[&str]) {
    let error = outcome.expect_err("the call is wrong");
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    let text = error.to_string();
    words.iter().for_each(|word| assert!(text.contains(word), "{word:?} is not said: {text}"));
}

/// Three ranks of a node, and a window of their own memory; the memory is to be kept as long.
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

#[test]
fn epochs_without_operations_take_no_step_of_the_engine_and_no_packet() {
    let (world, windows, _memory) = created(51, |_| ELEMENTS);
    let before = world.engine(0).counters();
    for _ in 0..320 {
        window(&windows, 0).lock_all(Assert::NONE).unwrap();
        window(&windows, 0).unlock_all().unwrap();
    }
    let after = world.engine(0).counters();
    let steps = after.progress_steps - before.progress_steps;
    assert!(steps < 80, "{steps} steps in 320 epochs");
    assert_eq!(after.packets_sent, before.packets_sent);
    assert!((0..3).all(|target| world.is_free(window(&windows, 1), target)), "no lock is left behind");
}

#[test]
fn the_locks_are_given_back_when_operations_are_complete_and_not_before() {
    run(&Setup::direct(3), |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        rank.barrier();
        for round in 0..100u32 {
            let target = (rank.me + round) % rank.size;
            if round % 3 == rank.me {
                window.lock(Exclusive, Rank(target), Assert::NONE).unwrap();
                let old = window.fetch_add(target, 0, 1).unwrap();
                assert_eq!(window.fetch_add(target, 1, 1).unwrap(), old, "nobody came in between");
                window.unlock(Rank(target)).unwrap();
            } else {
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
                            window
                                .accumulate(from(&[1]), kernel(ReduceOp::Sum), Rank(target), Disp(5))
                                .unwrap();
                        }
                    }
                }
                window.unlock_all().unwrap();
                assert_eq!(window.outstanding(), 0);
            }
        }
        rank.barrier();
        window.lock_all(Assert::NONE).unwrap();
        let sums =
            [0, 5].map(|at| (0..3).map(|target| window.fetch_add(target, at, 0).unwrap()).sum::<u64>());
        let exclusive = (0..100u32).flat_map(|round| (0..3u32).map(move |me| (round, me)));
        let (inside, outside): (Vec<_>, Vec<_>) = exclusive.partition(|(round, me)| round % 3 == *me);
        let stores = outside.iter().filter(|(round, _)| round % 5 > 2).count() as u64;
        assert_eq!(sums, [inside.len() as u64, 3 * stores]);
        window.unlock_all().unwrap();
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn the_engine_takes_the_epoch_over_at_any_call() {
    let (world, windows, _memory) = created(52, |_| ELEMENTS);
    let (origin, other) = (window(&windows, 0), window(&windows, 1));
    let mut old = [0];
    let result = into(&mut old);
    let calls: [&dyn Fn(); 9] = [
        &|| {},
        &|| refused(origin.lock(Exclusive, Rank(1), Assert::NONE), &["lock_all"]),
        &|| refused(origin.unlock(Rank(1)), &["lock"]),
        &|| refused(origin.lock_all(Assert::NONE), &["lock_all"]),
        &|| refused(origin.start(&[Rank(1)], Assert::NONE), &["lock_all"]),
        &|| refused(origin.fence(Assert::NONE), &["lock_all"]),
        &|| world.finish(origin, "flush_all", origin.begin_flush_all().unwrap()).unwrap(),
        &|| origin.get(result, Rank(2), Disp(7)).unwrap(),
        &|| origin.put(from(&[4]), Rank(2), Disp(6)).unwrap(),
    ];
    for (case, call) in calls.into_iter().enumerate() {
        for comes_first in [true, false] {
            origin.lock_all(Assert::NONE).unwrap();
            if comes_first {
                call();
                world.pump();
            }
            origin.put(from(&[9]), Rank(1), Disp(1)).unwrap();
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
            assert!((0..3).all(|target| world.is_free(other, target)), "case {case}");
        }
    }
}

#[test]
fn what_is_locked_already_takes_the_long_way() {
    let (world, windows, _memory) = created(53, |_| ELEMENTS);
    let (origin, other) = (window(&windows, 0), window(&windows, 1));
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
    assert!((0..3).all(|target| world.is_free(other, target)));
}

#[test]
fn an_error_that_only_the_target_knows_is_raised_by_unlock_all_and_the_locks_go_back() {
    run(&Setup::direct(2), |rank| {
        let mut memory = vec![0; ELEMENTS - 4 * rank.me as usize];
        let window = rank.create(&mut memory);
        rank.barrier();
        if rank.me == 0 {
            window.lock_all(Assert::NONE).unwrap();
            window.put(from(&[1]), Rank(1), Disp(5)).unwrap();
            let error = window.unlock_all().unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            window.put(from(&[2]), Rank(1), Disp(3)).unwrap();
            window.unlock(Rank(1)).unwrap();
        }
        rank.barrier();
        if rank.me == 1 {
            assert_eq!(local(&window, 3), 2);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn an_error_that_has_come_already_is_raised_by_unlock_all() {
    let (world, windows, _memory) = created(55, |me| ELEMENTS - 2 * me as usize);
    let (origin, ty) = (window(&windows, 0), Datatype::basic(BasicType::U64));
    let (value, mut seen) = ([3], [0]);
    origin.lock_all(Assert::NONE).unwrap();
    origin.put(from(&value), Rank(1), Disp(1)).unwrap();
    world.finish(origin, "flush", origin.begin_flush(Rank(1)).unwrap()).unwrap();
    let words = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
    let area = TargetArea { disp: Disp(6), count: 1, ty: &ty };
    // SAFETY: the value lives until the end of the test.
    assert!(unsafe { origin.rput(words, Rank(1), area) }.unwrap().is_complete().unwrap());
    origin.get(into(&mut seen), Rank(1), Disp(1)).unwrap();
    (0..100).for_each(|_| world.pump());
    assert_eq!((seen, origin.outstanding()), ([3], 0), "nothing is under way any more");
    assert_eq!(origin.unlock_all().unwrap_err().class(), ErrorClass::RmaRange);
    assert!((0..3).all(|target| world.is_free(window(&windows, 1), target)), "and the locks go back");
}

#[test]
fn the_death_of_a_target_is_told_by_unlock_all_and_the_others_locks_go_back() {
    for (has_store, is_far) in [(true, false), (true, true), (false, false)] {
        let (mut world, mut windows, _memory) = created(54, |_| ELEMENTS);
        let seen = [1];
        {
            let origin = window(&windows, 0);
            origin.lock_all(Assert::NONE).unwrap();
            // The first store makes the element of its target.
            origin.put(from(&seen), Rank(1), Disp(1)).unwrap();
            world.finish(origin, "flush", origin.begin_flush(Rank(1)).unwrap()).unwrap();
            world.finish(origin, "unlock_all", origin.begin_unlock_all().unwrap()).unwrap();
            origin.lock_all(Assert::NONE).unwrap();
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
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::ProcFailed, "{has_store} {is_far}");
        assert!(world.is_free(window(&windows, 2), 2), "the lock of who lives is free");
    }
}
