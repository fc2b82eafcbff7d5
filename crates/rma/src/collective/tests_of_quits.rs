//! Ranks that leave a collective with an error: no rank waits for them, and the collectives that follow go
//! on.

use super::tests::link;
use super::*;
use crate::message::{MessageConfig, Messenger};
use crate::testing::{Dice, Net};
use rma_core::channel::MIN_PACKET;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::{ErrorClass, Result};
use std::sync::Arc;

/// Everything announced, and everything at once.
const CONFIGS: [(u64, u64); 2] = [(0, 1), (4096, 65536)];

fn net(size: u32, at: usize, seed: u64) -> Net {
    let (eager_bytes, window_bytes) = CONFIGS[at];
    Net::new(size, &MessageConfig { eager_bytes, window_bytes }, 2, MIN_PACKET, seed)
}

/// The ends of machines on all ranks but one, which leaves the collective instead of taking part, early or late.
fn ends_without<M: Machine>(
    net: &mut Net,
    dice: &mut Dice,
    quitter: u32,
    number: u64,
    make: impl Fn(Link) -> M,
) -> Vec<Result<M::Output>> {
    let size = net.messengers.len() as u32;
    let leaves_after = dice.below(3) * 20 * size as usize;
    // One comes when the others know already.
    let late = (quitter + 1) % size;
    let comes_after = leaves_after + 200 * size as usize;
    let mut machines: Vec<Option<M>> = (0..size).map(|_| None).collect();
    let mut ends: Vec<_> = (0..size).map(|_| None).collect();
    for at in 0..400_000 {
        if at == leaves_after {
            link(net, quitter, number).quit(ErrorClass::Size);
        }
        if (0..size).all(|rank| rank == quitter || ends[rank as usize].is_some()) {
            assert!(at >= leaves_after, "no rank can be through");
            return ends.into_iter().flatten().collect();
        }
        let rank = dice.below(size as usize);
        let may_come = rank as u32 != quitter && (rank as u32 != late || at >= comes_after);
        if may_come && ends[rank].is_none() {
            let machine = machines[rank].get_or_insert_with(|| make(link(net, rank as u32, number)));
            ends[rank] = drive(machine).transpose();
            if ends[rank].is_some() {
                machines[rank] = None;
            }
        }
        if dice.below(2) == 0 {
            net.step();
        }
    }
    let waiting: Vec<_> =
        (0..size).filter(|rank| *rank != quitter && ends[*rank as usize].is_none()).collect();
    panic!("ranks {waiting:?} of {size} wait for rank {quitter}, which has left");
}

fn xor(is_commutative: bool) -> Arc<dyn Combine> {
    ElementWise::shared(1, is_commutative, |lower, value| value[0] ^= lower[0])
}

fn all_have_left<T>(ends: Vec<Result<T>>, what: &str) {
    for end in ends {
        let class = end.map(drop).map_err(|error| error.class());
        assert_eq!(class, Err(ErrorClass::Size), "{what}");
    }
}

fn nothing_is_left(net: &mut Net) {
    while net.step() {}
    for messenger in &net.messengers {
        let text = format!("{messenger:?}");
        assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
    }
}

#[test]
fn a_rank_that_leaves_keeps_none_waiting_and_the_next_collective_goes_on() {
    for at in 0..CONFIGS.len() {
        for size in [2, 3, 5, 8, 9] {
            let (mut net, mut dice) = (net(size, at, u64::from(size)), Dice::new(u64::from(size)));
            for quitter in 0..size {
                let mut number = 100 * u64::from(quitter);
                let mut next = || {
                    number += 1;
                    number
                };
                let of = next();
                all_have_left(ends_without(&mut net, &mut dice, quitter, of, Barrier::new), "barrier");
                let of = next();
                let allreduce = |link| AllReduce::new(link, xor(true), vec![1; 300]);
                all_have_left(ends_without(&mut net, &mut dice, quitter, of, allreduce), "allreduce");
                let of = next();
                let allgather = |link| AllGather::new(link, vec![1; 300]);
                all_have_left(ends_without(&mut net, &mut dice, quitter, of, allgather), "allgather");
                let of = next();
                let alltoall = |link: Link| AllToAll::new(link, vec![vec![1; 90]; size as usize]).unwrap();
                all_have_left(ends_without(&mut net, &mut dice, quitter, of, alltoall), "alltoall");
                // Some need not hear of the one that has left.
                let root = dice.below(size as usize) as u32;
                let of = next();
                let broadcast = |link: Link| {
                    let message = (link.me() == root).then(|| vec![7; 300]);
                    Broadcast::new(link, root, message, 300)
                };
                drop(ends_without(&mut net, &mut dice, quitter, of, broadcast));
                for is_commutative in [true, false] {
                    let of = next();
                    let reduce = |link| Reduce::new(link, root, xor(is_commutative), vec![1; 300]);
                    drop(ends_without(&mut net, &mut dice, quitter, of, reduce));
                }
                let of = next();
                drop(ends_without(&mut net, &mut dice, quitter, of, |link| {
                    Scan::new(link, xor(true), vec![1; 300])
                }));
                let of = next();
                drop(ends_without(&mut net, &mut dice, quitter, of, |link| {
                    Gather::new(link, root, vec![1; 300])
                }));
                let of = next();
                let all =
                    super::tests::ends(&mut net, &mut dice, |net, rank| Barrier::new(link(net, rank, of)));
                assert!(all.iter().all(Result::is_ok), "{all:?}");
            }
            nothing_is_left(&mut net);
        }
    }
}

/// More ranks than are notified one by one.
#[test]
fn of_many_ranks_those_are_told_that_may_wait() {
    const SIZE: u32 = 75;
    let (mut net, mut dice) = (net(SIZE, 1, 1), Dice::new(3));
    for (round, quitter) in [0, 1, 10, 11, 21, 22, 23, 64, 74].into_iter().enumerate() {
        let number = 10 * round as u64;
        all_have_left(ends_without(&mut net, &mut dice, quitter, number, Barrier::new), "barrier");
        let allreduce = |link| AllReduce::new(link, xor(true), vec![1]);
        all_have_left(ends_without(&mut net, &mut dice, quitter, number + 1, allreduce), "allreduce");
        let allgather = |link| AllGather::new(link, vec![1]);
        all_have_left(ends_without(&mut net, &mut dice, quitter, number + 2, allgather), "allgather");
        let root = dice.below(SIZE as usize) as u32;
        let reduce = |link| Reduce::new(link, root, xor(false), vec![1]);
        drop(ends_without(&mut net, &mut dice, quitter, number + 3, reduce));
        let broadcast =
            |link: Link| Broadcast::new(link.clone(), root, (link.me() == root).then(Vec::new), 0);
        drop(ends_without(&mut net, &mut dice, quitter, number + 4, broadcast));
    }
    nothing_is_left(&mut net);
}

#[test]
fn a_death_that_one_rank_finds_is_told_to_all_once() {
    for size in [3, 6, 9, 17] {
        for dead in [0, size - 1] {
            let mut net = net(size, 1, u64::from(size));
            net.messengers.iter().for_each(Messenger::pass_deaths_on);
            let finder = (dead + 1) % size;
            net.messengers[finder as usize].hear_of_loss(Peer(dead));
            while net.step() {}
            let most = 2 * size.next_power_of_two().ilog2() as usize;
            for rank in (0..size).filter(|rank| *rank != dead) {
                let group = Group::strided(0, Rank(rank), Peer(0), 1, size);
                let found = net.messengers[rank as usize].check_circle(&group);
                assert!(found.is_err(), "rank {rank} of {size} has not heard of {dead}");
                assert!(net.packets[rank as usize] <= most, "{:?}", net.packets);
            }
        }
    }
}
