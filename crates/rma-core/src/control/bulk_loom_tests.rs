//! Steps and plain code under the model checker: every interleaving and every allowed reordering of small programs.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p rma-core --lib --release control::bulk_loom_tests`. Plain
//! code is a load and a store of an element, so an update that comes in between is lost, and the sum at the
//! end shows it. The checker knows no barrier that one thread pays for all, so both barriers are full ones
//! here; the one of the system is as strong (membarrier(2)). Nor does it schedule fairly: three threads of
//! which two wait for a stripe have runs without end, so switching back, which holds all stripes, is checked
//! with two threads, and with more in `domain_tests`.

use super::bulk::{Bulk, CHUNK, Entry};
use super::layout::BulkFields;
use super::shim::{AtomicU64, Ordering::Relaxed};
use super::state::Holder;
use crate::host::Barriers;
use crate::ids::Peer;
use loom::sync::Arc;

/// One target, an element in each of two chunks, and the announcements of three processes.
struct World {
    fields: BulkFields,
    elements: [AtomicU64; 2],
    announced: Vec<[AtomicU64; 1]>,
}

const NAME: u64 = 1;

/// No process ends.
const ALL_LIVE: fn(u64) -> bool = |_| false;

impl World {
    fn bulk(&self, rank: usize) -> Bulk<'_> {
        Bulk::new(&self.fields, Holder::new(Peer(rank as u32)).unwrap())
    }

    /// An atomic addition, as [`super::domain`] does it.
    fn step(&self, rank: usize, element: usize) {
        let bulk = self.bulk(rank);
        let announced = bulk.announce(&self.announced[rank][0], NAME, Barriers::Even);
        let _entry = announced.unwrap_or_else(|| bulk.lock(element * CHUNK, &ALL_LIVE));
        self.elements[element].fetch_add(1, Relaxed);
    }

    /// An addition for a run that is plain code where the accumulate mode is switched already, and switches nothing itself.
    fn run(&self, rank: usize, element: usize) {
        let bulk = self.bulk(rank);
        if !bulk.steps_lock()
            && let Some(_entry) = bulk.announce(&self.announced[rank][0], NAME, Barriers::Even)
        {
            self.elements[element].fetch_add(1, Relaxed);
            return;
        }
        self.under_lock(element, &bulk.lock(element * CHUNK, &ALL_LIVE), bulk);
    }

    /// An addition by the holder of the element's stripe.
    fn under_lock(&self, element: usize, _entry: &Entry<'_>, bulk: Bulk<'_>) {
        if bulk.allows_bulk() {
            let before = self.elements[element].load(Relaxed);
            self.elements[element].store(before + 1, Relaxed);
        } else {
            self.elements[element].fetch_add(1, Relaxed);
        }
    }

    /// An addition in plain code where the accumulate mode allows it, for which it is switched before the stripe is locked.
    fn plain(&self, rank: usize, element: usize) {
        let bulk = self.bulk(rank);
        if !bulk.allows_bulk() {
            bulk.switch_to_bulk(NAME, Barriers::Even, self.announced.iter().map(<[_; 1]>::as_slice));
        }
        self.under_lock(element, &bulk.lock(element * CHUNK, &ALL_LIVE), bulk);
    }
}

/// Runs one program per rank; the sums of both elements are exact at the end.
fn explore(ranks: usize, sums: [u64; 2], program: fn(&World, usize)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(2));
    model.check(move || {
        let world = Arc::new(World {
            fields: BulkFields::new(),
            elements: std::array::from_fn(|_| AtomicU64::new(0)),
            announced: (0..ranks).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect(),
        });
        let threads: Vec<_> = (1..ranks)
            .map(|rank| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || program(&world, rank))
            })
            .collect();
        program(&world, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let found = [world.elements[0].load(Relaxed), world.elements[1].load(Relaxed)];
        assert_eq!(found, sums, "an update was lost");
    });
}

#[test]
fn a_step_and_plain_code_on_one_element() {
    explore(2, [2, 0], |world, rank| if rank == 0 { world.step(0, 0) } else { world.plain(1, 0) });
}

#[test]
fn steps_before_and_after_plain_code() {
    explore(2, [3, 0], |world, rank| {
        if rank == 0 {
            world.step(0, 0);
            world.step(0, 0);
        } else {
            world.plain(1, 0);
        }
    });
}

#[test]
fn two_that_want_plain_code_beside_a_step() {
    explore(3, [3, 0], |world, rank| if rank == 0 { world.step(0, 0) } else { world.plain(rank, 0) });
}

#[test]
fn plain_code_on_two_chunks() {
    explore(2, [2, 2], |world, rank| {
        world.plain(rank, rank);
        world.plain(rank, 1 - rank);
    });
}

#[test]
fn a_run_that_finds_the_mode_as_it_is_beside_plain_code() {
    explore(2, [4, 0], |world, rank| {
        if rank == 0 {
            world.run(0, 0);
            world.run(0, 0);
        } else {
            world.plain(1, 0);
            world.plain(1, 0);
        }
    });
}

#[test]
fn a_run_beside_turns_there_and_back() {
    explore(2, [3, 0], |world, rank| {
        if rank == 0 {
            world.run(0, 0);
            world.run(0, 0);
        } else {
            world.plain(1, 0);
            world.bulk(1).switch_to_atomic(&ALL_LIVE);
        }
    });
}

#[test]
fn a_run_and_a_step_beside_plain_code() {
    explore(3, [3, 0], |world, rank| match rank {
        0 => world.step(0, 0),
        1 => world.run(1, 0),
        _ => world.plain(2, 0),
    });
}

#[test]
fn the_mode_switches_back_between_plain_code_and_steps() {
    explore(2, [3, 0], |world, rank| {
        if rank == 0 {
            world.plain(0, 0);
        } else {
            world.bulk(1).switch_to_atomic(&ALL_LIVE);
            world.step(1, 0);
            world.step(1, 0);
        }
    });
}

#[test]
fn a_switch_back_while_another_switches() {
    explore(2, [4, 0], |world, rank| {
        if rank == 0 {
            world.plain(0, 0);
            world.plain(0, 0);
        } else {
            world.step(1, 0);
            world.bulk(1).switch_to_atomic(&ALL_LIVE);
            world.step(1, 0);
        }
    });
}
