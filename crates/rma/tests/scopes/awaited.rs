//! Messages, collectives and counters as futures: what they end with, what wakes them, and what becomes of those not awaited.

use super::futures::{Bell, block_on, join, poll};
use super::on_both_paths;
use rma::config::Configuration;
use rma::{Error, ErrorClass, ReduceOp, World};
use rma_ch_sim::SimConfig;
use std::sync::{Arc, Barrier};
use std::task::Poll;

fn neighbors(world: &World) -> (u32, u32) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

#[test]
fn messages_collectives_and_counters_are_awaited_together() {
    on_both_paths(4, |world| {
        let (left, right) = neighbors(world);
        let mut window = world.allocate::<u64>(2)?;
        window.set_notifications(2)?;
        // Long ones wait for their receive.
        let long = vec![world.rank(); 1 << 18];
        let (sum, message) =
            block_on(join(async { world.begin_allreduce(ReduceOp::Sum, &[world.rank()])?.await }, async {
                let receiving = world.begin_receive::<u32>(Some(left), Some(7))?;
                let sending = world.begin_send(right, 7, &long)?;
                let (sent, message) = join(sending.into_future(), receiving.into_future()).await;
                sent.and(message)
            }));
        let message = message?;
        assert_eq!(sum?, [6]);
        assert_eq!((message.source, message.tag, message.values), (left, 7, vec![left; 1 << 18]));

        window.lock_all(|all| {
            block_on(async {
                all.rank(right)?.put_value_notify(10 + u64::from(world.rank()), 0, 1)?;
                all.notified(1, 1)?.await?;
                assert_eq!(all.local().get(0), 10 + u64::from(left));
                all.put_value_notify(7, right, 1, 0)?;
                all.notified(0, 1)?.await
            })
        })?;
        assert_eq!(window.local().get(1), 7);
        assert!(window.notified(0, 1)?.test()?);
        window.notified(1, 1)?.wait()?;
        let error = window.notified(2, 1).unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaNotification);
        block_on(world.begin_barrier().into_future())?;
        window.free()
    });
}

/// Rank 1 is away until rank 0 waits at the barrier: its tasks are woken once, by what comes then.
#[test]
fn tasks_are_woken_once_and_by_what_they_await() {
    let away = Barrier::new(2);
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u64>(1)?;
        window.set_notifications(1)?;
        world.barrier()?;
        if world.rank() == 1 {
            away.wait();
            world.begin_send(0, 3, &[5u8])?.wait()?;
            window.exclusive(0, |rank0| rank0.put_value_notify(9, 0, 0))?;
            world.barrier()?;
            return window.free();
        }
        let (message, counter, barrier) = (Bell::new(), Bell::new(), Bell::new());
        let mut receiving = world.begin_receive::<u8>(None, None)?.into_future();
        let mut notified = window.notified(0, 1)?;
        let mut met = world.begin_barrier().into_future();
        assert!(poll(&mut receiving, &message).is_pending());
        assert!(poll(&mut notified, &counter).is_pending());
        assert!(poll(&mut met, &barrier).is_pending());
        assert_eq!([&message, &counter, &barrier].map(|bell| bell.rings()), [0; 3]);
        away.wait();
        for bell in [&message, &counter, &barrier] {
            bell.wait(0);
        }
        let Poll::Ready(received) = poll(&mut receiving, &message) else {
            panic!("woken before the message")
        };
        assert_eq!(received?.values, [5]);
        assert!(matches!(poll(&mut notified, &counter), Poll::Ready(Ok(()))));
        assert!(matches!(poll(&mut met, &barrier), Poll::Ready(Ok(()))));
        assert_eq!([&message, &counter, &barrier].map(|bell| bell.rings()), [1; 3]);
        drop(notified);
        assert_eq!(window.local().get(0), 9);
        window.free()
    });
}

#[test]
fn futures_that_are_dropped_take_back_and_forgotten_ones_do_no_harm() {
    for forgets in [false, true] {
        on_both_paths(2, |world| {
            let window = world.allocate::<u64>(1)?;
            window.set_notifications(1)?;
            world.barrier()?;
            let bell = Bell::new();
            if world.rank() == 0 {
                let mut receiving = world.begin_receive::<u8>(Some(1), Some(1))?.into_future();
                let mut notified = window.notified(0, 1)?;
                assert!(poll(&mut receiving, &bell).is_pending() && poll(&mut notified, &bell).is_pending());
                let mut met = world.begin_barrier().into_future();
                assert!(poll(&mut met, &bell).is_pending());
                if forgets {
                    std::mem::forget((receiving, notified, met));
                } else {
                    drop((receiving, notified, met));
                    assert_eq!(Arc::strong_count(&bell), 1, "the wakers are gone");
                }
                world.send(1, 2, &[0u8])?;
                // The dropped receive has left this message to others.
                let tag = if forgets { 3 } else { 1 };
                assert_eq!(world.receive::<u8>(Some(1), Some(tag))?.values, [7]);
                if !forgets {
                    world.receive::<u8>(Some(1), Some(3))?;
                }
            } else {
                world.receive::<u8>(Some(0), Some(2))?;
                world.send(0, 1, &[7u8])?;
                world.send(0, 3, &[7u8])?;
                // The barrier that nothing awaits there goes on.
                world.begin_barrier().wait()?;
            }
            world.barrier()?;
            window.free()
        });
    }
}

#[test]
fn futures_on_a_rank_that_is_lost_end_with_an_error() {
    for ranks_per_node in [0, 1] {
        let (sim, away) = (SimConfig { ranks_per_node, ..SimConfig::default() }, Barrier::new(2));
        let ended = World::run_threads_with(2, &Configuration::default(), &sim, |world| {
            let window = world.allocate::<u64>(1)?;
            window.set_notifications(1)?;
            world.barrier()?;
            if world.rank() == 1 {
                away.wait();
                return Err(Error::new(ErrorClass::Arg, "test", "this rank leaves"));
            }
            let mut receiving = world.begin_receive::<u8>(Some(1), None)?.into_future();
            let mut notified = window.notified(0, 1)?;
            let mut met = world.begin_barrier().into_future();
            let bell = Bell::new();
            assert!(poll(&mut receiving, &bell).is_pending() && poll(&mut notified, &bell).is_pending());
            assert!(poll(&mut met, &bell).is_pending());
            away.wait();
            let ends = [block_on(receiving).map(drop), block_on(notified), block_on(met)];
            for end in ends {
                let class = end.unwrap_err().class();
                assert!(matches!(class, ErrorClass::ProcFailed | ErrorClass::ProcAborted), "{class:?}");
            }
            Ok(())
        });
        assert_eq!(ended.unwrap_err().class(), ErrorClass::Arg);
    }
}
