//! An observer changes nothing: the same calls send the same packets, hold back the same operations and pass through the same states.

use rma_core::epoch::{Assert, LockKind::Shared};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::stats::Counters;
use rma_core::trace::{Event, Observer};
use rma_core::window::{Sync, Window};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, kernel};
use std::sync::{Arc, Mutex};

/// Counts the calls that it hears of.
#[derive(Default)]
struct Calls(Mutex<Vec<&'static str>>);

impl Observer for Calls {
    fn observe(&self, event: &Event<'_>) {
        if let Event::CallBegin { call, .. } | Event::Direct { call, .. } = event {
            self.0.lock().unwrap().push(call);
        }
    }
}

/// What stores read until they are complete.
static VALUES: [u64; 40] = {
    let mut values = [0; 40];
    let mut at = 0;
    while at < 40 {
        values[at] = at as u64;
        at += 1;
    }
    values
};

/// What both engines had done, and what rank 0 held back, after a call.
type Mark = (&'static str, [Counters; 2], u32);

fn finish(
    world: &Stepped,
    window: &Window,
    call: &'static str,
    sync: rma_core::Result<Sync>,
    marks: &mut Vec<Mark>,
) {
    world.finish(window, call, sync.unwrap()).unwrap();
    mark(world, window, call, marks);
}

fn mark(world: &Stepped, window: &Window, call: &'static str, marks: &mut Vec<Mark>) {
    let counters = [0, 1].map(|rank| world.engine(rank).counters());
    marks.push((call, counters, window.elements().ops));
}

/// Passive epochs and fences between two ranks, with everything that may leave with its call, be held back or be packed.
fn play(world: &Stepped) -> Vec<Mark> {
    let ranks = world.allocate(64);
    let (origin, to, mut marks) = (&ranks[0], Rank(1), Vec::new());
    let marks = &mut marks;
    finish(world, origin, "lock", origin.begin_lock(Shared, to, Assert::NONE), marks);
    for at in 0..8 {
        origin.put(from(&VALUES[at..=at]), to, Disp(at as u64)).unwrap();
        mark(world, origin, "put", marks);
        finish(world, origin, "flush", origin.begin_flush(to), marks);
    }
    for at in 0..40 {
        origin.accumulate(from(&VALUES[at..=at]), kernel(ReduceOp::Sum), to, Disp(at as u64)).unwrap();
        mark(world, origin, "accumulate", marks);
    }
    finish(world, origin, "flush", origin.begin_flush(to), marks);
    let mut old = [0];
    origin.get(into(&mut old), to, Disp(7)).unwrap();
    mark(world, origin, "get", marks);
    finish(world, origin, "flush", origin.begin_flush(to), marks);
    assert_eq!(old, [14]);
    origin.fetch_and_op(&1u64.to_ne_bytes(), into(&mut old), kernel(ReduceOp::Sum), to, Disp(7)).unwrap();
    mark(world, origin, "fetch_and_op", marks);
    finish(world, origin, "unlock", origin.begin_unlock(to), marks);
    for _ in 0..3 {
        let mut fences: Vec<_> =
            ranks.iter().map(|window| window.begin_fence(Assert::NONE).unwrap()).collect();
        world.until("a fence", || {
            let over = ranks.iter().zip(&mut fences).map(|(window, fence)| window.poll_sync(fence).unwrap());
            // All of them are polled.
            over.filter(|is_over| *is_over).count() == ranks.len()
        });
        mark(world, origin, "fence", marks);
        origin.put(from(&[3]), to, Disp(3)).unwrap();
        mark(world, origin, "put", marks);
    }
    std::mem::take(marks)
}

#[test]
fn the_same_packets_leave_with_an_observer_and_without() {
    for setup in [Setup::packets(2), Setup::mixed(2)] {
        let calls = Arc::new(Calls::default());
        let observer: Arc<dyn Observer> = calls.clone();
        let (plain, observed) =
            (play(&Stepped::new(&setup, 5)), play(&Stepped::observed(&setup, 5, &observer)));
        assert_eq!(plain.len(), observed.len());
        for (at, (plain, observed)) in plain.iter().zip(&observed).enumerate() {
            assert_eq!(plain, observed, "call {at}");
        }
        let heard = calls.0.lock().unwrap();
        let count = |call| heard.iter().filter(|heard| **heard == call).count();
        assert_eq!([count("put"), count("accumulate"), count("get"), count("fetch_and_op")], [11, 40, 1, 1]);
    }
}

/// A stream of stores, each of which first tries to join the pack that waits, as calls from C do.
fn stream(world: &Stepped) -> (usize, [Counters; 2]) {
    let ranks = world.allocate(256);
    let (origin, to, mut joined) = (&ranks[0], Rank(1), 0);
    world.finish(origin, "lock", origin.begin_lock(Shared, to, Assert::NONE).unwrap()).unwrap();
    for at in 0..100 {
        let (value, disp) = (from(&VALUES[at % 40..=at % 40]), Disp(2 * at as u64));
        if origin.has_pack() && origin.put_coalesces(value, to, disp, false) {
            joined += 1;
        } else {
            origin.put(value, to, disp).unwrap();
        }
    }
    world.finish(origin, "unlock", origin.begin_unlock(to).unwrap()).unwrap();
    (joined, [0, 1].map(|rank| world.engine(rank).counters()))
}

#[test]
fn stores_join_packs_with_an_observer_too_and_each_is_heard_of() {
    let (setup, calls) = (Setup::packets(2), Arc::new(Calls::default()));
    let observer: Arc<dyn Observer> = calls.clone();
    let plain = stream(&Stepped::new(&setup, 5));
    assert_eq!(plain, stream(&Stepped::observed(&setup, 5, &observer)));
    assert!(plain.0 > 50, "{} of 100 stores have joined others", plain.0);
    assert_eq!(calls.0.lock().unwrap().iter().filter(|call| **call == "put").count(), 100);
}
