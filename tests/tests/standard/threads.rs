//! Several threads per rank in one window: the four interleavings that the design note names (operation with operation,
//! operation with flush, flush with flush, operation with fence), on every path and with the smallest pools.

use rma_core::epoch::{Assert, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Window;
use rma_tests::world::{Elements, from, into, kernel, local, run_all};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

const RANKS: u32 = 2;
const THREADS: u32 = 4;

fn lock_all_ranks(window: &Window) {
    for rank in 0..window.size() {
        window.lock(Shared, Rank(rank), Assert::NONE).unwrap();
    }
}

fn unlock_all_ranks(window: &Window) {
    for rank in 0..window.size() {
        window.unlock(Rank(rank)).unwrap();
    }
}

/// Runs `work` on as many threads, which it gets the numbers of, and waits for them.
fn on_threads(work: impl Fn(u32) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
}

#[test]
fn operations_of_all_threads_arrive_once() {
    let rounds = 60;
    run_all(RANKS, |rank| {
        let window = rank.allocate(2);
        rank.barrier();
        lock_all_ranks(&window);
        let one = [1, 1];
        on_threads(|thread| {
            for round in 0..rounds {
                // Half of the threads start with each target, so that the same and different ones meet.
                let target = Rank((thread + round) % RANKS);
                window.accumulate(from(&one), kernel(ReduceOp::Sum), target, Disp(0)).unwrap();
            }
        });
        unlock_all_ranks(&window);
        rank.barrier();
        let expected = u64::from(RANKS * THREADS * rounds / RANKS);
        assert_eq!((local(&window, 0), local(&window, 1)), (expected, expected));
        window.free().unwrap();
    });
}

#[test]
fn a_flush_completes_what_its_thread_has_started() {
    let rounds = 25;
    run_all(RANKS, |rank| {
        let window = rank.allocate(u64::from(RANKS * THREADS));
        rank.barrier();
        lock_all_ranks(&window);
        on_threads(|thread| {
            let own = Disp(u64::from(rank.me * THREADS + thread));
            for round in 1..=rounds {
                for target in (0..RANKS).map(|i| Rank((thread + i) % RANKS)) {
                    let (value, mut seen) = ([round], [0]);
                    window.put(from(&value), target, own).unwrap();
                    window.flush(target).unwrap();
                    window.get(into(&mut seen), target, own).unwrap();
                    window.flush_local(target).unwrap();
                    assert_eq!(seen, value, "thread {thread} of rank {} at rank {target}", rank.me);
                }
            }
        });
        unlock_all_ranks(&window);
        rank.barrier();
        for index in 0..RANKS * THREADS {
            assert_eq!(local(&window, index as usize), rounds);
        }
        window.free().unwrap();
    });
}

/// Lessons, still there 4: a flush waits for the operations before it, not for "nothing outstanding".
#[test]
fn two_threads_flush_one_target_while_others_keep_putting() {
    let flushes = 30;
    run_all(RANKS, |rank| {
        let window = rank.allocate(u64::from(THREADS));
        rank.barrier();
        let target = Rank((rank.me + 1) % RANKS);
        window.lock(Shared, target, Assert::NONE).unwrap();
        let (flushing, value) = (AtomicU32::new(2), [7]);
        on_threads(|thread| {
            let own = Disp(u64::from(thread));
            if thread < 2 {
                for _ in 0..flushes {
                    window.put(from(&value), target, own).unwrap();
                    window.flush(target).unwrap();
                }
                flushing.fetch_sub(1, SeqCst);
            } else {
                // Does not stop before both flushing threads have come back every time, and there is always something of
                // the one or the other thread under way. A bounded number, so that every flush waits for few.
                while flushing.load(SeqCst) > 0 {
                    for _ in 0..16 {
                        window.put(from(&value), target, own).unwrap();
                    }
                    window.flush_local(target).unwrap();
                }
            }
        });
        window.unlock(target).unwrap();
        rank.barrier();
        assert_eq!([0, 1].map(|index| local(&window, index)), [7, 7]);
        assert!([2, 3].iter().all(|index| [0, 7].contains(&local(&window, *index))));
        window.free().unwrap();
    });
}

#[test]
fn read_modify_write_of_all_threads_is_one_step() {
    let rounds = 20;
    run_all(RANKS, |rank| {
        let window = rank.allocate(1);
        rank.barrier();
        window.lock(Shared, Rank(0), Assert::NONE).unwrap();
        on_threads(|_| {
            let mut last = None;
            for _ in 0..rounds {
                let ticket = window.fetch_add(0, 0, 1).unwrap();
                assert!(last.is_none_or(|last| last < ticket), "{last:?} then {ticket}");
                last = Some(ticket);
            }
        });
        window.unlock(Rank(0)).unwrap();
        rank.barrier();
        if rank.me == 0 {
            assert_eq!(local(&window, 0), u64::from(RANKS * THREADS * rounds));
        }
        window.free().unwrap();
    });
}

/// An operation that one thread begins while another is in a fence belongs to the epoch before or after it, and is complete
/// after the next fence at the latest.
#[test]
fn operations_meet_fences_of_another_thread() {
    let (fences, at_least) = (12, 10);
    run_all(RANKS, |rank| {
        let window = rank.allocate(u64::from(THREADS));
        window.fence(Assert::NONE).unwrap();
        let (is_over, one) = (AtomicBool::new(false), [1]);
        let counts = std::thread::scope(|scope| {
            let (window, is_over, one) = (&window, &is_over, &one);
            let threads: Vec<_> = (0..u64::from(THREADS))
                .map(|thread| {
                    scope.spawn(move || {
                        let mut sent = [0; RANKS as usize];
                        while !is_over.load(SeqCst) || sent[0] < at_least {
                            for (target, sent) in sent.iter_mut().enumerate() {
                                let target = Rank(target as u32);
                                let sum = kernel(ReduceOp::Sum);
                                window.accumulate(from(one), sum, target, Disp(thread)).unwrap();
                                *sent += 1;
                            }
                            std::thread::yield_now();
                        }
                        sent
                    })
                })
                .collect();
            for _ in 0..fences {
                window.fence(Assert::NONE).unwrap();
            }
            is_over.store(true, SeqCst);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        window.fence(Assert::NO_SUCCEED).unwrap();
        // What all ranks have sent to this one, by thread.
        let totals = rank.allocate(u64::from(THREADS));
        totals.fence(Assert::NO_PRECEDE).unwrap();
        for (thread, sent) in counts.iter().enumerate() {
            for (target, sent) in sent.iter().enumerate() {
                let sent = std::slice::from_ref(sent);
                let sum = kernel(ReduceOp::Sum);
                totals.accumulate(from(sent), sum, Rank(target as u32), Disp(thread as u64)).unwrap();
            }
        }
        totals.fence(Assert::NO_SUCCEED).unwrap();
        for thread in 0..THREADS as usize {
            assert_eq!(local(&window, thread), local(&totals, thread), "thread {thread}");
        }
        totals.free().unwrap();
        window.free().unwrap();
    });
}

#[test]
fn a_thread_that_posts_to_its_own_rank_wakes_one_that_sleeps_in_start() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(1);
        let me = [Rank(rank.me)];
        for round in 1..20 {
            let sleeps = rank.engine.counters().sleeps;
            std::thread::scope(|scope| {
                let value = [round];
                let window = &window;
                scope.spawn(move || {
                    window.start(&me, Assert::NONE).unwrap();
                    window.put(from(&value), me[0], Disp(0)).unwrap();
                    window.complete().unwrap();
                });
                while rank.engine.counters().sleeps == sleeps {
                    std::thread::yield_now();
                }
                window.post_to(&me, Assert::NONE).unwrap();
                window.wait().unwrap();
            });
            assert_eq!(local(&window, 0), round);
        }
        rank.barrier();
        window.free().unwrap();
    });
}
