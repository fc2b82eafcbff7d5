//! Ranks of a node that cannot reach each other any more and both live: each takes the other for dead, and
//! all others have the locks of both.

use rma_core::ErrorClass;
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::ids::{Disp, Peer, Rank};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, local};

#[test]
fn a_lock_that_was_frozen_while_its_owner_lives_is_given_out_again() {
    let world = Stepped::new(&Setup::direct(3), 31);
    let windows = world.allocate(4);
    let holder = &windows[2];
    world.finish(holder, "lock", holder.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap()).unwrap();
    // The waiting rank has contact with the owner.
    let mut waits = windows[1].begin_lock(Shared, Rank(0), Assert::NONE).unwrap();
    assert!(!windows[1].poll_sync(&mut waits).unwrap());
    world.settle();
    world.cut(Peer(0), Peer(1));
    let error = world.finish(&windows[1], "lock", waits).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed);
    world.settle();
    world.finish(holder, "unlock", holder.begin_unlock(Rank(0)).unwrap()).unwrap();
    let value = [7];
    for (origin, target) in [(0, 0), (1, 1), (2, 0), (2, 1)] {
        let (window, rank) = (&windows[origin], Rank(target));
        world.finish(window, "lock", window.begin_lock(Exclusive, rank, Assert::NONE).unwrap()).unwrap();
        assert!(window.try_put(from(&value), rank, Disp(origin as u64)).unwrap());
        world.finish(window, "unlock", window.begin_unlock(rank).unwrap()).unwrap();
        assert_eq!(local(&windows[target as usize], origin), 7);
    }
}
