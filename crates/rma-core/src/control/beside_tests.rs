//! Requests beside the line: what they wait for, how long, and how long they keep the line waiting.

use super::state::LockRequest as R;
use super::tests::{block, holder, ms, pass, turn};
use super::{ControlBlock, Ticket, Wake};
use crate::ids::LockKind as K;
use crate::ids::Peer;
use std::time::Duration;

/// A request of a holder of other locks that a request in line keeps from entering.
fn join_beside(block: &ControlBlock, peer: u32, now: Duration) -> Option<Ticket> {
    let mut ticket = block.join(R::SharedHolding, holder(peer));
    ticket.set_came(|| now);
    Some(ticket)
}

#[test]
fn holders_of_other_locks_follow_an_owner_where_no_request_waits() {
    let block = block();
    assert!(block.try_acquire(R::Exclusive, holder(1)));
    assert!(!block.try_acquire(R::SharedHolding, holder(3)));
    let mut follower = Some(block.join(R::SharedHolding, holder(3)));
    let mut next = Some(block.join(R::Exclusive, holder(4)));
    assert!(turn(&block, &mut follower).is_none());
    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Everyone)));
    assert!(turn(&block, &mut next).is_none(), "the follower came in with the release");
    assert_eq!(turn(&block, &mut follower), Some(None));
    assert_eq!(block.release(K::Shared, holder(3)), Ok(Some(Wake::Peer(Peer(4)))));
    assert_eq!(turn(&block, &mut next), Some(None));
}

#[test]
fn holders_of_other_locks_pass_the_line_when_their_patience_is_over_but_no_owner() {
    let block = block();
    assert!(block.try_acquire(R::Shared, holder(0)));
    let mut waiting = Some(block.join(R::Exclusive, holder(1)));
    assert!(!block.try_acquire(R::SharedHolding, holder(2)), "no request passes at once");
    let mut beside = join_beside(&block, 2, ms(10));
    assert!(pass(&block, &mut beside, ms(10)).is_none());
    assert_eq!(beside.as_ref().unwrap().due(), Some(ms(11)));
    assert!(turn(&block, &mut beside).is_none(), "not without the time");
    assert_eq!(pass(&block, &mut beside, ms(11)), Some(Some(Wake::Everyone)), "it takes the flag away");
    assert_eq!(block.lock_state().shared(), 2);

    let mut late = join_beside(&block, 3, ms(30));
    assert!(pass(&block, &mut late, ms(30)).is_none(), "the head is 20 ms old");
    assert!(pass(&block, &mut late, ms(49)).is_none());
    assert!(pass(&block, &mut late, ms(50)).is_some());

    let mut last = join_beside(&block, 4, ms(50));
    assert!(pass(&block, &mut last, ms(50)).is_none());
    for sharer in [0, 2] {
        assert_eq!(block.release(K::Shared, holder(sharer)), Ok(None), "another still shares");
    }
    assert_eq!(block.release(K::Shared, holder(3)), Ok(Some(Wake::Peer(Peer(1)))));
    assert_eq!(turn(&block, &mut waiting), Some(Some(Wake::Everyone)), "all requests before it are served");
    assert!(pass(&block, &mut last, ms(1000)).is_none(), "it passes no owner");
    assert_eq!(block.lock_state().shared(), 1, "but has a place behind it");
    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Everyone)));
    assert_eq!(turn(&block, &mut last), Some(None));
    assert_eq!(block.release(K::Shared, holder(4)), Ok(None));
    assert_eq!(block.lock_state(), Default::default());
}

#[test]
fn a_request_beside_the_line_waits_for_those_before_it_alone() {
    let block = block();
    assert!(block.try_acquire(R::Exclusive, holder(0)));
    let mut before = Some(block.join(R::Exclusive, holder(1)));
    let mut beside = Some(block.join(R::SharedHolding, holder(2)));
    let mut behind = Some(block.join(R::Exclusive, holder(3)));
    assert!(pass(&block, &mut beside, ms(1)).is_none());
    assert_eq!(block.release(K::Exclusive, holder(0)), Ok(Some(Wake::Everyone)), "the owner wakes it");
    assert!(turn(&block, &mut beside).is_none(), "the head goes first");
    assert_eq!(turn(&block, &mut before), Some(Some(Wake::Everyone)));
    assert!(turn(&block, &mut beside).is_none(), "it follows the owner from now on");
    assert_eq!(block.release(K::Exclusive, holder(1)), Ok(Some(Wake::Everyone)));
    assert!(turn(&block, &mut behind).is_none());
    assert_eq!(turn(&block, &mut beside), Some(None));
    assert_eq!(block.release(K::Shared, holder(2)), Ok(Some(Wake::Peer(Peer(3)))));
    assert_eq!(turn(&block, &mut behind), Some(None));
    assert_eq!(block.release(K::Exclusive, holder(3)), Ok(None));
    assert_eq!(block.lock_state(), Default::default());
}

#[test]
fn requests_that_come_again_keep_the_head_waiting_for_a_bounded_time_only() {
    /// How long each of the others holds the lock, and is away.
    const EPOCH: u64 = 20;
    for others in 1..8u32 {
        let block = block();
        assert!(block.try_acquire(R::SharedHolding, holder(1)));
        let mut head = Some(block.join(R::Exclusive, holder(0)));
        // When each leaves the lock, or comes to it, in 100 µs; and whether it holds it.
        let mut next = (1..=others).map(|peer| (u64::from(peer) * EPOCH / u64::from(others), peer == 1));
        let mut next = next.by_ref().collect::<Vec<_>>();
        let mut beside = (0..others).map(|_| None).collect::<Vec<_>>();
        let waited = (0..1_000_000).find(|now| {
            for (other, (at, holds)) in next.iter_mut().enumerate() {
                let (peer, time) = (holder(other as u32 + 1), Duration::from_micros(now * 100));
                if *holds && now >= at {
                    let _ = block.release(K::Shared, peer).unwrap();
                    (*at, *holds) = (now + 1, false);
                } else if !*holds && now >= at {
                    let ticket =
                        beside[other].get_or_insert_with(|| join_beside(&block, peer.peer().0, time));
                    if pass(&block, ticket, time).is_some() {
                        (beside[other], *at, *holds) = (None, now + EPOCH, true);
                    }
                }
            }
            turn(&block, &mut head).is_some()
        });
        let epochs = waited.expect("the head enters") / EPOCH;
        assert!(epochs <= 4 * u64::from(others) + 4, "{epochs} epochs of {others} others");
    }
}
