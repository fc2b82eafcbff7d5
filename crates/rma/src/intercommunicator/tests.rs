//! Two groups in worlds of threads.

use super::*;
use crate::World;
use crate::collective::{Combine, ElementWise};
use crate::communicator::Communicator;
use crate::group::{Comparison, Group};
use crate::message::Plane;
use crate::window::ReduceOp;
use rma_core::{ErrorClass, Result};
use std::sync::Arc;

/// Ranks of the two groups, in a world of as many.
const SIZES: [(u32, u32); 7] = [(1, 1), (1, 2), (3, 1), (2, 2), (3, 4), (5, 2), (4, 5)];

/// Worlds in which ranks 0.. are the one group, and the rest, backwards, the other; `true` for the one.
fn between(check: impl Fn(&World, &Communicator, &Intercommunicator, bool) -> Result<()> + Sync) {
    for (one, other) in SIZES {
        World::run_threads(one + other, |world| {
            let is_one = world.rank() < one;
            let local =
                world.split(Some(u32::from(is_one)), if is_one { 0 } else { -i64::from(world.rank()) })?;
            let local = local.expect("a color");
            // Leaders that are not ranks 0, and groups whose lower process is not the leader.
            let (leader, remote) = match is_one {
                true => (one - 1, one),
                false => (other - 1, one - 1),
            };
            let bridge = (local.rank() == leader).then_some((&**world, remote));
            let inter = local.create_inter(leader, bridge, 5)?;
            assert_eq!((inter.rank(), inter.size()), (local.rank(), local.size()));
            assert_eq!(inter.remote().size(), if is_one { other } else { one });
            check(world, &local, &inter, is_one)?;
            world.barrier()
        })
        .unwrap();
    }
}

#[test]
fn groups_meet_and_messages_cross() {
    between(|world, _, inter, _| {
        let scope = inter.scope(Plane::User);
        let messenger = world.runtime().messenger();
        let sends = (0..inter.remote().size())
            .map(|to| messenger.begin_send(inter.peer(to)?, scope, 1, vec![inter.rank() as u8, to as u8]));
        let _sends = sends.collect::<Result<Vec<_>>>()?;
        for from in (0..inter.remote().size()).rev() {
            let mut receive = messenger.begin_receive(scope, Some(inter.peer(from)?), Some(1), 2)?;
            let describe = || "a message of the other group".to_owned();
            let received =
                world.runtime().wait_until("receive", &describe, &mut || receive.test().transpose())?;
            assert_eq!(inter.rank_of(received.source), Some(from));
            assert_eq!(received.data, Some(vec![from as u8, inter.rank() as u8]));
        }
        assert_eq!(inter.peer(inter.remote().size()).unwrap_err().class(), ErrorClass::Rank);
        Ok(())
    });
}

#[test]
fn groups_become_one_in_the_order_they_wish() {
    between(|world, local, inter, is_one| {
        for one_is_high in [false, true] {
            let merged = inter.merge(is_one == one_is_high)?;
            assert_eq!(merged.size(), world.size());
            let is_first = is_one != one_is_high;
            let expected = if is_first { local.rank() } else { inter.remote().size() + local.rank() };
            assert_eq!(merged.rank(), expected);
            assert_eq!(merged.allreduce(ReduceOp::Sum, &[1u32])?, [world.size()]);
        }
        let merged = inter.merge(true)?;
        let ranks = merged.allgather(&[world.rank()])?;
        let expected: Vec<_> = merged.members().peers().map(|peer| vec![peer.0]).collect();
        assert_eq!(ranks, expected);
        let copy = inter.duplicate()?;
        assert_eq!(copy.compare(inter), Comparison::Congruent);
        assert_eq!(copy.compare(&copy), Comparison::Identical);
        Ok(())
    });
}

#[test]
fn parts_of_both_groups_become_intercommunicators() {
    between(|world, local, inter, is_one| {
        let (rank, remote) = (inter.rank(), inter.remote().size());
        // The other way round in the one group; the other group has only an even part, and a color of its own.
        let color = if is_one || rank % 2 == 0 { rank % 2 } else { 7 };
        let part = inter.split(Some(color), if is_one { -i64::from(rank) } else { 0 })?;
        assert_eq!(part.is_some(), color == 0, "an even rank has partners");
        let evens = |size: u32| (0..size).filter(|rank| rank % 2 == 0).collect::<Vec<_>>();
        if let Some(part) = part {
            let mut theirs = evens(remote);
            if !is_one {
                theirs.reverse();
            }
            let heard = part.begin_allgather(None, vec![rank as u8]).wait()?;
            assert_eq!(heard, theirs.iter().map(|rank| vec![*rank as u8]).collect::<Vec<_>>());
            assert_eq!(part.local_ranks().size() as usize, evens(inter.size()).len());
            let merged = part.merge(is_one)?;
            assert_eq!(merged.allreduce(ReduceOp::Sum, &[1u32])?, [part.size() + part.remote().size()]);
        }
        // A group on each side; when one of them is empty there is nothing.
        let first = local.members().incl(&[0])?;
        let pair = inter.create(&first)?;
        assert_eq!(pair.is_some(), rank == 0);
        if let Some(pair) = pair {
            assert_eq!(pair.begin_allgather(None, vec![u8::from(is_one)]).wait()?, [[u8::from(!is_one)]]);
        }
        assert!(inter.create(&if is_one { first } else { Group::empty() })?.is_none());
        // A rank that is called with a wrong argument takes part, so the others get an error.
        let is_wrong = world.rank() == 0;
        let error = match is_wrong {
            true => inter.refuse_split(rma_core::Error::new(ErrorClass::Arg, "", "a wrong color")),
            false => inter.split(None, 0).unwrap_err(),
        };
        assert_eq!(error.class(), if is_wrong { ErrorClass::Arg } else { ErrorClass::Other }, "{error}");
        let outsiders = Group::of(inter.remote().peers());
        let error = inter.create(if is_one { &outsiders } else { inter.remote() }).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Group);
        Ok(())
    });
}

#[test]
fn groups_with_a_common_process_are_refused() {
    World::run_threads(2, |world| {
        let bridge = Some((&**world, 1 - world.rank()));
        let both = world.duplicate()?;
        let error = both.create_inter(world.rank(), bridge, 0).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Comm, "{error}");
        let own = world.own();
        assert_eq!(own.create_inter(0, None, 0).unwrap_err().class(), ErrorClass::Comm);
        assert_eq!(own.create_inter(1, bridge, 0).unwrap_err().class(), ErrorClass::Rank);
        world.barrier()
    })
    .unwrap();
}

/// Composition of maps x → a·x + b of bytes, which is not commutative.
fn compose() -> Arc<dyn Combine> {
    ElementWise::shared(2, false, |lower, value| {
        let ([a, b], [c, d]) = ([lower[0], lower[1]], [value[0], value[1]]);
        value.copy_from_slice(&[a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]);
    })
}

fn values(is_one: bool, rank: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (u32::from(is_one) * 77 + rank * 13 + i * 7 + 1) as u8).collect()
}

fn combined(is_one: bool, ranks: u32, len: usize) -> Vec<u8> {
    let mut all = (0..ranks).map(|rank| values(is_one, rank, len));
    let first = all.next().unwrap();
    all.fold(first, |lower, mut next| {
        compose().combine(&lower, &mut next);
        next
    })
}

#[test]
fn what_a_group_gives_the_other_one_gets() {
    between(|_, local, inter, is_one| {
        let (rank, size, remote) = (local.rank(), local.size(), inter.remote().size());
        inter.begin_barrier(None).wait()?;
        let all = inter.begin_allgather(None, values(is_one, rank, rank as usize));
        let sum = inter.begin_allreduce(None, compose(), values(is_one, rank, 6));
        assert_eq!(sum.wait()?, combined(!is_one, remote, 6));
        assert_eq!(
            all.wait()?,
            (0..remote).map(|from| values(!is_one, from, from as usize)).collect::<Vec<_>>()
        );

        let blocks = (0..remote).map(|to| values(is_one, rank * 10 + to, to as usize)).collect();
        let received = inter.begin_alltoall(None, blocks)?.wait()?;
        let expected: Vec<_> =
            (0..remote).map(|from| values(!is_one, from * 10 + rank, rank as usize)).collect();
        assert_eq!(received, expected);

        // Both groups reduce as many bytes; each cuts them as it likes: all for the last but two bytes each.
        let len = 40;
        let lens: Vec<usize> =
            (0..size as usize).map(|r| if r + 1 < size as usize { 2 } else { len - 2 * r }).collect();
        let from = 2 * rank as usize;
        let part =
            inter.begin_reduce_scatter(None, compose(), values(is_one, rank, len), lens.clone())?.wait()?;
        assert_eq!(part, combined(!is_one, remote, len)[from..from + lens[rank as usize]]);
        Ok(())
    });
}

#[test]
fn a_root_has_the_other_group_before_it() {
    between(|_, local, inter, is_one| {
        let (rank, remote) = (local.rank(), inter.remote().size());
        for root_is_one in [true, false] {
            for root_rank in [0, 1, 3] {
                let roots = if root_is_one == is_one { local.size() } else { remote };
                let root_rank = root_rank % roots;
                let root = match (root_is_one == is_one, rank == root_rank) {
                    (true, true) => Root::Caller,
                    (true, false) => Root::Neighbor,
                    (false, _) => Root::Remote(root_rank),
                };
                let is_taker = root_is_one != is_one;
                let news = inter.begin_broadcast(None, root, values(is_one, rank, 9), 9)?.wait()?;
                assert_eq!(news, is_taker.then(|| values(root_is_one, root_rank, 9)));

                let all = inter.begin_gather(None, root, values(is_one, rank, rank as usize))?.wait()?;
                let expected = (0..remote).map(|from| values(!is_one, from, from as usize)).collect();
                assert_eq!(all, (root == Root::Caller).then_some(expected));

                let blocks: Vec<_> = (0..remote).map(|to| values(is_one, to, 3 * to as usize)).collect();
                let block = inter.begin_scatter(None, root, &blocks)?.wait()?;
                assert_eq!(block, is_taker.then(|| values(root_is_one, rank, 3 * rank as usize)));

                let result = inter.begin_reduce(None, root, compose(), values(is_one, rank, 8))?.wait()?;
                assert_eq!(result, (root == Root::Caller).then(|| combined(!is_one, remote, 8)));
            }
        }
        let error = inter.begin_gather(None, Root::Remote(remote), Vec::new()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Root);
        Ok(())
    });
}

#[test]
fn each_group_agrees_on_what_the_other_one_gives() {
    between(|world, local, inter, is_one| {
        for round in 0..3u32 {
            // All but one flag, of each rank another; the second half is that of the other group.
            let flag = |is_one: bool, rank: u32| !(1 << (rank + if is_one { 0 } else { 16 } + round));
            let background = inter.begin_agree(!0);
            let agreed = inter.agree(flag(is_one, local.rank()))?;
            let expected = (0..inter.remote().size()).fold(!0, |flags, rank| flags & flag(!is_one, rank));
            assert_eq!((agreed.flags, agreed.unacknowledged.size()), (expected, 0));
            assert_eq!(background.wait()?.flags, !0);
        }
        inter.runtime().revoke(inter.context());
        let shrunk = inter.shrink()?.expect("no rank has died");
        assert_eq!(shrunk.compare(inter), Comparison::Congruent);
        assert_eq!(shrunk.merge(is_one)?.size(), world.size());
        Ok(())
    });
}
