//! Communicators over worlds of threads.

use super::*;
use crate::World;
use crate::config::Configuration;
use crate::group::Comparison;
use crate::window::ReduceOp;
use rma_ch_sim::SimConfig;
use rma_core::ErrorClass;

const SIZES: [u32; 6] = [1, 2, 3, 4, 7, 9];

#[test]
fn duplicates_are_congruent_and_their_messages_do_not_mix() {
    for size in SIZES {
        World::run_threads(size, |world| {
            let first = world.begin_duplicate();
            let second = world.duplicate()?;
            let first = first.wait()?;
            assert_eq!(first.compare(&first), Comparison::Identical);
            assert_eq!(first.compare(&second), Comparison::Congruent);
            assert_ne!(first.context(), second.context());
            assert_ne!(first.context(), world.context());
            let all = world.allgather(&[first.context(), second.context()])?;
            assert!(all.iter().all(|contexts| *contexts == all[0]));
            // Begun in the same order on each communicator, but not in the same order of communicators.
            let comms = if world.rank() % 2 == 0 { [&first, &second] } else { [&second, &first] };
            let barriers = comms.map(Communicator::begin_barrier);
            for barrier in barriers {
                barrier.wait()?;
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn contexts_are_never_used_twice() {
    let contexts = World::run_threads(5, |world| {
        let mut contexts = Vec::new();
        for round in 0..4 {
            // Different colors at the same time, and threads of their own for each.
            let half = world.split(Some((world.rank() + round) % 2), 0)?.expect("a color");
            contexts.push((half.context(), half.members()));
            contexts.push((half.duplicate()?.context(), half.members()));
            contexts.push((world.own().context(), half.own().members()));
        }
        Ok(contexts)
    })
    .unwrap();
    let all: Vec<_> = contexts.iter().flatten().collect();
    for (context, members) in &all {
        let others = all.iter().filter(|(other, _)| other == context);
        assert!(others.into_iter().all(|(_, other)| other == members), "context {context} of two groups");
    }
}

#[test]
fn a_group_becomes_a_communicator_of_its_members() {
    for size in SIZES {
        World::run_threads(size, |world| {
            let all = world.members();
            let backwards = all.range_incl(&[[size as i32 - 1, 0, -1]])?;
            let turned = world.create(&backwards)?.expect("all ranks are members");
            assert_eq!(turned.rank(), size - 1 - world.rank());
            assert_eq!(
                turned.compare(world),
                if size < 2 { Comparison::Congruent } else { Comparison::Similar }
            );
            assert_eq!(turned.allgather(&[world.rank()])?[0], [size - 1]);
            // Disjoint groups in one call, and ranks that are in none.
            let mine = match world.rank() % 3 {
                0 => all.range_incl(&[[0, size as i32 - 1, 3]])?,
                1 => all.range_incl(&[[1, size as i32 - 1, 3]])?,
                _ => all.difference(&all),
            };
            let third = world.create(&mine)?;
            assert_eq!(third.is_some(), world.rank() % 3 < 2);
            if let Some(third) = third {
                assert_eq!((third.members(), third.rank()), (mine, world.rank() / 3));
                let sum = third.allreduce(ReduceOp::Sum, &[1u32])?;
                assert_eq!(sum, [third.size()]);
                assert_eq!(
                    third.compare(world),
                    if size < 2 { Comparison::Congruent } else { Comparison::Unequal }
                );
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_group_makes_a_communicator_without_the_other_ranks() {
    World::run_threads(7, |world| {
        let odd = world.members().range_incl(&[[5, 1, -2]])?;
        if world.rank() % 2 == 0 {
            // Takes no part, and makes no progress either, until the end.
            return Ok(());
        }
        let made = world.create_group(&odd, 3)?;
        let again = world.create_group(&odd, 3)?;
        assert_eq!(made.compare(&again), Comparison::Congruent);
        assert_eq!(made.rank(), (5 - world.rank()) / 2);
        assert_eq!(made.allgather(&[world.rank()])?, [[5], [3], [1]]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn groups_that_do_not_fit_are_named() {
    let error = World::run_threads(3, |world| {
        let all = world.members();
        let pair = world.create(&all.incl(&[0, 1])?)?;
        if let Some(pair) = pair {
            let error = pair.create(&all).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Group);
            let error = pair.create_group(&all.incl(&[1 - world.rank()])?, 0).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Group);
            assert!(error.cause().contains("is not a member"), "{error}");
            return Err(error);
        }
        Ok(())
    });
    assert_eq!(error.unwrap_err().class(), ErrorClass::Group);
}

#[test]
fn ranks_of_a_node_find_each_other() {
    let sim = SimConfig { ranks_per_node: 3, ..SimConfig::default() };
    World::run_threads_with(7, &Configuration::default(), &sim, |world| {
        let (rank, node) = (world.rank(), world.rank() / 3);
        let mates = world.split_by_node(Some(-i64::from(rank)))?.expect("a key");
        let last = (3 * node + 2).min(6);
        assert_eq!((mates.size(), mates.rank()), (last - 3 * node + 1, last - rank));
        let only_first = world.split_by_node((rank % 3 == 0).then_some(0))?;
        assert_eq!(only_first.map(|comm| comm.size()), (rank % 3 == 0).then_some(1));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_process_that_has_named_all_contexts_says_so_to_all() {
    World::run_threads(3, |world| {
        if world.rank() == 0 {
            world.runtime().set_contexts_named(u64::from(u32::MAX));
        }
        let error = world.duplicate().unwrap_err();
        assert!(error.cause().contains("has named all contexts"), "{error}");
        let made = world.split(Some(world.rank() / 2), 0);
        assert_eq!(made.is_err(), world.rank() < 2);
        world.barrier()
    })
    .unwrap();
}

#[test]
fn typed_messages_between_all_pairs_on_all_kinds_of_groups() {
    // 18 ranks, so that a list of ranks is looked up in an index.
    World::run_threads(18, |world| {
        let last = world.size() as i32 - 1;
        let mixed = world.members().range_incl(&[[last, 9, -1], [0, 8, 2], [1, 8, 2]])?;
        let mixed = world.create(&mixed)?.expect("all ranks are members");
        for comm in [&**world, &mixed] {
            let rank = comm.rank();
            let length = |from: u32, to: u32| ((from * 31 + to * 17) % 700) as usize;
            let sendings = (0..comm.size()).map(|to| {
                comm.begin_send(to, 10 + rank, &vec![u64::from(rank) << 32 | u64::from(to); length(rank, to)])
            });
            let sendings = sendings.collect::<rma_core::Result<Vec<_>>>()?;
            let receiving = comm.begin_receive::<u64>(Some(rank), None)?;
            let mut seen = vec![false; comm.size() as usize];
            for _ in 1..comm.size() {
                let message = comm.receive::<u64>(None, None)?;
                assert_eq!(message.tag, 10 + message.source);
                assert!(!std::mem::replace(&mut seen[message.source as usize], true));
                let expected = u64::from(message.source) << 32 | u64::from(rank);
                assert_eq!(message.values, vec![expected; length(message.source, rank)]);
            }
            let own = receiving.wait()?;
            assert_eq!((own.source, own.values.len()), (rank, length(rank, rank)));
            for sending in sendings {
                sending.wait()?;
            }
            assert_eq!(comm.probe(None, None)?, None);
            // The other communicator's messages are in no way of this one's.
            comm.barrier()?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn ranks_that_are_not_there_are_named_and_wrong_lengths_too() {
    World::run_threads(2, |world| {
        let errors = [
            world.send(2, 0, &[1u8]).unwrap_err(),
            world.receive::<u8>(Some(5), None).unwrap_err(),
            world.probe(Some(7), None).unwrap_err(),
        ];
        let texts = errors.map(|error| error.to_string());
        assert_eq!(texts[0], "send: rank 2 is not in 0 to 1 (MPI_ERR_RANK)");
        assert_eq!(texts[1], "receive: rank 5 is not in 0 to 1 (MPI_ERR_RANK)");
        assert_eq!(texts[2], "probe: rank 7 is not in 0 to 1 (MPI_ERR_RANK)");
        world.send(1 - world.rank(), 3, &[1u8; 5])?;
        let envelope = loop {
            if let Some(envelope) = world.probe(None, Some(3))? {
                break envelope;
            }
        };
        assert_eq!((envelope.source, envelope.tag, envelope.len_bytes), (1 - world.rank(), 3, 5));
        let error = world.receive::<u32>(None, Some(3)).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Truncate);
        world.barrier()
    })
    .unwrap();
}

#[test]
fn collectives_of_typed_values() {
    for size in SIZES {
        World::run_threads(size, |world| {
            let rank = world.rank();
            let (mine, root) = ([rank + 1, 2 * rank], size / 2);
            let sum =
                |ranks: std::ops::Range<u32>| ranks.fold([0, 0], |[a, b], rank| [a + rank + 1, b + 2 * rank]);
            let everything = sum(0..size);
            assert_eq!(world.allreduce(ReduceOp::Sum, &mine)?, everything);
            assert_eq!(
                world.reduce(root, ReduceOp::Sum, &mine)?,
                (rank == root).then(|| everything.to_vec())
            );
            assert_eq!(world.scan(ReduceOp::Sum, &mine)?, sum(0..rank + 1));
            let before = world.exclusive_scan(ReduceOp::Sum, &mine)?;
            assert_eq!(before, (rank > 0).then(|| sum(0..rank).to_vec()));
            let rows: Vec<Vec<u32>> = (0..size).map(|to| vec![rank * 100 + to; to as usize]).collect();
            let columns = world.alltoall(&rows)?;
            let column: Vec<Vec<u32>> =
                (0..size).map(|from| vec![from * 100 + rank; rank as usize]).collect();
            assert_eq!(columns, column);
            let maxima = world.reduce_scatter(ReduceOp::Max, &rows)?;
            assert_eq!(maxima, vec![(size - 1) * 100 + rank; rank as usize]);
            let given = (rank == root).then_some(&rows[..]);
            assert_eq!(world.scatter(root, given)?, vec![root * 100 + rank; rank as usize]);
            // All kinds at once, ended in the other order.
            let sums = world.begin_allreduce(ReduceOp::Sum, &mine)?;
            let news = world.begin_broadcast(root, &[if rank == root { 7u8 } else { 0 }])?;
            let all = world.begin_allgather(&[rank]);
            let to_root = world.begin_gather(root, &mine)?;
            let reduced = world.begin_reduce(root, ReduceOp::Min, &mine)?;
            let scattered = world.begin_scatter(root, given)?;
            assert_eq!(scattered.wait()?, vec![root * 100 + rank; rank as usize]);
            assert_eq!(reduced.wait()?, (rank == root).then(|| vec![1, 0]));
            let gathered: Vec<_> = (0..size).map(|rank| vec![rank + 1, 2 * rank]).collect();
            assert_eq!(to_root.wait()?, (rank == root).then_some(gathered));
            assert_eq!(all.wait()?, (0..size).map(|rank| vec![rank]).collect::<Vec<_>>());
            assert_eq!((news.wait()?, sums.wait()?), (vec![7], everything.to_vec()));
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn ranks_agree_revoke_and_shrink_when_none_has_died() {
    // More than one ballot has room for, too.
    for size in [1, 5, 66] {
        World::run_threads(size, |world| {
            let comm = world.duplicate()?;
            let me = world.rank();
            for round in 0..3 {
                let agreed = comm.agree(!(1 << (me % 32)) | round)?;
                let expected = (0..size).fold(u32::MAX, |flags, rank| flags & (!(1 << (rank % 32)) | round));
                assert_eq!((agreed.flags, agreed.unacknowledged.size()), (expected, 0));
            }
            assert_eq!((comm.failed().size(), comm.acknowledge_failed(9)), (0, 0));
            if me == size / 2 {
                comm.revoke();
            }
            while !comm.is_revoked() {
                std::thread::yield_now();
            }
            assert_eq!(comm.barrier().unwrap_err().class(), ErrorClass::Revoked);
            assert_eq!(comm.duplicate().unwrap_err().class(), ErrorClass::Revoked);
            let started = comm.begin_shrink();
            assert_eq!(comm.agree(1 << me.min(1))?.flags, u32::from(size == 1));
            let shrunk = started.wait()?;
            assert_eq!((shrunk.compare(world), shrunk.is_revoked()), (Comparison::Congruent, false));
            assert_eq!(shrunk.allreduce(ReduceOp::Sum, &[1u32])?, [size]);
            Ok(())
        })
        .unwrap();
    }
}
