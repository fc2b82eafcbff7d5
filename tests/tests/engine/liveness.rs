//! When a wait for a lock of the node asks whether the processes there live, by the clock that it is given: not at first, then ten times
//! in a second; and what comes of the answer.

use rma_core::Result;
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::host::{
    Barriers, Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest, Vitals,
};
use rma_core::ids::{Peer, Rank};
use rma_tests::stepped::Stepped;
use rma_tests::world::Setup;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    static CLOCK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// How often it was asked whether a process has ended.
    static ASKED: Cell<u64> = const { Cell::new(0) };
    /// The process that has ended, by the number that it tells the others.
    static ENDED: Cell<u64> = const { Cell::new(0) };
}

/// A host whose clock the test moves.
struct Clocked {
    host: Arc<dyn Host>,
    me: u64,
}

fn has_ended(number: u64) -> bool {
    ASKED.set(ASKED.get() + 1);
    number == ENDED.get()
}

impl Host for Clocked {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.host.begin_barrier(group)
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        self.host.begin_reduce(group, combine, values)
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        self.host.poll(request)
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        self.host.begin_segment(group, request)
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.host.locality(peer)
    }

    fn now(&self) -> Duration {
        CLOCK.get()
    }

    fn barriers(&self) -> Barriers {
        self.host.barriers()
    }

    fn vitals(&self) -> Vitals {
        Vitals { own: self.me, has_ended }
    }
}

fn world() -> Stepped {
    CLOCK.set(Duration::ZERO);
    ENDED.set(0);
    let mut number = 0;
    Stepped::with_hosts(&Setup::direct(3), 31, |host| {
        number += 1;
        Arc::new(Clocked { host, me: number }) as Arc<dyn Host>
    })
}

/// Questions while the ranks step for long, and no time passes.
fn asked(world: &Stepped) -> u64 {
    ASKED.set(0);
    world.settle();
    ASKED.get()
}

#[test]
fn a_wait_for_a_lock_asks_ten_times_in_a_second() {
    let world = &world();
    let windows = world.allocate(1);
    let held = windows[1].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    world.finish(&windows[1], "lock", held).unwrap();
    let mut waits = windows[2].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    let mut look = || assert!(!windows[2].poll_sync(&mut waits).unwrap());
    look();
    assert_eq!(asked(world), 0, "a wait that has just begun");
    let mut questions = Vec::new();
    for ms in 1..=1000 {
        CLOCK.set(Duration::from_millis(ms));
        ASKED.set(0);
        look();
        world.pump();
        look();
        // Of each of the others once.
        if ASKED.get() > 0 {
            assert_eq!(ASKED.get(), 2, "{ms} ms");
            questions.push(ms);
        }
    }
    assert_eq!(questions, (1..=10).map(|tenth| tenth * 100).collect::<Vec<_>>());
    world.finish(&windows[1], "unlock", windows[1].begin_unlock(Rank(0)).unwrap()).unwrap();
    world.finish(&windows[2], "lock", waits).unwrap();
    CLOCK.set(Duration::from_secs(9));
    assert_eq!(asked(world), 0, "no rank waits");
}

#[test]
fn a_lock_of_the_dead_passes_on_when_it_was_asked_after() {
    let world = &mut world();
    let windows = world.allocate(1);
    let held = windows[1].begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    world.finish(&windows[1], "lock", held).unwrap();
    let mut windows = windows.into_iter().map(Some).collect::<Vec<_>>();
    (windows[1], world.engines[1]) = (None, None);
    let window = windows[2].clone().unwrap();
    let mut waits = window.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    // No contact tells of the death, and none is made before it is known.
    for ms in [0, 99] {
        CLOCK.set(Duration::from_millis(ms));
        ENDED.set(2);
        world.settle();
        assert!(!window.poll_sync(&mut waits).unwrap(), "{ms} ms");
    }
    CLOCK.set(Duration::from_millis(100));
    world.finish(&window, "lock", waits).unwrap();
    world.finish(&window, "unlock", window.begin_unlock(Rank(0)).unwrap()).unwrap();
}
