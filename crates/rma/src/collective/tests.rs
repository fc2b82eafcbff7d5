//! Collectives over a network of tiny queues and a drawn schedule.

use super::*;
use crate::message::{MessageConfig, Plane, Scope};
use crate::testing::{Dice, Net};
use rma_core::channel::MIN_PACKET;
use rma_core::datatype::BasicType;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

const SIZES: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17];
const SCOPE: Scope = Scope { context: 5, plane: Plane::Collective };

fn configs() -> [MessageConfig; 3] {
    [(0, 1), (4096, 65536), (30, 150)]
        .map(|(eager_bytes, window_bytes)| MessageConfig { eager_bytes, window_bytes })
}

pub(crate) fn link(net: &Net, rank: u32, number: u64) -> Link {
    let size = net.messengers.len() as u32;
    let group = Group::strided(0, Rank(rank), Peer(0), 1, size);
    Link::new(net.messengers[rank as usize].clone(), group, SCOPE, number)
}

/// Runs one machine per rank; each is stepped when the dice say so. `seen` is called with every end.
pub(crate) fn run<M: Machine>(net: &mut Net, mut machines: Vec<M>, dice: &mut Dice) -> Vec<M::Output> {
    let mut outputs: Vec<Option<M::Output>> = machines.iter().map(|_| None).collect();
    for _ in 0..2_000_000 {
        if outputs.iter().all(Option::is_some) {
            return outputs.into_iter().flatten().collect();
        }
        let rank = dice.below(machines.len());
        if outputs[rank].is_none() {
            outputs[rank] = machines[rank].step().unwrap();
        }
        if dice.below(2) == 0 {
            net.step();
        }
    }
    panic!("it does not end: {:?}", net.messengers);
}

pub(crate) fn for_all(mut check: impl FnMut(&mut Net, u32, &mut Dice)) {
    for (i, config) in configs().iter().enumerate() {
        for size in SIZES {
            let seed = 1000 * i as u64 + u64::from(size);
            let mut net = Net::new(size, config, 1 + i, MIN_PACKET, seed);
            check(&mut net, size, &mut Dice::new(seed));
        }
    }
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_come() {
    for_all(|net, size, dice| {
        let mut machines: Vec<_> = (0..size).map(|rank| Barrier::new(link(net, rank, 1))).collect();
        let mut left = vec![false; size as usize];
        let late = dice.below(size as usize);
        for _ in 0..2_000 {
            let rank = dice.below(size as usize);
            if rank != late && !left[rank] {
                left[rank] = machines[rank].step().unwrap().is_some();
                assert!(!left[rank] || size == 1, "rank {rank} left before rank {late} came");
            }
            net.step();
        }
        let open: Vec<_> = machines;
        run(net, open, dice);
    });
}

#[test]
fn a_barrier_costs_each_rank_one_packet_per_round() {
    let config = MessageConfig::default();
    for size in SIZES {
        let mut net = Net::new(size, &config, 8, 1024, 1);
        let mut dice = Dice::new(1);
        let machines = (0..size).map(|rank| Barrier::new(link(&net, rank, 1))).collect();
        run(&mut net, machines, &mut dice);
        while net.step() {}
        let rounds = size.next_power_of_two().trailing_zeros() as usize;
        assert_eq!(net.packets, vec![rounds; size as usize]);
    }
}

#[test]
fn a_barrier_of_ranks_that_outnumber_cores_costs_two_packets_for_each_but_one() {
    for size in [2, 3, 4, 5, 6, 8, 9, 17] {
        let mut net = Net::new(size, &MessageConfig::default(), 8, 1024, 1);
        net.messengers.iter().for_each(|messenger| messenger.set_oversubscribed(true));
        let mut machines: Vec<_> = (0..size).map(|rank| Barrier::new(link(&net, rank, 1))).collect();
        let late = machines.len() - 1;
        for _ in 0..50 {
            for machine in &mut machines[..late] {
                assert!(machine.step().unwrap().is_none(), "one of {size} has not come");
            }
            while net.step() {}
        }
        run(&mut net, machines, &mut Dice::new(1));
        while net.step() {}
        let expected = if size < 5 { size * size.next_power_of_two().ilog2() } else { 2 * (size - 1) };
        assert_eq!(net.packets.iter().sum::<usize>() as u32, expected, "{size} ranks");
    }
}

#[test]
fn a_broadcast_gives_every_rank_the_roots_message() {
    for_all(|net, size, dice| {
        for (number, len) in [0, 1, 100, 3000].into_iter().enumerate() {
            let root = dice.below(size as usize) as u32;
            let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let machines = (0..size).map(|rank| {
                let own = (rank == root).then(|| message.clone());
                Broadcast::new(link(net, rank, number as u64), root, own, len)
            });
            let machines = machines.collect();
            for output in run(net, machines, dice) {
                assert_eq!(output, message);
            }
        }
    });
}

#[test]
fn a_message_that_is_too_long_for_one_rank_reaches_the_others() {
    for_all(|net, size, dice| {
        for short in 1..size {
            let machines = (0..size).map(|rank| {
                let own = (rank == 0).then(|| vec![7; 100]);
                let machine = Broadcast::new(
                    link(net, rank, u64::from(short)),
                    0,
                    own,
                    if rank == short { 99 } else { 100 },
                );
                Kept(machine)
            });
            let machines = machines.collect();
            for (rank, output) in (0..size).zip(run(net, machines, dice)) {
                match output {
                    Ok(message) => assert!(rank != short && message == [7; 100]),
                    Err(error) => assert!(rank == short && error.class() == ErrorClass::Truncate, "{error}"),
                }
            }
        }
    });
}

/// A machine whose error is a result like any other.
struct Kept<M>(M);

impl<M: Machine> Machine for Kept<M> {
    type Output = Result<M::Output>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        Ok(drive(&mut self.0).transpose())
    }

    fn link(&self) -> Option<&Link> {
        self.0.link()
    }
}

#[test]
fn reductions_are_exact_and_the_same_on_all_ranks() {
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    let min = Kernel::new(ReduceOp::Min, BasicType::U64).unwrap();
    let float_sum = Kernel::new(ReduceOp::Sum, BasicType::F64).unwrap();
    for_all(|net, size, dice| {
        let mut number = 0;
        for count in [0, 1, 40] {
            let mut reduce = |kernel, value: &dyn Fn(u32, u64) -> [u8; 8]| {
                number += 1;
                let machines = (0..size).map(|rank| {
                    let values = (0..count).flat_map(|i| value(rank, i)).collect();
                    AllReduce::new(link(net, rank, number), Arc::new(kernel), values)
                });
                let machines = machines.collect();
                let outputs = run(net, machines, dice);
                assert!(outputs.iter().all(|output| *output == outputs[0]), "size {size}");
                let words = outputs[0].chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).unwrap());
                words.collect::<Vec<_>>()
            };
            let value = |rank: u32, i: u64| (u64::from(rank) + 1) * 1000 + i;
            let all = |i: u64| (0..size).map(move |rank| value(rank, i));
            let sums = reduce(sum, &|rank, i| value(rank, i).to_ne_bytes());
            let expected: Vec<_> = (0..count).map(|i| all(i).sum::<u64>().to_ne_bytes()).collect();
            assert_eq!(sums, expected);
            let minima = reduce(min, &|rank, i| value(rank, i).to_ne_bytes());
            let expected: Vec<_> = (0..count).map(|i| value(0, i).to_ne_bytes()).collect();
            assert_eq!(minima, expected);
            // Rounding depends on the order; the order must not depend on the schedule.
            let tenths = |rank: u32, i: u64| (0.1 * f64::from(rank + 1) + i as f64 * 1e-9).to_ne_bytes();
            let first = reduce(float_sum, &tenths);
            for _ in 0..3 {
                assert_eq!(reduce(float_sum, &tenths), first);
            }
        }
    });
}

#[test]
fn different_lengths_in_a_reduction_are_an_error() {
    let kernel = Kernel::new(ReduceOp::Max, BasicType::U64).unwrap();
    let mut net = Net::new(2, &configs()[1], 4, MIN_PACKET, 1);
    let mut machines: Vec<_> = [(0, 8), (1, 16)]
        .map(|(rank, len)| AllReduce::new(link(&net, rank, 1), Arc::new(kernel), vec![0; len]))
        .into();
    for machine in &mut machines {
        assert!(machine.step().unwrap().is_none());
    }
    while net.step() {}
    for machine in &mut machines {
        assert!(machine.step().is_err());
    }
}

/// One machine per rank, to its end.
pub(super) fn ends<M: Machine>(
    net: &mut Net,
    dice: &mut Dice,
    machine: impl Fn(&Net, u32) -> M,
) -> Vec<Result<M::Output>> {
    let machines = (0..net.messengers.len() as u32).map(|rank| Kept(machine(net, rank))).collect();
    run(net, machines, dice)
}

#[test]
fn a_rank_with_another_number_of_values_keeps_no_rank_waiting() {
    let xor = |is_commutative| ElementWise::shared(1, is_commutative, |lower, value| value[0] ^= lower[0]);
    for_all(|net, size, dice| {
        for odd in 0..size {
            for (step, (usual, other)) in [(1, 2), (200, 100), (100, 200), (3, 0)].into_iter().enumerate() {
                let number = 10 * (4 * u64::from(odd) + step as u64);
                let values = |rank: u32| vec![1; if rank == odd { other } else { usual }];
                let way = |net: &Net, rank, of| link(net, rank, number + of);
                let is_truncated = |error: Error| assert_eq!(error.class(), ErrorClass::Truncate, "{error}");
                let all =
                    ends(net, dice, |net, rank| AllReduce::new(way(net, rank, 0), xor(true), values(rank)));
                let root = dice.below(size as usize) as u32;
                let found = all.into_iter().filter_map(Result::err).map(is_truncated).count() as u32;
                // A rank that reduces nothing cannot tell missing values from its own.
                let is_seen = size > 1 && other > 0;
                assert!(!is_seen || found == size, "{found} of {size}, {odd} has {other} and not {usual}");
                for is_commutative in [true, false] {
                    let of = 1 + u64::from(is_commutative);
                    let all = ends(net, dice, |net, rank| {
                        Reduce::new(way(net, rank, of), root, xor(is_commutative), values(rank))
                    });
                    assert!(!is_seen || all[root as usize].is_err());
                    all.into_iter().filter_map(Result::err).for_each(is_truncated);
                }
                let all = ends(net, dice, |net, rank| Scan::new(way(net, rank, 3), xor(true), values(rank)));
                let above = all.into_iter().skip(odd as usize + 1);
                let found = above.filter_map(Result::err).map(is_truncated).count() as u32;
                assert!(!is_seen || found == size - odd - 1, "{found} of {size}, {odd} has {other}");
            }
        }
    });
}

fn block(rank: u32, number: u64) -> Vec<u8> {
    let len = (u64::from(rank) * 37 + number * 11) % 90;
    (0..len).map(|i| (u64::from(rank) + i) as u8).collect()
}

#[test]
fn gathers_keep_rank_order_and_any_lengths() {
    for_all(|net, size, dice| {
        for number in 0..3 {
            let expected: Vec<_> = (0..size).map(|rank| block(rank, number)).collect();
            let root = dice.below(size as usize) as u32;
            let machines =
                (0..size).map(|rank| Gather::new(link(net, rank, 2 * number), root, block(rank, number)));
            let machines = machines.collect();
            for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                assert_eq!(output, (rank as u32 == root).then(|| expected.clone()));
            }
            let machines =
                (0..size).map(|rank| AllGather::new(link(net, rank, 2 * number + 1), block(rank, number)));
            let machines = machines.collect();
            for output in run(net, machines, dice) {
                assert_eq!(output, expected);
            }
        }
    });
}

#[test]
fn consecutive_collectives_never_mix() {
    // Ranks run ahead of each other by whole collectives.
    const NUMBERS: u64 = 12;
    let sum = Kernel::new(ReduceOp::Sum, BasicType::U64).unwrap();
    for_all(|net, size, dice| {
        let begin = |net: &Net, rank: u32, number: u64| {
            let values = (u64::from(rank) * number + number).to_ne_bytes().to_vec();
            AllReduce::new(link(net, rank, number), Arc::new(sum), values)
        };
        let mut running: Vec<_> = (0..size).map(|rank| (0, begin(net, rank, 0))).collect();
        let expected = |number: u64| (0..u64::from(size)).map(|rank| rank * number + number).sum::<u64>();
        for _ in 0..2_000_000 {
            if running.iter().all(|(number, _)| *number == NUMBERS) {
                return;
            }
            let rank = dice.below(size as usize);
            let (number, machine) = &mut running[rank];
            if *number < NUMBERS
                && let Some(values) = machine.step().unwrap()
            {
                assert_eq!(values, expected(*number).to_ne_bytes());
                *number += 1;
                if *number < NUMBERS {
                    *machine = begin(net, rank as u32, *number);
                }
            }
            net.step();
        }
        panic!("it does not end");
    });
}

#[test]
fn a_lost_rank_ends_the_collectives_that_need_it() {
    let mut net = Net::new(4, &configs()[1], 2, MIN_PACKET, 1);
    let mut machines: Vec<_> = (0..3).map(|rank| Barrier::new(link(&net, rank, 1))).collect();
    for machine in &mut machines {
        assert!(machine.step().unwrap().is_none());
    }
    net.lose(3);
    while net.step() {}
    let errors = machines.iter_mut().map(|machine| machine.step().is_err()).filter(|failed| *failed).count();
    assert!(errors > 0);
}
