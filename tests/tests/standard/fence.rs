//! Fence (MPI 3.1 §11.5.1), and what operations do to memory, on every path and with the smallest pools.

use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::WindowSpec;
use rma_tests::world::{Setup, from, into, kernel, local, run, run_all, set_local};

#[test]
fn what_was_put_is_there_after_the_fence() {
    run_all(4, |rank| {
        let window = rank.allocate(16);
        window.fence(Assert::NONE).unwrap();
        for round in 1..20u64 {
            let values =
                (0..rank.size).map(|target| round << 16 | u64::from(rank.me) << 8 | u64::from(target));
            let values = values.collect::<Vec<_>>();
            for target in 0..rank.size {
                window
                    .put(from(&values[target as usize..][..1]), Rank(target), Disp(u64::from(rank.me)))
                    .unwrap();
            }
            window.fence(Assert::NONE).unwrap();
            for source in 0..rank.size {
                let expected = round << 16 | u64::from(source) << 8 | u64::from(rank.me);
                assert_eq!(local(&window, source as usize), expected);
            }
            window.fence(Assert::NONE).unwrap();
        }
        window.free().unwrap();
    });
}

#[test]
fn gets_and_accumulates_of_all_ranks_meet_in_one_epoch() {
    run_all(3, |rank| {
        let window = rank.allocate(8);
        set_local(&window, 0, 100 + u64::from(rank.me));
        window.fence(Assert::NO_PRECEDE).unwrap();
        let mut got = [0; 3];
        let one = [1, 2];
        for (target, slot) in got.chunks_mut(1).enumerate() {
            window.get(into(slot), Rank(target as u32), Disp(0)).unwrap();
            window.accumulate(from(&one), kernel(ReduceOp::Sum), Rank(target as u32), Disp(4)).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_eq!(got, [100, 101, 102]);
        assert_eq!((local(&window, 4), local(&window, 5)), (3, 6));
        window.free().unwrap();
    });
}

#[test]
fn large_transfers_arrive_whole() {
    // Longer than any packet, than a unit, than a channel's buffer: put, get, accumulate, at odd displacements.
    run_all(2, |rank| {
        let elements = 20_011;
        let window = rank.allocate(elements + 7);
        let other = Rank(1 - rank.me);
        let data = (0..elements).map(|i| i * 31 + u64::from(rank.me)).collect::<Vec<_>>();
        let mut back = vec![0; data.len()];
        window.fence(Assert::NO_PRECEDE).unwrap();
        window.put(from(&data), other, Disp(7)).unwrap();
        window.fence(Assert::NONE).unwrap();
        window.accumulate(from(&data), kernel(ReduceOp::Sum), other, Disp(7)).unwrap();
        window.fence(Assert::NONE).unwrap();
        window.get(into(&mut back), other, Disp(7)).unwrap();
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert!(back.iter().zip(&data).all(|(b, d)| *b == 2 * d));
        assert!((0..7).all(|i| local(&window, i) == 0), "memory before the displacement is untouched");
        window.free().unwrap();
    });
}

#[test]
fn memory_that_others_get_may_be_changed_as_soon_as_the_fence_is_over() {
    // Rank 0's request and its word of the fence come together; the data leave from the window piece by piece.
    run_all(2, |rank| {
        let elements = 20_011;
        let window = rank.allocate(elements);
        let mut got = vec![0; elements as usize];
        for round in 1..4 {
            (0..elements as usize).for_each(|i| set_local(&window, i, round));
            window.fence(Assert::NONE).unwrap();
            if rank.me == 0 {
                window.get(into(&mut got), Rank(1), Disp(0)).unwrap();
            }
            window.fence(Assert::NONE).unwrap();
            (0..elements as usize).for_each(|i| set_local(&window, i, u64::MAX));
            assert!(rank.me != 0 || got.iter().all(|element| *element == round), "round {round}");
        }
        window.free().unwrap();
    });
}

#[test]
fn a_put_outside_of_a_window_is_the_error_of_the_fence_that_ends_its_epoch() {
    // The origin does not know how long the windows of the others are.
    run_all(3, |rank| {
        let window = rank.allocate(4 + u64::from(rank.me));
        window.fence(Assert::NO_PRECEDE).unwrap();
        if rank.me == 2 {
            window.put(from(&[1]), Rank(0), Disp(3)).unwrap();
            let outside = window.put(from(&[1]), Rank(0), Disp(4));
            let error = outside.and_then(|()| window.fence(Assert::NONE)).unwrap_err();
            assert_eq!(error.class(), rma_core::error::ErrorClass::RmaRange);
            if !window.is_direct(Rank(0)) {
                window.fence(Assert::NO_SUCCEED).unwrap();
                window.free().unwrap();
                return;
            }
        }
        window.fence(Assert::NONE).unwrap();
        assert!(rank.me != 0 || local(&window, 3) == 1);
        window.fence(Assert::NO_SUCCEED).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn a_fence_that_nothing_precedes_and_nothing_succeeds_opens_no_epoch() {
    run_all(3, |rank| {
        let window = rank.allocate(1);
        let next = Rank((rank.me + 1) % rank.size);
        for _ in 0..2 {
            window.fence(Assert::NO_PRECEDE.with(Assert::NO_SUCCEED)).unwrap();
            let error = window.put(from(&[1]), next, Disp(0)).unwrap_err();
            assert_eq!(error.class(), rma_core::error::ErrorClass::RmaSync, "{error}");
        }
        // Another epoch may follow, and the fences go on.
        window.lock(rma_core::epoch::LockKind::Shared, next, Assert::NONE).unwrap();
        window.unlock(next).unwrap();
        window.fence(Assert::NONE).unwrap();
        window.put(from(&[2]), next, Disp(0)).unwrap();
        window.fence(Assert::NO_SUCCEED).unwrap();
        assert_eq!(local(&window, 0), 2);
        window.fence(Assert::NO_PRECEDE.with(Assert::NO_SUCCEED)).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn assertions_change_no_result() {
    run_all(3, |rank| {
        let window = rank.allocate(3);
        for round in 1..10 {
            let value = [round];
            window.fence(Assert::NO_PRECEDE.with(Assert::NO_STORE)).unwrap();
            window.put(from(&value), Rank((rank.me + 1) % rank.size), Disp(1)).unwrap();
            window.fence(Assert::NO_SUCCEED.with(Assert::NO_PUT)).unwrap();
            assert_eq!(local(&window, 1), round);
        }
        // Two in a row that precede nothing leave two barriers under way (lessons, fixed 14).
        window.fence(Assert::NO_PRECEDE).unwrap();
        window.fence(Assert::NO_PRECEDE).unwrap();
        window.fence(Assert::NO_PRECEDE.with(Assert::NO_SUCCEED)).unwrap();
        window.free().unwrap();
    });
}

#[test]
fn windows_of_the_users_memory_and_of_no_memory() {
    run_all(3, |rank| {
        let mut memory = vec![0u64; if rank.me == 1 { 0 } else { 4 }];
        let spec = WindowSpec::Create { memory: into(&mut memory), unit: 1 + u64::from(rank.me) * 3 };
        let window = rank.engine.create_window(rank.group(), spec).unwrap();
        let value = [u64::from(rank.me) + 1];
        window.fence(Assert::NONE).unwrap();
        // Displacement units differ: 1, 4 and 7 bytes.
        window.put(from(&value), Rank(0), Disp(8 * u64::from(rank.me))).unwrap();
        if rank.me == 0 {
            window.put(from(&value), Rank(2), Disp(2)).unwrap();
        }
        window.fence(Assert::NO_SUCCEED).unwrap();
        window.free().unwrap();
        match rank.me {
            0 => assert_eq!(memory, [1, 2, 3, 0]),
            1 => assert!(memory.is_empty()),
            _ => {
                let bytes = memory.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<_>>();
                assert_eq!(&bytes[14..22], 1u64.to_ne_bytes());
            }
        }
    });
}

#[test]
fn many_windows_live_side_by_side_and_ids_come_back() {
    run(&Setup::packets(3), |rank| {
        for round in 0..3 {
            let windows = (0..40).map(|_| rank.allocate(1)).collect::<Vec<_>>();
            for (i, window) in windows.iter().enumerate() {
                assert_eq!(usize::from(window.id().index), i);
                window.fence(Assert::NONE).unwrap();
                let value = [round * 100 + i as u64];
                window.put(from(&value), Rank((rank.me + 1) % 3), Disp(0)).unwrap();
                window.fence(Assert::NO_SUCCEED).unwrap();
            }
            for (i, window) in windows.into_iter().enumerate() {
                assert_eq!(local(&window, 0), round * 100 + i as u64);
                window.free().unwrap();
            }
        }
    });
}

#[test]
fn an_idle_rank_is_served_while_it_waits_elsewhere() {
    // Rank 0 sits in a barrier of the host; its target role still works.
    run_all(3, |rank| {
        let window = rank.allocate(1);
        rank.barrier();
        if rank.me != 0 {
            let value = [u64::from(rank.me)];
            for _ in 0..20 {
                window.lock(rma_core::epoch::LockKind::Shared, Rank(0), Assert::NONE).unwrap();
                window.accumulate(from(&value), kernel(ReduceOp::Sum), Rank(0), Disp(0)).unwrap();
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
