//! Passive target synchronization (MPI 3.1 §11.5.3): exclusion, order, sharing, on every path and with the smallest pools.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_tests::world::{Elements, Setup, from, into, kernel, local, run, run_all, set_local};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[test]
fn exclusive_locks_make_read_and_write_one_step() {
    let rounds = 40;
    run_all(4, |rank| {
        let window = rank.allocate(4);
        rank.barrier();
        let target = Rank(1);
        for _ in 0..rounds {
            let mut value = [0];
            window.lock(Exclusive, target, Assert::NONE).unwrap();
            window.get(into(&mut value), target, Disp(2)).unwrap();
            window.flush(target).unwrap();
            value[0] += 1;
            window.put(from(&value), target, Disp(2)).unwrap();
            window.unlock(target).unwrap();
        }
        rank.barrier();
        if rank.me == 1 {
            assert_eq!(local(&window, 2), rounds * u64::from(rank.size));
        }
        window.free().unwrap();
    });
}

#[test]
fn unlock_means_executed_at_the_target() {
    // A third rank, told by a message, sees the data: completion does not depend on the kind of lock (lessons 1, 2).
    run_all(3, |rank| {
        let window = rank.allocate(1);
        for round in 1..30 {
            for (kind, assert) in
                [(Exclusive, Assert::NONE), (Shared, Assert::NONE), (Shared, Assert::NO_CHECK)]
            {
                rank.barrier();
                if rank.me == 0 {
                    let value = [round];
                    window.lock(kind, Rank(1), assert).unwrap();
                    window.put(from(&value), Rank(1), Disp(0)).unwrap();
                    window.unlock(Rank(1)).unwrap();
                }
                rank.barrier();
                if rank.me == 2 {
                    let mut got = [0];
                    window.lock(Shared, Rank(1), Assert::NONE).unwrap();
                    window.get(into(&mut got), Rank(1), Disp(0)).unwrap();
                    window.unlock(Rank(1)).unwrap();
                    assert_eq!(got[0], round);
                }
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn shared_locks_are_held_together_and_exclude_exclusive_ones() {
    run_all(4, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        for _ in 0..25 {
            if rank.me == 3 {
                window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                assert_eq!(window.fetch_add(0, 0, 0).unwrap(), 0, "a shared holder is inside");
                window.unlock(Rank(0)).unwrap();
            } else {
                window.lock(Shared, Rank(0), Assert::NONE).unwrap();
                window.fetch_add(0, 0, 1).unwrap();
                window.fetch_add(0, 0, 1u64.wrapping_neg()).unwrap();
                window.unlock(Rank(0)).unwrap();
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn waiting_requests_are_served_in_the_order_they_came() {
    for setup in [Setup::packets(5), Setup::direct(5), Setup::mixed(5)] {
        let served = Mutex::new(Vec::new());
        let asked = AtomicU64::new(0);
        run(&setup, |rank| {
            let window = rank.allocate(1);
            let locks_waiting = |rank: &rma_tests::world::TestRank| rank.engine.counters().locks_waited;
            rank.barrier();
            if rank.me == 0 {
                window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
            }
            rank.barrier();
            // One after the other joins the line: the next asks when the one before is known to wait.
            for turn in 1..rank.size {
                if rank.me == turn {
                    let mut sync = window.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                    let value = [1];
                    let mut posted = false;
                    let mut announced = false;
                    rank.engine.wait_until("lock", &|| "turn".to_owned(), &mut || Ok(Some(()))).unwrap();
                    loop {
                        // A packet origin's request leaves with its first operation.
                        if window.poll_sync(&mut sync).unwrap() && !posted && !window.is_direct(Rank(0)) {
                            window.accumulate(from(&value), kernel(ReduceOp::Sum), Rank(0), Disp(0)).unwrap();
                            sync = window.begin_flush(Rank(0)).unwrap();
                            posted = true;
                        }
                        rank.engine.poll();
                        if !announced {
                            announced = true;
                            asked.fetch_add(1, SeqCst);
                        }
                        if window.poll_sync(&mut sync).unwrap() {
                            break;
                        }
                        std::thread::yield_now();
                    }
                    served.lock().unwrap().push(rank.me);
                    window.unlock(Rank(0)).unwrap();
                    break;
                }
                // All ranks before this turn keep serving until the request of that turn stands in line.
                if rank.me == 0 {
                    let is_direct = window.is_direct(Rank(turn));
                    while asked.load(SeqCst) < u64::from(turn)
                        || (!is_direct && locks_waiting(rank) < packet_waiters(&window, turn))
                    {
                        rank.engine.poll();
                        std::thread::yield_now();
                    }
                } else {
                    while asked.load(SeqCst) < u64::from(turn) {
                        rank.engine.poll();
                        std::thread::yield_now();
                    }
                }
            }
            if rank.me == 0 {
                window.unlock(Rank(0)).unwrap();
            }
            rank.barrier();
            window.free().unwrap();
        });
        let served = served.into_inner().unwrap();
        assert_eq!(served.len(), 4);
        if setup.sim.ranks_per_node != 2 {
            assert_eq!(served, [1, 2, 3, 4], "{setup:?}");
        }
    }
}

/// Packet requests that rank 0 has seen when `turn` has asked.
fn packet_waiters(window: &rma_core::window::Window, turn: u32) -> u64 {
    (1..=turn).filter(|rank| !window.is_direct(Rank(*rank))).count() as u64
}

#[test]
fn locks_of_several_targets_are_held_at_once() {
    run_all(4, |rank| {
        let window = rank.allocate(8);
        rank.barrier();
        let value = [u64::from(rank.me) + 1];
        let mut got = [0; 4];
        // In ascending order, so that no two ranks wait for each other.
        for target in 0..rank.size {
            window.lock(Exclusive, Rank(target), Assert::NONE).unwrap();
            window.put(from(&value), Rank(target), Disp(u64::from(rank.me))).unwrap();
        }
        for (target, slot) in got.chunks_mut(1).enumerate() {
            window.get(into(slot), Rank(target as u32), Disp(u64::from(rank.me))).unwrap();
            window.flush(Rank(target as u32)).unwrap();
        }
        for target in (0..rank.size).rev() {
            window.unlock(Rank(target)).unwrap();
        }
        assert_eq!(got, [value[0]; 4]);
        rank.barrier();
        assert_eq!((0..4).map(|i| local(&window, i)).collect::<Vec<_>>(), [1, 2, 3, 4]);
        window.free().unwrap();
    });
}

#[test]
fn a_lock_protects_loads_and_stores_of_the_owner() {
    run_all(2, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        for _ in 0..50 {
            window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
            if rank.me == 0 {
                set_local(&window, 0, local(&window, 0) + 1);
            } else {
                let mut value = [0];
                window.get(into(&mut value), Rank(0), Disp(0)).unwrap();
                window.flush(Rank(0)).unwrap();
                let value = [value[0] + 1];
                window.put(from(&value), Rank(0), Disp(0)).unwrap();
                window.flush(Rank(0)).unwrap();
            }
            window.unlock(Rank(0)).unwrap();
        }
        rank.barrier();
        if rank.me == 0 {
            assert_eq!(local(&window, 0), 100);
        }
        window.free().unwrap();
    });
}

#[test]
fn data_that_waits_with_a_lock_is_put_back_whole_when_refused() {
    // Every size of queue, from none to plenty; contention on one target (lessons, still there 5, 6, 9).
    for queue in [0, 1, 100, 3000, 65536] {
        let mut setup = Setup::packets(4);
        setup.engine.lock_queue_bytes = queue;
        run(&setup, |rank| {
            let window = rank.allocate(512);
            rank.barrier();
            for round in 0..20 {
                let data = vec![u64::from(rank.me) << 32 | round; 64];
                let mut got = vec![0; 64];
                window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                if round % 2 == 0 {
                    window.put(from(&data), Rank(0), Disp(64 * u64::from(rank.me))).unwrap();
                } else {
                    window.get(into(&mut got), Rank(0), Disp(64 * u64::from(rank.me))).unwrap();
                }
                window.unlock(Rank(0)).unwrap();
                if round % 2 == 1 {
                    assert_eq!(got, vec![u64::from(rank.me) << 32 | (round - 1); 64]);
                }
            }
            rank.barrier();
            window.free().unwrap();
        });
    }
}
