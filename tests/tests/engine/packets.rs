//! The packet budgets of the packet path, exact: all packets that one origin's calls cause, acknowledgements included.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Window;
use rma_tests::world::{Elements, Setup, TestRank, from, into, kernel, local, run};

/// Runs `pattern` on rank 0 of `ranks` and checks how many packets it caused.
fn costs(ranks: u32, budget: u64, name: &str, pattern: impl Fn(&TestRank, &Window) + Send + Sync) {
    costs_in(&Setup::packets(ranks), budget, name, pattern);
}

fn costs_in(setup: &Setup, budget: u64, name: &str, pattern: impl Fn(&TestRank, &Window) + Send + Sync) {
    run(setup, |rank| {
        let window = rank.allocate(2048);
        // The second round finds connections made and elements used before.
        for round in 0..2 {
            rank.barrier();
            let before = rank.packets();
            rank.barrier();
            if rank.me == 0 {
                pattern(rank, &window);
                assert_eq!(rank.packets() - before, budget, "{name}, round {round}");
            }
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn lock_one_small_operation_unlock_is_two() {
    let target = Rank(1);
    costs(2, 2, "put", |_, window| {
        window.lock(Exclusive, target, Assert::NONE).unwrap();
        window.put(from(&[7]), target, Disp(3)).unwrap();
        window.unlock(target).unwrap();
    });
    costs(2, 2, "accumulate", |_, window| {
        window.lock(Shared, target, Assert::NONE).unwrap();
        window.accumulate(from(&[7]), kernel(ReduceOp::Sum), target, Disp(3)).unwrap();
        window.unlock(target).unwrap();
    });
    costs(2, 2, "get", |_, window| {
        let mut got = [9; 4];
        window.lock(Shared, target, Assert::NONE).unwrap();
        window.get(into(&mut got), target, Disp(3)).unwrap();
        window.unlock(target).unwrap();
        assert_eq!(got, [0; 4]);
    });
    costs(2, 2, "fetch-and-op", |_, window| {
        let mut old = [9];
        window.lock(Exclusive, target, Assert::NONE).unwrap();
        let result = into(&mut old);
        window.fetch_and_op(&1u64.to_ne_bytes(), result, kernel(ReduceOp::Sum), target, Disp(3)).unwrap();
        window.unlock(target).unwrap();
        assert!(old[0] < 2);
    });
}

#[test]
fn more_data_than_a_lock_packet_takes_is_four() {
    let data = vec![1; 2000];
    costs(2, 4, "large put", |_, window| {
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        window.put(from(&data), Rank(1), Disp(0)).unwrap();
        window.unlock(Rank(1)).unwrap();
    });
}

#[test]
fn lock_n_puts_unlock_is_n_and_two() {
    for n in [2, 3, 8, 9, 31] {
        let data = (0..n).collect::<Vec<u64>>();
        costs(2, n + 2, "n puts", |_, window| {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            for i in 0..n {
                window.put(from(&data[i as usize..][..1]), Rank(1), Disp(i)).unwrap();
            }
            window.unlock(Rank(1)).unwrap();
        });
    }
}

#[test]
fn lock_n_gets_unlock_is_two_n() {
    for n in [1, 2, 7, 40] {
        costs(2, 2 * n, "n gets", |_, window| {
            let mut got = vec![9; n as usize];
            window.lock(Shared, Rank(1), Assert::NONE).unwrap();
            for (i, element) in got.chunks_mut(1).enumerate() {
                window.get(into(element), Rank(1), Disp(i as u64)).unwrap();
            }
            window.unlock(Rank(1)).unwrap();
            assert_eq!(got, vec![0; n as usize]);
        });
    }
}

#[test]
fn locks_of_several_targets_cost_what_each_costs_alone() {
    let all = |call: &dyn Fn(Rank)| (1..5).map(Rank).for_each(call);
    let lock = |window: &Window, target| window.lock(Exclusive, target, Assert::NONE).unwrap();
    costs(5, 8, "locks, a put to each, unlocks", |_, window| {
        all(&|target| lock(window, target));
        all(&|target| window.put(from(&[7]), target, Disp(3)).unwrap());
        all(&|target| window.unlock(target).unwrap());
    });
    costs(5, 8, "the puts in another order, and a target without", |_, window| {
        lock(window, Rank(0));
        all(&|target| lock(window, target));
        [4, 2, 3, 1].into_iter().for_each(|target| window.put(from(&[7]), Rank(target), Disp(3)).unwrap());
        all(&|target| window.unlock(target).unwrap());
        window.unlock(Rank(0)).unwrap();
    });
    costs(5, 11, "unlocked the other way round: all but the last are held before it", |_, window| {
        all(&|target| lock(window, target));
        all(&|target| window.put(from(&[7]), target, Disp(3)).unwrap());
        all(&|target| window.unlock(Rank(5 - target.0)).unwrap());
    });
}

#[test]
fn nothing_to_do_is_nothing() {
    costs(2, 0, "lock, unlock", |_, window| {
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        window.unlock(Rank(1)).unwrap();
    });
    costs(2, 0, "lock, flush, zero-size put, unlock", |_, window| {
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        window.put(from(&[]), Rank(1), Disp(0)).unwrap();
        window.flush(Rank(1)).unwrap();
        window.unlock(Rank(1)).unwrap();
    });
}

#[test]
fn flush_rides_on_the_operation_held_back() {
    costs(2, 3, "lock, put, flush, unlock: the release needs no acknowledgement", |rank, window| {
        let before = rank.packets();
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        window.put(from(&[7]), Rank(1), Disp(0)).unwrap();
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 2, "put and flush");
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 2, "flush with nothing outstanding");
        window.unlock(Rank(1)).unwrap();
    });
    let mut hasty = Setup::packets(2);
    hasty.engine.piggyback_threshold = 0;
    costs_in(&hasty, 2 + 3 + 1, "put that has left before its flush", |rank, window| {
        window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        assert_eq!(window.fetch_add(1, 9, 0).unwrap(), 0);
        let before = rank.packets();
        window.put(from(&[7]), Rank(1), Disp(0)).unwrap();
        rank.engine.poll();
        assert_eq!(rank.packets() - before, 1, "not held back");
        window.flush(Rank(1)).unwrap();
        assert_eq!(rank.packets() - before, 3);
        window.unlock(Rank(1)).unwrap();
    });
}

#[test]
fn no_check_locks_take_no_lock_packet() {
    costs(2, 2, "no-check", |_, window| {
        window.lock(Exclusive, Rank(1), Assert::NO_CHECK).unwrap();
        window.put(from(&[7]), Rank(1), Disp(0)).unwrap();
        window.unlock(Rank(1)).unwrap();
    });
}

#[test]
fn a_fence_of_two_ranks_is_a_word_of_each() {
    // The word to a target rides on the last operation to it, and is all: there are no acknowledgements.
    fences_cost(&Setup::packets(2), &[(1, 1), (3, 1), (20, 1)], &|n, k| (n * k + 2 - k, 2 * n + 1));
}

#[test]
fn fence_acknowledges_once_per_target() {
    let of_four = [(1, 1), (3, 1), (1, 3), (5, 3), (20, 2)];
    fences_cost(&Setup::packets(4), &of_four, &|n, k| (n * k + k, 2 * n));
    let mut setup = Setup::packets(2);
    setup.engine.fence_packets = 0;
    fences_cost(&setup, &[(1, 1), (3, 1)], &|n, k| (n * k + k, 2 * n));
}

#[test]
fn a_fence_of_more_ranks_that_tell_each_other_is_a_word_to_each_besides() {
    for ranks in [3, 5] {
        let mut setup = Setup::packets(ranks);
        let words = u64::from(ranks * (ranks - 1));
        setup.engine.fence_packets = u64::from(ranks);
        fences_cost(&setup, &[(1, 1), (3, 2)], &|n, k| (n * k + k + words, 2 * n + words));
        // One rank more than may: by the host's barrier.
        setup.engine.fence_packets -= 1;
        fences_cost(&setup, &[(1, 1), (3, 2)], &|n, k| (n * k + k, 2 * n));
    }
}

/// Checks what `budgets` says of a fence behind `n` puts to each of `k` targets, and of one behind `n` gets from one.
fn fences_cost(setup: &Setup, cases: &[(u64, u32)], budgets: &(dyn Fn(u64, u64) -> (u64, u64) + Sync)) {
    for &(n, k) in cases {
        let (puts, gets) = budgets(n, k.into());
        run(setup, |rank| {
            let window = rank.allocate(64);
            window.fence(Assert::NO_PRECEDE).unwrap();
            rank.barrier();
            let before = rank.packets();
            rank.barrier();
            let data = (1..=n).collect::<Vec<u64>>();
            if rank.me == 0 {
                for target in 1..=k {
                    for i in 0..n {
                        window.put(from(&data[i as usize..][..1]), Rank(target), Disp(i)).unwrap();
                    }
                }
            }
            window.fence(Assert::NONE).unwrap();
            rank.barrier();
            assert_eq!(rank.packets() - before, puts, "n {n}, k {k}");
            let expected = if (1..=k).contains(&rank.me) { n } else { 0 };
            assert_eq!(local(&window, n as usize - 1), expected);
            rank.barrier();
            let before = rank.packets();
            rank.barrier();
            let mut got = vec![0; n as usize];
            if rank.me == 0 {
                for (i, element) in got.chunks_mut(1).enumerate() {
                    window.get(into(element), Rank(1), Disp(i as u64)).unwrap();
                }
            }
            window.fence(Assert::NO_SUCCEED).unwrap();
            if rank.me == 0 {
                assert_eq!(got, data);
            }
            rank.barrier();
            assert_eq!(rank.packets() - before, gets, "gets bring their own acknowledgement");
            window.free().unwrap();
        });
    }
}

#[test]
fn gets_go_last_and_their_data_carry_the_acknowledgement() {
    // Whatever the order of the calls: one packet for each put, two for each get, and none besides.
    for pattern in ["gp", "gpp", "ggpgp", "pgpg", "gppppppp"] {
        let gets = pattern.matches('g').count();
        let budget = (pattern.len() + gets) as u64;
        let operations = |window: &Window, got: &mut [u64], values: &[u64]| {
            let mut got = got.chunks_mut(1);
            for (at, kind) in pattern.chars().enumerate() {
                if kind == 'g' {
                    window.get(into(got.next().unwrap()), Rank(1), Disp(1000 + at as u64)).unwrap();
                } else {
                    window.put(from(&values[at..=at]), Rank(1), Disp(at as u64)).unwrap();
                }
            }
        };
        let values = [1, 2, 3, 4, 5, 6, 7, 8];
        costs(2, budget, &format!("{pattern}, flush"), |_, window| {
            let mut got = [9; 8];
            window.lock_all(Assert::NO_CHECK).unwrap();
            operations(window, &mut got, &values);
            window.flush(Rank(1)).unwrap();
            assert_eq!(got.iter().filter(|value| **value == 0).count(), gets, "a get took a put's place");
            window.unlock_all().unwrap();
        });
    }
}

#[test]
fn lock_all_costs_what_it_touches() {
    costs(6, 0, "nothing", |_, window| {
        window.lock_all(Assert::NONE).unwrap();
        window.flush_all().unwrap();
        window.flush_local_all().unwrap();
        window.unlock_all().unwrap();
    });
    for k in 1..6u32 {
        costs(6, 2 * u64::from(k), "one put to each of k", move |_, window| {
            let value = [7];
            window.lock_all(Assert::NONE).unwrap();
            for target in 1..=k {
                window.put(from(&value), Rank(target), Disp(3)).unwrap();
            }
            window.unlock_all().unwrap();
        });
        costs(6, 2 * u64::from(k), "one get of each of k, without checks", move |_, window| {
            let mut got = [9; 6];
            window.lock_all(Assert::NO_CHECK).unwrap();
            for (target, slot) in got.chunks_mut(1).enumerate().take(k as usize + 1) {
                window.get(into(slot), Rank(target as u32), Disp(5)).unwrap();
            }
            window.unlock_all().unwrap();
            assert_eq!(got[k as usize], 0);
        });
        costs(6, 3 * u64::from(k), "put, flush_all, unlock_all", move |_, window| {
            let value = [7];
            window.lock_all(Assert::NONE).unwrap();
            for target in 1..=k {
                window.put(from(&value), Rank(target), Disp(3)).unwrap();
            }
            window.flush_all().unwrap();
            window.unlock_all().unwrap();
        });
    }
}

#[test]
fn exhaustion_asks_every_rank_once_and_releases_every_rank_once() {
    // N packet targets, T elements, operations on k > T targets: every lock is asked for and granted (2N); the operations
    // after the first T are acknowledged (2 each); releases ride on the last of them, or go alone.
    for (elements, k) in [(1, 2), (1, 3), (1, 5), (2, 3), (2, 5), (4, 5)] {
        let n = 5;
        let mut setup = Setup::packets(6);
        setup.engine.target_pool_window = elements;
        setup.engine.target_pool_global = 0;
        let riding = (k - elements - 1) % elements + 1;
        let budget = 2 * n + 2 * (k - elements) + n - riding;
        costs_in(&setup, budget, &format!("{elements} elements, {k} targets"), move |_, window| {
            let value = [7];
            window.lock_all(Assert::NONE).unwrap();
            for target in 1..=k as u32 {
                window.put(from(&value), Rank(target), Disp(3)).unwrap();
            }
            window.unlock_all().unwrap();
        });
    }
}

#[test]
fn complete_is_one_packet_for_each_target_and_post_one_for_each_origin() {
    for (m, k) in [(1, 0), (1, 1), (3, 0), (3, 2), (5, 5)] {
        for gets in [false, true] {
            run(&Setup::packets(6), |rank| {
                let window = rank.allocate(16);
                for round in 0..2 {
                    rank.barrier();
                    let before = rank.packets();
                    rank.barrier();
                    let value = [7];
                    let mut got = [9; 5];
                    if rank.me == 0 {
                        let group = (1..=m).map(Rank).collect::<Vec<_>>();
                        window.start(&group, Assert::NONE).unwrap();
                        for (target, slot) in (1..=k).zip(got.chunks_mut(1)) {
                            window.put(from(&value), Rank(target), Disp(0)).unwrap();
                            window.put(from(&value), Rank(target), Disp(1)).unwrap();
                            if gets {
                                window.get(into(slot), Rank(target), Disp(1)).unwrap();
                            }
                        }
                        window.complete().unwrap();
                    } else if rank.me <= m {
                        window.post_to(&[Rank(0)], Assert::NONE).unwrap();
                        window.wait().unwrap();
                        assert_eq!(local(&window, 1), if rank.me <= k { 7 } else { 0 });
                    }
                    rank.barrier();
                    let (m, k) = (u64::from(m), u64::from(k));
                    // Posts; one packet for each operation but the last; one with "done"; the data of the gets.
                    let operations = if gets { 3 } else { 2 };
                    let budget = m + k * (operations - 1) + m + if gets { k } else { 0 };
                    assert_eq!(rank.packets() - before, budget, "m {m}, k {k}, gets {gets}, round {round}");
                    rank.barrier();
                }
                window.free().unwrap();
            });
        }
    }
}

#[test]
fn the_target_works_on_a_piece_of_a_long_operation_while_the_next_one_comes() {
    const KIB: u64 = 128;
    const LONGEST: u64 = 8 << 10;
    run(&Setup::packets(2), |rank| {
        let window = rank.allocate(LONGEST * KIB);
        let ones = vec![1; (LONGEST * KIB) as usize];
        let mut old = vec![9; (LONGEST * KIB) as usize];
        let mut packets = |kib: u64, gets: bool| {
            let elements = &ones[..(kib * KIB) as usize];
            let old = &mut old[..elements.len()];
            let before = rank.packets();
            match gets {
                true => window.get_accumulate_elements(
                    from(elements),
                    into(old),
                    kernel(ReduceOp::Sum),
                    Rank(1),
                    Disp(0),
                ),
                false => window.accumulate(from(elements), kernel(ReduceOp::Sum), Rank(1), Disp(0)),
            }
            .unwrap();
            window.flush(Rank(1)).unwrap();
            rank.packets() - before
        };
        if rank.me == 0 {
            window.lock(Exclusive, Rank(1), Assert::NONE).unwrap();
            // The lock's own packets come before those that are counted.
            packets(1, false);
            for (kib, pieces) in [(256, 1), (257, 2), (1024, 4), (2048, 4), (LONGEST, 8)] {
                // An acknowledgement; the answers to the pieces.
                assert_eq!(packets(kib, false), pieces + 1, "accumulate of {kib} KiB");
                assert_eq!(packets(kib, true), 2 * pieces, "get_accumulate of {kib} KiB");
            }
            window.unlock(Rank(1)).unwrap();
            assert_eq!((old[0], old[(LONGEST * KIB) as usize - 1]), (10, 1));
        }
        rank.barrier();
        if rank.me == 1 {
            assert_eq!([0, 128 * 512, LONGEST * KIB - 1].map(|at| local(&window, at as usize)), [11, 6, 2]);
        }
        rank.barrier();
        window.free().unwrap();
    });
}
