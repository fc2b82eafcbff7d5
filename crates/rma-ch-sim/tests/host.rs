//! The host: collectives in call order, segments as asked for, errors for all, and pollers that are woken.

use rma_ch_sim::{SimConfig, SimHost, SimNet};
use rma_core::channel::conformance::Sleeper;
use rma_core::host::{
    Combine, Group, Host, HostRequest, Locality, Outcome, SegmentKind, SegmentRequest, SegmentSet,
};
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;
use rma_core::{ErrorClass, Result};
use std::thread;
use std::time::{Duration, Instant};

fn all(me: u32, ranks: u32) -> Group {
    Group::strided(7, Rank(me), Peer(0), 1, ranks)
}

fn hosts(ranks: u32, ranks_per_node: u64) -> (SimNet, Vec<SimHost>) {
    let net = SimNet::real_time(ranks, SimConfig { ranks_per_node, ..SimConfig::default() });
    let hosts = (0..ranks).map(|me| net.host(Peer(me))).collect();
    (net, hosts)
}

/// What each rank asks for.
fn align(me: u32) -> u64 {
    if me == 0 { SegmentRequest::PAGE } else { SegmentRequest::HUGE_PAGE }
}

fn segments(hosts: &[SimHost], kind: SegmentKind, data_len: impl Fn(u32) -> u64) -> Vec<Result<SegmentSet>> {
    let ranks = hosts.len() as u32;
    let begin = |host: &SimHost| {
        let me = host.me().0;
        let request = SegmentRequest {
            control_len: 100,
            data_len: data_len(me),
            data_align: align(me),
            kind,
            given: WriteSpan::EMPTY,
        };
        host.begin_segment(&all(me, ranks), request).unwrap()
    };
    let requests: Vec<HostRequest> = hosts.iter().map(begin).collect();
    let take = |(host, request): (&SimHost, HostRequest)| match host.poll(request)? {
        Some(Outcome::Segment(set)) => Ok(set),
        other => panic!("all are there, but a segment gave {other:?}"),
    };
    hosts.iter().zip(requests).map(take).collect()
}

#[test]
fn a_collective_is_over_when_the_last_has_come_and_is_taken_once() {
    let (net, hosts) = hosts(3, 0);
    let sum: Vec<_> = (0..3)
        .map(|me| hosts[me].begin_reduce(&all(me as u32, 3), Combine::Sum, &[me as u64, 10]).unwrap())
        .collect();
    let first = hosts[0].begin_barrier(&all(0, 3)).unwrap();
    assert!(hosts[0].poll(first).unwrap().is_none(), "two ranks are missing");
    for me in 0..3 {
        let Some(Outcome::Values(values)) = hosts[me].poll(sum[me]).unwrap() else { panic!("all are there") };
        assert_eq!(values[..], [3, 30]);
        assert_eq!(hosts[me].poll(sum[me]).unwrap_err().class(), ErrorClass::Request);
    }
    let rest = [1, 2].map(|me| hosts[me].begin_barrier(&all(me as u32, 3)).unwrap());
    assert!(matches!(hosts[0].poll(first), Ok(Some(Outcome::Met))));
    assert_eq!(net.open_collectives(), 1);
    for (me, request) in [1, 2].into_iter().zip(rest) {
        assert!(matches!(hosts[me].poll(request), Ok(Some(Outcome::Met))));
    }
    assert_eq!(net.open_collectives(), 0);
}

#[test]
fn groups_of_different_contexts_do_not_meet() {
    let (_net, hosts) = hosts(4, 0);
    let pair = |context, me: u32, first| Group::strided(context, Rank((me - first) / 2), Peer(first), 2, 2);
    let requests: Vec<_> = (0..4u32)
        .map(|me| {
            let group = pair(100 + u64::from(me % 2), me, me % 2);
            hosts[me as usize].begin_reduce(&group, Combine::Max, &[u64::from(me)]).unwrap()
        })
        .collect();
    for me in 0..4 {
        let Some(Outcome::Values(values)) = hosts[me].poll(requests[me]).unwrap() else { panic!("{me}") };
        assert_eq!(values[..], [me as u64 % 2 + 2]);
    }
}

#[test]
fn separate_segments_are_shared_by_node_zeroed_and_aligned() {
    let (_net, hosts) = hosts(5, 2);
    let sets: Vec<_> = segments(&hosts, SegmentKind::Separate, |me| u64::from(me) * 1000)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    for (me, set) in sets.iter().enumerate() {
        let ranks: Vec<u32> = set.parts().iter().map(|m| m.rank.0).collect();
        assert_eq!(ranks, [&[0, 1][..], &[2, 3], &[4]][me / 2]);
        for member in set.parts() {
            assert_eq!((member.control.len(), member.data.len()), (100, member.rank.0 as usize * 1000));
            assert_eq!(member.control.as_mut_ptr() as usize % 64, 0);
            assert!(
                member.data.is_empty()
                    || (member.data.as_mut_ptr() as u64).is_multiple_of(align(member.rank.0))
            );
            let mut bytes = vec![1; member.data.len()];
            member.data.as_read().read(&mut bytes);
            assert!(bytes.iter().all(|b| *b == 0));
        }
    }
    // What rank 2 writes, rank 3 sees, also after rank 2 has let go.
    sets[2].parts()[0].data.part(0, 3).write(&[1, 2, 3]);
    let mut sets = sets;
    let set_of_3 = sets.swap_remove(3);
    drop(sets);
    let mut seen = [0; 3];
    set_of_3.parts()[0].data.as_read().read(&mut seen);
    assert_eq!(seen, [1, 2, 3]);
}

#[test]
fn contiguous_segments_have_no_gaps() {
    let (_net, hosts) = hosts(4, 0);
    let sets = segments(&hosts, SegmentKind::Contiguous, |me| [8, 0, 5, 100][me as usize]);
    for set in sets.iter().map(|s| s.as_ref().unwrap()) {
        assert_eq!(set.parts().len(), 4);
        let start = set.parts()[0].data.as_mut_ptr() as usize;
        assert_eq!(start % SegmentRequest::HUGE_PAGE as usize, 0, "the most that a rank has asked for");
        for (member, offset) in set.parts().iter().zip([0, 8, 8, 13]) {
            assert_eq!(member.data.as_mut_ptr() as usize, start + offset);
        }
    }
}

#[test]
fn private_segments_are_seen_by_their_rank_alone() {
    let (_net, hosts) = hosts(2, 0);
    for (me, set) in segments(&hosts, SegmentKind::Private, |_| 16).into_iter().enumerate() {
        let set = set.unwrap();
        assert_eq!(set.parts().len(), 1);
        assert_eq!((set.parts()[0].rank, set.parts()[0].data.len()), (Rank(me as u32), 16));
    }
}

#[test]
fn what_cannot_be_fails_for_all() {
    let (net, hosts) = hosts(4, 2);
    for set in segments(&hosts, SegmentKind::Contiguous, |_| 8) {
        assert_eq!(set.unwrap_err().class(), ErrorClass::RmaShared);
    }
    for set in segments(&hosts, SegmentKind::Separate, |me| if me == 3 { 1 << 62 } else { 8 }) {
        assert_eq!(set.unwrap_err().class(), ErrorClass::NoMem);
    }
    let mut requests = vec![hosts[0].begin_barrier(&all(0, 4)).unwrap()];
    requests
        .extend((1..4).map(|me| hosts[me as usize].begin_reduce(&all(me, 4), Combine::Min, &[1]).unwrap()));
    for (host, request) in hosts.iter().zip(requests) {
        let error = host.poll(request).unwrap_err();
        assert!(error.cause().contains("rank 1 calls Reduce"), "{error}");
    }
    assert_eq!(net.open_collectives(), 0);
}

#[test]
fn a_dead_member_fails_the_collectives_that_it_has_not_joined() {
    let (net, hosts) = hosts(3, 0);
    let joined: Vec<_> = (0..3).map(|me| hosts[me].begin_barrier(&all(me as u32, 3)).unwrap()).collect();
    let later: Vec<_> = (0..2).map(|me| hosts[me].begin_barrier(&all(me as u32, 3)).unwrap()).collect();
    net.declare_dead(Peer(2));
    for me in 0..2 {
        assert!(matches!(hosts[me].poll(joined[me]), Ok(Some(Outcome::Met))));
        assert_eq!(hosts[me].poll(later[me]).unwrap_err().class(), ErrorClass::ProcFailed);
    }
    let others = Group::strided(8, Rank(0), Peer(0), 1, 2);
    let alone = hosts[0].begin_barrier(&others).unwrap();
    assert!(hosts[0].poll(alone).unwrap().is_none(), "the dead rank is not in this group");
}

#[test]
fn places_follow_the_virtual_nodes() {
    let (_net, hosts) = hosts(5, 2);
    let places: Vec<_> = (0..5).map(|peer| hosts[3].locality(Peer(peer))).collect();
    use Locality::{Node, Own, Remote};
    assert_eq!(places, [Remote, Remote, Node, Own, Remote]);
    assert!(hosts[0].now() <= hosts[0].now());
}

#[test]
fn a_collective_wakes_the_members_that_sleep() {
    const RANKS: u32 = 4;
    let (net, hosts) = hosts(RANKS, 0);
    let sleepers: Vec<_> = (0..RANKS)
        .map(|me| {
            let (sleeper, registrar) = Sleeper::new();
            net.wake_with(Peer(me), registrar.wake_handle());
            sleeper
        })
        .collect();
    let begin = Instant::now();
    thread::scope(|scope| {
        for (host, mut sleeper) in hosts.iter().zip(sleepers) {
            scope.spawn(move || {
                let group = all(host.me().0, RANKS);
                for _ in 0..200 {
                    let request = host.begin_barrier(&group).unwrap();
                    while host.poll(request).unwrap().is_none() {
                        sleeper.sleep(Duration::from_secs(10)).unwrap();
                    }
                }
            });
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(10), "a sleeper was not woken");
    assert_eq!(net.open_collectives(), 0);
}
