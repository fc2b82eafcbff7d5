//! Operations that are cut off in their midst by the death of their origin: the target lists what may be half done, and no more.

use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{OperationKind, Unfinished, UnfinishedReport, Window};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, kernel, local};

const TARGET: Rank = Rank(0);
const ORIGIN: usize = 1;
const ELEMENTS: usize = 64;

/// Rank 1 dies with the lock of rank 0, in an operation on it; gives the world and the windows of the living.
struct Scene {
    world: Stepped,
    windows: Vec<Option<Window>>,
    values: Vec<u64>,
}

impl Scene {
    /// In units of 64 bytes, and so much of a body at a time.
    fn new(bulk_from: u64) -> Self {
        let mut setup = Setup::packets(3);
        setup.engine.unit_bytes = 64;
        (setup.sim.bulk_from, setup.sim.body_step_bytes, setup.sim.lane_packets) = (bulk_from, 64, 1);
        let world = Stepped::new(&setup, 3);
        let windows: Vec<_> = world.allocate(ELEMENTS as u64 + 8).into_iter().map(Some).collect();
        let scene = Self { world, windows, values: vec![7; ELEMENTS] };
        let origin = scene.window(ORIGIN);
        let lock = origin.begin_lock(Exclusive, TARGET, Assert::NONE).unwrap();
        scene.world.finish(origin, "lock", lock).unwrap();
        scene
    }

    fn window(&self, rank: usize) -> &Window {
        self.windows[rank].as_ref().expect("the rank lives")
    }

    /// How much of the operation, from displacement 4 on, has been carried out.
    fn changed(&self) -> usize {
        (0..ELEMENTS).filter(|at| local(self.window(0), 4 + at) == 7).count()
    }

    /// Begins to flush, and lets the world go on until `far` elements have been changed.
    fn reach(&self, far: usize) {
        let origin = self.window(ORIGIN);
        let mut flush = origin.begin_flush(TARGET).unwrap();
        self.world.until("a part of the operation", || {
            let is_over = origin.poll_sync(&mut flush).unwrap();
            assert!(!is_over || far == ELEMENTS);
            if far == ELEMENTS { is_over } else { self.changed() >= far }
        });
    }

    /// The origin dies; another rank gets its lock, and asks.
    fn ask(&mut self, asks: usize) -> UnfinishedReport {
        (self.windows[ORIGIN], self.world.engines[ORIGIN]) = (None, None);
        let window = self.window(asks);
        self.world
            .finish(window, "lock", window.begin_lock(Exclusive, TARGET, Assert::NONE).unwrap())
            .unwrap();
        self.pumping(|| assert!(window.take_bequest(TARGET).unwrap()));
        self.pumping(|| window.unfinished(TARGET).unwrap())
    }

    fn acknowledge(&self, acknowledges: usize, number: u64) -> UnfinishedReport {
        let window = self.window(acknowledges);
        self.pumping(|| {
            window.acknowledge_unfinished(TARGET, number).unwrap();
            window.unfinished(TARGET).unwrap()
        })
    }

    /// Makes a call that waits, while the world goes on.
    fn pumping<T: Send>(&self, call: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let called = scope.spawn(call);
            while !called.is_finished() {
                self.world.pump();
            }
            called.join().unwrap()
        })
    }
}

fn only(report: &UnfinishedReport) -> Unfinished {
    assert_eq!((report.number, report.operations.len()), (1, 1), "{report:?}");
    report.operations[0]
}

#[test]
fn a_put_whose_body_came_in_part_is_listed_until_it_is_acknowledged() {
    for asks in [0, 2] {
        let mut scene = Scene::new(1);
        assert!(scene.window(ORIGIN).try_put(from(&scene.values), TARGET, Disp(4)).unwrap());
        scene.reach(8);
        assert!(scene.changed() < ELEMENTS, "it is cut off");
        let put =
            Unfinished { origin: Rank(1), kind: OperationKind::Put, start: 32, len: 8 * ELEMENTS as u64 };
        assert_eq!(only(&scene.ask(asks)), put);
        assert_eq!(only(&scene.acknowledge(asks, 0)), put, "nothing was acknowledged");
        assert_eq!(scene.acknowledge(asks, 1), UnfinishedReport::default());
    }
}

#[test]
fn an_accumulate_of_which_pieces_came_is_listed_as_far_as_they_reach() {
    for bulk_from in [1, 1 << 20] {
        let mut scene = Scene::new(bulk_from);
        let sum = kernel(ReduceOp::Sum);
        assert!(scene.window(ORIGIN).try_accumulate(from(&scene.values), sum, TARGET, Disp(4)).unwrap());
        scene.reach(8);
        let changed = scene.changed();
        assert!(changed < ELEMENTS, "it is cut off");
        let listed = only(&scene.ask(2));
        assert_eq!((listed.origin, listed.kind, listed.start), (Rank(1), OperationKind::Accumulate, 32));
        // What was on its way when the origin died may have come since.
        assert_eq!(listed.len, 8 * scene.changed() as u64, "{listed:?}, {changed} before");
    }
}

#[test]
fn what_came_as_a_whole_is_not_listed() {
    let mut scene = Scene::new(1);
    let sum = kernel(ReduceOp::Sum);
    assert!(scene.window(ORIGIN).try_accumulate(from(&scene.values), sum, TARGET, Disp(4)).unwrap());
    scene.reach(ELEMENTS);
    // One that has not left is not there at all.
    assert!(scene.window(ORIGIN).try_put(from(&scene.values), TARGET, Disp(4)).unwrap());
    assert_eq!(scene.ask(2), UnfinishedReport::default());
    assert_eq!(scene.changed(), ELEMENTS);
}

#[test]
fn a_rank_that_is_not_locked_is_not_asked() {
    let scene = Scene::new(1);
    for rank in [TARGET, Rank(1), Rank(2)] {
        let error = scene.window(2).unfinished(rank).unwrap_err();
        assert_eq!(error.class(), rma_core::ErrorClass::RmaSync, "{error}");
    }
    let error = scene.window(2).acknowledge_unfinished(Rank(3), 1).unwrap_err();
    assert_eq!(error.class(), rma_core::ErrorClass::Rank, "{error}");
}
