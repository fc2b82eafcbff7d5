//! Collective slots in memory of this process, and values against the machines of packets.

use super::departures::Departures;
use super::rank_slots::{
    AwaitedArrival, CollectiveKind, CollectiveNumber, JoinNotice, MOST, RANK_SLOTS_LEN, RankSlots, SLOT_LEN,
    SLOTS, SLOTS_AT,
};
use super::values::RankValues;
use crate::collective::tests::{for_all, link, run};
use crate::collective::{AllReduce, Combine, ElementWise, Reduce};
use rma_core::host::{SegmentKind, SegmentRequest, SegmentSet};
use rma_core::ids::Rank;
use rma_core::mem::WriteSpan;
use std::iter;
use std::sync::Arc;

/// The last number before the count begins anew.
const LAST: u64 = (1 << 40) - 1;

/// The slots of a rank, and the segment that keeps them.
fn slots() -> (SegmentSet, RankSlots) {
    let request = SegmentRequest {
        kind: SegmentKind::Private,
        control_len: RANK_SLOTS_LEN,
        data_len: 0,
        data_align: SegmentRequest::PAGE,
        given: WriteSpan::EMPTY,
    };
    let segment = SegmentSet::private(Rank(0), &request).unwrap();
    let slots = RankSlots::new(segment.parts()[0].control).unwrap();
    (segment, slots)
}

#[test]
fn the_slots_of_a_rank_hold_the_last_collectives_and_says_which() {
    for start in [0, 1, 77, LAST - 5, LAST - 1, LAST] {
        let (_segment, slots) = slots();
        // As if the owner had come to where this begins.
        for i in 0..SLOTS {
            let number = CollectiveNumber::of(start.wrapping_sub(i));
            slots.join(number, JoinNotice::short(CollectiveKind::Barrier, 0), iter::empty());
        }
        for i in 1..50 {
            let number = CollectiveNumber::of(start + i);
            assert!(!slots.has_joined(number) && slots.notice(number).is_none(), "{start} {i}");
            let len = (i as usize * 97) % (MOST + 1);
            let bytes: Vec<u8> = (0..len).map(|at| (at as u64 * 3 + i) as u8).collect();
            let notice = JoinNotice::short(CollectiveKind::AllGather, len);
            let (one, other) = bytes.split_at(len / 3);
            slots.join(number, notice, [one, other].into_iter());
            assert_eq!(slots.notice(number), Some(Ok(notice)));
            assert!(!slots.has_joined(CollectiveNumber::of(start + i + 1)));
            // Those before are still there, as far as there are slots.
            for back in 1..SLOTS.min(i) {
                assert!(matches!(slots.notice(number.before(back)), Some(Ok(_))), "{start} {i} {back}");
            }
            if i > SLOTS {
                let gone = number.before(SLOTS);
                assert!(slots.has_joined(gone) && slots.notice(gone) == Some(Err(())), "{start} {i}");
            }
            let mut read = vec![0; len];
            slots.read(number, 0, &mut read);
            assert_eq!(read, bytes);
        }
    }
}

#[test]
fn what_is_no_notice_is_refused_and_never_believed() {
    let (segment, slots) = slots();
    let head = segment.parts()[0].control.element::<u64>(SLOTS_AT + SLOT_LEN).unwrap();
    let number = CollectiveNumber::of(1);
    for low in 0..1u64 << 24 {
        head.store(1 << 24 | low);
        let said = slots.notice(number).expect("the number is there");
        assert!(said.is_err() || said.is_ok_and(|said| said.len <= MOST), "{low:#x}");
    }
    for kind in [CollectiveKind::Barrier, CollectiveKind::ReduceScatter] {
        for notice in [JoinNotice::long(kind), JoinNotice::short(kind, 0), JoinNotice::short(kind, MOST)] {
            slots.join(number, notice, iter::empty());
            assert_eq!(slots.notice(number), Some(Ok(notice)));
        }
    }
    assert!(RankSlots::new(segment.parts()[0].control.part(0, RANK_SLOTS_LEN as usize - 1)).is_none());
}

#[test]
fn a_sleeping_rank_is_woken_once_for_what_it_wants() {
    let (_segment, slots) = slots();
    assert_eq!(slots.asleep(), None);
    for number in [0, 1, LAST] {
        for of in [None, Some(0), Some(63)] {
            let want = AwaitedArrival { number: CollectiveNumber::of(number), of };
            slots.set_asleep(want);
            assert_eq!(slots.asleep(), Some(want));
            assert!(slots.claim() && !slots.claim());
            assert_eq!(slots.asleep(), None);
        }
    }
    assert_eq!(slots.lost(), None);
    slots.set_lost(0);
    assert_eq!(slots.lost(), Some(0));
}

#[test]
fn slots_are_given_back_when_all_others_have_left_it() {
    let departures = Departures::default();
    let (segment, slots) = slots();
    departures.add(segment, slots, 2);
    assert_eq!(departures.len(), 1);
    for left in [1, 0] {
        slots.depart();
        departures.sweep();
        assert_eq!(departures.len(), left);
    }
}

/// Neither associative nor commutative: tells every order and every association from all others.
fn telling(is_commutative: bool) -> Arc<dyn Combine> {
    ElementWise::shared(8, is_commutative, |lower, value| {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let mixed =
            (number(lower).rotate_left(7) ^ 0x9e37_79b9).wrapping_mul(5).wrapping_add(number(value) * 3);
        value.copy_from_slice(&mixed.to_le_bytes());
    })
}

fn own(rank: u32, count: u64) -> Vec<u8> {
    (0..count).flat_map(|i| (u64::from(rank) * 1000 + i + 1).to_le_bytes()).collect()
}

fn values(size: u32, count: u64) -> RankValues {
    let mut values = RankValues::new(size as usize, 8 * count as usize);
    (0..size).for_each(|rank| values.of(rank as usize).copy_from_slice(&own(rank, count)));
    values
}

#[test]
fn results_are_those_of_packets_to_the_last_bit() {
    for_all(|net, size, dice| {
        for (number, count) in [0u64, 1, 5].into_iter().enumerate() {
            let number = 10 * number as u64;
            let ranks = size as usize;
            let machines = (0..size)
                .map(|rank| AllReduce::new(link(net, rank, number), telling(true), own(rank, count)))
                .collect();
            let mut all = values(size, count);
            let at = all.all_reduce(&*telling(true), ranks);
            for result in run(net, machines, dice) {
                assert_eq!(result, all.take(at), "allreduce of {size}");
            }
            for is_commutative in [true, false] {
                let root = dice.below(ranks) as u32;
                let number = number + 1 + u64::from(is_commutative);
                let operation = telling(is_commutative);
                let machines = (0..size)
                    .map(|rank| {
                        Reduce::new(link(net, rank, number), root, Arc::clone(&operation), own(rank, count))
                    })
                    .collect();
                let results = run(net, machines, dice);
                let mut all = values(size, count);
                let first = if is_commutative { root as usize } else { 0 };
                let at = all.reduce(&*operation, ranks, first);
                assert_eq!(results[root as usize], Some(all.take(at)), "reduce of {size} to {root}");
            }
        }
    });
}
