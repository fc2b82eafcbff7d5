//! A rank that has not got a communicator, on a network that delivers in any order: whoever has it goes on without that rank, whether
//! the word comes before the communicator is made or behind.

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
const MAKING: Making = Making { parent: 1, number: 5 };
const ABSENT: usize = 0;

fn of(context: u64, me: usize, peers: &[u32]) -> Group {
    let peers: Vec<_> = peers.iter().copied().map(Peer).collect();
    let rank = peers.iter().position(|peer| peer.0 == me as u32).unwrap();
    Group::of(context, Rank(rank as u32), &peers)
}

fn decided(messenger: &Messenger) -> Option<Ballot> {
    messenger.take_agreed(MADE, 0)
}

#[test]
fn who_has_a_communicator_goes_on_without_those_who_have_not() {
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
                        net.messengers[me].note_made(MAKING, MADE);
                        net.messengers[me].vote(&group, 0, 0, Ballot::new(6 + me as u32, 0));
                    }
                    _ => {
                        net.messengers[me].open(&of(OTHER, me, &[3, 4]));
                        net.messengers[me].note_made(MAKING, OTHER);
                    }
                }
                for _ in 0..dice.below(20) {
                    net.step();
                }
            }
            let mut ballots = [None; 2];
            net.run_until(|net| {
                for (ballot, me) in ballots.iter_mut().zip(1..) {
                    *ballot = ballot.or_else(|| decided(&net.messengers[me]));
                }
                ballots.iter().all(Option::is_some)
            });
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
