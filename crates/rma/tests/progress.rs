//! Collectives that were begun go on in whatever call their rank waits.

#![allow(missing_docs)]

use rma::raw::Plane;
use rma::{ReduceOp, Result, World};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Runs ranks as threads; a world that does not end in time fails the test instead of hanging it.
fn run(ranks: u32, rank: impl Fn(&World) -> Result<()> + Sync + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let world = thread::spawn(move || {
        let ended = World::run_threads(ranks, rank);
        sender.send(()).unwrap();
        ended.unwrap();
    });
    match receiver.recv_timeout(LIMIT) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the ranks have not ended in {LIMIT:?}"),
        _ => world.join().unwrap(),
    }
}

/// Rank 0 waits for a message that rank 1 sends only after a barrier, which needs rank 0 in every round.
#[test]
fn a_barrier_goes_on_while_its_rank_waits_for_a_message() {
    for ranks in 2..=9 {
        run(ranks, |world| {
            let scope = world.scope(Plane::User);
            let messenger = world.runtime().messenger();
            let barrier = world.begin_barrier();
            match world.rank() {
                0 => {
                    let mut message = messenger.begin_receive(scope, None, Some(5), 0)?;
                    let describe = || "the message behind the barrier".to_owned();
                    world.runtime().wait_until("receive", &describe, &mut || message.test().transpose())?;
                    barrier.wait()
                }
                1 => {
                    barrier.wait()?;
                    drop(messenger.begin_send(world.peer(0)?, scope, 5, Vec::new())?);
                    world.engine().poll();
                    Ok(())
                }
                _ => barrier.wait(),
            }
        });
    }
}

/// Every rank but the last waits in the fence, which the last enters only after the barrier.
#[test]
fn a_barrier_goes_on_while_its_rank_waits_in_a_fence() {
    for ranks in 2..=9 {
        run(ranks, |world| {
            let mut window = world.allocate::<u64>(1)?;
            let barrier = world.begin_barrier();
            let is_last = world.rank() + 1 == world.size();
            if is_last {
                barrier.wait()?;
                window.fence_epoch(|_| Ok(()))?;
            } else {
                window.fence_epoch(|_| Ok(()))?;
                barrier.wait()?;
            }
            window.free()
        });
    }
}

#[test]
fn many_collectives_are_under_way_at_once_and_end_in_any_order() {
    const EACH: usize = 20;
    for ranks in [1, 3, 8] {
        run(ranks, move |world| {
            let other = world.duplicate()?;
            let mut barriers: Vec<_> =
                (0..EACH).flat_map(|_| [world.begin_barrier(), other.begin_barrier()]).collect();
            // Blocking ones in between have their own place in the order.
            assert_eq!(world.allreduce(ReduceOp::Sum, &[1u32])?, [ranks]);
            if world.rank() % 2 == 0 {
                barriers.reverse();
            }
            while !barriers.is_empty() {
                let mut failed = None;
                barriers.retain_mut(|barrier| match barrier.test() {
                    Ok(None) => true,
                    Ok(Some(())) => false,
                    Err(error) => {
                        failed = Some(error);
                        false
                    }
                });
                failed.map_or(Ok(()), Err)?;
            }
            Ok(())
        });
    }
}

#[test]
fn a_collective_whose_handle_is_dropped_goes_on_for_the_others() {
    run(5, |world| {
        let barrier = world.begin_barrier();
        if world.rank() == 2 {
            drop(barrier);
            // Waits for the end of all others, which need this rank in their barrier.
            return world.barrier();
        }
        barrier.wait()?;
        world.barrier()
    });
}

/// A message from one thread of a process to another moves no packet, and still wakes the waiting thread.
#[test]
fn a_thread_that_waits_hears_of_its_own_process() {
    run(1, |world| {
        let scope = world.scope(Plane::User);
        let messenger = world.runtime().messenger();
        thread::scope(|threads| {
            let waits = threads.spawn(|| {
                let mut message = messenger.begin_receive(scope, None, None, 8)?;
                let describe = || "the other thread".to_owned();
                world.runtime().wait_until("receive", &describe, &mut || message.test().transpose())
            });
            // Long enough for the other thread to fall asleep; a shorter sleep would only test less.
            thread::sleep(Duration::from_millis(50));
            drop(messenger.begin_send(world.peer(0)?, scope, 1, vec![7])?);
            world.engine().poll();
            let received = waits.join().unwrap()?;
            assert_eq!(received.data, Some(vec![7]));
            Ok(())
        })
    });
}

#[test]
fn an_error_ends_the_request_and_nothing_else() {
    run(2, |world| {
        // The ranks do not agree on the number of values: an error in this collective on both ranks, and in no other.
        let values = vec![1u64; 1 + world.rank() as usize];
        let error = world.allreduce(ReduceOp::Sum, &values).unwrap_err();
        assert_eq!(error.call(), "allreduce");
        assert_eq!(world.allreduce(ReduceOp::Sum, &[1u32])?, [2]);
        world.barrier()
    });
}

/// Windows of one communicator are not in each other's order: each has its own thread, and threads differ in speed.
#[test]
fn threads_synchronize_windows_of_their_own() {
    const ROUNDS: u64 = 300;
    run(3, |world| {
        let windows = [world.allocate::<u64>(1)?, world.allocate::<u64>(1)?];
        let rank = world.rank();
        thread::scope(|threads| {
            let ends = windows.map(|mut window| {
                threads.spawn(move || {
                    for round in 1..=ROUNDS {
                        let mine = [round];
                        window.fence_epoch(|epoch| epoch.put(&mine, (rank + 1) % 3, 0))?;
                        assert_eq!(window.local().get(0), round, "after the fence, before the next write");
                        window.fence_epoch(|_| Ok(()))?;
                    }
                    Ok(window)
                })
            });
            ends.into_iter().map(|end| end.join().unwrap()).collect::<Result<Vec<_>>>()
        })?
        .into_iter()
        .try_for_each(rma::Window::free)
    });
}
