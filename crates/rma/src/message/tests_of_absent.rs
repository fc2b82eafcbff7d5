//! A rank that has not got a communicator, on a network that delivers in any order: the ranks that have it go
//! on without that rank, whether the notice comes before the communicator is made or after.

use super::tests::{configs, finish};
use super::{Ballot, Making, Messenger, Plane, Scope};
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};

const MADE: u64 = 9;
/// Made in the same collective, without the one that fails.
const OTHER: u64 = 10;
const MAKING: Making = Making { parent: 1, number: 5, part: 0 };
const ABSENT: usize = 0;

fn of(context: u64, me: usize, peers: &[u32]) -> Group {
    let peers: Vec<_> = peers.iter().copied().map(Peer).collect();
    let rank = peers.iter().position(|peer| peer.0 == me as u32).unwrap();
    Group::of(context, Rank(rank as u32), &peers)
}

fn decided(messenger: &Messenger) -> Option<Ballot> {
    messenger.take_agreed(MADE, 0)
}

/// Runs until ranks 1 and 2 have decided.
fn decide(net: &mut Net) -> [Option<Ballot>; 2] {
    let mut ballots = [None; 2];
    net.run_until(|net| {
        for (ballot, me) in ballots.iter_mut().zip(1..) {
            *ballot = ballot.or_else(|| decided(&net.messengers[me]));
        }
        ballots.iter().all(Option::is_some)
    });
    ballots
}

#[test]
fn ranks_with_a_communicator_go_on_without_those_that_lack_it() {
    for config in configs() {
        for seed in 0..60 {
            let mut dice = Dice::new(seed);
            let mut net = Net::new(5, &config, 2, MIN_PACKET, seed);
            // 0 to 2 are to have one, of which the first fails; 3 and 4 have the other one.
            let mut left: Vec<usize> = (0..5).collect();
            let mut receives = Vec::new();
            while !left.is_empty() {
                let me = left.swap_remove(dice.below(left.len()));
                match me {
                    ABSENT => net.messengers[me].fail_making(MAKING, (0..5).map(Peer)),
                    1 | 2 => {
                        let group = of(MADE, me, &[0, 1, 2]);
                        net.messengers[me].open(&group);
                        let scope = Scope { context: MADE, plane: Plane::User };
                        let absent = Some(Peer(ABSENT as u32));
                        let begin = |messenger: &Messenger| messenger.begin_receive(scope, absent, None, 9);
                        receives.push(begin(&net.messengers[me]).unwrap());
                        net.messengers[me].note_made(MAKING, None, MADE);
                        net.messengers[me].vote(&group, 0, 0, Ballot::new(6 + me as u32, 0));
                    }
                    _ => {
                        net.messengers[me].open(&of(OTHER, me, &[3, 4]));
                        net.messengers[me].note_made(MAKING, None, OTHER);
                    }
                }
                for _ in 0..dice.below(20) {
                    net.step();
                }
            }
            let ballots = decide(&mut net);
            let [Some(one), Some(other)] = ballots else { unreachable!("both are decided") };
            assert_eq!(one, other, "seed {seed}");
            assert_eq!((one.flags, one.failed, one.acknowledged), (0, 1 << ABSENT, 0), "seed {seed}");
            for receive in &mut receives {
                let error = finish(&mut net, || receive.test()).unwrap_err();
                assert_eq!(error.class(), ErrorClass::ProcFailed);
            }
            for (me, context, peers, is_whole) in
                [(1, MADE, &[0, 1, 2][..], false), (2, MADE, &[0, 1, 2], false), (3, OTHER, &[3, 4], true)]
            {
                let circle = of(context, me, peers);
                assert_eq!(net.messengers[me].check_circle(&circle).is_ok(), is_whole, "seed {seed}, {me}");
            }
        }
    }
}

/// A communicator between two groups, made in a making of each: 0 and 1 have it, 2 and 3 are the other group, of which 3 has not got it
/// and knows only its own group.
struct Between {
    net: Net,
    makings: [Making; 2],
}

impl Between {
    fn new(seed: u64) -> Self {
        let makings = [1, 2].map(|parent| Making { parent, number: 3, part: 0 });
        Self { net: Net::new(5, &configs()[0], 2, MIN_PACKET, seed), makings }
    }

    fn make(&self, me: usize) {
        let group = of(MADE, me, &[0, 1, 2, 3]);
        let [ours, theirs] = if me < 2 { self.makings } else { [self.makings[1], self.makings[0]] };
        let remote = if me < 2 { [2, 3] } else { [0, 1] }.map(Peer).to_vec();
        self.net.messengers[me].open(&group);
        self.net.messengers[me].note_made(ours, Some((theirs, remote)), MADE);
        self.net.messengers[me].vote(&group, 0, 0, Ballot::new(7, 0));
    }

    /// These decide, without those.
    fn decide(&mut self, ranks: &[usize], without: u64, what: &str) {
        let mut ballots = vec![None; ranks.len()];
        self.net.run_until(|net| {
            for (ballot, me) in ballots.iter_mut().zip(ranks) {
                *ballot = ballot.or_else(|| decided(&net.messengers[*me]));
            }
            ballots.iter().all(Option::is_some)
        });
        assert!(ballots.iter().flatten().all(|ballot| ballot.failed == without), "{what}: {ballots:?}");
    }
}

#[test]
fn the_other_group_hears_of_one_that_knows_only_its_own() {
    for seed in 0..60 {
        let (mut between, mut dice) = (Between::new(seed), Dice::new(seed));
        let mut left = vec![0, 1, 2, 3];
        while !left.is_empty() {
            match left.swap_remove(dice.below(left.len())) {
                3 => between.net.messengers[3].fail_making(between.makings[1], [2, 3].map(Peer).into_iter()),
                me => between.make(me),
            }
            for _ in 0..dice.below(20) {
                between.net.step();
            }
        }
        between.decide(&[0, 1, 2], 1 << 3, &format!("seed {seed}"));
    }
}

/// The one that would pass it on has died: the others ask.
#[test]
fn a_rank_that_learns_of_a_death_asks_the_group_that_may_not_know_this_one() {
    for seed in 0..60 {
        let (mut between, mut dice) = (Between::new(seed), Dice::new(seed));
        let mut left = vec![0, 1, 2, 3];
        while !left.is_empty() {
            match left.swap_remove(dice.below(left.len())) {
                2 => between.net.lose(2),
                3 => between.net.messengers[3].fail_making(between.makings[1], [2, 3].map(Peer).into_iter()),
                me => between.make(me),
            }
            for _ in 0..dice.below(20) {
                between.net.step();
            }
        }
        between.decide(&[0, 1], 1 << 2 | 1 << 3, &format!("seed {seed}"));
    }
}

/// A rank that lacks a communicator is absent on what is made of it, also when its notice comes after the
/// close.
#[test]
fn a_rank_without_a_communicator_lacks_what_is_made_of_it() {
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let mut net = Net::new(3, &configs()[0], 2, MIN_PACKET, seed);
        let child = Making { parent: OTHER, number: 0, part: 0 };
        let mut left = vec![0, 1, 2];
        while !left.is_empty() {
            match left.swap_remove(dice.below(left.len())) {
                ABSENT => net.messengers[ABSENT].fail_making(MAKING, (0..3).map(Peer)),
                me => {
                    net.messengers[me].open(&of(OTHER, me, &[0, 1, 2]));
                    net.messengers[me].note_made(MAKING, None, OTHER);
                    for _ in 0..dice.below(4) {
                        net.step();
                    }
                    let group = of(MADE, me, &[0, 1, 2]);
                    net.messengers[me].open(&group);
                    net.messengers[me].note_made(child, None, MADE);
                    net.messengers[me].close(OTHER);
                    net.messengers[me].vote(&group, 0, 0, Ballot::new(7, 0));
                }
            }
            for _ in 0..dice.below(20) {
                net.step();
            }
        }
        let ballots = decide(&mut net);
        assert!(
            ballots.iter().flatten().all(|ballot| ballot.failed == 1 << ABSENT),
            "seed {seed}: {ballots:?}"
        );
        for me in 1..3 {
            net.messengers[me].close(MADE);
            assert!(net.messengers[me].has_forgotten_makings(), "seed {seed}");
        }
    }
}

/// A rank that has let go of it counts as absent.
#[test]
fn a_disowned_communicator_keeps_no_rank_waiting() {
    let mut net = Net::new(3, &configs()[0], 2, MIN_PACKET, 1);
    for me in 0..3 {
        let group = of(MADE, me, &[0, 1, 2]);
        net.messengers[me].open(&group);
        net.messengers[me].note_made(MAKING, None, MADE);
        match me {
            ABSENT => net.messengers[me].disown(MADE),
            me => net.messengers[me].vote(&group, 0, 0, Ballot::new(7, 0)),
        }
    }
    decide(&mut net);
}

/// Several makings of the same ranks with one tag have names of their own, which are the same on all.
#[test]
fn makings_of_a_part_are_told_apart() {
    let net = Net::new(3, &configs()[0], 2, MIN_PACKET, 1);
    let name = |me: usize, peers: &[u32], tag| net.messengers[me].next_making(&of(MADE, me, peers), tag);
    let ours = [name(0, &[0, 1], 5), name(0, &[0, 1], 5), name(0, &[0, 1], 6), name(0, &[0, 2], 5)];
    // Rank 1 knows nothing of that of 0 and 2.
    assert_eq!([name(1, &[0, 1], 5), name(1, &[0, 1], 5), name(1, &[0, 1], 6)], ours[..3]);
    assert_eq!(name(2, &[0, 2], 5), ours[3]);
    let all: std::collections::HashSet<_> = ours.into_iter().collect();
    assert_eq!(all.len(), 4);
}
