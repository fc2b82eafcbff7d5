//! Revoked communicators on a network that delivers in any order, and whose processes may die while they tell the others.

use super::tests::{bytes, configs, finish};
use super::{Messenger, Plane, Scope};
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};

const SCOPE: Scope = Scope { context: 9, plane: Plane::User };
const OTHER: Scope = Scope { context: 10, plane: Plane::User };

fn all(me: usize) -> Group {
    Group::of(SCOPE.context, Rank(me as u32), &[0, 1, 2, 3].map(Peer))
}

fn is_revoked(messenger: &Messenger) -> bool {
    messenger.is_revoked(SCOPE.context)
}

#[test]
fn what_is_pending_ends_and_what_begins_fails_and_other_communicators_go_on() {
    for config in configs() {
        for steps in 0..30 {
            let mut net = Net::new(4, &config, 2, MIN_PACKET, steps);
            (0..4).for_each(|me| net.messengers[me].open(&all(me)));
            // Long and short messages under way, which no call waits for, and receives of what never comes.
            let mut sends: Vec<_> = [0, 50, 5000]
                .map(|len| net.messengers[1].begin_send(Peer(2), SCOPE, 1, bytes(1, len)).unwrap())
                .into();
            let mut receives: Vec<_> = [Some(Peer(3)), None]
                .map(|from| net.messengers[2].begin_receive(SCOPE, from, Some(7), 9).unwrap())
                .into();
            let _other = net.messengers[1].begin_send(Peer(2), OTHER, 1, bytes(2, 300)).unwrap();
            for _ in 0..steps {
                net.step();
            }
            net.messengers[0].revoke(SCOPE.context);
            net.run_until(|net| net.messengers.iter().all(is_revoked));
            for send in &mut sends {
                // It has left before, or not.
                if let Err(error) = finish(&mut net, || send.test()) {
                    assert_eq!(error.class(), ErrorClass::Revoked);
                }
            }
            for receive in &mut receives {
                let error = finish(&mut net, || receive.test()).unwrap_err();
                assert_eq!(error.class(), ErrorClass::Revoked);
            }
            for messenger in &net.messengers {
                let mut started = messenger.begin_send(Peer(2), SCOPE, 1, Vec::new()).unwrap();
                assert_eq!(started.test().unwrap().unwrap_err().class(), ErrorClass::Revoked);
                let mut started = messenger.begin_receive(SCOPE, None, None, 0).unwrap();
                assert_eq!(started.test().unwrap().unwrap_err().class(), ErrorClass::Revoked);
                assert!(
                    messenger.probe(SCOPE, None, None).is_none()
                        && messenger.check_source(SCOPE, None).is_err()
                );
                assert!(messenger.check_source(OTHER, None).is_ok());
            }
            assert!(!net.try_send(1, 2, SCOPE, 3, b"x"));
            let mut other = net.messengers[2].begin_receive(OTHER, None, None, 300).unwrap();
            assert_eq!(finish(&mut net, || other.test()).unwrap().data, Some(bytes(2, 300)));
            while net.step() {}
            assert!(net.messengers.iter().all(Messenger::has_sent_all), "after {steps} steps");
        }
    }
}

#[test]
fn all_the_living_hear_of_it_as_soon_as_one_of_them_has() {
    let (mut heard, mut unheard) = (0, 0);
    for seed in 0..3000 {
        let mut dice = Dice::new(seed);
        let mut net = Net::new(4, &configs()[1], 1, MIN_PACKET, seed);
        // Rank 3 is ready with the communicator later than the others.
        (0..3).for_each(|me| net.messengers[me].open(&all(me)));
        // What is before it in the queues to the others.
        for peer in [1, 2, 3] {
            let _ = net.messengers[0].begin_send(Peer(peer), OTHER, 1, bytes(1, 20)).unwrap();
        }
        net.messengers[0].revoke(SCOPE.context);
        for _ in 0..dice.below(6) {
            net.step();
        }
        net.lose(0);
        let late = dice.below(4);
        for _ in 0..late {
            net.step();
        }
        net.messengers[3].open(&all(3));
        while net.step() {}
        let of_living = [1, 2, 3].map(|me| is_revoked(&net.messengers[me]));
        assert!(of_living.iter().all(|it| *it == of_living[0]), "seed {seed}: {of_living:?}");
        if of_living[0] { heard += 1 } else { unheard += 1 }
    }
    assert!(heard > 100 && unheard > 100, "{heard} {unheard}");
}
