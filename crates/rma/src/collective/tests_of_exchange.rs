//! Exchanges and broadcasts from memory to memory, and even exchanges whose lengths differ.

use super::tests::{ends, for_all, link, run};
use super::*;
use crate::World;
use crate::message::{MessageConfig, Messenger};
use crate::testing::{Dice, Net};
use rma_core::channel::MIN_PACKET;
use rma_core::datatype::{Gather as Source, Scatter as Room};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::{ErrorClass, Result};

/// What the blocking and the nonblocking call make of a length.
enum Even {
    Short(Box<ShortAllToAll>),
    Long(Box<Exchange>),
}

impl Machine for Even {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        match self {
            Self::Short(machine) => machine.step(),
            Self::Long(machine) => {
                Ok(machine.step()?.map(|all| all.into_iter().map(Option::unwrap_or_default).collect()))
            }
        }
    }

    fn link(&self) -> Option<&Link> {
        match self {
            Self::Short(machine) => machine.link(),
            Self::Long(machine) => machine.link(),
        }
    }
}

fn even(net: &Net, rank: u32, number: u64, len: usize) -> Even {
    let size = net.messengers.len() as u32;
    let blocks = (0..size).map(|to| vec![(rank * size + to) as u8; len]);
    let link = link(net, rank, number);
    if ShortAllToAll::is_better(size as usize, len) {
        return Even::Short(Box::new(ShortAllToAll::new(link, blocks.collect()).unwrap().even(len)));
    }
    let gives = blocks.map(|block| Some(Given::Bytes(block))).collect();
    let takes = (0..size).map(|_| Some(Take::Bytes)).collect();
    Even::Long(Box::new(Exchange::new(link, gives, takes).unwrap().even(len)))
}

#[test]
fn an_even_exchange_of_different_lengths_is_an_error_on_all_ranks() {
    for config in [MessageConfig::default(), MessageConfig { eager_bytes: 16, window_bytes: 300 }] {
        for size in [5, 6, 8, 9] {
            let mut net = Net::new(size, &config, 2, 4096, u64::from(size));
            let mut dice = Dice::new(u64::from(size));
            // Packed blocks of 256 bytes are as long as one of these others, in rounds of two and of four.
            let lens = [
                (16, 300),
                (300, 16),
                (256, 257),
                (257, 256),
                (300, 400),
                (8, 9),
                (0, 300),
                (256, 528),
                (256, 1056),
            ];
            let mut number = 0;
            for (usual, other) in lens {
                for odd in [1u64, 1 << (size - 1), 0b10101, 0b0110] {
                    number += 1;
                    let len = |rank: u32| if odd >> rank & 1 == 1 { other } else { usual };
                    let all = ends(&mut net, &mut dice, |net, rank| even(net, rank, number, len(rank)));
                    for (rank, end) in all.into_iter().enumerate() {
                        let class = end.map(drop).map_err(|error| error.class());
                        assert_eq!(
                            class,
                            Err(ErrorClass::Truncate),
                            "rank {rank} of {size}, {usual} and {other}"
                        );
                    }
                }
                number += 1;
                let all = ends(&mut net, &mut dice, |net, rank| even(net, rank, number, usual));
                for (rank, end) in all.into_iter().enumerate() {
                    let expected = (0..size).map(|from| vec![(from * size + rank as u32) as u8; usual]);
                    assert_eq!(end.unwrap(), expected.collect::<Vec<_>>());
                }
            }
            while net.step() {}
            // Nothing is left of any of them.
            for messenger in &net.messengers {
                let text = format!("{messenger:?}");
                assert!(text.contains("requests: 0") && text.contains("kept: 0"), "{text}");
                assert!(text.contains("posted: 0"), "{text}");
            }
        }
    }
}

/// A rank that ends its part in the job as soon as it has what it needs.
struct Leaving(Even, Messenger, u32);

impl Machine for Leaving {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        let end = self.0.step()?;
        if end.is_some() {
            self.1.say_farewell((0..self.2).map(Peer));
        }
        Ok(end)
    }

    fn link(&self) -> Option<&Link> {
        self.0.link()
    }
}

#[test]
fn ranks_that_are_through_with_an_even_exchange_may_end_their_part() {
    for (size, len) in [5, 6, 8].into_iter().flat_map(|size| [(size, 16), (size, 300)]) {
        for seed in 0..20 {
            let mut net = Net::new(size, &MessageConfig::default(), 2, 4096, seed);
            let all = ends(&mut net, &mut Dice::new(seed), |net, rank| {
                Leaving(even(net, rank, 1, len), net.messengers[rank as usize].clone(), size)
            });
            for (rank, end) in all.into_iter().enumerate() {
                let expected = (0..size).map(|from| vec![(from * size + rank as u32) as u8; len]);
                assert_eq!(end.unwrap(), expected.collect::<Vec<_>>(), "rank {rank} of {size}, seed {seed}");
            }
        }
    }
}

#[test]
fn an_even_exchange_of_long_blocks_costs_no_packet_more() {
    for size in [5, 8, 11] {
        let mut net = Net::new(size, &MessageConfig::default(), 8, 4096, 1);
        let machines = (0..size).map(|rank| even(&net, rank, 1, 300)).collect();
        run(&mut net, machines, &mut Dice::new(1));
        while net.step() {}
        assert_eq!(net.packets, vec![size as usize - 1; size as usize]);
    }
}

fn source(bytes: &[u8]) -> Source {
    // SAFETY: the tests keep the bytes as they are until the machines have ended.
    Source::span(unsafe { ReadSpan::new(bytes.as_ptr(), bytes.len()) })
}

fn room(bytes: &mut [u8]) -> Room {
    // SAFETY: the tests look at the bytes only when the machines have ended.
    Room::span(unsafe { WriteSpan::new(bytes.as_mut_ptr(), bytes.len()) })
}

#[test]
fn long_blocks_go_from_memory_to_memory_and_short_ones_to_the_result() {
    const LENS: [usize; 4] = [0, 100, 8191, 8192];
    for_all(|net, size, dice| {
        let len = |from: u32, to: u32| LENS[(from + 2 * to) as usize % LENS.len()];
        let block = |from: u32, to: u32| vec![(from * size + to) as u8; len(from, to)];
        let given: Vec<Vec<_>> =
            (0..size).map(|from| (0..size).map(|to| block(from, to)).collect()).collect();
        let mut rooms: Vec<Vec<_>> =
            (0..size).map(|to| (0..size).map(|from| vec![0xee; len(from, to)]).collect()).collect();
        let machines = (0..size).map(|rank| {
            let gives = given[rank as usize].iter().map(|block| Some(Given::Memory(source(block)))).collect();
            let takes = rooms[rank as usize].iter_mut().map(|bytes| Some(Take::to(&room(bytes)))).collect();
            Exchange::new(link(net, rank, 1), gives, takes).unwrap()
        });
        let machines = machines.collect();
        for (to, all) in (0..size).zip(run(net, machines, dice)) {
            for (from, received) in (0..size).zip(all) {
                let in_place = &rooms[to as usize][from as usize];
                match len(from, to) < 8192 {
                    true => {
                        assert_eq!(received, Some(block(from, to)));
                        assert!(in_place.iter().all(|byte| *byte == 0xee));
                    }
                    false => assert!(received.is_none() && *in_place == block(from, to), "{from} to {to}"),
                }
            }
        }
    });
}

#[test]
fn a_block_of_another_length_than_its_room_leaves_the_room_alone() {
    for (len, room_len) in [(9000, 9001), (9001, 9000), (0, 9000), (9000, 0)] {
        let mut net = Net::new(2, &MessageConfig::default(), 4, 4096, 1);
        let given = vec![7; len];
        let mut memory = vec![0xee; room_len];
        let sender = vec![None, Some(Given::Memory(source(&given)))];
        let receiver = vec![Some(Take::to(&room(&mut memory))), None];
        let none = |_| None;
        let machines = vec![
            Exchange::new(link(&net, 0, 1), sender, vec![None, None]).unwrap(),
            Exchange::new(link(&net, 1, 1), (0..2).map(none).collect(), receiver).unwrap(),
        ];
        let ends = run(&mut net, machines, &mut Dice::new(1));
        assert_eq!(ends[1][0].as_ref(), Some(&given));
        assert!(memory.iter().all(|byte| *byte == 0xee));
    }
}

#[test]
fn a_broadcast_in_memory_arrives_there_or_is_one_ranks_error() {
    for_all(|net, size, dice| {
        for (number, (len, other)) in
            [(10_000, 10_000), (10_000, 9_999), (9_999, 10_000), (5, 6)].into_iter().enumerate()
        {
            let root = dice.below(size as usize) as u32;
            let odd = (root + 1 + dice.below(size as usize) as u32) % size;
            let len_of = |rank: u32| if rank == odd && rank != root { other } else { len };
            let fill = |rank: u32| if rank == root { 7 } else { 0xee };
            let mut memory: Vec<_> = (0..size).map(|rank| vec![fill(rank); len_of(rank)]).collect();
            let places: Vec<_> = memory.iter_mut().map(|bytes| room(bytes)).collect();
            let all = ends(net, dice, |net, rank| {
                BroadcastInMemory::new(link(net, rank, number as u64), root, places[rank as usize].clone())
            });
            for (rank, end) in (0..size).zip(all) {
                let memory = &memory[rank as usize];
                if len_of(rank) == len {
                    assert!(end.unwrap().is_none() && memory.iter().all(|byte| *byte == 7), "rank {rank}");
                    continue;
                }
                assert!(memory.iter().all(|byte| *byte == 0xee), "rank {rank}");
                match end {
                    Ok(message) => assert!(other > len && message == Some(vec![7; len])),
                    Err(error) => assert!(other < len && error.class() == ErrorClass::Truncate, "{error}"),
                }
            }
        }
    });
}

#[test]
fn a_machine_that_fails_lets_go_of_its_callers_memory() {
    const LEN: usize = 20_000;
    for steps in 0..60 {
        let config = MessageConfig::default();
        let mut net = Net::new(3, &config, 2, MIN_PACKET, steps);
        let mut given = vec![7; LEN];
        let mut memory = vec![vec![0xee; LEN]; 2];
        let gives = (0..3).map(|to| (to > 0).then(|| Given::Memory(source(&given)))).collect();
        let mut takes: Vec<_> = memory.iter_mut().map(|bytes| Some(Take::to(&room(bytes)))).collect();
        takes.insert(0, None);
        let mut machine = Exchange::new(link(&net, 0, 1), gives, takes).unwrap();
        // Rank 2 takes part, and may be anywhere in it when rank 1 is lost, which never did.
        let other = vec![5; LEN];
        let mut place = vec![0; LEN];
        let gives = (0..3).map(|to| (to == 0).then(|| Given::Memory(source(&other)))).collect();
        let takes = (0..3).map(|from| (from == 0).then(|| Take::to(&room(&mut place)))).collect();
        let mut partner = Exchange::new(link(&net, 2, 1), gives, takes).unwrap();
        let (mut is_over, mut has_failed) = (false, false);
        for _ in 0..steps {
            assert!(machine.step().unwrap().is_none());
            is_over = is_over || partner.step().unwrap().is_some();
            net.step();
        }
        net.lose(1);
        let mut end = None;
        for _ in 0..10_000 {
            end = machine.step().map(drop).err();
            if end.is_some() {
                break;
            }
            net.step();
        }
        assert_eq!(end.expect("it ends").class(), ErrorClass::ProcFailed);
        // The caller does with its memory what it wants.
        given.fill(9);
        memory.iter_mut().for_each(|bytes| bytes.fill(0xaa));
        drop(machine);
        for _ in 0..10_000 {
            if !is_over && !has_failed {
                // It may hear of the death before it is through.
                match partner.step() {
                    Ok(end) => is_over = end.is_some(),
                    Err(_) => has_failed = true,
                }
            }
            net.step();
        }
        assert!(memory.iter().flatten().all(|byte| *byte == 0xaa), "written after the end, {steps} steps");
        // The message is whole, or never came: rank 0 may have ended before it was to send it.
        let mark = place[0];
        assert!(mark == 7 || (mark == 0 && !is_over), "{mark} after {steps} steps");
        assert!(place.iter().all(|byte| *byte == mark), "read after the end, {steps} steps");
    }
}

/// A scatter whose root has more rounds than are under way at a time, and one of whose ranks has ended its part before.
#[test]
fn a_rank_that_only_gives_serves_all_that_are_left() {
    const SIZE: u32 = 20;
    const LEN: usize = 9000;
    for lost in [1, 3, 8, 19] {
        let mut net = Net::new(SIZE, &MessageConfig::default(), 2, 4096, u64::from(lost));
        net.messengers[lost as usize].say_farewell((0..SIZE).map(Peer));
        while net.step() {}
        net.lose(lost);
        let given: Vec<_> = (0..SIZE).map(|to| vec![to as u8; LEN]).collect();
        let mut rooms: Vec<_> = (0..SIZE).map(|_| vec![0xee; LEN]).collect();
        let gives = given.iter().skip(1).map(|block| Some(Given::Memory(source(block))));
        let gives = std::iter::once(None).chain(gives).collect();
        let none = |_| None;
        let mut root = Exchange::new(link(&net, 0, 1), gives, (0..SIZE).map(|_| None).collect()).unwrap();
        let mut others: Vec<_> = (1..SIZE)
            .zip(rooms.iter_mut().skip(1))
            .filter(|(rank, _)| *rank != lost)
            .map(|(rank, bytes)| {
                let takes = std::iter::once(Some(Take::to(&room(bytes)))).chain((1..SIZE).map(|_| None));
                Exchange::new(link(&net, rank, 1), (0..SIZE).map(none).collect(), takes.collect()).unwrap()
            })
            .collect();
        let (mut end, mut rounds) = (None, 0);
        while end.is_none() || !others.is_empty() {
            rounds += 1;
            assert!(rounds < 100_000, "{} ranks wait; the root has ended: {}", others.len(), end.is_some());
            if end.is_none() {
                end = root.step().transpose();
            }
            others.retain_mut(|other| other.step().unwrap().is_none());
            net.step();
        }
        assert_eq!(end.unwrap().unwrap_err().class(), ErrorClass::ProcFailed);
        for rank in (1..SIZE).filter(|rank| *rank != lost) {
            assert!(
                rooms[rank as usize].iter().all(|byte| *byte == rank as u8),
                "rank {rank}, without {lost}"
            );
        }
    }
}

/// The other of two ranks gets these blocks, and this one as many of it, in these rooms.
fn neighbors(world: &World, blocks: &[Vec<u8>], rooms: &mut [Vec<u8>]) -> Neighbors {
    let rank = 1 - world.rank();
    let give = |block: &Vec<u8>| {
        // SAFETY: the callers keep the blocks until the exchange is over.
        let span = unsafe { ReadSpan::new(block.as_ptr(), block.len()) };
        Edge { rank, tag: 0, block: Given::Memory(Source::span(span)) }
    };
    let gives = blocks.iter().map(give).collect();
    let takes = rooms.iter_mut().map(|bytes| Edge { rank, tag: 0, block: room(bytes) }).collect();
    Neighbors::new(world.runtime().engine(), world.link(), gives, takes)
}

#[test]
fn a_block_of_a_neighbor_that_does_not_fit_is_not_stored_and_the_others_are() {
    World::run_threads(2, |world| {
        let blocks = [vec![1; 8], vec![2; 1024], vec![3; 1 << 20]];
        for (place, len) in [(1, 1023), (0, 9), (2, (1 << 20) - 1), (2, (1 << 20) + 1)] {
            let mut rooms: Vec<_> = blocks.iter().map(|block| vec![0; block.len()]).collect();
            rooms[place] = vec![0; len];
            let machine = neighbors(world, &blocks, &mut rooms);
            let error = world.runtime().run("neighbors", machine)?.unwrap_err();
            let cause = format!(
                "a block of {} bytes has come from rank {}, and the room for it is {len} bytes",
                blocks[place].len(),
                1 - world.rank()
            );
            assert_eq!((error.class(), error.cause()), (ErrorClass::Truncate, &*cause));
            let is_whole =
                |i: usize| if i == place { rooms[i] == vec![0; len] } else { rooms[i] == blocks[i] };
            assert!((0..3).all(is_whole), "block {place} for {len} bytes");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn short_blocks_to_neighbors_have_left_before_the_first_step() {
    World::run_threads(2, |world| {
        let runtime = world.runtime();
        let blocks = [vec![1; 8], vec![2; 1024], vec![3; 1 << 20]];
        // The first ones make contact.
        for (round, number) in [2, 2, 3].into_iter().enumerate() {
            world.barrier()?;
            let before = runtime.messenger().packets_sent();
            let mut rooms: Vec<_> = blocks[..number].iter().map(|block| vec![0; block.len()]).collect();
            let machine = neighbors(world, &blocks[..number], &mut rooms);
            let sent = runtime.messenger().packets_sent() - before;
            assert!(round == 0 || sent == 2, "{sent} packets of {number} blocks");
            runtime.run("neighbors", machine)??;
            assert!(rooms == blocks[..number]);
        }
        Ok(())
    })
    .unwrap();
}
