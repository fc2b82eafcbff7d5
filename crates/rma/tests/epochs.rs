//! Epochs of groups, of all ranks and in chains, operations on single values, and errors of the program's own.
//!
//! Every test runs where ranks map each other's memory and where they do not, with four ranks and with eight.

#![allow(missing_docs)]

use rma::config::Configuration;
use rma::window::Layout;
use rma::{Error, ErrorClass, ReduceOp, Result, World};
use rma_ch_sim::SimConfig;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn on_all_paths(rank: impl Fn(&World) -> Result<()> + Sync) {
    for ranks in [4, 8] {
        for ranks_per_node in [0, 1, 2] {
            let sim = SimConfig { ranks_per_node, ..SimConfig::default() };
            World::run_threads_with(ranks, &Configuration::default(), &sim, &rank).unwrap();
        }
    }
}

fn neighbours(world: &World) -> [u32; 2] {
    let (rank, size) = (world.rank(), world.size());
    [(rank + 1) % size, (rank + size - 1) % size]
}

#[test]
fn neighbours_expose_and_access_at_a_time() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(4)?;
        let [right, left] = neighbours(world);
        let me = u64::from(world.rank());
        for round in 0..8 {
            let mine = [me + round];
            let mut before = [9; 1];
            window.expose(&[left, right], |exposure| {
                exposure.access(&[right, left], |epoch| {
                    epoch.put(&mine, right, 0)?;
                    epoch.put_value(me * round, left, 1)?;
                    epoch.accumulate(&mine, ReduceOp::Sum, right, 2)?;
                    epoch.get_accumulate(&[1], &mut before, ReduceOp::Sum, left, 3)
                })
            })?;
            let sum = |from: u64| (0..=round).map(|round| from + round).sum::<u64>();
            let (left, right) = (u64::from(left), u64::from(right));
            assert_eq!(window.local().to_vec(), [left + round, right * round, sum(left), round + 1]);
            assert_eq!(before, [round]);
        }
        window.free()
    });
}

#[test]
fn an_exposure_can_be_tested_and_may_be_without_origins() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(1)?;
        if world.rank() == 0 {
            let origins: Vec<usize> = (1..world.size() as usize).collect();
            let polls = window.expose(&origins, |exposure| {
                let mut polls = 1u64;
                while !exposure.test()? {
                    polls += 1;
                }
                assert!(exposure.test()?, "over is over");
                Ok(polls)
            })?;
            assert!(polls > 0 && window.local().get(0) == u64::from(world.size() - 1));
        } else {
            window.access(&[0], |epoch| epoch.accumulate_value(1, ReduceOp::Sum, 0, 0))?;
        }
        window.expose(&[None::<u32>], |exposure| exposure.access(&[None::<u32>], |_| Ok(())))?;
        window.free()
    });
}

#[test]
fn an_operation_outside_the_group_is_an_error_and_ends_the_epoch() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(1)?;
        let [right, left] = neighbours(world);
        let error = window
            .expose(&[left], |exposure| {
                exposure.access(&[right], |epoch| epoch.put_value(1, world.rank(), 0))
            })
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
        let error = window.access(&[right, right], |_| Ok(())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Group, "{error}");
        let error = window.access(&[-1], |_| Ok(())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Rank, "{error}");
        // Nothing is left open.
        window.fence_epoch(|epoch| epoch.put_value(3, right, 0))?;
        assert_eq!(window.local().get(0), 3);
        window.free()
    });
}

#[test]
fn a_panic_ends_exposures_and_chains() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(2)?;
        let [right, left] = neighbours(world);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.expose(&[left], |exposure| {
                exposure.access(&[right], |epoch| -> Result<()> {
                    epoch.put_value(5, right, 0)?;
                    panic!("out of both");
                })
            })
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "out of both");
        assert_eq!(window.local().get(0), 5, "the operations before the panic are complete");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.fence_epochs(|fences| -> Result<()> {
                fences.epoch(|epoch| epoch.put_value(6, right, 0))?;
                fences.epoch(|epoch| {
                    epoch.put_value(7, right, 1)?;
                    panic!("out of the chain");
                })
            })
        }));
        assert!(panic.is_err());
        assert_eq!(window.local().to_vec(), [6, 7]);
        world.barrier()?;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            window.lock_all(|all| {
                all.batch(|batch| -> Result<()> {
                    batch.accumulate_value(1, ReduceOp::Sum, 0, 0)?;
                    panic!("out of the batch");
                })
            })
        }));
        assert!(panic.is_err());
        world.barrier()?;
        let expected = 6 + u64::from(world.size());
        assert_eq!(window.exclusive(0, |rank0| rank0.load(0))?, expected);
        world.barrier()?;
        window.free()
    });
}

#[test]
fn a_chain_of_fences_needs_one_fence_between_two_epochs() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(2)?;
        let [right, left] = neighbours(world);
        let me = u64::from(world.rank());
        let mut row = [0];
        for repetition in 0..3 {
            window.fence_epochs(|fences| {
                for step in 0..6 {
                    let value = [me + 10 * step];
                    fences.epoch(|epoch| epoch.put(&value, right, step as usize % 2))?;
                    assert_eq!(fences.local().get(step as usize % 2), u64::from(left) + 10 * step);
                }
                fences.epoch(|epoch| epoch.get(&mut row, right, 1))
            })?;
            assert_eq!(row, [me + 50]);
            // A lock replaces the epoch that the last fence has left.
            let other = window.shared(left, |left| left.load(1))?;
            assert_eq!(
                other % 10,
                (me + u64::from(world.size()) - 2) % u64::from(world.size()),
                "{repetition}"
            );
            world.barrier()?;
        }
        window.free()
    });
}

#[test]
fn threads_share_a_lock_of_all_ranks() {
    const THREADS: u64 = 3;
    const ROUNDS: u64 = 20;
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(2)?;
        let ranks = world.size();
        let buffer = [1; 1];
        window.lock_all(|all| {
            std::thread::scope(|scope| {
                let work = || {
                    for round in 0..ROUNDS {
                        for rank in 0..ranks {
                            all.accumulate(&buffer, ReduceOp::Sum, rank, 0)?;
                            all.accumulate_value(1, ReduceOp::Sum, rank, 0)?;
                            if round % 5 == 0 {
                                all.flush(rank)?;
                            }
                        }
                        assert!(all.rank(0)?.fetch_add(1, 1)? < THREADS * ROUNDS * u64::from(ranks));
                        all.flush_local(0)?;
                    }
                    all.flush_local_all()?;
                    all.sync()?;
                    all.flush_all()
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
            })
        })?;
        world.barrier()?;
        let (own, all) = (window.local().get(0), window.local().get(1));
        assert_eq!(own, 2 * THREADS * ROUNDS * u64::from(ranks));
        assert_eq!(all, if world.rank() == 0 { THREADS * ROUNDS * u64::from(ranks) } else { 0 });
        window.free()
    });
}

#[test]
fn many_values_without_buffers_arrive_as_they_were_given() {
    // More than a passive epoch keeps before it completes them.
    const MANY: usize = 10_000;
    on_all_paths(|world| {
        if world.size() > 4 {
            return Ok(());
        }
        let mut window = world.allocate::<[u64; 3]>(MANY)?;
        let [right, left] = neighbours(world);
        let (me, from) = (u64::from(world.rank()), u64::from(left));
        let value = |rank: u64, at: usize| [rank, at as u64, !(at as u64)];
        let check = |name: &str, all: &[[u64; 3]]| {
            let wrong = all.iter().enumerate().find(|(at, found)| **found != value(from, *at));
            assert_eq!(wrong, None, "{name}");
        };
        window.lock_all(|all| (0..MANY).try_for_each(|at| all.put_value(value(me, at), right, at)))?;
        world.barrier()?;
        check("lock_all", &window.local().to_vec());
        window.local().write(0, &vec![[0; 3]; MANY]);
        window.fence_epoch(|epoch| (0..MANY).try_for_each(|at| epoch.put_value(value(me, at), right, at)))?;
        check("fence", &window.local().to_vec());
        world.barrier()?;
        window.local().write(0, &vec![[0; 3]; MANY]);
        world.barrier()?;
        window.exclusive(right, |right| (0..MANY).try_for_each(|at| right.put_value(value(me, at), at)))?;
        world.barrier()?;
        check("lock", &window.local().to_vec());
        window.free()
    });
}

#[test]
fn atomic_reads_and_swaps_of_every_integer() {
    fn run<T: rma::Integer + PartialEq + std::fmt::Debug>(world: &World, [one, two]: [T; 2]) -> Result<()> {
        let mut window = world.allocate::<T>(2)?;
        let [right, left] = neighbours(world);
        let (mut before, mut fetched) = (two, [two; 2]);
        window.fence_epoch(|epoch| epoch.compare_and_swap(T::zeroed(), one, &mut before, right, 0))?;
        assert_eq!(before, T::zeroed());
        window.lock_all(|all| {
            all.batch(|batch| batch.fetch(&mut fetched, right, 0))?;
            assert_eq!(all.rank(left)?.fetch_op(0, two, ReduceOp::NoOp)?, one);
            assert_eq!(all.rank(right)?.compare_and_swap(0, two, one)?, one, "not swapped");
            assert_eq!(all.rank(right)?.fetch_op(1, two, ReduceOp::Replace)?, T::zeroed());
            assert_eq!(all.rank(right)?.load(1)?, two);
            Ok(())
        })?;
        assert_eq!(fetched, [one, T::zeroed()]);
        world.barrier()?;
        window.free()
    }
    on_all_paths(|world| {
        run::<i8>(world, [1, -1])?;
        run::<u8>(world, [1, 2])?;
        run::<i16>(world, [1, -1])?;
        run::<u16>(world, [1, 2])?;
        run::<i32>(world, [1, -1])?;
        run::<u32>(world, [1, 2])?;
        run::<i64>(world, [1, -1])?;
        run::<u64>(world, [1, 2])?;
        run::<isize>(world, [1, -1])?;
        run::<usize>(world, [1, 2])
    });
}

#[test]
fn lengths_that_differ_are_an_error() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(4)?;
        let (origin, mut result) = ([1; 2], [0; 3]);
        let error = window
            .fence_epoch(|epoch| epoch.get_accumulate(&origin, &mut result, ReduceOp::Sum, 0, 0))
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::Count, "{error}");
        assert_eq!(error.cause(), "2 elements to combine and room for 3");
        window.free()
    });
}

#[test]
fn closures_end_with_errors_of_the_program() {
    #[derive(Debug)]
    enum Failure {
        Rma(Error),
        Own(u32),
    }
    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            Self::Rma(error)
        }
    }
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(1)?.with_errors::<Failure>();
        let [right, left] = neighbours(world);
        let own = |outcome| matches!(outcome, Err(Failure::Own(7)));
        assert!(own(window.fence_epoch(|epoch| {
            epoch.put_value(1, right, 0)?;
            Err::<(), _>(Failure::Own(7))
        })));
        assert_eq!(window.local().get(0), 1, "what was begun is complete");
        assert!(own(window.fence_epochs(|fences| fences.epoch(|_| Err(Failure::Own(7))))));
        assert!(own(window.expose(&[left], |exposure| {
            exposure.access(&[right], |_| Ok(()))?;
            Err(Failure::Own(7))
        })));
        assert!(own(window.exclusive(right, |_| Err(Failure::Own(7)))));
        assert!(own(window.lock_all(|_| Err(Failure::Own(7)))));
        let range = window.shared(right, |right| Ok(right.store(1, 1)?));
        assert!(matches!(range, Err(Failure::Rma(error)) if error.class() == ErrorClass::RmaRange));
        world.barrier()?;
        window.free()
    });
}

#[test]
fn no_process_is_a_rank_that_nothing_moves_to() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(1)?;
        let nowhere = None::<usize>;
        let mut result = [4];
        window.fence_epoch(|epoch| {
            epoch.put_value(1, nowhere, 0)?;
            epoch.accumulate_value(1, ReduceOp::Sum, nowhere, 0)?;
            epoch.get(&mut result, nowhere, 0)
        })?;
        assert_eq!(result, [4]);
        let stored = window.exclusive(nowhere, |nowhere| {
            nowhere.store(0, 1)?;
            nowhere.load(0)
        })?;
        assert_eq!((stored, window.local().get(0)), (0, 0));
        window.free()
    });
}

#[test]
fn windows_of_parts_of_the_world() {
    on_all_paths(|world| {
        let half = world.split(Some(world.rank() % 2), 0)?.expect("every rank gives a color");
        let mut window = half.allocate::<u32>(1)?;
        assert_eq!((window.rank(), window.size()), (world.rank() / 2, world.size() / 2));
        let right = (half.rank() + 1) % half.size();
        window.fence_epoch(|epoch| epoch.put_value(world.rank(), right, 0))?;
        let left = (half.rank() + half.size() - 1) % half.size();
        assert_eq!(window.local().get(0), 2 * left + world.rank() % 2);
        window.free()
    });
}

#[test]
fn nothing_that_is_forgotten_keeps_an_epoch_open() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(1)?;
        let [right, left] = neighbours(world);
        let mut result = [9];
        window.expose(&[left], |exposure| {
            std::mem::forget(Box::new(exposure.local()));
            exposure.access(&[right], |epoch| {
                epoch.get(&mut result, right, 0)?;
                std::mem::forget(Box::new(epoch));
                Ok(())
            })
        })?;
        assert_eq!(result, [0], "complete behind the scope");
        window.lock_all(|all| {
            let _ = std::mem::ManuallyDrop::new((all.rank(right)?, all.mapped(left)?));
            all.batch(|batch| {
                batch.get(&mut result, left, 0)?;
                std::mem::forget(Box::new(batch));
                Ok(())
            })
        })?;
        window.fence_epochs(|fences| {
            std::mem::forget(Box::new(fences.local()));
            fences.epoch(|_| Ok(()))
        })?;
        std::mem::forget(window);
        world.allocate::<u64>(1)?.free()
    });
}

#[test]
fn requests_give_their_buffers_back_within_the_epoch() {
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(4)?;
        let [right, left] = neighbours(world);
        let me = u64::from(world.rank());
        let operand = [1];
        window.lock_all(|all| {
            let buffer = vec![me; 2];
            let address = buffer.as_ptr();
            let buffer = all.rank(right)?.rput(buffer, 0)?.wait()?;
            assert_eq!((buffer.as_ptr(), &*buffer), (address, &[me; 2][..]));
            all.rank(right)?.raccumulate(buffer, ReduceOp::Sum, 2)?.wait()?;
            let request = all.rank(left)?.rget_accumulate(&operand, vec![9], ReduceOp::Max, 3)?;
            while !request.test()? {}
            assert!(request.wait()?[0] <= u64::from(left) + u64::from(world.size()));
            Ok(())
        })?;
        world.barrier()?;
        let from = u64::from(left);
        assert_eq!(window.local().to_vec()[..3], [from; 3]);
        window.shared(right, |right| {
            let requests = [right.rget(vec![0; 2], 0)?, right.rget(vec![0; 1], 2)?];
            assert_eq!(rma::window::Request::wait_all(requests)?, [vec![me; 2], vec![me; 1]]);
            Ok(())
        })?;
        world.barrier()?;
        window.free()
    });
}

#[test]
fn requests_that_are_dropped_forgotten_or_kept_end_with_their_epoch() {
    const LEN: usize = 5000;
    on_all_paths(|world| {
        let mut window = world.allocate::<u64>(2 * LEN)?;
        let [right, left] = neighbours(world);
        let (me, from) = (u64::from(world.rank()), u64::from(left));
        for round in 0..4 {
            let kept = window.exclusive(right, |right| {
                drop(right.rput(vec![me + round; LEN], 0)?);
                std::mem::forget(right.rput(vec![me * round; LEN], LEN)?);
                right.flush()?;
                right.rget(vec![0; LEN], 0)
            })?;
            assert_eq!(kept.wait()?, vec![me + round; LEN], "complete behind the scope");
            world.barrier()?;
            assert_eq!(window.local().to_vec(), [vec![from + round; LEN], vec![from * round; LEN]].concat());
            let panic = catch_unwind(AssertUnwindSafe(|| {
                window.exclusive(right, |right| -> Result<()> {
                    let _request = right.rget(vec![0; LEN], 0)?;
                    panic!("with a request");
                })
            }));
            assert!(panic.is_err());
            world.barrier()?;
        }
        let error = window.shared(right, |right| right.rput(vec![1; 2], 2 * LEN)?.wait()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        world.barrier()?;
        window.free()
    });
}

#[test]
fn columns_faces_and_blocks_move_on_both_sides() {
    const SHAPE: [usize; 3] = [3, 4, 5];
    let at = |place: [usize; 3]| (place[0] * SHAPE[1] + place[1]) * SHAPE[2] + place[2];
    on_all_paths(|world| {
        let mut window = world.allocate::<u32>(60)?;
        let [right, left] = neighbours(world);
        let cube: Vec<u32> = (0..60).map(|at| 1000 * world.rank() + at).collect();
        let last = Layout::block(&SHAPE, &[0..3, 0..4, 4..5])?;
        let first = Layout::block(&SHAPE, &[0..3, 0..4, 0..1])?;
        let row = Layout::contiguous(12)?;
        assert_eq!([last.len(), first.len(), row.len()], [12; 3]);
        window.fence_epoch(|epoch| epoch.put_layout(&cube, &last, right, 0, &first))?;
        let expected = |place: [usize; 3]| {
            if place[2] == 0 { 1000 * left + at([place[0], place[1], 4]) as u32 } else { 0 }
        };
        for x in 0..3 {
            for y in 0..4 {
                for z in 0..5 {
                    assert_eq!(window.local().get(at([x, y, z])), expected([x, y, z]));
                }
            }
        }
        world.barrier()?;
        // Back, side by side; and each number once more, in another order.
        let (mut face, mut twice) = ([0; 12], [7; 60]);
        let parts = Layout::blocks([40..41, 0..1, 20..21])?;
        let three = Layout::strided(3, 1, 20)?;
        window.lock_all(|all| {
            all.batch(|batch| {
                batch.get_layout(&mut face, &row, right, 0, &first)?;
                batch.get_layout(&mut twice, &three, right, 0, &parts)
            })
        })?;
        let sent = |place: usize| 1000 * world.rank() + 4 + 5 * place as u32;
        assert_eq!(face.to_vec(), (0..12).map(sent).collect::<Vec<_>>());
        assert_eq!([twice[0], twice[20], twice[40]], [sent(8), sent(0), sent(4)]);
        assert_eq!(twice.iter().filter(|value| **value == 7).count(), 57);
        world.barrier()?;
        window.fence_epoch(|epoch| epoch.accumulate_layout(&cube, &last, ReduceOp::Sum, right, 0, &first))?;
        assert_eq!(window.local().get(at([2, 3, 0])), 2 * (1000 * left + 59));
        window.free()
    });
}

#[test]
fn layouts_that_leave_their_memory_are_errors() {
    on_all_paths(|world| {
        let mut window = world.allocate::<[u16; 3]>(8)?;
        let (short, mut room) = (vec![[1; 3]; 7], vec![[2; 3]; 7]);
        let [right, _] = neighbours(world);
        let column = Layout::strided(4, 1, 2)?;
        let all = Layout::strided(2, 2, 6)?;
        window.fence_epoch(|epoch| {
            epoch.put_layout(&short, &column, right, 0, &column)?;
            let error = epoch.put_layout(&short, &all, right, 0, &all).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Arg);
            assert_eq!(error.cause(), "the layout ends at element 8, and the buffer has 7");
            let error = epoch.get_layout(&mut room, &all, right, 0, &all).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Arg);
            Ok(())
        })?;
        assert_eq!(window.local().get(6), [1; 3]);
        let far = window.fence_epoch(|epoch| epoch.put_layout(&short, &column, right, 2, &column));
        assert_eq!(far.unwrap_err().class(), ErrorClass::RmaRange);
        let fewer = Layout::contiguous(3)?;
        let different = window.fence_epoch(|epoch| epoch.put_layout(&short, &column, right, 0, &fewer));
        assert_eq!(different.unwrap_err().class(), ErrorClass::Truncate);
        let (empty, beyond) = (2..2, 3..5);
        let one = std::slice::from_ref;
        let bad: [(&[usize], &[_]); 4] =
            [(&[4, 4], &[0..5, 0..1]), (&[4], one(&empty)), (&[4], &[]), (&[4], one(&beyond))];
        for (shape, part) in bad {
            assert_eq!(Layout::<u8>::block(shape, part).unwrap_err().class(), ErrorClass::Arg, "{part:?}");
        }
        assert_eq!(Layout::<u64>::strided(usize::MAX, 2, 2).unwrap_err().class(), ErrorClass::Count);
        world.barrier()?;
        window.free()
    });
}
