//! Rules 1 to 6 of §11.7: the latest call at which an operation is complete at its origin and at its target, and at which one
//! copy of a window sees the other. By number, on every path, with default and with smallest sizes.
//!
//! A test of the world takes no packet and no synchronization of a window where ranks must know that a call has returned
//! elsewhere: the barrier of the test bed.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Window;
use rma_tests::world::{TestRank, from, into, kernel, local, run_all, set_local};

const RANKS: u32 = 3;
const ROUNDS: u64 = 5;

fn right(rank: &TestRank) -> Rank {
    Rank((rank.me + 1) % rank.size)
}

fn left(rank: &TestRank) -> u32 {
    (rank.me + rank.size - 1) % rank.size
}

/// What `rank` puts in a round.
fn word(rank: u32, round: u64) -> u64 {
    1000 * (u64::from(rank) + 1) + round
}

/// A way to open an epoch to a rank, and to close it or complete what was done in it.
type Epoch = (
    &'static str,
    fn(&Window, Rank) -> Result<()>,
    fn(&Window, Rank) -> Result<()>,
    fn(&Window, Rank) -> Result<()>,
);

fn nothing(_: &Window, _: Rank) -> Result<()> {
    Ok(())
}

/// All passive ways: opened by, completed by, and then ended by.
const PASSIVE: [Epoch; 8] = [
    ("unlock", |w, r| w.lock(Shared, r, Assert::NONE), |w, r| w.unlock(r), nothing),
    ("unlock, exclusive", |w, r| w.lock(Exclusive, r, Assert::NONE), |w, r| w.unlock(r), nothing),
    ("unlock_all", |w, _| w.lock_all(Assert::NONE), |w, _| w.unlock_all(), nothing),
    ("flush", |w, r| w.lock(Shared, r, Assert::NONE), |w, r| w.flush(r), |w, r| w.unlock(r)),
    ("flush_all", |w, _| w.lock_all(Assert::NONE), |w, _| w.flush_all(), |w, _| w.unlock_all()),
    ("flush under lock_all", |w, _| w.lock_all(Assert::NONE), |w, r| w.flush(r), |w, _| w.unlock_all()),
    ("flush_local", |w, r| w.lock(Shared, r, Assert::NONE), |w, r| w.flush_local(r), |w, r| w.unlock(r)),
    ("flush_local_all", |w, _| w.lock_all(Assert::NONE), |w, _| w.flush_local_all(), |w, _| w.unlock_all()),
];

#[test]
fn rule_1_an_operation_is_complete_at_its_origin_when_the_call_that_synchronizes_it_returns() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(2);
        let target = right(rank);
        for (name, open, complete, end) in PASSIVE {
            set_local(&window, 0, word(rank.me, 0));
            rank.barrier();
            let (mut value, mut got) = ([word(rank.me, 7)], [0]);
            open(&window, target).unwrap();
            window.get(into(&mut got), target, Disp(0)).unwrap();
            window.put(from(&value), target, Disp(1)).unwrap();
            complete(&window, target).unwrap();
            // The data are there, and the origin's buffer is the caller's again.
            assert_eq!(got, [word(target.0, 0)], "{name}");
            value[0] = 0;
            end(&window, target).unwrap();
            rank.barrier();
            assert_eq!(
                local(&window, 1),
                word(left(rank), 7),
                "{name}: the buffer was read before it was changed"
            );
            assert_eq!(value, [0]);
        }
        window.free().unwrap();
    });
}

#[test]
fn rule_1_for_fence_and_complete() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(2);
        let target = right(rank);
        for round in 1..=ROUNDS {
            set_local(&window, 0, word(rank.me, round));
            window.fence(Assert::NONE).unwrap();
            let (mut value, mut got) = ([word(rank.me, round)], [0]);
            window.get(into(&mut got), target, Disp(0)).unwrap();
            window.put(from(&value), target, Disp(1)).unwrap();
            window.fence(Assert::NO_SUCCEED).unwrap();
            assert_eq!(got, [word(target.0, round)]);
            value[0] = 0;
            window.post_to(&[Rank(left(rank))], Assert::NONE).unwrap();
            window.start(&[target], Assert::NONE).unwrap();
            got = [0];
            window.get(into(&mut got), target, Disp(0)).unwrap();
            window.complete().unwrap();
            assert_eq!(got, [word(target.0, round)]);
            window.wait().unwrap();
            assert_eq!((local(&window, 1), value), (word(left(rank), round), [0]));
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn rule_2_what_a_fence_completes_at_its_origin_the_fence_of_the_target_completes_there() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(2);
        window.fence(Assert::NO_PRECEDE).unwrap();
        for round in 1..=ROUNDS {
            let (value, one) = ([word(rank.me, round)], [1]);
            window.put(from(&value), right(rank), Disp(0)).unwrap();
            (0..rank.size).for_each(|to| {
                window.accumulate(from(&one), kernel(ReduceOp::Sum), Rank(to), Disp(1)).unwrap()
            });
            window.fence(Assert::NONE).unwrap();
            assert_eq!(local(&window, 0), word(left(rank), round));
            assert_eq!(local(&window, 1), round * u64::from(RANKS));
            // No rank puts again before all have looked.
            window.fence(Assert::NONE).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn rule_3_what_complete_completes_at_its_origin_wait_completes_at_the_target() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(u64::from(RANKS));
        for round in 1..=ROUNDS {
            // All to all others.
            let others = (0..RANKS).filter(|other| *other != rank.me).map(Rank).collect::<Vec<_>>();
            let value = [word(rank.me, round)];
            window.post_to(&others, Assert::NONE).unwrap();
            window.start(&others, Assert::NONE).unwrap();
            others.iter().for_each(|to| window.put(from(&value), *to, Disp(rank.me.into())).unwrap());
            window.complete().unwrap();
            window.wait().unwrap();
            for other in &others {
                assert_eq!(local(&window, other.0 as usize), word(other.0, round));
            }
            // `test` is a wait that does not wait: what it says to be over is over.
            window.post_to(&[Rank(left(rank))], Assert::NONE).unwrap();
            window.start(&[right(rank)], Assert::NONE).unwrap();
            let value = [word(rank.me, 100 + round)];
            window.put(from(&value), right(rank), Disp(rank.me.into())).unwrap();
            window.complete().unwrap();
            while !window.test().unwrap() {}
            assert_eq!(local(&window, left(rank) as usize), word(left(rank), 100 + round));
        }
        rank.barrier();
        window.free().unwrap();
    });
}

#[test]
fn rule_4_what_unlock_and_flush_complete_is_complete_at_the_target() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(3);
        let target = right(rank);
        // The last two complete at the origin only.
        for (number, (name, open, complete, end)) in PASSIVE.into_iter().take(6).enumerate() {
            let round = number as u64 + 1;
            rank.barrier();
            let (value, one) = ([word(rank.me, round)], [1]);
            open(&window, target).unwrap();
            window.put(from(&value), target, Disp(0)).unwrap();
            window.accumulate(from(&one), kernel(ReduceOp::Sum), target, Disp(1)).unwrap();
            complete(&window, target).unwrap();
            // The target does not take part: another rank reads what is there now.
            rank.barrier();
            let mut got = [0; 2];
            let third = Rank((rank.me + 2) % rank.size);
            if name.starts_with("unlock") {
                window.lock(Shared, third, Assert::NONE).unwrap();
                window.get(into(&mut got), third, Disp(0)).unwrap();
                window.unlock(third).unwrap();
                let writer = (third.0 + rank.size - 1) % rank.size;
                assert_eq!(got, [word(writer, round), round], "{name}");
            }
            assert_eq!(local(&window, 0), word(left(rank), round), "{name}");
            assert_eq!(local(&window, 1), round, "{name}");
            rank.barrier();
            end(&window, target).unwrap();
        }
        window.free().unwrap();
    });
}

#[test]
fn rule_5_a_store_is_seen_by_others_after_post_fence_unlock_and_sync() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(1);
        let (me, target) = (Rank(rank.me), right(rank));
        for round in 0..ROUNDS {
            let see = |number: u64| {
                let mut got = [0];
                window.lock(Shared, target, Assert::NONE).unwrap();
                window.get(into(&mut got), target, Disp(0)).unwrap();
                window.unlock(target).unwrap();
                assert_eq!(got, [word(target.0, 10 * round + number)], "way {number}");
                rank.barrier();
            };
            let store = |number: u64| set_local(&window, 0, word(rank.me, 10 * round + number));
            window.lock(Exclusive, me, Assert::NONE).unwrap();
            store(1);
            window.unlock(me).unwrap();
            rank.barrier();
            see(1);

            window.lock_all(Assert::NONE).unwrap();
            store(2);
            window.sync().unwrap();
            rank.barrier();
            window.unlock_all().unwrap();
            see(2);

            store(3);
            window.fence(Assert::NONE).unwrap();
            let mut got = [0];
            window.get(into(&mut got), target, Disp(0)).unwrap();
            window.fence(Assert::NO_SUCCEED).unwrap();
            assert_eq!(got, [word(target.0, 10 * round + 3)], "fence");

            store(4);
            window.post_to(&[Rank(left(rank))], Assert::NONE).unwrap();
            window.start(&[target], Assert::NONE).unwrap();
            window.get(into(&mut got), target, Disp(0)).unwrap();
            window.complete().unwrap();
            window.wait().unwrap();
            assert_eq!(got, [word(target.0, 10 * round + 4)], "post");
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn rule_6_a_put_is_loaded_by_its_target_after_wait_fence_lock_and_sync_and_at_last_without_any() {
    run_all(RANKS, |rank| {
        let window = rank.allocate(1);
        let (me, target) = (Rank(rank.me), right(rank));
        for round in 0..ROUNDS {
            let put = |number: u64| {
                let value = [word(rank.me, 10 * round + number)];
                window.lock(Shared, target, Assert::NONE).unwrap();
                window.put(from(&value), target, Disp(0)).unwrap();
                window.unlock(target).unwrap();
            };
            let expected = |number: u64| word(left(rank), 10 * round + number);
            put(1);
            rank.barrier();
            window.lock(Exclusive, me, Assert::NONE).unwrap();
            assert_eq!(local(&window, 0), expected(1), "lock");
            window.unlock(me).unwrap();
            rank.barrier();
            put(2);
            rank.barrier();
            window.lock_all(Assert::NONE).unwrap();
            assert_eq!(local(&window, 0), expected(2), "lock_all");
            window.unlock_all().unwrap();
            rank.barrier();
            put(3);
            rank.barrier();
            window.lock_all(Assert::NONE).unwrap();
            window.sync().unwrap();
            assert_eq!(local(&window, 0), expected(3), "sync");
            window.unlock_all().unwrap();
            rank.barrier();
            // The unified model: without any call on this window at last; the engine is only served.
            put(4);
            while local(&window, 0) != expected(4) {
                rank.engine.poll();
            }
            rank.barrier();
        }
        window.free().unwrap();
    });
}
