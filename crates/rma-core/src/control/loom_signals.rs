//! Meetings and marks under the model checker: signals between ranks through words of shared memory while the
//! listener may sleep.
//!
//! Run like `loom_tests`. A listener sleeps until it is woken, so a wake-up that is missing is a deadlock that
//! the checker reports. What was written before a word was changed is read by each rank that has seen the
//! change, so an order that is missing is a race that it reports. The checker takes sequentially consistent
//! accesses for acquire and release only, which is less than they are; where they carry SYNC POINT asleep, a
//! fence stands beside them here.

use super::layout::MARK_WORDS;
use super::marks::{Marks, Taken};
use super::meeting::{Attendance, Meeting, attendance};
use super::shim::{AtomicU64, Ordering::SeqCst};
use crate::ids::Rank;
use loom::cell::UnsafeCell;
use loom::sync::atomic::fence;
use loom::sync::{Arc, Notify};

/// What each rank of a window has in shared memory, and a bell.
struct Own {
    asleep: AtomicU64,
    meeting: AtomicU64,
    marks: [AtomicU64; MARK_WORDS],
    taken: Taken,
    bell: Notify,
    /// Written by the owner before it signals the others.
    data: UnsafeCell<u32>,
}

struct World {
    ranks: Vec<Own>,
}

impl World {
    fn new(ranks: usize) -> Arc<Self> {
        let own = || Own {
            asleep: AtomicU64::new(0),
            meeting: AtomicU64::new(0),
            marks: std::array::from_fn(|_| AtomicU64::new(0)),
            taken: Taken::new(),
            bell: Notify::new(),
            data: UnsafeCell::new(0),
        };
        Arc::new(Self { ranks: (0..ranks).map(|_| own()).collect() })
    }

    fn meeting(&self, rank: usize) -> Meeting<'_> {
        Meeting::new(&self.ranks[rank].meeting)
    }

    fn attendance(&self, number: u64) -> Attendance {
        attendance(self.ranks.iter().map(|own| Meeting::new(&own.meeting)), number)
    }

    /// Takes a mark of one's own.
    fn take(&self, rank: usize, place: usize) -> bool {
        self.marks(rank).take(place, &self.ranks[rank].taken)
    }

    fn marks(&self, rank: usize) -> Marks<'_> {
        Marks::new(&self.ranks[rank].marks)
    }

    fn write(&self, rank: usize) {
        // SAFETY: no other rank looks until this one has signalled; the checker verifies it.
        self.ranks[rank].data.with_mut(|data| unsafe { *data += 1 });
    }

    fn read(&self, rank: usize) -> u32 {
        // SAFETY: the rank does not write before it is signalled; the checker verifies it.
        self.ranks[rank].data.with(|data| unsafe { *data })
    }

    /// Rings a rank that may sleep, after the word that it waits for has changed.
    fn wake(&self, rank: usize) {
        // SYNC POINT asleep
        fence(SeqCst);
        if self.ranks[rank].asleep.load(SeqCst) != 0 {
            self.ranks[rank].bell.notify();
        }
    }

    fn wake_all(&self) {
        (0..self.ranks.len()).for_each(|rank| self.wake(rank));
    }

    /// Sleeps until `look` sees what it waits for.
    fn listen<T>(&self, rank: usize, look: impl Fn() -> Option<T>) -> T {
        let own = &self.ranks[rank];
        loop {
            own.asleep.fetch_or(1, SeqCst);
            // SYNC POINT asleep
            fence(SeqCst);
            if let Some(seen) = look() {
                own.asleep.fetch_and(!1, SeqCst);
                return seen;
            }
            own.bell.wait();
        }
    }

    /// Meets the others; the rank that is dead, if one is.
    fn meet(&self, rank: usize, number: u64) -> Option<Rank> {
        assert_eq!(self.meeting(rank).arrive(), number);
        // SYNC POINT asleep: one arrival is the last, and its rank sees all others.
        fence(SeqCst);
        if self.attendance(number) == Attendance::Complete {
            self.wake_all();
        }
        self.listen(rank, || match self.attendance(number) {
            Attendance::Waiting => None,
            Attendance::Complete => Some(None),
            Attendance::Broken(dead) => Some(Some(dead)),
        })
    }
}

/// Explores `run` on each rank; the last one is the main thread.
fn explore(ranks: usize, preemptions: usize, run: fn(&World, usize)) {
    let mut model = loom::model::Builder::new();
    // The builder has read LOOM_MAX_PREEMPTIONS.
    model.preemption_bound = model.preemption_bound.or(Some(preemptions));
    model.check(move || {
        let world = World::new(ranks);
        let threads: Vec<_> = (0..ranks - 1)
            .map(|rank| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || run(&world, rank))
            })
            .collect();
        run(&world, ranks - 1);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_rank_that_leaves_a_meeting_sees_what_all_did_before_it() {
    let run = |world: &World, rank: usize| {
        world.write(rank);
        assert_eq!(world.meet(rank, 1), None);
        (0..world.ranks.len()).for_each(|other| assert_eq!(world.read(other), 1));
    };
    explore(2, 3, run);
    explore(3, 2, run);
}

#[test]
fn the_next_meeting_does_not_end_before_all_ranks_have_left_the_one_before() {
    explore(2, 2, |world, rank| {
        for round in 1..=2 {
            world.write(rank);
            assert_eq!(world.meet(rank, 2 * round - 1), None);
            assert_eq!(u64::from(world.read(1 - rank)), round);
            assert_eq!(world.meet(rank, 2 * round), None);
        }
    });
}

#[test]
fn no_rank_waits_for_the_dead() {
    explore(3, 2, |world, rank| match rank {
        // Dies before it comes; the second rank learns of it.
        0 => {}
        1 => {
            world.meeting(0).break_up(Rank(0));
            world.wake_all();
            assert_eq!(world.meet(1, 1), Some(Rank(0)));
        }
        _ => assert_eq!(world.meet(2, 1), Some(Rank(0))),
    });
}

#[test]
fn a_mark_wakes_its_owner_and_brings_what_was_done_before_it() {
    // Two ranks signal the third: the places are in one word.
    explore(3, 2, |world, rank| match rank {
        0 | 1 => {
            world.write(rank);
            world.marks(2).set(rank);
            world.wake(2);
        }
        _ => {
            for place in [1, 0] {
                world.listen(2, || world.take(2, place).then_some(()));
                assert_eq!(world.read(place), 1);
            }
            assert!(world.marks(2).is_empty(&world.ranks[2].taken));
        }
    });
}

#[test]
fn a_mark_is_taken_once_and_set_again_after_its_answer() {
    // Post and done, twice: a rank signals again when the other one has answered.
    explore(2, 2, |world, rank| {
        let other = 1 - rank;
        let hear = || world.listen(rank, || world.take(rank, other).then_some(()));
        let tell = || {
            world.write(rank);
            world.marks(other).set(rank);
            world.wake(other);
        };
        for round in 1..=2 {
            if rank == 0 {
                tell();
                hear();
                assert_eq!(world.read(1), round);
            } else {
                hear();
                assert_eq!(world.read(0), round);
                tell();
            }
        }
        assert!(!world.take(rank, other), "taken once");
    });
}
