//! Synchronization calls that are begun and dropped before they are over: the others go on, and the window can be used and freed.

use rma_core::epoch::{Assert, LockKind, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, local, run_all};

const RANKS: u32 = 4;
static VALUE: [u64; 1] = [42];

/// Does `test` with a window in each of several worlds of four ranks: by packets, of one node, and of two, with memory that ranks of a
/// node map, and that they do not.
fn in_all_worlds(test: impl Fn(&Stepped, Vec<Window>)) {
    for setup in [Setup::packets(RANKS), Setup::direct(RANKS), Setup::mixed(RANKS)] {
        let world = Stepped::new(&setup, 1);
        test(&world, world.allocate(1));
        let mut memory = [[0u64; 1]; RANKS as usize];
        let spans = memory.each_mut().map(|memory| into(memory));
        let world = Stepped::new(&setup, 2);
        test(&world, world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 }));
    }
}

/// Rank 0 holds the lock of rank 1, and no promise of it.
fn hold(world: &Stepped, window: &Window) {
    lock(world, window, Exclusive, 1);
    put(window, 1);
    world.finish(window, "flush", window.begin_flush(Rank(1)).unwrap()).unwrap();
}

fn lock(world: &Stepped, window: &Window, kind: LockKind, target: u32) {
    world.finish(window, "lock", window.begin_lock(kind, Rank(target), Assert::NONE).unwrap()).unwrap();
}

fn unlock(world: &Stepped, window: &Window, target: u32) {
    world.finish(window, "unlock", window.begin_unlock(Rank(target)).unwrap()).unwrap();
}

fn put(window: &Window, target: u32) {
    window.put(from(&VALUE), Rank(target), Disp(0)).unwrap();
}

/// Polls a call some times, and drops it; says whether it was over.
fn drop_after(world: &Stepped, window: &Window, mut sync: Sync, polls: u32) -> bool {
    for _ in 0..polls {
        let _over = window.poll_sync(&mut sync).unwrap();
        world.pump();
    }
    sync.is_over()
}

/// Every rank locks every other one, and all free the window.
fn use_and_free(world: &Stepped, windows: Vec<Window>) {
    for window in &windows {
        for target in 0..RANKS {
            lock(world, window, Exclusive, target);
            put(window, target);
            unlock(world, window, target);
        }
    }
    free(world, windows);
}

fn free(world: &Stepped, windows: Vec<Window>) {
    let started = windows.into_iter().map(|window| window.begin_free().map_err(|(_, error)| error).unwrap());
    let mut frees = started.map(Some).collect::<Vec<_>>();
    world.until("the end of the window", || {
        for free in &mut frees {
            free.take_if(|free| free.poll().unwrap());
        }
        frees.iter().all(Option::is_none)
    });
}

#[test]
fn a_lock_that_is_dropped_in_line_holds_up_no_rank() {
    for (kind, polls) in [(Exclusive, 0), (Shared, 0), (Exclusive, 3), (Shared, 3)] {
        in_all_worlds(|world, windows| {
            hold(world, &windows[0]);
            for me in [1, 3] {
                let dropped = windows[me].begin_lock(kind, Rank(1), Assert::NONE).unwrap();
                if drop_after(world, &windows[me], dropped, polls) {
                    // A lock that is asked for with the first operation.
                    unlock(world, &windows[me], 1);
                }
            }
            let mut behind = windows[2].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            let _promised = windows[2].poll_sync(&mut behind).unwrap();
            unlock(world, &windows[0], 1);
            world.finish(&windows[2], "the lock behind those that were dropped", behind).unwrap();
            put(&windows[2], 1);
            unlock(world, &windows[2], 1);
            use_and_free(world, windows);
        });
    }
}

#[test]
fn a_shared_lock_of_a_holder_that_is_dropped_beside_the_line_leaves_nothing() {
    in_all_worlds(|world, windows| {
        lock(world, &windows[0], Shared, 1);
        let writer = windows[1].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        lock(world, &windows[2], Shared, 2);
        let dropped = windows[2].begin_lock(Shared, Rank(1), Assert::NONE).unwrap();
        if drop_after(world, &windows[2], dropped, 2) {
            unlock(world, &windows[2], 1);
        }
        unlock(world, &windows[0], 1);
        world.finish(&windows[1], "the writer", writer).unwrap();
        unlock(world, &windows[1], 1);
        unlock(world, &windows[2], 2);
        use_and_free(world, windows);
    });
}

#[test]
fn a_lock_all_that_is_dropped_gives_back_what_it_had() {
    for polls in [0, 3] {
        in_all_worlds(|world, windows| {
            hold(world, &windows[0]);
            for window in [&windows[1], &windows[3]] {
                let dropped = window.begin_lock_all(Assert::NONE).unwrap();
                if drop_after(world, window, dropped, polls) {
                    world.finish(window, "unlock_all", window.begin_unlock_all().unwrap()).unwrap();
                }
            }
            lock(world, &windows[2], Exclusive, 0);
            put(&windows[2], 0);
            unlock(world, &windows[2], 0);
            unlock(world, &windows[0], 1);
            use_and_free(world, windows);
        });
    }
}

#[test]
fn a_start_that_is_dropped_uses_no_post_up() {
    for posted in [&[][..], &[1], &[1, 2]] {
        in_all_worlds(|world, windows| {
            let targets = [Rank(1), Rank(2)];
            let post = |target: u32| windows[target as usize].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
            posted.iter().copied().for_each(post);
            world.settle();
            let mut dropped = windows[0].begin_start(&targets, Assert::NONE).unwrap();
            let mut is_over = dropped.is_over();
            for _ in 0..3 {
                is_over |= windows[0].poll_sync(&mut dropped).unwrap();
                world.pump();
            }
            drop(dropped);
            (1..=2).filter(|target| !posted.contains(target)).for_each(post);
            if !is_over {
                let again = windows[0].begin_start(&targets, Assert::NONE).unwrap();
                world.finish(&windows[0], "start", again).unwrap();
            }
            put(&windows[0], 2);
            let mut waits = [1, 2].map(|target| windows[target].begin_wait().unwrap());
            // A wait that is dropped has changed nothing.
            for target in [1, 2] {
                drop(windows[target].begin_wait().unwrap());
            }
            world.finish(&windows[0], "complete", windows[0].begin_complete().unwrap()).unwrap();
            for (target, wait) in [1, 2].into_iter().zip(&mut waits) {
                world.until("wait", || windows[target].poll_sync(wait).unwrap());
            }
            use_and_free(world, windows);
        });
    }
}

#[test]
fn calls_that_end_epochs_go_on_when_they_are_dropped() {
    for polls in [0, 1, 3] {
        in_all_worlds(|world, windows| {
            let [zero, one, ..] = &*windows else { unreachable!() };
            lock(world, zero, Exclusive, 1);
            put(zero, 1);
            let _over = drop_after(world, zero, zero.begin_unlock(Rank(1)).unwrap(), polls);
            world.settle();
            lock(world, one, Exclusive, 1);
            let mut got = [0];
            one.get(into(&mut got), Rank(1), Disp(0)).unwrap();
            unlock(world, one, 1);
            assert_eq!(got, VALUE);

            world.finish(zero, "lock_all", zero.begin_lock_all(Assert::NONE).unwrap()).unwrap();
            (0..RANKS).for_each(|target| put(zero, target));
            let _over = drop_after(world, zero, zero.begin_unlock_all().unwrap(), polls);
            for target in 0..RANKS {
                lock(world, one, Exclusive, target);
                unlock(world, one, target);
            }
            world.settle();

            one.try_post_to(&[Rank(0)], Assert::NONE).unwrap();
            let start = zero.begin_start(&[Rank(1)], Assert::NONE).unwrap();
            world.finish(zero, "start", start).unwrap();
            put(zero, 1);
            let _over = drop_after(world, zero, zero.begin_complete().unwrap(), polls);
            world.finish(one, "wait", one.begin_wait().unwrap()).unwrap();
            world.settle();
            use_and_free(world, windows);
        });
    }
}

#[test]
fn a_fence_that_is_dropped_goes_on() {
    for polls in [0, 1, 3] {
        in_all_worlds(|world, windows| {
            for round in 0..4 {
                let assert = if round == 3 { Assert::NO_SUCCEED } else { Assert::NONE };
                let mut syncs = windows.iter().map(|window| window.begin_fence(assert).unwrap()).rev();
                let mut syncs = syncs.by_ref().collect::<Vec<_>>();
                let mut waiting = windows.iter().zip(std::iter::from_fn(|| syncs.pop())).collect::<Vec<_>>();
                let (window, dropped) = waiting.swap_remove(round);
                let _over = drop_after(world, window, dropped, polls);
                world.until("the fence of the others", || {
                    waiting.retain_mut(|(window, sync)| !window.poll_sync(sync).unwrap());
                    waiting.is_empty()
                });
                world.settle();
                if round < 3 {
                    put(window, (round as u32 + 1) % RANKS);
                }
            }
            (1..RANKS as usize).for_each(|me| assert_eq!(local(&windows[me], 0), VALUE[0]));
            use_and_free(world, windows);
        });
    }
}

#[test]
fn a_window_with_a_place_in_line_is_freed_behind_it() {
    in_all_worlds(|world, windows| {
        lock(world, &windows[0], Exclusive, 1);
        let dropped = windows[2].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        if drop_after(world, &windows[2], dropped, 0) {
            unlock(world, &windows[2], 1);
        }
        unlock(world, &windows[0], 1);
        free(world, windows);
    });
}

#[test]
fn blocking_calls_come_behind_calls_that_were_dropped() {
    run_all(3, |rank| {
        let window = rank.allocate(1);
        window.fence(Assert::NONE).unwrap();
        for round in 0..20 {
            if rank.me == round % 3 {
                drop(window.begin_fence(Assert::NONE).unwrap());
            } else {
                window.fence(Assert::NONE).unwrap();
            }
            window.put(from(&VALUE), Rank(round % 3), Disp(0)).unwrap();
            window.fence(Assert::NONE).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        for _ in 0..20 {
            window.lock_all(Assert::NONE).unwrap();
            window.put(from(&VALUE), Rank((rank.me + 1) % 3), Disp(0)).unwrap();
            drop(window.begin_unlock_all().unwrap());
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            window.put(from(&VALUE), Rank(1), Disp(0)).unwrap();
            drop(window.begin_unlock(Rank(1)).unwrap());
            let lock = window.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
            if lock.is_over() {
                window.unlock(Rank(0)).unwrap();
            }
            drop(lock);
        }
        window.free().unwrap();
    });
}
