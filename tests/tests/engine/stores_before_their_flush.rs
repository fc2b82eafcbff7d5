//! Stores that leave ahead of their flush: where flushes have taken the last held stores, the next one does not wait for its own.

use rma_core::epoch::{Assert, LockKind};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::mem::ReadSpan;
use rma_core::window::Window;
use rma_tests::random::Random;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, kernel, local};

/// Held stores in a row that flushes take before one goes ahead.
const ENOUGH: u64 = 3;

/// Each number at its own index: what is stored must last until it has left.
static NUMBERS: [u64; 128] = {
    let mut numbers = [0; 128];
    let mut at = 0;
    while at < 128 {
        numbers[at] = at as u64;
        at += 1;
    }
    numbers
};

fn number(value: u64) -> ReadSpan {
    from(&NUMBERS[value as usize..][..1])
}

/// A stepped world, with a window on which rank 0 holds the locks of all others.
struct Scene {
    world: Stepped,
    windows: Vec<Window>,
}

impl Scene {
    fn new(setup: &Setup) -> Self {
        let world = Stepped::new(setup, 5);
        let windows = world.allocate(8);
        let scene = Self { world, windows };
        for rank in 1..scene.windows.len() as u32 {
            scene.lock(rank);
        }
        scene
    }

    /// A scene in which the next store goes ahead.
    fn eager(setup: &Setup) -> Self {
        let scene = Self::new(setup);
        scene.get_used();
        scene
    }

    fn get_used(&self) {
        for value in 1..=ENOUGH {
            let before = self.packets();
            self.put(value, 1, 7);
            assert_eq!((self.window().outstanding(), self.packets() - before), (1, 0), "store {value} waits");
            self.flush(1);
            assert_eq!((self.found(1, 7), self.packets() - before), (value, 2));
        }
    }

    fn window(&self) -> &Window {
        &self.windows[0]
    }

    fn lock(&self, rank: u32) {
        self.hold(self.window(), rank);
    }

    /// Takes a lock, so that it is held and not only called for.
    fn hold(&self, window: &Window, rank: u32) {
        let lock = window.begin_lock(LockKind::Shared, Rank(rank), Assert::NONE).unwrap();
        self.world.finish(window, "lock", lock).unwrap();
        let mut old = [0];
        window.get(into(&mut old), Rank(rank), Disp(0)).unwrap();
        self.world.finish(window, "flush", window.begin_flush(Rank(rank)).unwrap()).unwrap();
    }

    fn unlock(&self, rank: u32) {
        let unlock = self.window().begin_unlock(Rank(rank)).unwrap();
        self.world.finish(self.window(), "unlock", unlock).unwrap();
    }

    fn put(&self, value: u64, rank: u32, disp: u64) {
        self.window().put(number(value), Rank(rank), Disp(disp)).unwrap();
    }

    fn flush(&self, rank: u32) {
        let flush = self.window().begin_flush(Rank(rank)).unwrap();
        self.world.finish(self.window(), "flush", flush).unwrap();
    }

    fn flush_local(&self, rank: u32) {
        let flush = self.window().begin_flush_local(Rank(rank)).unwrap();
        self.world.finish(self.window(), "flush_local", flush).unwrap();
    }

    fn found(&self, rank: usize, disp: usize) -> u64 {
        local(&self.windows[rank], disp)
    }

    /// How often a rank has found no room.
    fn full(&self, rank: u32) -> u64 {
        self.world.engine(rank).counters().channel_full
    }

    /// Packets that all ranks have sent.
    fn packets(&self) -> u64 {
        (0..self.windows.len()).map(|rank| self.world.engine(rank as u32).counters().packets_sent).sum()
    }
}

#[test]
fn a_store_that_flushes_have_taken_before_is_on_its_way_before_its_flush() {
    let scene = Scene::eager(&Setup::packets(2));
    let (window, before) = (scene.window(), scene.packets());
    let counters = window.counters();
    scene.put(8, 1, 0);
    assert_eq!((scene.packets() - before, window.outstanding(), window.elements().ops), (1, 0, 0));
    let flush = window.begin_flush(Rank(1)).unwrap();
    assert_eq!(scene.packets() - before, 1, "the flush has nothing to say");
    scene.world.finish(window, "flush", flush).unwrap();
    assert_eq!((scene.found(1, 0), scene.packets() - before), (8, 2), "the store and its acknowledgement");
    window.accumulate(number(3), kernel(ReduceOp::Sum), Rank(1), Disp(0)).unwrap();
    assert_eq!(scene.packets() - before, 3);
    // No call is made before it is there.
    scene.world.settle();
    assert_eq!((scene.found(1, 0), scene.packets() - before), (11, 4));
    scene.flush(1);
    assert_eq!(scene.packets() - before, 4, "it was acknowledged before");
    let counters_after = window.counters();
    assert_eq!(counters_after.ops_queued - counters.ops_queued, 2);
    assert_eq!(counters_after.ops_issued - counters.ops_issued, 2);
}

#[test]
fn a_flush_that_waits_for_no_target_ends_the_row() {
    let scene = Scene::new(&Setup::packets(2));
    for value in 1..=4 * ENOUGH {
        scene.put(value, 1, 0);
        assert_eq!(scene.window().outstanding(), 1, "store {value}");
        if value % 2 == 0 {
            scene.flush(1);
        } else {
            scene.flush_local(1);
        }
    }
}

#[test]
fn a_store_without_its_flush_ends_the_row_and_the_next_takes_twice_as_long() {
    let scene = Scene::eager(&Setup::packets(2));
    let before = scene.packets();
    scene.put(8, 1, 0);
    scene.put(9, 1, 1);
    assert_eq!((scene.packets() - before, scene.window().outstanding()), (1, 1), "the second one waits");
    scene.flush(1);
    assert_eq!((scene.found(1, 0), scene.found(1, 1)), (8, 9));
    assert_eq!(scene.packets() - before, 3, "one more than for both together");
    // That flush has taken one.
    for value in 1..2 * ENOUGH {
        scene.put(value, 1, 2);
        assert_eq!(scene.window().outstanding(), 1, "store {value} waits");
        scene.flush(1);
    }
    scene.put(50, 1, 2);
    assert_eq!(scene.window().outstanding(), 0, "it leaves ahead again");
    scene.flush(1);
    assert_eq!(scene.found(1, 2), 50);
}

#[test]
fn a_flush_that_has_more_to_do_ends_the_row() {
    let scene = Scene::eager(&Setup::packets(2));
    for (round, packets) in [4, 3, 3].into_iter().enumerate() {
        let before = scene.packets();
        let mut got = [0];
        scene.put(8, 1, 0);
        scene.window().get(into(&mut got), Rank(1), Disp(7)).unwrap();
        scene.flush(1);
        assert_eq!((scene.found(1, 0), got), (8, [ENOUGH]));
        assert_eq!(scene.packets() - before, packets, "round {round}: the data acknowledge the store");
    }
}

#[test]
fn a_local_flush_behind_it_ends_the_row() {
    let scene = Scene::eager(&Setup::packets(2));
    let before = scene.packets();
    scene.put(8, 1, 0);
    scene.flush_local(1);
    scene.world.settle();
    assert_eq!(scene.packets() - before, 2, "no call has asked for that acknowledgement");
    scene.put(9, 1, 0);
    scene.flush_local(1);
    scene.world.settle();
    assert_eq!(scene.packets() - before, 3);
}

#[test]
fn a_store_behind_a_held_one_ends_the_row() {
    let scene = Scene::new(&Setup::packets(2));
    for round in 0..3 {
        for value in 1..ENOUGH {
            scene.put(value, 1, 0);
            assert_eq!(scene.window().outstanding(), 1, "round {round}");
            scene.flush(1);
        }
        scene.put(9, 1, 0);
        scene.put(9, 1, 3);
        scene.flush(1);
    }
}

#[test]
fn a_get_between_two_stores_and_their_flushes_does_not_end_the_row() {
    let scene = Scene::new(&Setup::packets(2));
    let mut value = [0u64];
    for round in 1..=ENOUGH {
        scene.put(round, 1, 0);
        assert_eq!(scene.window().outstanding(), 1, "round {round}");
        scene.flush(1);
        scene.window().get(into(&mut value), Rank(1), Disp(0)).unwrap();
        scene.flush(1);
        assert_eq!(std::hint::black_box(&mut value)[0], round);
    }
    scene.put(9, 1, 0);
    assert_eq!(scene.window().outstanding(), 0, "it has left ahead of its flush");
    scene.flush(1);
}

#[test]
fn a_flush_of_another_target_is_not_its_flush() {
    let scene = Scene::eager(&Setup::packets(3));
    let before = scene.packets();
    scene.put(8, 1, 0);
    scene.flush(2);
    assert_eq!(scene.window().outstanding(), 0);
    scene.put(9, 1, 1);
    assert_eq!(scene.window().outstanding(), 1, "the first one's flush has not come");
    scene.flush(1);
    assert_eq!((scene.found(1, 0), scene.found(1, 1), scene.packets() - before), (8, 9, 4));
}

#[test]
fn an_unlock_behind_it_waits_for_it() {
    let scene = Scene::eager(&Setup::packets(2));
    let before = scene.packets();
    scene.put(8, 1, 0);
    scene.unlock(1);
    assert_eq!(scene.found(1, 0), 8);
    assert_eq!(scene.packets() - before, 3, "the store, the release, and one answer to both");
    scene.lock(1);
    scene.put(9, 1, 0);
    assert_eq!(scene.window().outstanding(), 1, "what an unlock takes along waits for it");
    scene.unlock(1);
    assert_eq!(scene.found(1, 0), 9);
}

#[test]
fn what_finds_no_room_waits_for_its_flush() {
    let mut setup = Setup::packets(2);
    setup.sim.lane_packets = 1;
    let scene = Scene::eager(&setup);
    let other = scene.world.allocate(1);
    scene.hold(&other[0], 1);
    other[0].put(number(4), Rank(1), Disp(0)).unwrap();
    let other_flush = other[0].begin_flush(Rank(1)).unwrap();
    let (before, full) = (scene.packets(), scene.full(0));
    scene.put(8, 1, 0);
    assert_eq!((scene.window().outstanding(), scene.packets() - before), (1, 0));
    assert_eq!(scene.full(0) - full, 1, "the lane holds one packet");
    scene.flush(1);
    scene.world.finish(&other[0], "the other flush", other_flush).unwrap();
    assert_eq!((scene.found(1, 0), local(&other[1], 0)), (8, 4));
}

#[test]
fn an_acknowledgement_that_finds_no_room_leaves_when_there_is_some() {
    let mut setup = Setup::packets(2);
    setup.sim.lane_packets = 1;
    let scene = Scene::eager(&setup);
    let other = scene.world.allocate(1);
    scene.hold(&other[0], 1);
    let full = scene.full(1);
    scene.put(8, 1, 0);
    // Only rank 1 steps: its first answer stays in the lane.
    (0..50).for_each(|_| scene.world.pump_only(|rank| rank == 1));
    other[0].put(number(4), Rank(1), Disp(0)).unwrap();
    let other_flush = other[0].begin_flush(Rank(1)).unwrap();
    (0..50).for_each(|_| scene.world.pump_only(|rank| rank == 1));
    assert_eq!((scene.found(1, 0), local(&other[1], 0)), (8, 4), "both are there");
    assert!(scene.full(1) > full, "the lane holds one answer");
    scene.world.finish(&other[0], "the other flush", other_flush).unwrap();
    scene.flush(1);
}

#[test]
fn its_flush_hears_of_a_target_that_has_died() {
    let mut scene = Scene::eager(&Setup::packets(2));
    scene.put(8, 1, 0);
    assert_eq!(scene.window().outstanding(), 0);
    scene.windows.truncate(1);
    scene.world.engines[1] = None;
    let flush = scene.window().begin_flush(Rank(1)).unwrap();
    let error = scene.world.finish(scene.window(), "flush", flush).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
}

#[test]
fn sums_are_right_whatever_order_calls_come_in() {
    for seed in 0..60 {
        let scene = Scene::eager(&Setup::packets(3));
        let window = scene.window();
        let mut sums = [[0u64; 8]; 3];
        let mut random = Random::new(seed);
        for step in 0..120u64 {
            let (rank, disp) = (1 + random.below(2) as u32, random.below(4));
            match random.below(8) {
                // Half of the calls are of the kind after which stores leave ahead.
                0..4 => {
                    window.accumulate(number(step), kernel(ReduceOp::Sum), Rank(rank), Disp(disp)).unwrap();
                    sums[rank as usize][disp as usize] += step;
                    if random.below(5) > 0 {
                        scene.flush(rank);
                        assert_eq!(
                            scene.found(rank as usize, disp as usize),
                            sums[rank as usize][disp as usize]
                        );
                    }
                }
                4 => scene.flush(rank),
                5 => {
                    let mut got = [0];
                    window.get(into(&mut got), Rank(rank), Disp(disp)).unwrap();
                    scene.flush(rank);
                    assert_eq!(got, [sums[rank as usize][disp as usize]], "seed {seed}, step {step}");
                }
                6 => {
                    scene.unlock(rank);
                    assert_eq!(scene.found(rank as usize, disp as usize), sums[rank as usize][disp as usize]);
                    scene.lock(rank);
                }
                _ => scene.flush_local(rank),
            }
        }
        scene.unlock(1);
        scene.unlock(2);
        for (rank, sums) in sums.iter().enumerate().skip(1) {
            assert_eq!([0, 1, 2, 3].map(|at| scene.found(rank, at)), sums[..4], "seed {seed}, rank {rank}");
        }
    }
}
