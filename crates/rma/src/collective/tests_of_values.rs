//! Reductions of all kinds and exchanges against a naive model, over a network of tiny queues and a drawn schedule.

use super::tests::{for_all, link, run};
use super::*;
use crate::message::MessageConfig;
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use std::sync::Arc;

/// Composition of maps x → a·x + b of bytes: associative, and as far from commutative as can be.
fn compose() -> Arc<dyn Combine> {
    ElementWise::shared(2, false, |lower, value| {
        let [a, b] = [lower[0], lower[1]];
        let [c, d] = [value[0], value[1]];
        value.copy_from_slice(&[a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]);
    })
}

fn xor() -> Arc<dyn Combine> {
    ElementWise::shared(1, true, |lower, value| value[0] ^= lower[0])
}

fn values(rank: u32, number: u64, len: usize) -> Vec<u8> {
    let mut dice = Dice::new(u64::from(rank) << 20 | number);
    (0..len).map(|_| dice.below(256) as u8).collect()
}

/// The values of these ranks, combined from the left.
fn model(operation: &dyn Combine, ranks: std::ops::Range<u32>, number: u64, len: usize) -> Option<Vec<u8>> {
    let mut all = ranks.map(|rank| values(rank, number, len));
    let first = all.next()?;
    Some(all.fold(first, |lower, mut next| {
        operation.combine(&lower, &mut next);
        next
    }))
}

const LENS: [usize; 4] = [0, 2, 100, 2000];

#[test]
fn reductions_keep_rank_order() {
    for operation in [compose(), xor()] {
        for_all(|net, size, dice| {
            for (number, len) in LENS.into_iter().enumerate() {
                let number = number as u64 * 3;
                let all = model(&*operation, 0..size, number, len);
                let machines = (0..size).map(|rank| {
                    let link = link(net, rank, number);
                    AllReduce::new(link, Arc::clone(&operation), values(rank, number, len))
                });
                let machines = machines.collect();
                for output in run(net, machines, dice) {
                    assert_eq!(Some(output), all, "{size} ranks, {len} bytes");
                }
                for root in [0, size - 1, dice.below(size as usize) as u32] {
                    let machines = (0..size).map(|rank| {
                        let link = link(net, rank, number + 1).step(root as u8);
                        Reduce::new(link, root, Arc::clone(&operation), values(rank, number, len))
                    });
                    let machines = machines.collect();
                    for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                        let expected = all.clone().filter(|_| rank as u32 == root);
                        assert_eq!(output, expected, "{size} ranks, {len} bytes to {root}");
                    }
                }
                let machines = (0..size).map(|rank| {
                    let link = link(net, rank, number + 2);
                    Scan::new(link, Arc::clone(&operation), values(rank, number, len))
                });
                let machines = machines.collect();
                for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                    let rank = rank as u32;
                    assert_eq!(Some(output.inclusive), model(&*operation, 0..rank + 1, number, len));
                    assert_eq!(output.exclusive, model(&*operation, 0..rank, number, len));
                }
            }
        });
    }
}

/// Length of the block from one rank to another; some are empty.
fn length(from: u32, to: u32, number: u64) -> usize {
    (u64::from(from) * 37 + u64::from(to) * 11 + number * 5) as usize % 90 / 2 * 2
}

#[test]
fn exchanges_of_all_with_all_and_scattered_reductions() {
    for_all(|net, size, dice| {
        for number in 0..3 {
            let block = |from: u32, to: u32| values(from * 100 + to, number, length(from, to, number));
            let machines = (0..size).map(|rank| {
                let blocks = (0..size).map(|to| block(rank, to)).collect();
                AllToAll::new(link(net, rank, 2 * number), blocks).unwrap()
            });
            let machines = machines.collect();
            for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                let expected: Vec<_> = (0..size).map(|from| block(from, rank as u32)).collect();
                assert_eq!(output, expected);
            }
            let machines = (0..size).map(|rank| {
                let blocks = (0..size).map(|to| block(rank, to)).collect();
                ShortAllToAll::new(link(net, rank, 2 * number).step(1), blocks).unwrap()
            });
            let machines = machines.collect();
            for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                let expected: Vec<_> = (0..size).map(|from| block(from, rank as u32)).collect();
                assert_eq!(output, expected);
            }
            for (step, operation) in [compose(), xor()].into_iter().enumerate() {
                let len = |to: u32| length(7, to, number);
                let machines = (0..size).map(|rank| {
                    let blocks = (0..size).map(|to| values(rank, u64::from(to), len(to))).collect();
                    let link = link(net, rank, 2 * number + 1).step(step as u8);
                    ReduceScatter::new(link, Arc::clone(&operation), blocks).unwrap()
                });
                let machines = machines.collect();
                for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                    let expected = model(&*operation, 0..size, rank as u64, len(rank as u32));
                    assert_eq!(Some(output), expected);
                }
            }
        }
    });
}

#[test]
fn an_exchange_of_short_blocks_costs_each_rank_one_packet_per_round() {
    assert_eq!(
        [(4, 8), (8, 8), (8, 256), (8, 257)].map(|(ranks, len)| ShortAllToAll::is_better(ranks, len)),
        [false, true, true, false]
    );
    for size in [5, 8, 9, 17] {
        let mut net = Net::new(size, &MessageConfig::default(), 8, 4096, 1);
        let machines = (0..size).map(|rank| {
            let blocks = (0..size).map(|to| vec![(rank * size + to) as u8; 8]).collect();
            ShortAllToAll::new(link(&net, rank, 1), blocks).unwrap()
        });
        let machines = machines.collect();
        run(&mut net, machines, &mut Dice::new(1));
        while net.step() {}
        let rounds = size.next_power_of_two().trailing_zeros() as usize;
        assert_eq!(net.packets, vec![rounds; size as usize]);
    }
    let net = Net::new(1, &MessageConfig::default(), 1, MIN_PACKET, 1);
    let wrong = ShortAllToAll::new(link(&net, 0, 0), vec![Vec::new(); 2]);
    assert_eq!(wrong.unwrap_err().class(), ErrorClass::Count);
}

#[test]
fn a_scatter_gives_every_rank_its_block() {
    for_all(|net, size, dice| {
        for number in 0..4 {
            let root = dice.below(size as usize) as u32;
            let block = |to: u32| values(to, number, length(to, 3, number) * 20);
            let machines = (0..size).map(|rank| {
                let blocks = (rank == root).then(|| (0..size).map(block).collect());
                Scatter::new(link(net, rank, number), root, blocks).unwrap()
            });
            let machines = machines.collect();
            for (rank, output) in run(net, machines, dice).into_iter().enumerate() {
                assert_eq!(output, block(rank as u32));
            }
        }
    });
}

#[test]
fn an_exchange_has_few_messages_under_way() {
    const SIZE: u32 = 40;
    let config = MessageConfig { eager_bytes: 4096, window_bytes: 65536 };
    let mut net = Net::new(SIZE, &config, 64, MIN_PACKET, 1);
    let machines = (0..SIZE).map(|rank| {
        let blocks = (0..SIZE).map(|to| vec![to as u8; 10]).collect();
        AllToAll::new(link(&net, rank, 1), blocks).unwrap()
    });
    let mut machines: Vec<_> = machines.collect();
    // The others have not begun: what this rank sends unasked, and waits for, is a few rounds.
    for _ in 0..1000 {
        assert!(machines[0].step().unwrap().is_none());
        net.step();
    }
    let text = format!("{:?}", net.messengers[0]);
    assert!(text.contains("posted: 8"), "{text}");
    assert_eq!(net.packets[0], 8);
    let mut dice = Dice::new(1);
    for (rank, output) in run(&mut net, machines, &mut dice).into_iter().enumerate() {
        assert_eq!(output, vec![vec![rank as u8; 10]; SIZE as usize]);
    }
    while net.step() {}
    assert!(net.packets.iter().all(|packets| *packets >= SIZE as usize - 1));
}

#[test]
fn wrong_numbers_of_blocks_and_lengths_are_named() {
    let mut net = Net::new(3, &MessageConfig::default(), 4, MIN_PACKET, 1);
    let three = || vec![Vec::new(); 3];
    assert_eq!(AllToAll::new(link(&net, 0, 0), vec![Vec::new(); 2]).unwrap_err().class(), ErrorClass::Count);
    assert_eq!(Scatter::new(link(&net, 0, 0), 0, None).unwrap_err().class(), ErrorClass::Count);
    assert!(Scatter::new(link(&net, 0, 0), 1, Some(three())).is_ok());
    let blocks = |len: usize| vec![vec![0; 4], vec![0; len], vec![0; 4]];
    let mut machines: Vec<_> = [4, 4, 8]
        .into_iter()
        .enumerate()
        .map(|(rank, len)| ReduceScatter::new(link(&net, rank as u32, 1), xor(), blocks(len)).unwrap())
        .collect();
    let mut ends = [const { None }; 3];
    for _ in 0..100 {
        net.step();
        for (end, machine) in ends.iter_mut().zip(&mut machines) {
            if end.is_none() {
                *end = machine.step().transpose();
            }
        }
    }
    let [first, second, third] = ends.map(|end| end.expect("all have ended"));
    assert_eq!((first.unwrap().len(), third.unwrap().len()), (4, 4));
    let error = second.unwrap_err();
    assert_eq!(
        (error.class(), error.cause()),
        (ErrorClass::Truncate, "rank 0 reduces 4 bytes here, rank 2 8")
    );
}
