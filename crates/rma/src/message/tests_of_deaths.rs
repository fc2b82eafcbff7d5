//! Collectives whose members die: nobody waits for one who has left because of it.

use super::MessageConfig;
use super::messenger::Messenger;
use super::packet::{Plane, Scope};
use crate::collective::{Barrier, Link, Machine};
use rma_core::ErrorClass;
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
fn a_collective_of_the_dead_ends_whoever_it_waits_for_and_others_go_on() {
    let messenger = messenger();
    let (of_dead, of_living) = ([0, 1, 5, 3], [0, 1, 3]);
    let mut barriers = [&of_dead[..], &of_living].map(|peers| Barrier::new(link(&messenger, peers)));
    assert!(barriers.iter_mut().all(|barrier| barrier.step().unwrap().is_none()));
    // Rank 0 hears from rank 3 of either, which lives.
    messenger.hear_of_death(Peer(5));
    messenger.state.lock().hear();
    let error = barriers[0].step().unwrap_err();
    assert!(error.class() == ErrorClass::ProcAborted && error.to_string().contains("process 5"), "{error}");
    assert!(barriers[1].step().unwrap().is_none(), "rank 5 has no part in it");
    // What begins later ends as well.
    assert!(Barrier::new(link(&messenger, &of_dead)).step().is_err());
}

#[test]
fn what_is_no_death_is_not_noted() {
    let messenger = messenger();
    let all = Group::of(7, Rank(0), &[0, 1, 2, 3, 4, 5, 6, 7].map(Peer));
    for peer in [0, 8, u32::MAX] {
        messenger.hear_of_death(Peer(peer));
    }
    messenger.state.lock().hear();
    assert!(messenger.check_circle(&all).is_ok());
    messenger.hear_of_death(Peer(7));
    messenger.state.lock().hear();
    assert!(messenger.check_circle(&all).is_err());
    assert!(messenger.check_circle(&Group::of(7, Rank(0), &[0, 1].map(Peer))).is_ok());
}
