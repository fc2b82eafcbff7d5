//! Collectives whose members die: no rank waits for one that has left because of it.

use super::MessageConfig;
use super::messenger::Messenger;
use super::packet::{Plane, Scope};
use crate::collective::{Barrier, Link, Machine};
use crate::testing::Net;
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};

const SCOPE: Scope = Scope { context: 7, plane: Plane::Collective };

fn messenger() -> Messenger {
    Messenger::new(Peer(0), 8, &MessageConfig::default())
}

fn link(messenger: &Messenger, peers: &[u32]) -> Link {
    let peers: Vec<_> = peers.iter().map(|peer| Peer(*peer)).collect();
    Link::new(messenger.clone(), Group::of(7, Rank(0), &peers), SCOPE, 1)
}

#[test]
fn a_collective_of_the_dead_ends_whichever_rank_it_waits_for_and_others_go_on() {
    let messenger = messenger();
    let (of_dead, of_living) = ([0, 1, 5, 3], [0, 1, 3]);
    let mut barriers = [&of_dead[..], &of_living].map(|peers| Barrier::new(link(&messenger, peers)));
    assert!(barriers.iter_mut().all(|barrier| barrier.step().unwrap().is_none()));
    // Rank 0 hears from rank 3 of either, which lives.
    messenger.hear_of_death(Peer(5), false);
    messenger.lock().hear();
    let error = barriers[0].step().unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("process 5"), "{error}");
    assert!(barriers[1].step().unwrap().is_none(), "rank 5 has no part in it");
    // What begins later ends as well.
    assert!(Barrier::new(link(&messenger, &of_dead)).step().is_err());
}

#[test]
fn what_is_no_death_is_not_noted() {
    let messenger = messenger();
    let all = Group::of(7, Rank(0), &[0, 1, 2, 3, 4, 5, 6, 7].map(Peer));
    for peer in [0, 8, u32::MAX] {
        messenger.hear_of_death(Peer(peer), false);
    }
    messenger.lock().hear();
    assert!(messenger.check_circle(&all).is_ok());
    messenger.hear_of_death(Peer(7), false);
    messenger.lock().hear();
    assert!(messenger.check_circle(&all).is_err());
    assert!(messenger.check_circle(&Group::of(7, Rank(0), &[0, 1].map(Peer))).is_ok());
}

#[test]
fn receives_from_any_source_fail_where_the_dead_might_have_sent_and_nowhere_else() {
    const LIVING: u64 = 8;
    let mut net = Net::new(4, &MessageConfig::default(), 4, MIN_PACKET, 1);
    let messenger = net.messengers[0].clone();
    let scope = |context| Scope { context, plane: Plane::User };
    messenger.open(&Group::of(7, Rank(0), &[0, 1, 2, 3].map(Peer)));
    messenger.open(&Group::of(LIVING, Rank(0), &[0, 1, 3].map(Peer)));
    let receive = |context| messenger.begin_receive(scope(context), None, None, 8).unwrap();
    let mut before = [7, LIVING].map(receive);
    net.lose(2);
    let mut after = [7, LIVING].map(receive);
    for [of_all, of_living] in [&mut before, &mut after] {
        let error = of_all.test().expect("it is told").unwrap_err();
        assert!(
            error.class() == ErrorClass::ProcFailedPending && error.to_string().contains("process 2"),
            "{error}"
        );
        assert!(of_living.test().is_none());
    }
    assert!(
        messenger.check_source(scope(7), None).is_err()
            && messenger.check_source(scope(LIVING), None).is_ok()
    );
    // What was sent is received all the same.
    let _send = net.messengers[1].begin_send(Peer(0), scope(LIVING), 0, vec![5]).unwrap();
    net.run_until(|_| before[1].test().is_some_and(|end| end.unwrap().data == Some(vec![5])));
    messenger.close(LIVING);
    assert!(
        messenger.check_source(scope(LIVING), None).is_err(),
        "of an unknown communicator any process may be one"
    );
}
