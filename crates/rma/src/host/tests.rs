//! The host over a drawn schedule, with real shared memory between the messengers of one process.

use super::*;
use crate::message::MessageConfig;
use crate::pmi::ProcessMapping;
use crate::testing::{Dice, Net};
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::Mailbox;
use rma_core::ErrorClass;
use rma_core::Result;
use rma_core::channel::MIN_PACKET;
use rma_core::host::{
    Combine, Group, Host, HostRequest, Outcome, SegmentKind, SegmentPart, SegmentRequest, SegmentSet,
};
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn hosts(net: &Net, ranks_per_node: Option<u32>, direct: bool, config: &ShmConfig) -> Vec<RuntimeHost> {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = format!("host-test-{}-{}", std::process::id(), JOBS.fetch_add(1, Relaxed));
    let size = net.messengers.len() as u32;
    let make = |rank: u32| {
        let mapping = ProcessMapping::regular(size, size);
        let places = Places::new(Peer(rank), size, mapping, ranks_per_node);
        let mailbox = Mailbox::open(Peer(rank), &job, [7; 32]).unwrap();
        let node_memory = Some(Arc::new(NodeMemory::new(mailbox, config.clone())));
        RuntimeHost::new(
            net.messengers[rank as usize].clone(),
            HostSettings { places, node_memory, direct, tell_stuck: None },
        )
    };
    (0..size).map(make).collect()
}

fn group(rank: u32, size: u32) -> Group {
    Group::strided(9, Rank(rank), Peer(0), 1, size)
}

/// A request for memory of one's own, aligned to a page.
fn request(control_len: u64, data_len: u64) -> SegmentRequest {
    let (data_align, kind) = (SegmentRequest::PAGE, SegmentKind::Private);
    SegmentRequest { control_len, data_len, data_align, kind, given: WriteSpan::EMPTY }
}

/// What each rank asks for: pages, or huge ones.
fn align(rank: u32) -> u64 {
    if rank % 3 == 1 { SegmentRequest::HUGE_PAGE } else { SegmentRequest::PAGE }
}

fn run(
    net: &mut Net,
    hosts: &[RuntimeHost],
    requests: Vec<HostRequest>,
    dice: &mut Dice,
) -> Vec<Result<Outcome>> {
    let mut outcomes: Vec<Option<Result<Outcome>>> = hosts.iter().map(|_| None).collect();
    for _ in 0..1_000_000 {
        if outcomes.iter().all(Option::is_some) {
            return outcomes.into_iter().flatten().collect();
        }
        let rank = dice.below(hosts.len());
        if outcomes[rank].is_none() {
            outcomes[rank] = hosts[rank].poll(requests[rank]).transpose();
        }
        net.step();
    }
    panic!("it does not end");
}

fn segments(
    net: &mut Net,
    hosts: &[RuntimeHost],
    kind: SegmentKind,
    data_len: impl Fn(u32) -> u64,
    dice: &mut Dice,
) -> Vec<Result<SegmentSet>> {
    let size = hosts.len() as u32;
    let requests: Vec<_> = (0..size)
        .map(|rank| {
            let request = SegmentRequest { data_align: align(rank), kind, ..request(192, data_len(rank)) };
            hosts[rank as usize].begin_segment(&group(rank, size), request).unwrap()
        })
        .collect();
    let outcomes = run(net, hosts, requests, dice);
    let segment = |outcome| match outcome {
        Outcome::Segment(segment) => segment,
        other => panic!("{other:?}"),
    };
    let made: Vec<_> = outcomes.into_iter().map(|outcome| outcome.map(segment)).collect();
    check_aligned(&made, kind);
    made
}

/// Whether data lie where they are to, wherever they are mapped.
fn check_aligned(made: &[Result<SegmentSet>], kind: SegmentKind) {
    let most = (0..made.len() as u32).map(align).max().unwrap();
    for parts in made.iter().flatten().map(SegmentSet::parts) {
        let mut filled = parts.iter().filter(|part| !part.data.is_empty());
        let is_at = |part: &SegmentPart, align| (part.data.as_mut_ptr() as u64).is_multiple_of(align);
        match kind {
            SegmentKind::Contiguous => assert!(filled.next().is_none_or(|first| is_at(first, most))),
            _ => assert!(filled.all(|part| is_at(part, align(part.rank.0))), "{parts:?}"),
        }
    }
}

fn net(size: u32) -> Net {
    Net::new(size, &MessageConfig::default(), 2, MIN_PACKET, u64::from(size))
}

#[test]
fn barriers_and_reductions_of_the_engine() {
    for size in [1, 2, 5] {
        let (mut net, mut dice) = (net(size), Dice::new(1));
        let hosts = hosts(&net, None, true, &ShmConfig::default());
        let all = |begin: &dyn Fn(&RuntimeHost, Group) -> HostRequest| -> Vec<_> {
            (0..size).map(|rank| begin(&hosts[rank as usize], group(rank, size))).collect()
        };
        // Two at once on one group.
        let barriers = all(&|host, group| host.begin_barrier(&group).unwrap());
        let again = all(&|host, group| host.begin_barrier(&group).unwrap());
        for requests in [again, barriers] {
            for outcome in run(&mut net, &hosts, requests, &mut dice) {
                assert!(matches!(outcome.unwrap(), Outcome::Met));
            }
        }
        let size = u64::from(size);
        for (combine, expected) in [
            (Combine::Min, [10, 7]),
            (Combine::Max, [9 + size, 7]),
            (Combine::Sum, [9 * size + size * (size + 1) / 2, 7 * size]),
            (Combine::BitAnd, [(10..10 + size).fold(u64::MAX, |a, b| a & b), 7]),
            (Combine::BitOr, [(10..10 + size).fold(0, |a, b| a | b), 7]),
        ] {
            let requests = all(&|host, group| {
                host.begin_reduce(&group, combine, &[10 + u64::from(group.me().0), 7]).unwrap()
            });
            for outcome in run(&mut net, &hosts, requests, &mut dice) {
                match outcome.unwrap() {
                    Outcome::Values(values) => assert_eq!(values[..], expected, "{combine:?}"),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(hosts[0].poll(HostRequest(12345)).is_err());
    }
}

/// Every rank writes its own data and control, and sees everything of its node.
fn check_shared(segments: &[SegmentSet], nodes: &[Vec<u32>], data_len: impl Fn(u32) -> u64) {
    for (rank, segment) in segments.iter().enumerate() {
        let node = nodes.iter().find(|node| node.contains(&(rank as u32))).unwrap();
        let ranks: Vec<_> = segment.parts().iter().map(|member| member.rank.0).collect();
        assert_eq!(ranks, *node);
        let own = segment.parts().iter().find(|member| member.rank.0 == rank as u32).unwrap();
        assert_eq!(own.control.as_mut_ptr() as usize % 64, 0);
        let mut bytes = vec![1; own.data.len()];
        own.data.as_read().read(&mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
        own.data.write(&vec![rank as u8 + 1; own.data.len()]);
        own.control.write(&[0xc0 + rank as u8; 192]);
    }
    for segment in segments {
        for member in segment.parts() {
            assert_eq!(member.data.len() as u64, data_len(member.rank.0));
            let (mut data, mut control) = (vec![0; member.data.len()], [0; 192]);
            member.data.as_read().read(&mut data);
            member.control.as_read().read(&mut control);
            assert!(data.iter().all(|byte| u32::from(*byte) == member.rank.0 + 1));
            assert_eq!(control, [0xc0 + member.rank.0 as u8; 192]);
        }
    }
}

#[test]
fn ranks_of_a_node_share_separate_memory() {
    let data_len = |rank: u32| [0, 1, 5000, 64][rank as usize % 4];
    for (size, per_node) in [(1, None), (2, None), (5, None), (5, Some(2)), (4, Some(1))] {
        let (mut net, mut dice) = (net(size), Dice::new(2));
        let hosts = hosts(&net, per_node, true, &ShmConfig::default());
        let nodes: Vec<Vec<u32>> = match per_node {
            None => vec![(0..size).collect()],
            Some(k) => (0..size).collect::<Vec<_>>().chunks(k as usize).map(<[u32]>::to_vec).collect(),
        };
        for _ in 0..3 {
            let made = segments(&mut net, &hosts, SegmentKind::Separate, data_len, &mut dice);
            let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
            check_shared(&made, &nodes, data_len);
        }
    }
}

#[test]
fn contiguous_memory_is_contiguous_in_rank_order_and_needs_one_node() {
    let data_len = |rank: u32| [8, 0, 24][rank as usize % 3];
    let (mut net4, mut dice) = (net(4), Dice::new(3));
    let one_node = hosts(&net4, None, false, &ShmConfig::default());
    let made = segments(&mut net4, &one_node, SegmentKind::Contiguous, data_len, &mut dice);
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    check_shared(&made, &[vec![0, 1, 2, 3]], data_len);
    for segment in &made {
        for pair in segment.parts().windows(2) {
            let end = pair[0].data.as_mut_ptr() as usize + pair[0].data.len();
            assert_eq!(end, pair[1].data.as_mut_ptr() as usize);
        }
    }
    // The lowest rank is the first that gives its part up, and uses the memory again, while others still read theirs.
    let mut made = made.into_iter();
    drop(made.next());
    let node_memory = one_node[0].node_memory.as_ref().unwrap();
    let again: Vec<_> = (0..64).map(|_| node_memory.allocate(4096, 64).unwrap()).collect();
    again.iter().for_each(|block| block.arena.bytes.part(block.offset, 4096).write(&[0xff; 4096]));
    for (rank, segment) in made.enumerate() {
        let own = segment.parts()[rank + 1].control;
        let mut control = [0; 192];
        own.as_read().read(&mut control);
        assert_eq!(control, [0xc1 + rank as u8; 192]);
    }
    let two_nodes = hosts(&net4, Some(2), true, &ShmConfig::default());
    for segment in segments(&mut net4, &two_nodes, SegmentKind::Contiguous, data_len, &mut dice) {
        let error = segment.unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaShared);
        assert!(error.to_string().contains("2 of 4"), "{error}");
    }
    let alone = hosts(&net4, Some(3), true, &ShmConfig::default());
    let request = SegmentRequest { kind: SegmentKind::Scattered, ..request(0, 8) };
    let error = alone[3].begin_segment(&group(3, 4), request).unwrap_err();
    assert!(error.to_string().contains("1 of 4"), "{error}");
}

#[test]
fn memory_that_must_be_shared_may_have_gaps_and_is_shared_without_the_direct_path() {
    let data_len = |rank: u32| [8, 0, 24][rank as usize % 3];
    let (mut net, mut dice) = (net(3), Dice::new(7));
    let hosts = hosts(&net, None, false, &ShmConfig::default());
    let made = segments(&mut net, &hosts, SegmentKind::Scattered, data_len, &mut dice);
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    check_shared(&made, &[vec![0, 1, 2]], data_len);
    for member in made[0].parts().iter().filter(|member| !member.data.is_empty()) {
        assert_eq!(member.data.as_mut_ptr() as usize % 4096, 0);
    }
}

#[test]
fn ranks_that_ask_for_different_things_share_nothing_and_do_not_wait() {
    let (mut net, mut dice) = (net(3), Dice::new(8));
    let hosts = hosts(&net, None, true, &ShmConfig::default());
    for (kinds, refused) in [
        ([SegmentKind::Separate, SegmentKind::Private, SegmentKind::Separate], [false; 3]),
        ([SegmentKind::Contiguous, SegmentKind::Private, SegmentKind::Scattered], [true, false, true]),
        ([SegmentKind::Contiguous, SegmentKind::Scattered, SegmentKind::Scattered], [false; 3]),
    ] {
        let begin = |(rank, kind): (u32, SegmentKind)| {
            let request = SegmentRequest { kind, ..request(64, 8) };
            hosts[rank as usize].begin_segment(&group(rank, 3), request).unwrap()
        };
        let requests = (0..3).zip(kinds).map(begin).collect();
        let outcomes = run(&mut net, &hosts, requests, &mut dice);
        assert_eq!(outcomes.iter().map(Result::is_err).collect::<Vec<_>>(), refused, "{kinds:?}");
        for outcome in outcomes.into_iter().flatten() {
            let Outcome::Segment(segment) = outcome else { panic!("{outcome:?}") };
            let is_shared = kinds.iter().all(|kind| kind.must_be_shared());
            assert_eq!(segment.parts().len(), if is_shared { 3 } else { 1 }, "{kinds:?}");
        }
    }
}

#[test]
fn many_ranks_share_although_mailboxes_are_short_and_later_segments_need_asking_only() {
    let size = 21;
    let (mut net, mut dice) = (net(size), Dice::new(9));
    let hosts = hosts(&net, None, true, &ShmConfig::default());
    let data_len = |rank: u32| u64::from(rank) * 100;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let before: usize = net.packets.iter().sum();
        let made = segments(&mut net, &hosts, SegmentKind::Separate, data_len, &mut dice);
        let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
        check_shared(&made, &[(0..size).collect()], data_len);
        sent.push(net.packets.iter().sum::<usize>() - before);
    }
    assert!(sent[1] < sent[0] / 2 && sent[2] == sent[1], "messages of three segments: {sent:?}");
}

#[test]
fn given_memory_is_shared_when_all_of_it_can_be() {
    let (mut net, mut dice) = (net(3), Dice::new(10));
    let hosts = hosts(&net, None, true, &ShmConfig::default());
    let own = |rank: usize, len| {
        let node_memory = hosts[rank].node_memory.as_ref().unwrap();
        let block = node_memory.allocate(len, 64).unwrap();
        let span = block.arena.bytes.part(block.offset, len);
        span.write(&[rank as u8 + 1; 16]);
        (block, span)
    };
    // Of an arena of the usual size, and of a larger one.
    let (first, second) = (own(0, 1000), own(2, 80 << 20));
    let mut heap = [7u8; 64];
    // SAFETY: the test keeps the bytes until the segments are gone, and looks at them through the span only.
    let heap = unsafe { WriteSpan::new(heap.as_mut_ptr(), 64) };
    for (given, is_shared) in [
        ([first.1.part(100, 500), WriteSpan::EMPTY, second.1.part(4, 1000)], true),
        ([first.1, WriteSpan::EMPTY, second.1], true),
        ([first.1, heap, second.1], false),
    ] {
        let begin = |rank: u32| {
            let given = given[rank as usize];
            let data_len = given.len() as u64;
            let request = SegmentRequest { kind: SegmentKind::Given, given, ..request(64, data_len) };
            hosts[rank as usize].begin_segment(&group(rank, 3), request).unwrap()
        };
        let requests = (0..3).map(begin).collect();
        let made: Vec<_> = run(&mut net, &hosts, requests, &mut dice).into_iter().map(segment_of).collect();
        check_neighbors(&made, !is_shared);
        for (rank, segment) in made.into_iter().enumerate() {
            let expected: &[u32] = if is_shared { &[0, 1, 2] } else { &[rank as u32] };
            assert_eq!(segment.parts().iter().map(|member| member.rank.0).collect::<Vec<_>>(), expected);
            for member in segment.parts() {
                let (data, given) = (member.data, given[member.rank.0 as usize]);
                assert_eq!(data.len(), if is_shared { given.len() } else { 0 });
                if member.rank.0 as usize == rank && is_shared && !given.is_empty() {
                    assert_eq!(
                        data.as_mut_ptr(),
                        given.as_mut_ptr(),
                        "the own part is where the program has it"
                    );
                }
                let (mut here, mut there) = (vec![0; data.len()], vec![0; data.len()]);
                data.as_read().read(&mut here);
                given.as_read().read(&mut there[..data.len()]);
                assert_eq!(here, there);
            }
        }
    }
}

/// Whether the others are each rank's neighbors, whose control memory is the same that they have themselves, or none is.
fn check_neighbors(made: &[SegmentSet], are_neighbors: bool) {
    for (rank, segment) in made.iter().enumerate() {
        let others: Vec<_> = (0..made.len()).filter(|other| *other != rank && are_neighbors).collect();
        let neighbors = segment.controls();
        assert_eq!(neighbors.iter().map(|it| it.rank.0 as usize).collect::<Vec<_>>(), others);
        for neighbor in neighbors {
            let [own] = made[neighbor.rank.0 as usize].parts() else { panic!("it shares data") };
            let (value, mut found) = ([rank as u8 + 1; 64], [0; 64]);
            neighbor.control.write(&value);
            own.control.as_read().read(&mut found);
            assert_eq!((neighbor.control.len(), found), (own.control.len(), value));
        }
    }
}

fn segment_of(outcome: Result<Outcome>) -> SegmentSet {
    match outcome {
        Ok(Outcome::Segment(segment)) => segment,
        other => panic!("no segment: {other:?}"),
    }
}

#[test]
fn control_memory_is_shared_without_data() {
    let kind = SegmentKind::Control;
    let (mut net, mut dice) = (net(4), Dice::new(12));
    for (per_node, direct) in [(None, true), (None, false), (Some(2), true)] {
        let hosts = hosts(&net, per_node, direct, &ShmConfig::default());
        let made = segments(&mut net, &hosts, kind, |_| 0, &mut dice);
        let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
        let own: Vec<Vec<u32>> = (0..4).map(|rank| vec![rank]).collect();
        check_shared(&made, &own, |_| 0);
        match per_node {
            None => check_neighbors(&made, direct),
            Some(_) => made.chunks(2).for_each(|node| {
                let names = |at: usize| node[at].controls().iter().map(|it| it.rank).collect::<Vec<_>>();
                assert_eq!([names(0), names(1)], [1, 0].map(|at: usize| vec![node[at].parts()[0].rank]));
            }),
        }
    }
}

#[test]
fn private_memory_is_not_shared() {
    for (kind, direct) in [(SegmentKind::Private, true), (SegmentKind::Separate, false)] {
        let (mut net, mut dice) = (net(3), Dice::new(4));
        let hosts = hosts(&net, None, direct, &ShmConfig::default());
        let made = segments(&mut net, &hosts, kind, |_| 100, &mut dice);
        let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
        check_shared(&made, &[vec![0], vec![1], vec![2]], |_| 100);
    }
}

#[test]
fn without_shared_memory_all_fall_back_or_all_get_an_error() {
    let config = ShmConfig::read(&|name| match name {
        "RMA_SHM_BACKING" => Some("devshm".to_owned()),
        "RMA_SHM_DIR" => Some("/no/such/directory".to_owned()),
        _ => None,
    })
    .unwrap();
    let (mut net, mut dice) = (net(3), Dice::new(5));
    let hosts = hosts(&net, None, true, &config);
    for _ in 0..2 {
        let made = segments(&mut net, &hosts, SegmentKind::Separate, |_| 100, &mut dice);
        let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
        check_shared(&made, &[vec![0], vec![1], vec![2]], |_| 100);
    }
    // The first one that has none has said so, and no other.
    let is_silent = |host: &RuntimeHost| host.node_memory.as_ref().is_some_and(|it| it.is_first_complaint());
    assert_eq!(hosts.iter().map(is_silent).collect::<Vec<_>>(), [false, true, true]);
    let made = segments(&mut net, &hosts, SegmentKind::Contiguous, |_| 100, &mut dice);
    for segment in made {
        let error = segment.unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaShared);
    }
    // Too much for any memory is an error on all ranks.
    let made = segments(&mut net, &hosts, SegmentKind::Separate, |_| 1 << 62, &mut dice);
    assert!(made.into_iter().all(|segment| segment.unwrap_err().class() == ErrorClass::NoMem));
}

#[test]
fn one_rank_that_cannot_map_makes_all_fall_back() {
    let (mut net, mut dice) = (net(3), Dice::new(6));
    let mut hosts = hosts(&net, None, true, &ShmConfig::default());
    // This rank's mailbox is of another job: what is put into it is dropped, and nothing arrives.
    let places = Places::new(Peer(1), 3, ProcessMapping::regular(3, 3), None);
    let mailbox = Mailbox::open(Peer(1), "another job of the host test", [8; 32]).unwrap();
    let node_memory = Some(Arc::new(NodeMemory::new(mailbox, ShmConfig::default())));
    hosts[1] = RuntimeHost::new(
        net.messengers[1].clone(),
        HostSettings { places, node_memory, direct: true, tell_stuck: None },
    );
    let made = segments(&mut net, &hosts, SegmentKind::Separate, |_| 100, &mut dice);
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    check_shared(&made, &[vec![0], vec![1], vec![2]], |_| 100);
}

#[test]
fn an_arena_that_is_announced_with_another_length_is_an_error() {
    let (config, job) = (ShmConfig::default(), format!("host-test-{}-length", std::process::id()));
    let [owner, reader] =
        [0, 1].map(|rank| NodeMemory::new(Mailbox::open(Peer(rank), &job, [7; 32]).unwrap(), config.clone()));
    let block = owner.allocate(100, 64).unwrap();
    owner.give(&block.arena, &[Peer(1)]).unwrap();
    let right = super::wish::ArenaPlace::new(&block.arena, 0).arena;
    assert_eq!(reader.map(Peer(0), right).unwrap().len(), right.len);
    for len in [right.len + 4096, right.len - 1, 0, u64::MAX] {
        let why = reader.map(Peer(0), super::node_memory::ArenaName { len, ..right }).unwrap_err().text();
        assert!(why.contains("process 0 announced") && why.contains(&len.to_string()), "{why}");
    }
}
