//! Worlds of threads.

#![allow(missing_docs)]

use rma::config::Configuration;
use rma::message::MessageConfig;
use rma::{ErrorClass, ReduceOp, World};
use rma_ch_sim::SimConfig;

#[test]
fn collectives_of_any_number_of_ranks_and_smallest_sizes() {
    let smallest = Configuration {
        message: MessageConfig { eager_bytes: 0, window_bytes: 1 },
        ..Configuration::default()
    };
    for (configuration, sim) in
        [(Configuration::default(), SimConfig::default()), (smallest, SimConfig::smallest())]
    {
        for ranks in 1..=9 {
            let sums = World::run_threads_with(ranks, &configuration, &sim, |world| {
                let mut seen = Vec::new();
                for round in 0..5 {
                    let sum = world.allreduce(ReduceOp::Sum, &[f64::from(world.rank()) * 0.1])?;
                    let mut from = [world.rank()];
                    world.broadcast(round % ranks, &mut from)?;
                    assert_eq!(from, [round % ranks]);
                    let all = world.allgather(&vec![world.rank() as u8; world.rank() as usize])?;
                    assert!(all.iter().enumerate().all(|(rank, list)| *list == vec![rank as u8; rank]));
                    assert_eq!(world.gather(0, &[round])?.is_some(), world.rank() == 0);
                    seen.push(sum[0].to_bits());
                }
                Ok(seen)
            })
            .unwrap();
            assert!(sums.iter().flatten().all(|bits| *bits == sums[0][0]), "the same bits everywhere");
        }
    }
}

#[test]
fn the_error_of_a_rank_ends_all_and_is_the_result() {
    for failing in 0..3 {
        let result = World::run_threads(3, |world| {
            if world.rank() == failing {
                world.broadcast(9, &mut [0u8])?;
            }
            world.barrier()
        });
        let error = result.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Root, "{error}");
        assert!(error.to_string().contains("root 9 is not in 0 to 2"), "{error}");
    }
}

#[test]
fn the_panic_of_a_rank_ends_all_and_goes_on() {
    let panic = std::panic::catch_unwind(|| {
        World::run_threads(3, |world| {
            assert!(world.rank() != 1, "rank one gives up");
            world.barrier()
        })
    });
    let message = panic.unwrap_err();
    assert!(message.downcast_ref::<&str>().is_some_and(|text| text.contains("gives up")));
}

#[test]
fn wrong_arguments_are_errors_that_name_the_limit() {
    World::run_threads(2, |world| {
        let error = world.gather(2, &[0u8]).unwrap_err();
        assert_eq!(error.to_string(), "gather: root 2 is not in 0 to 1 (MPI_ERR_ROOT)");
        let error = world.allreduce(ReduceOp::Replace, &[0u8]).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Op);
        let error = world.allreduce(ReduceOp::BitAnd, &[0.0f64]).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Op);
        let lengths = vec![0u32; 1 + world.rank() as usize];
        assert_eq!(world.allreduce(ReduceOp::Sum, &lengths).unwrap_err().class(), ErrorClass::Truncate);
        Ok(())
    })
    .unwrap();
}

#[test]
fn communicators_do_not_meet() {
    World::run_threads(6, |world| {
        let rank = world.rank();
        let odd = world.split(Some(rank % 2), 0)?.unwrap();
        let third = world.split(Some(rank / 3), -i64::from(rank))?.unwrap();
        assert_eq!((odd.size(), third.size()), (3, 3));
        // The same ranks in two communicators, with collectives of different lengths at once.
        for _ in 0..10 {
            let in_odd = odd.allgather(&[rank])?.concat();
            let in_third = third.allgather(&[rank, rank])?.concat();
            assert_eq!(in_odd, (0..6).filter(|r| r % 2 == rank % 2).collect::<Vec<_>>());
            let expected: Vec<_> = (0..6).rev().filter(|r| r / 3 == rank / 3).flat_map(|r| [r, r]).collect();
            assert_eq!(in_third, expected);
        }
        assert!(world.split(None, 0)?.is_none());
        Ok(())
    })
    .unwrap();
}
