//! The host over a drawn schedule, with real shared memory between the messengers of one process.

use super::*;
use crate::launch::ProcessMapping;
use crate::message::MessageConfig;
use crate::testing::{Dice, Net};
use rma_ch_shm::ShmConfig;
use rma_ch_shm::segment::Mailbox;
use rma_core::ErrorClass;
use rma_core::Result;
use rma_core::channel::MIN_PACKET;
use rma_core::host::{Combine, Group, Host, HostRequest, Outcome, SegmentKind, SegmentRequest, SegmentSet};
use rma_core::ids::{Peer, Rank};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn hosts(net: &Net, ranks_per_node: Option<u32>, direct: bool, config: &ShmConfig) -> Vec<RuntimeHost> {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = format!("host-test-{}-{}", std::process::id(), JOBS.fetch_add(1, Relaxed));
    let size = net.messengers.len() as u32;
    let make = |rank: u32| {
        let mapping = ProcessMapping::regular(size, size);
        let places = Places::new(Peer(rank), size, mapping, ranks_per_node);
        let mailbox = Mailbox::open(Peer(rank), &job, [7; 32]).unwrap();
        let siblings = Some(Siblings::new(mailbox, config.clone()));
        RuntimeHost::new(net.messengers[rank as usize].clone(), HostSettings { places, siblings, direct })
    };
    (0..size).map(make).collect()
}

fn group(rank: u32, size: u32) -> Group {
    Group::strided(9, Rank(rank), Peer(0), 1, size)
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
    panic!("no end in sight");
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
            let request = SegmentRequest { control_len: 192, data_len: data_len(rank), kind };
            hosts[rank as usize].begin_segment(&group(rank, size), request).unwrap()
        })
        .collect();
    let outcomes = run(net, hosts, requests, dice);
    let segment = |outcome| match outcome {
        Outcome::Segment(segment) => segment,
        other => panic!("{other:?}"),
    };
    outcomes.into_iter().map(|outcome| outcome.map(segment)).collect()
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

/// Every rank writes its own data and control; everybody sees everything of its node.
fn check_shared(segments: &[SegmentSet], nodes: &[Vec<u32>], data_len: impl Fn(u32) -> u64) {
    for (rank, segment) in segments.iter().enumerate() {
        let node = nodes.iter().find(|node| node.contains(&(rank as u32))).unwrap();
        let ranks: Vec<_> = segment.members().iter().map(|member| member.rank.0).collect();
        assert_eq!(ranks, *node);
        let own = segment.members().iter().find(|member| member.rank.0 == rank as u32).unwrap();
        assert_eq!(own.control.as_mut_ptr() as usize % 64, 0);
        let mut bytes = vec![1; own.data.len()];
        own.data.as_read().read(&mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
        own.data.write(&vec![rank as u8 + 1; own.data.len()]);
        own.control.write(&[0xc0 + rank as u8; 192]);
    }
    for segment in segments {
        for member in segment.members() {
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
        for pair in segment.members().windows(2) {
            let end = pair[0].data.as_mut_ptr() as usize + pair[0].data.len();
            assert_eq!(end, pair[1].data.as_mut_ptr() as usize);
        }
    }
    let two_nodes = hosts(&net4, Some(3), true, &ShmConfig::default());
    let request = SegmentRequest { control_len: 0, data_len: 8, kind: SegmentKind::Contiguous };
    let error = two_nodes[0].begin_segment(&group(0, 4), request).unwrap_err();
    assert_eq!(error.class(), ErrorClass::RmaShared);
    assert!(error.to_string().contains("3 of 4"), "{error}");
}

#[test]
fn private_memory_is_shared_with_nobody() {
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
    let made = segments(&mut net, &hosts, SegmentKind::Separate, |_| 100, &mut dice);
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    check_shared(&made, &[vec![0], vec![1], vec![2]], |_| 100);
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
    let siblings = Some(Siblings::new(mailbox, ShmConfig::default()));
    hosts[1] = RuntimeHost::new(net.messengers[1].clone(), HostSettings { places, siblings, direct: true });
    let made = segments(&mut net, &hosts, SegmentKind::Separate, |_| 100, &mut dice);
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    check_shared(&made, &[vec![0], vec![1], vec![2]], |_| 100);
}
