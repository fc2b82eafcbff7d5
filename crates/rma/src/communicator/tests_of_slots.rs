//! Short blocking collectives of worlds of threads, whose ranks share memory: by collective slots, and nothing else.

use crate::World;
use crate::config::Configuration;
use crate::window::ReduceOp;
use rma_core::{ErrorClass, Result};

/// More than slots, so that each is used again and again.
const ROUNDS: u64 = 70;
/// Until all have made the slots.
const FIRST: u32 = 5;
/// What packets of earlier collectives may still leave behind them.
const LATE: u64 = 20;

fn packets(world: &World) -> u64 {
    world.runtime().messenger().packets_sent()
}

/// Every collective once, with data of a round; most of them let ranks run ahead.
fn all_kinds(world: &World, round: u64) -> Result<()> {
    let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
    let root = (round % size) as u32;
    world.barrier()?;
    let mut word = [if world.rank() == root { round } else { 0 }];
    world.broadcast(root, &mut word)?;
    assert_eq!(word, [round]);
    let sum = world.allreduce(ReduceOp::Sum, &[me + round, 1])?;
    assert_eq!(sum, [size * round + size * (size - 1) / 2, size]);
    let most = world.reduce(root, ReduceOp::Max, &[me * round])?;
    assert_eq!(most, (world.rank() == root).then(|| vec![(size - 1) * round]));
    let all = world.allgather(&vec![me; me as usize])?;
    assert!(all.iter().zip(0..).all(|(list, rank)| *list == vec![rank; rank as usize]));
    let gathered = world.gather(root, &[me, round])?;
    let expected = || (0..size).map(|rank| vec![rank, round]).collect();
    assert_eq!(gathered, (world.rank() == root).then(expected));
    let lists: Vec<Vec<u64>> = (0..size).map(|to| vec![100 * me + to; (to % 3) as usize]).collect();
    let mine = (me % 3) as usize;
    let given = (world.rank() == root).then_some(&lists[..]);
    assert_eq!(world.scatter(root, given)?, vec![100 * u64::from(root) + me; mine]);
    let received = world.alltoall(&lists)?;
    assert!(received.iter().zip(0..).all(|(list, from)| *list == vec![100 * from + me; mine]));
    let combined = world.reduce_scatter(ReduceOp::Sum, &lists)?;
    assert_eq!(combined, vec![100 * size * (size - 1) / 2 + size * me; mine]);
    Ok(())
}

fn check(variables: &'static [(&'static str, &'static str)]) {
    let value =
        |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let configuration = Configuration::read(&value).unwrap();
    for size in [2, 3, 5] {
        World::run_threads_with(size, &configuration, &Default::default(), |world| {
            (0..FIRST).try_for_each(|_| world.barrier())?;
            let before = packets(world);
            (0..ROUNDS).try_for_each(|round| all_kinds(world, round))?;
            let sent = packets(world) - before;
            assert!(sent < LATE, "{sent} packets of {ROUNDS} rounds");
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn they_send_no_messages_where_waits_spin() {
    check(&[("RMA_SPIN", "30")]);
}

#[test]
fn they_send_no_messages_where_waits_give_turns_away() {
    check(&[("RMA_SPIN", "0")]);
}

#[test]
fn they_send_no_messages_where_waits_sleep_at_once() {
    check(&[("RMA_SPIN", "0"), ("RMA_YIELDS", "0")]);
}

#[test]
fn what_is_too_long_for_one_rank_goes_by_packets_for_all() {
    World::run_threads(4, |world| {
        let me = world.rank();
        for round in 0..40u32 {
            // Around the length of a slot, and far beyond it.
            let len = [1, 61, 62, 63, 200, 5000][round as usize % 6];
            // Lists of any lengths: some ranks may find theirs short.
            let own = vec![me + round; if me.is_multiple_of(2) { len } else { 3 }];
            let list = |rank: u32| vec![rank + round; if rank.is_multiple_of(2) { len } else { 3 }];
            let all: Vec<_> = (0..4).map(list).collect();
            assert_eq!(world.allgather(&own)?, all);
            let root = round % 4;
            assert_eq!(world.gather(root, &own)?, (me == root).then_some(all));
            let sum = world.allreduce(ReduceOp::Sum, &vec![me; len])?;
            assert_eq!(sum, vec![6; len]);
            let least = world.reduce(root, ReduceOp::Min, &vec![me + 1; len])?;
            assert_eq!(least, (me == root).then(|| vec![1; len]));
            let mut message = vec![if me == root { round } else { 0 }; len];
            world.broadcast(root, &mut message)?;
            assert_eq!(message, vec![round; len]);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_rank_whose_values_are_short_where_others_are_long_is_found_and_none_waits() {
    World::run_threads(4, |world| {
        (0..FIRST).try_for_each(|_| world.barrier())?;
        for odd in 0..4 {
            for (usual, other) in [(1usize, 2), (1, 200), (200, 1), (200, 201)] {
                let mine = if world.rank() == odd { other } else { usual };
                for root in 0..4 {
                    let end = world.reduce(root, ReduceOp::Sum, &vec![1u64; mine]);
                    let class = end.as_ref().map_err(rma_core::Error::class).map(drop);
                    let is_root = world.rank() == root;
                    assert!(class == Err(ErrorClass::Truncate) || (class.is_ok() && !is_root), "{end:?}");
                }
                let end = world.allreduce(ReduceOp::Sum, &vec![1u64; mine]);
                assert_eq!(end.map_err(|error| error.class()), Err(ErrorClass::Truncate));
                assert_eq!(world.allreduce(ReduceOp::Sum, &[1u64])?, [4]);
            }
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn slots_are_made_for_each_communicator_and_given_back_with_it() {
    World::run_threads(3, |world| {
        for round in 0..20 {
            let comm = world.duplicate()?;
            for number in 0..100u32 {
                // The root runs ahead, and frees what the others have not read.
                let mut word = [if comm.rank() == 0 { number + round } else { 0 }];
                comm.broadcast(0, &mut word)?;
                assert_eq!(word, [number + round]);
            }
        }
        Ok(())
    })
    .unwrap();
}
