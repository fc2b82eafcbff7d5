//! Locks of ranks of the node whose window memory is not mapped (`rma-core`, `window/node_target.rs`): they are taken in shared memory, so
//! that no packet asks for them or gives them back, exclude like any other, and are given back when operations are complete.

use rma_core::epoch::{Assert, Caller, LockKind, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, run, run_all};

const ELEMENTS: usize = 8;

/// A world, and a window of memory that is not shared; the memory is to be kept as long.
fn created(setup: &Setup, seed: u64) -> (Stepped, Vec<Window>, Vec<[u64; ELEMENTS]>) {
    let world = Stepped::new(setup, seed);
    let mut memory = vec![[0; ELEMENTS]; setup.ranks as usize];
    let spans: Vec<_> = memory.iter_mut().map(|elements| into(elements)).collect();
    let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
    (world, windows, memory)
}

/// Whether a rank can have a lock at once; it has it then.
fn locks(window: &Window, kind: LockKind, target: u32) -> bool {
    let mut lock = window.begin_lock(kind, Rank(target), Assert::NONE).unwrap();
    let is_held = window.poll_sync(&mut lock).unwrap();
    assert!(is_held, "a ticket that is dropped stops the line");
    is_held
}

fn unlock(world: &Stepped, window: &Window, target: u32) {
    world.finish(window, "unlock", window.begin_unlock(Rank(target)).unwrap()).unwrap();
}

/// Runs `body` on rank 0 of two on one node, and looks at rank 1's memory after that.
fn leaves(expected: &[u64; ELEMENTS], body: impl Fn(&TestRank, &Window) + Send + Sync) {
    run(&Setup::direct(2), |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        rank.barrier();
        if rank.me == 0 {
            body(rank, &window);
        }
        rank.barrier();
        if rank.me == 1 {
            let found: [u64; ELEMENTS] = std::array::from_fn(|at| local(&window, at));
            assert_eq!(&found, expected);
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn a_lock_and_its_unlock_cost_no_packet() {
    leaves(&[5, 0, 0, 7, 4, 0, 0, 9], |rank, window| {
        let packets = |expected: u64, epoch: &dyn Fn()| {
            let before = rank.packets();
            epoch();
            assert_eq!(rank.packets() - before, expected);
        };
        for kind in [Exclusive, Shared] {
            packets(0, &|| {
                window.lock(kind, Rank(1), Assert::NONE).unwrap();
                window.unlock(Rank(1)).unwrap();
            });
            // The first makes the target's element, the second finds it.
            for value in [1, 2] {
                packets(2, &|| {
                    window.lock(kind, Rank(1), Assert::NONE).unwrap();
                    window.put(from(&[value + 3]), Rank(1), Disp(0)).unwrap();
                    window.unlock(Rank(1)).unwrap();
                });
            }
            packets(4, &|| {
                window.lock(kind, Rank(1), Assert::NONE).unwrap();
                window.put(from(&[7]), Rank(1), Disp(3)).unwrap();
                window.flush(Rank(1)).unwrap();
                window.accumulate(from(&[2]), kernel(ReduceOp::Sum), Rank(1), Disp(4)).unwrap();
                window.unlock(Rank(1)).unwrap();
            });
        }
        assert_eq!(window.elements().most_ops, 1, "the operation of the first epoch, and no other");
        packets(0, &|| {
            window.lock_all(Assert::NONE).unwrap();
            window.unlock_all().unwrap();
        });
        packets(2, &|| {
            window.lock_all(Assert::NONE).unwrap();
            window.put(from(&[9]), Rank(1), Disp(7)).unwrap();
            window.unlock_all().unwrap();
        });
    });
}

#[test]
fn ranks_of_one_node_and_of_others_exclude_each_other() {
    const EACH: u64 = 40;
    run_all(4, |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        for round in 0..EACH {
            // By a get and a put, which lose what others do in between, and by steps that do not.
            let target = Rank(1);
            window.lock(Exclusive, target, Assert::NONE).unwrap();
            let mut value = [0];
            window.get(into(&mut value), target, Disp(0)).unwrap();
            window.flush(target).unwrap();
            value[0] += 1;
            window.put(from(&value), target, Disp(0)).unwrap();
            window.unlock(target).unwrap();
            if round % 4 == 0 {
                window.lock_all(Assert::NONE).unwrap();
                (0..rank.size).for_each(|target| {
                    window.accumulate(from(&[1]), kernel(ReduceOp::Sum), Rank(target), Disp(1)).unwrap();
                });
                window.unlock_all().unwrap();
            }
        }
        rank.barrier();
        let all = EACH * u64::from(rank.size);
        assert_eq!(local(&window, 0), if rank.me == 1 { all } else { 0 });
        assert_eq!(local(&window, 1), all / 4);
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn the_lock_goes_back_when_the_operations_are_complete_and_not_before() {
    for is_all in [false, true] {
        let (world, windows, _memory) = created(&Setup::direct(3), 7);
        let value = [6];
        if is_all {
            let lock = windows[0].begin_lock_all(Assert::NONE).unwrap();
            world.finish(&windows[0], "lock_all", lock).unwrap();
        } else {
            assert!(locks(&windows[0], Shared, 1));
        }
        windows[0].put(from(&value), Rank(1), Disp(2)).unwrap();
        let mut next = windows[2].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        let mut release = match is_all {
            true => windows[0].begin_unlock_all().unwrap(),
            false => windows[0].begin_unlock(Rank(1)).unwrap(),
        };
        // All but the target step: nothing can be complete.
        (0..200).for_each(|_| world.pump_only(|rank| rank != 1));
        assert!(!windows[0].poll_sync(&mut release).unwrap() && !windows[2].poll_sync(&mut next).unwrap());
        assert_eq!(local(&windows[1], 2), 0);
        let (mut is_released, mut is_locked) = (false, false);
        world.until("the lock", || {
            is_released = is_released || windows[0].poll_sync(&mut release).unwrap();
            is_locked = is_locked || windows[2].poll_sync(&mut next).unwrap();
            assert!(
                !is_locked || local(&windows[1], 2) == 6,
                "a lock is given back with the store under way"
            );
            is_locked && is_released
        });
        unlock(&world, &windows[2], 1);
    }
}

#[test]
fn locks_of_dynamic_windows_are_words_too() {
    let world = Stepped::new(&Setup::direct(2), 8);
    let windows = world.windows(|_| WindowSpec::Dynamic);
    assert!(locks(&windows[0], Exclusive, 1));
    let mut own = windows[1].begin_lock(Shared, Rank(1), Assert::NONE).unwrap();
    world.settle();
    assert!(!windows[1].poll_sync(&mut own).unwrap());
    unlock(&world, &windows[0], 1);
    world.finish(&windows[1], "lock", own).unwrap();
    unlock(&world, &windows[1], 1);
}

#[test]
fn unchecked_locks_take_no_word() {
    let (world, windows, _memory) = created(&Setup::direct(2), 9);
    let value = [3];
    assert!(locks(&windows[1], Exclusive, 1));
    windows[0].lock(Shared, Rank(1), Assert::NO_CHECK).unwrap();
    windows[0].put(from(&value), Rank(1), Disp(1)).unwrap();
    unlock(&world, &windows[0], 1);
    assert_eq!(local(&windows[1], 1), 3);
    unlock(&world, &windows[1], 1);
    assert!(locks(&windows[1], Exclusive, 1), "nothing was given back that was not taken");
    unlock(&world, &windows[1], 1);
}

#[test]
fn a_holder_of_one_has_an_element_for_it() {
    // Ranks 0 and 1 are node targets. The only element waits for a lock of rank 2, whose holder waits for that of rank 1.
    let mut setup = Setup::mixed(4);
    (setup.engine.op_pool_window, setup.engine.op_pool_global) = (1, 0);
    (setup.engine.target_pool_window, setup.engine.target_pool_global) = (1, 0);
    let (world, windows, _memory) = created(&setup, 10);
    let values = [4, 5];
    assert!(locks(&windows[3], Exclusive, 2));
    assert!(locks(&windows[0], Exclusive, 1));
    let far = windows[0].begin_lock_by(Caller::task(1), Exclusive, Rank(2), Assert::NONE).unwrap();
    world.finish(&windows[0], "lock", far).unwrap();
    windows[0].put(from(&values[..1]), Rank(2), Disp(0)).unwrap();
    world.settle();
    assert_eq!(windows[0].elements().ops, 1);
    assert!(windows[0].try_put(from(&values[1..]), Rank(1), Disp(0)).unwrap(), "it would wait for ever");
    unlock(&world, &windows[0], 1);
    assert_eq!((local(&windows[1], 0), local(&windows[2], 0)), (5, 0));
    unlock(&world, &windows[3], 2);
    unlock(&world, &windows[0], 2);
    assert_eq!(local(&windows[2], 0), 4);
}

#[test]
fn what_is_wrong_is_said_as_of_any_other_rank() {
    leaves(&[0; ELEMENTS], |_, window| {
        let says = |outcome: rma_core::Result<()>, words: &str| {
            let error = outcome.expect_err(words);
            assert!(error.class() == ErrorClass::RmaSync && error.to_string().contains(words), "{error}");
        };
        says(window.unlock(Rank(1)), "rank 1 is not locked");
        says(window.put(from(&[1]), Rank(1), Disp(0)), "call start, lock_all, fence or lock");
        window.lock(Shared, Rank(1), Assert::NONE).unwrap();
        says(window.lock(Shared, Rank(1), Assert::NONE), "rank 1 is locked already");
        says(window.put(from(&[1]), Rank(0), Disp(0)), "rank 0 is not locked");
        says(window.lock_all(Assert::NONE), "rank 1 is locked");
        says(window.fence(Assert::NONE), "rank 1 is locked");
        let outside = window.put(from(&[1]), Rank(1), Disp(ELEMENTS as u64)).unwrap_err();
        assert_eq!(outside.class(), ErrorClass::RmaRange);
        window.unlock(Rank(1)).unwrap();
        says(window.flush(Rank(1)), "rank 1 is not locked");
    });
}

#[test]
fn a_dead_holder_gives_it_back_and_a_dead_target_is_told_of() {
    let (mut world, windows, memory) = created(&Setup::direct(3), 11);
    let mut windows = windows.into_iter().map(Some).collect::<Vec<_>>();
    let value = [1];
    let origin = windows[0].clone().unwrap();
    // The death of a rank that has sent nothing is noticed by the launcher alone, as where all memory is
    // mapped.
    let holder = windows[2].as_ref().unwrap();
    assert!(locks(holder, Exclusive, 1));
    holder.put(from(&value), Rank(1), Disp(1)).unwrap();
    world.finish(holder, "flush", holder.begin_flush(Rank(1)).unwrap()).unwrap();
    let mut next = origin.begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
    world.settle();
    assert!(!origin.poll_sync(&mut next).unwrap());
    (windows[2], world.engines[2]) = (None, None);
    world.finish(&origin, "lock", next).unwrap();

    origin.put(from(&value), Rank(1), Disp(0)).unwrap();
    (windows[1], world.engines[1]) = (None, None);
    let unlock = origin.begin_unlock(Rank(1)).and_then(|unlock| world.finish(&origin, "unlock", unlock));
    let error = unlock.unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("rank 1"), "{error}");
    // The error was the unlock's: no other call raises it, and the rank is not locked any more.
    // Its own lock is counted anew without the dead before it is given out again.
    let own = origin.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    world.finish(&origin, "lock", own).unwrap();
    origin.fetch_add(0, 0, 3).unwrap();
    world.finish(&origin, "unlock", origin.begin_unlock(Rank(0)).unwrap()).unwrap();
    assert_eq!(origin.unlock(Rank(1)).unwrap_err().class(), ErrorClass::RmaSync);
    drop(memory);
}
