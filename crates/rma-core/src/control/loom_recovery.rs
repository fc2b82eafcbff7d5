//! Deaths under the model checker: a process dies at any step of a call, another one uses the lock meanwhile, and the lock's owner
//! counts anew as soon as it learns of the death.
//!
//! Run like `loom_tests`. A waiting thread sleeps until it is woken, so a wake-up that is missing is a deadlock
//! that the checker reports.

use super::cells::Stand;
use super::lock::OwnLock;
use super::mortal::live_for;
use super::recovery::OfEngine;
use super::shim::AtomicU64;
use super::state::{Holder, LockRequest};
use super::{Ticket, Wake};
use crate::ids::LockKind;
use crate::ids::Peer;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Notify};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use LockRequest as R;

const OWNER: usize = 0;
const VICTIM: usize = 1;
const LIVING: usize = 2;
const RANKS: usize = 3;

struct World {
    lock: OwnLock,
    cells: [AtomicU64; RANKS],
    bells: [Notify; RANKS],
    data: UnsafeCell<u32>,
}

fn holder(rank: usize) -> Holder {
    Holder::new(Peer(rank as u32)).unwrap()
}

impl World {
    fn stand(&self, rank: usize) -> Stand<'_> {
        Stand { lock: self.lock.get(), cell: &self.cells[rank] }
    }

    fn wake(&self, wake: Option<Wake>) {
        match wake {
            None => {}
            Some(Wake::Peer(peer)) => self.bells[peer.0 as usize].notify(),
            Some(Wake::Everyone) => self.bells.iter().for_each(Notify::notify),
        }
    }

    fn acquire(&self, rank: usize, request: R) {
        if self.stand(rank).try_acquire(request, holder(rank)).is_granted() {
            return;
        }
        let mut ticket = self.stand(rank).join(request, holder(rank));
        loop {
            match self.stand(rank).try_turn(ticket) {
                Ok(grant) => return self.wake(grant.wake),
                Err(back) => ticket = back,
            }
            self.bells[rank].wait();
        }
    }

    fn visit(&self, rank: usize, request: R) {
        self.acquire(rank, request);
        match request.kind() {
            // SAFETY: the lock excludes all others; the checker verifies it.
            LockKind::Exclusive => self.data.with_mut(|data| unsafe { *data += 1 }),
            // SAFETY: the lock excludes writers; the checker verifies it.
            LockKind::Shared => self.data.with(|data| assert!(unsafe { *data } < 100)),
        }
        let wake = self.stand(rank).release(request.kind(), holder(rank)).expect("it is held");
        self.wake(wake);
    }

    /// The victim tries once, and joins the line if it has to; no thread waits for it to be woken.
    fn try_once(&self, request: R) {
        if !self.stand(VICTIM).try_acquire(request, holder(VICTIM)).is_granted() {
            let ticket = self.stand(VICTIM).join(request, holder(VICTIM));
            match self.stand(VICTIM).try_turn(ticket) {
                Ok(grant) => self.wake(grant.wake),
                Err(_) => return,
            }
        }
        let wake = self.stand(VICTIM).release(request.kind(), holder(VICTIM)).expect("it is held");
        self.wake(wake);
    }

    /// The owner's part when it has learned of the death: until the living one is through.
    fn recover(&self, is_over: &AtomicBool) {
        self.lock.get().freeze();
        let mut voids = loop {
            let cells = [OWNER, LIVING].map(|rank| &self.cells[rank]);
            let is_dead = |peer: Peer| peer.0 as usize == VICTIM;
            let engine = OfEngine::default();
            let counted = self.lock.get().recount(cells.into_iter(), RANKS, &engine, holder(OWNER), &is_dead);
            if let Some(voids) = counted {
                break voids;
            }
            loom::thread::yield_now();
        };
        self.wake(Some(Wake::Everyone));
        loop {
            while !voids.is_empty() {
                let ticket: Ticket = voids.remove(0);
                match self.lock.get().try_turn(ticket) {
                    Ok(grant) => self.wake(grant.wake),
                    Err(ticket) => {
                        voids.insert(0, ticket);
                        break;
                    }
                }
            }
            if is_over.load(SeqCst) && voids.is_empty() {
                return;
            }
            self.bells[OWNER].wait();
        }
    }
}

/// Kills the victim after each number of steps; answers how many there are.
fn explore(victim: R, living: R, preemptions: usize) -> u32 {
    for steps in 0.. {
        let was_killed = std::sync::Arc::new(AtomicBool::new(false));
        let killed = std::sync::Arc::clone(&was_killed);
        let mut model = loom::model::Builder::new();
        // The builder has read LOOM_MAX_PREEMPTIONS.
        model.preemption_bound = model.preemption_bound.or(Some(preemptions));
        model.check(move || {
            let world = Arc::new(World {
                lock: OwnLock::new(),
                cells: std::array::from_fn(|_| AtomicU64::new(0)),
                bells: std::array::from_fn(|_| Notify::new()),
                data: UnsafeCell::new(0),
            });
            let is_over = Arc::new(AtomicBool::new(false));
            let other = {
                let (world, is_over) = (Arc::clone(&world), Arc::clone(&is_over));
                loom::thread::spawn(move || {
                    world.visit(LIVING, living);
                    is_over.store(true, SeqCst);
                    world.bells[OWNER].notify();
                })
            };
            let dying = {
                let (world, killed) = (Arc::clone(&world), std::sync::Arc::clone(&killed));
                loom::thread::spawn(move || {
                    if live_for(steps, || world.try_once(victim)).is_none() {
                        killed.store(true, SeqCst);
                    }
                })
            };
            dying.join().unwrap();
            world.recover(&is_over);
            other.join().unwrap();
            let state = world.lock.get().state();
            assert!(state.is_free() && state.waiters() == 0, "{state:?}");
        });
        if !was_killed.load(SeqCst) {
            return steps;
        }
    }
    unreachable!("a call ends")
}

// A test for each pair, so that they run at once.

#[test]
fn a_death_of_an_owner_between_any_two_steps_stops_no_owner() {
    let steps = explore(R::Exclusive, R::Exclusive, 2);
    assert!(steps > 5, "{steps} steps are not all");
}

#[test]
fn a_death_of_an_owner_between_any_two_steps_stops_no_sharer() {
    let steps = explore(R::Exclusive, R::Shared, 2);
    assert!(steps > 5, "{steps} steps are not all");
}

#[test]
fn a_death_of_a_sharer_between_any_two_steps_stops_no_owner() {
    let steps = explore(R::Shared, R::Exclusive, 2);
    assert!(steps > 5, "{steps} steps are not all");
}

#[test]
fn a_death_of_a_sharer_between_any_two_steps_stops_no_sharer() {
    let steps = explore(R::Shared, R::Shared, 2);
    assert!(steps > 5, "{steps} steps are not all");
}

#[test]
fn a_death_of_a_request_that_follows_an_owner_or_stands_beside_the_line() {
    let steps = explore(R::SharedHolding, R::Exclusive, 2);
    assert!(steps > 5, "{steps} steps are not all");
}
