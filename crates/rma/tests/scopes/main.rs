//! Scoped epochs at run time: what must compile, and that no way of leaving a closure leaves an epoch open.
//!
//! The counterpart of `compile_fail.rs`. Every test runs where ranks map each other's memory and where they do not.

#![allow(missing_docs)]

mod asserted;
mod awaited;
mod dynamic;
mod errors;
mod features;
mod futures;
mod notices;
mod random;
mod sound;

use rma::config::Configuration;
use rma::{Error, ErrorClass, LockKind, ReduceOp, Result, World};
use rma_ch_sim::SimConfig;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `rank` on `ranks` ranks that share one node, and on as many nodes.
fn on_both_paths(ranks: u32, rank: impl Fn(&World) -> Result<()> + Sync) {
    for ranks_per_node in [0, 1] {
        let sim = SimConfig { ranks_per_node, ..SimConfig::default() };
        World::run_threads_with(ranks, &Configuration::default(), &sim, &rank).unwrap();
    }
}

#[test]
fn buffers_of_the_caller_serve_every_kind_of_scope() {
    on_both_paths(3, |world| {
        let mut window = world.allocate::<u64>(8)?;
        let (me, right) = (u64::from(world.rank()), (world.rank() + 1) % world.size());
        let mut values = [me, 10 + me];
        let (mut before, mut swapped, mut row) = (9, 9, [0; 2]);
        window.fence_epoch(|epoch| {
            epoch.put(&values, right, 0)?;
            // A shared borrow may serve several operations.
            epoch.accumulate(&values, ReduceOp::Sum, right, 2)?;
            epoch.fetch_op(5, &mut before, ReduceOp::Sum, right, 4)?;
            epoch.compare_and_swap(0, 7, &mut swapped, right, 5)
        })?;
        assert_eq!((before, swapped), (0, 0));
        let left = (me + 2) % 3;
        assert_eq!(window.local().to_vec(), [left, 10 + left, left, 10 + left, 5, 7, 0, 0]);
        world.barrier()?;

        // The buffers are free again behind the scope.
        values[0] += 100;
        window.exclusive(right, |locked| {
            locked.put(&values, 6)?;
            locked.batch(|batch| batch.get(&mut row, 0))?;
            // And behind a batch, although the lock is held.
            assert_eq!(row, [me, 10 + me]);
            row[0] = 0;
            locked.batch(|batch| batch.get(&mut row, 2))?;
            assert_eq!(row, [me, 10 + me]);
            assert_eq!(locked.fetch_add(4, 1)?, 5);
            assert_eq!(locked.compare_and_swap(5, 7, 8)?, 7);
            assert!(locked.load(5)? == 8 && locked.mapped().is_none_or(|view| view.get(5) == 8));
            Ok(())
        })?;
        // A batch of any ranks too.
        window.lock_all(|all| {
            all.batch(|batch| batch.get(&mut row, right, 6))?;
            assert_eq!(row, [100 + me, 10 + me]);
            Ok(())
        })?;
        world.barrier()?;
        let both = [(right, LockKind::Shared), (world.rank(), LockKind::Shared)];
        let sum = window.lock_set(&both, |set| {
            let [right, own] = set.ranks() else { unreachable!("two ranks") };
            Ok(right.load(7)? + own.load(6)?)
        })?;
        assert_eq!(sum, (10 + me) + (100 + left));
        world.barrier()?;
        window.free()
    });
}

#[test]
fn a_panic_closes_the_epoch_and_goes_on() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let other = 1 - world.rank();
        let values = [1, 2];

        // Both ranks leave the fence epoch by a panic; a fence that were left out would block the other rank.
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.fence_epoch(|epoch| -> Result<()> {
                epoch.put(&values, other, 0)?;
                panic!("out of the fence epoch");
            })
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "out of the fence epoch");
        assert_eq!(window.local().to_vec(), [1, 2, 0, 0], "the operations before the panic are complete");
        world.barrier()?;

        // Out of a batch, through the lock.
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.exclusive(0, |rank0| {
                rank0.batch(|batch| -> Result<()> {
                    batch.accumulate(&values, ReduceOp::Sum, 2)?;
                    panic!("out of the batch");
                })
            })
        }));
        assert!(panic.is_err());
        // The lock is free again: every rank gets it.
        world.barrier()?;
        let sums = window.exclusive(0, |rank0| Ok([rank0.load(2)?, rank0.load(3)?]))?;
        assert_eq!(sums, [2, 4]);

        // Out of a set of locks, before anything was sent.
        let locks = [(1, LockKind::Exclusive), (0, LockKind::Exclusive)];
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.lock_set(&locks, |_| -> Result<()> { panic!("out of the set") })
        }));
        assert!(panic.is_err());
        window.lock_set(&locks, |_| Ok(()))?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn an_error_closes_the_epoch_and_is_the_result() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(4)?;
        let given_up = || Error::new(ErrorClass::Arg, "test", "given up");
        let mut result = [7; 2];
        let error = window
            .fence_epoch(|epoch| {
                epoch.get(&mut result, 0, 1)?;
                Err::<(), _>(given_up())
            })
            .unwrap_err();
        assert_eq!(error, given_up());
        assert_eq!(result, [0; 2], "what was begun is complete");
        assert_eq!(window.shared(0, |_| Err::<(), _>(given_up())).unwrap_err(), given_up());
        let error = window.exclusive(0, |rank0| rank0.store(4, 1)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        assert_eq!((error.rank(), error.limit()), (Some(0), Some(32)), "{error}");
        let error = window.shared(2, |_| Ok(())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Rank, "{error}");
        assert_eq!((error.rank(), error.limit()), (Some(2), Some(2)), "{error}");
        let twice = [(0, LockKind::Shared), (1, LockKind::Shared), (0, LockKind::Shared)];
        let error = window.lock_set(&twice, |_| Ok(())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        window.lock_set(&twice[..2], |_| Ok(()))?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn an_error_at_one_rank_does_not_disturb_operations_on_another() {
    on_both_paths(3, |world| {
        // Sizes differ, so the origin does not know them and the target finds what is out of range.
        let mut window = world.allocate::<u64>(2 + 2 * world.rank() as usize)?;
        let values = [3; 3];
        let mut row = [0; 2];
        if world.rank() == 0 {
            let locks = [(1, LockKind::Shared), (2, LockKind::Shared)];
            let result = window.lock_set(&locks, |set| {
                let [one, two] = set.ranks() else { unreachable!("two ranks") };
                let late = one.put(&values, 2);
                two.put(&values, 0)?;
                // The flush of the batch may raise the other rank's error; the put above stays under way.
                let batch = two.batch(|batch| batch.get(&mut row, 4));
                late.and(batch)
            });
            assert_eq!(result.unwrap_err().class(), ErrorClass::RmaRange);
            assert_eq!(row, [0; 2]);
        }
        world.barrier()?;
        if world.rank() == 2 {
            assert_eq!(window.local().to_vec(), [3, 3, 3, 0, 0, 0]);
        }
        window.free()
    });
}

#[test]
fn nothing_that_is_forgotten_keeps_a_scope_open() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(2)?;
        let mut result = 9;
        window.fence_epoch(|epoch| {
            epoch.fetch_op(1, &mut result, ReduceOp::Sum, 0, 0)?;
            // The closure's captures, a view, and what the epoch gave: all of it is forgotten.
            std::mem::forget((epoch.local(), Box::new(epoch)));
            Ok(())
        })?;
        assert!(result < 2, "complete behind the scope");
        window.exclusive(0, |rank0| {
            rank0.batch(|batch| {
                batch.put(std::slice::from_ref(&result), 1)?;
                std::mem::forget(Box::new(batch));
                Ok(())
            })
        })?;
        world.barrier()?;
        // A window that is forgotten stays until the world ends; the next one is another.
        std::mem::forget(window);
        world.allocate::<u64>(1)?.free()
    });
}

#[test]
fn threads_share_the_handle_of_an_epoch() {
    const THREADS: usize = 4;
    const ROUNDS: u64 = 50;
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(THREADS + 1)?;
        let other = 1 - world.rank();
        window.shared(other, |locked| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        scope.spawn(move || {
                            for round in 1..=ROUNDS {
                                locked.store(thread, round)?;
                                assert_eq!(locked.load(thread)?, round);
                                locked.fetch_add(THREADS, 1)?;
                            }
                            Ok(())
                        })
                    })
                    .collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
            })
        })?;
        world.barrier()?;
        assert_eq!(window.local().to_vec(), [ROUNDS, ROUNDS, ROUNDS, ROUNDS, ROUNDS * THREADS as u64]);
        window.free()
    });
}
