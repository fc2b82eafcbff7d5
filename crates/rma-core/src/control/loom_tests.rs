//! The lock and the exclusion under the model checker: every interleaving and every allowed reordering of small programs.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p rma-core --lib --release control::loom_tests`; that takes under a minute,
//! and `LOOM_MAX_PREEMPTIONS=3` looks deeper for some more. A waiter sleeps until it is woken, so a wake that is missing is a
//! deadlock that the checker reports.

use super::exclusion::UnalignedExclusion;
use super::layout::CacheLine;
use super::lock::OwnLock;
use super::shim::AtomicU64;
use super::state::{Holder, LockRequest, LockState};
use super::{Ticket, Wake};
use crate::ids::LockKind;
use crate::ids::Peer;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Notify};
use std::time::Duration;

use LockRequest as R;

struct World {
    locks: Vec<OwnLock>,
    bells: Vec<Notify>,
    /// Written by owners and read by sharers: the checker reports a race if the lock does not order them.
    data: Vec<UnsafeCell<u32>>,
}

fn holder(rank: usize) -> Holder {
    Holder::new(Peer(rank as u32)).unwrap()
}

impl World {
    fn new(locks: usize, ranks: usize) -> Arc<Self> {
        Arc::new(Self {
            locks: (0..locks).map(|_| OwnLock::new()).collect(),
            bells: (0..ranks).map(|_| Notify::new()).collect(),
            data: (0..locks).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    fn wake(&self, wake: Option<Wake>) {
        match wake {
            None => {}
            Some(Wake::Peer(peer)) => self.bells[peer.0 as usize].notify(),
            Some(Wake::Everyone) => self.bells.iter().for_each(Notify::notify),
        }
    }

    fn acquire(&self, lock: usize, rank: usize, request: LockRequest) {
        if !self.locks[lock].get().try_acquire(request, holder(rank)).is_granted() {
            self.wait(lock, rank, self.locks[lock].get().join_for(request, holder(rank), holder(rank)));
        }
    }

    fn wait(&self, lock: usize, rank: usize, mut ticket: Ticket) {
        loop {
            match self.locks[lock].get().try_turn(ticket) {
                Ok(grant) => return self.wake(grant.wake),
                Err(back) => ticket = back,
            }
            self.bells[rank].wait();
        }
    }

    /// As `acquire` of a holder of other locks, whose patience ends when others have had a turn.
    fn acquire_in_time(&self, lock: usize, rank: usize) {
        if self.locks[lock].get().try_acquire(R::SharedHolding, holder(rank)).is_granted() {
            return;
        }
        let mut ticket = self.locks[lock].get().join_for(R::SharedHolding, holder(rank), holder(rank));
        for now in (0..).map(Duration::from_millis) {
            match self.locks[lock].get().try_pass(ticket, now) {
                Ok(grant) => return self.wake(grant.wake),
                Err(back) if back.is_beside() => ticket = back,
                Err(back) => return self.wait(lock, rank, back),
            }
            loom::thread::yield_now();
        }
    }

    fn release(&self, lock: usize, rank: usize, kind: LockKind) {
        self.wake(self.locks[lock].get().release(kind, holder(rank)).expect("the caller holds the lock"));
    }

    /// Takes the lock, touches the data, and lets go.
    fn visit(&self, lock: usize, rank: usize, request: LockRequest) {
        self.acquire(lock, rank, request);
        self.touch(lock, request.kind());
        self.release(lock, rank, request.kind());
    }

    fn touch(&self, lock: usize, kind: LockKind) {
        match kind {
            // SAFETY: the lock excludes all others; the checker verifies it.
            LockKind::Exclusive => self.data[lock].with_mut(|data| unsafe { *data += 1 }),
            // SAFETY: the lock excludes writers; the checker verifies it.
            LockKind::Shared => self.data[lock].with(|data| assert!(unsafe { *data } < 100)),
        }
    }
}

/// Explores `run` on each rank of a world; the last rank is the main thread.
fn explore(locks: usize, ranks: usize, preemptions: usize, run: fn(&World, usize)) {
    let mut model = loom::model::Builder::new();
    // The builder has read LOOM_MAX_PREEMPTIONS.
    model.preemption_bound = model.preemption_bound.or(Some(preemptions));
    model.check(move || {
        let world = World::new(locks, ranks);
        let threads: Vec<_> = (0..ranks - 1)
            .map(|rank| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || run(&world, rank))
            })
            .collect();
        run(&world, ranks - 1);
        threads.into_iter().for_each(|t| t.join().unwrap());
        for lock in &world.locks {
            assert_eq!(lock.get().state(), LockState::default(), "no rank holds or waits at the end");
        }
    });
}

#[test]
fn owners_exclude_each_other_and_no_turn_is_lost() {
    explore(1, 2, 4, |world, rank| world.visit(0, rank, R::Exclusive));
    explore(1, 3, 2, |world, rank| world.visit(0, rank, R::Exclusive));
}

#[test]
fn an_owner_that_comes_again_passes_only_a_head_on_its_way() {
    explore(1, 2, 3, |world, rank| {
        world.visit(0, rank, R::Exclusive);
        world.visit(0, rank, R::Exclusive);
    });
}

#[test]
fn sharers_and_owners_exclude_each_other_and_no_turn_is_lost() {
    explore(1, 3, 2, |world, rank| world.visit(0, rank, if rank == 0 { R::Exclusive } else { R::Shared }));
    explore(1, 3, 2, |world, rank| world.visit(0, rank, if rank == 0 { R::Shared } else { R::Exclusive }));
}

#[test]
fn neighbours_that_share_hold_together() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(2));
    model.check(|| {
        let world = World::new(1, 3);
        let inside = Arc::new([Notify::new(), Notify::new()]);
        assert!(world.locks[0].get().try_acquire(R::Exclusive, holder(2)).is_granted());
        let threads: Vec<_> = (0..2)
            .map(|rank| {
                let (world, inside) = (Arc::clone(&world), Arc::clone(&inside));
                let ticket = world.locks[0].get().join_for(R::Shared, holder(rank), holder(rank));
                loom::thread::spawn(move || {
                    world.wait(0, rank, ticket);
                    // Leaves only when the other has come in: a deadlock unless one grant leads to the next.
                    inside[rank].notify();
                    inside[1 - rank].wait();
                    world.touch(0, LockKind::Shared);
                    world.release(0, rank, LockKind::Shared);
                })
            })
            .collect();
        world.release(0, 2, LockKind::Exclusive);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(world.locks[0].get().state(), LockState::default());
    });
}

#[test]
fn a_holder_beside_the_line_loses_no_turn_and_follows_an_owner() {
    explore(1, 3, 2, |world, rank| {
        world.visit(0, rank, if rank == 0 { R::SharedHolding } else { R::Exclusive })
    });
    explore(1, 3, 2, |world, rank| {
        world.visit(0, rank, [R::SharedHolding, R::Shared, R::Exclusive][rank]);
    });
    explore(1, 3, 2, |world, rank| {
        world.visit(0, rank, if rank == 2 { R::Exclusive } else { R::SharedHolding })
    });
}

#[test]
fn a_holder_that_passes_the_line_excludes_owners() {
    explore(1, 3, 2, |world, rank| match rank {
        0 => {
            world.acquire_in_time(0, rank);
            world.touch(0, LockKind::Shared);
            world.release(0, rank, LockKind::Shared);
        }
        1 => world.visit(0, rank, R::Shared),
        _ => world.visit(0, rank, R::Exclusive),
    });
}

#[test]
fn the_four_ranks_of_decision_2_end() {
    explore(2, 4, 1, |world, rank| match rank {
        0 | 1 => {
            let (first, second) = (rank, 1 - rank);
            world.acquire(first, rank, R::Shared);
            world.acquire_in_time(second, rank);
            world.release(first, rank, LockKind::Shared);
            world.release(second, rank, LockKind::Shared);
        }
        _ => world.visit(rank - 2, rank, R::Exclusive),
    });
}

#[test]
fn tickets_are_granted_in_order() {
    loom::model(|| {
        let lock = Arc::new(OwnLock::new());
        assert!(lock.get().try_acquire(R::Exclusive, holder(0)).is_granted());
        let first = lock.get().join_for(R::Exclusive, holder(1), holder(1));
        let second = lock.get().join_for(R::Exclusive, holder(2), holder(2));
        let releaser = {
            let lock = Arc::clone(&lock);
            loom::thread::spawn(move || {
                let _ = lock.get().release(LockKind::Exclusive, holder(0)).unwrap();
                assert!(
                    !lock.get().try_acquire(R::Shared, holder(3)).is_granted(),
                    "a newcomer passes no request"
                );
            })
        };
        let second = lock.get().try_turn(second).expect_err("the first has not had its turn");
        let granted = lock.get().try_turn(first);
        let second = lock.get().try_turn(second).expect_err("the first has the lock or is still the next");
        releaser.join().unwrap();
        if let Err(first) = granted {
            assert!(lock.get().try_turn(first).is_ok(), "the lock is free and it is its turn");
        }
        let _ = lock.get().release(LockKind::Exclusive, holder(1)).unwrap();
        assert_eq!(lock.get().try_turn(second).expect("its turn").wake, None);
    });
}

#[test]
fn the_exclusion_of_unaligned_accumulates_excludes() {
    loom::model(|| {
        let shared = Arc::new((CacheLine(AtomicU64::new(0)), UnsafeCell::new(0u32)));
        let visit = |shared: &(CacheLine<AtomicU64>, UnsafeCell<u32>), rank| {
            let exclusion = UnalignedExclusion::new(&shared.0, holder(rank));
            let _guard = exclusion.exclude(&|_| false);
            // SAFETY: the exclusion keeps the other out; the checker verifies it.
            shared.1.with_mut(|data| unsafe { *data += 1 });
        };
        let other = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || visit(&shared, 0))
        };
        visit(&shared, 1);
        other.join().unwrap();
        // SAFETY: the other thread has ended.
        shared.1.with(|data| assert_eq!(unsafe { *data }, 2));
    });
}
