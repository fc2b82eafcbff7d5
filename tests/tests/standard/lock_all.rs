//! Lock_all epochs (MPI 3.1 §11.5.3) on every path and with the smallest pools: exclusion, order, both protocols.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_tests::world::{Elements, Setup, from, into, kernel, local, run, run_all, set_local};

#[test]
fn every_rank_is_reached_and_flushed() {
    for ranks in [1, 2, 5] {
        run_all(ranks, |rank| {
            let window = rank.allocate(16);
            for round in 1..6 {
                rank.barrier();
                let mine = [round * 100 + u64::from(rank.me)];
                window.lock_all(Assert::NONE).unwrap();
                for target in 0..rank.size {
                    window.put(from(&mine), Rank(target), Disp(u64::from(rank.me))).unwrap();
                }
                if round % 2 == 0 {
                    window.flush_local_all().unwrap();
                }
                window.flush_all().unwrap();
                let mut got = vec![0; rank.size as usize];
                for (target, slot) in got.chunks_mut(1).enumerate() {
                    window.get(into(slot), Rank(target as u32), Disp(u64::from(rank.me))).unwrap();
                }
                window.unlock_all().unwrap();
                assert_eq!(got, vec![mine[0]; rank.size as usize]);
                rank.barrier();
                for origin in 0..rank.size {
                    assert_eq!(local(&window, origin as usize), round * 100 + u64::from(origin));
                }
            }
            window.free().unwrap();
        });
    }
}

#[test]
fn all_sums_arrive_whatever_the_order_of_targets() {
    run_all(4, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        let one = [1];
        for round in 0..20 {
            let assert = if round % 5 == 4 { Assert::NO_CHECK } else { Assert::NONE };
            window.lock_all(assert).unwrap();
            for step in 0..6 {
                let target = Rank((rank.me + round + step * 3) % rank.size);
                window.accumulate(from(&one), kernel(ReduceOp::Sum), target, Disp(0)).unwrap();
                if step == 3 {
                    window.flush(target).unwrap();
                }
            }
            window.unlock_all().unwrap();
        }
        rank.barrier();
        window.lock_all(Assert::NONE).unwrap();
        let sum = (0..rank.size).map(|target| window.fetch_add(target, 0, 0).unwrap()).sum::<u64>();
        window.unlock_all().unwrap();
        assert_eq!(sum, 20 * 6 * u64::from(rank.size));
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn lock_all_excludes_exclusive_locks_and_shares_with_itself() {
    run_all(4, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        for _ in 0..25 {
            if rank.me == 3 {
                window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
                assert_eq!(window.fetch_add(1, 0, 0).unwrap(), 0, "a lock_all epoch is inside");
                window.unlock(Rank(1)).unwrap();
            } else {
                window.lock_all(Assert::NONE).unwrap();
                window.fetch_add(1, 0, 1).unwrap();
                window.fetch_add(0, 1, 1).unwrap();
                window.fetch_add(1, 0, 1u64.wrapping_neg()).unwrap();
                window.unlock_all().unwrap();
            }
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn the_own_window_is_locked_inside_the_call() {
    run_all(2, |rank| {
        let window = rank.allocate(1);
        rank.barrier();
        for _ in 0..30 {
            if rank.me == 0 {
                // Local loads and stores under lock_all exclude an exclusive lock of the other rank.
                window.lock_all(Assert::NONE).unwrap();
                let value = local(&window, 0);
                std::thread::yield_now();
                set_local(&window, 0, value + 1);
                window.sync().unwrap();
                window.unlock_all().unwrap();
            } else {
                let mut value = [0];
                window.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
                window.get(into(&mut value), Rank(0), Disp(0)).unwrap();
                window.flush(Rank(0)).unwrap();
                let value = [value[0] + 1];
                window.put(from(&value), Rank(0), Disp(0)).unwrap();
                window.unlock(Rank(0)).unwrap();
            }
        }
        rank.barrier();
        if rank.me == 0 {
            assert_eq!(local(&window, 0), 60);
        }
        window.free().unwrap();
    });
}

#[test]
fn when_target_elements_run_short_every_rank_is_asked_and_released() {
    for elements in [1, 2, 3] {
        let mut setup = Setup::packets(6);
        setup.engine.target_pool_window = elements;
        setup.engine.target_pool_global = 0;
        run(&setup, |rank| {
            let window = rank.allocate(8);
            rank.barrier();
            let one = [1];
            for round in 0..10 {
                window.lock_all(Assert::NONE).unwrap();
                for step in 0..rank.size {
                    let target = Rank((rank.me + step) % rank.size);
                    window.accumulate(from(&one), kernel(ReduceOp::Sum), target, Disp(0)).unwrap();
                }
                window.unlock_all().unwrap();
                // All locks are free again: an exclusive one is granted, and no rank is inside.
                window.lock(Exclusive, Rank(round % rank.size), Assert::NONE).unwrap();
                window.fetch_add(round % rank.size, 1, 1).unwrap();
                window.unlock(Rank(round % rank.size)).unwrap();
            }
            rank.barrier();
            let counters = rank.engine.counters();
            assert_eq!(counters.lock_all_fallbacks, 10, "{counters:?}");
            assert_eq!(local(&window, 0), 60);
            window.free().unwrap();
        });
    }
}

#[test]
fn an_exclusive_holder_is_waited_for_in_both_protocols() {
    for elements in [1, 16] {
        let mut setup = Setup::packets(4);
        setup.engine.target_pool_window = elements;
        setup.engine.target_pool_global = 0;
        run(&setup, |rank| {
            let window = rank.allocate(4);
            rank.barrier();
            if rank.me == 3 {
                window.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
                assert_eq!(window.fetch_add(2, 0, 1).unwrap(), 0);
            }
            rank.barrier();
            match rank.me {
                3 => {
                    // The others are asking meanwhile.
                    for _ in 0..200 {
                        rank.engine.poll();
                        std::thread::yield_now();
                    }
                    assert_eq!(window.fetch_add(2, 0, 1).unwrap(), 1, "the lock was not exclusive");
                    window.unlock(Rank(2)).unwrap();
                }
                _ => {
                    window.lock_all(Assert::NONE).unwrap();
                    for target in [1, 3, 2] {
                        window.fetch_add(target, 0, 1).unwrap();
                    }
                    window.unlock_all().unwrap();
                }
            }
            rank.barrier();
            assert_eq!(local(&window, 0), [0, 3, 5, 3][rank.me as usize]);
            window.free().unwrap();
        });
    }
}

#[test]
fn flush_all_is_for_single_locks_too() {
    run_all(3, |rank| {
        let window = rank.allocate(4);
        rank.barrier();
        let mine = [u64::from(rank.me) + 1];
        for target in 0..rank.size {
            window.lock(Shared, Rank(target), Assert::NONE).unwrap();
            window.put(from(&mine), Rank(target), Disp(u64::from(rank.me))).unwrap();
        }
        window.flush_all().unwrap();
        window.sync().unwrap();
        rank.barrier();
        assert_eq!((0..3).map(|at| local(&window, at)).collect::<Vec<_>>(), [1, 2, 3]);
        for target in 0..rank.size {
            window.unlock(Rank(target)).unwrap();
        }
        rank.barrier();
        window.free().unwrap();
    });
}
