//! Fetches, and stores with a request, on a rank of the node leave within their call (`rma-core`, `origin/submit.rs`).

use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::error::ErrorClass;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::mem::WriteSpan;
use rma_core::window::{Destination, Origin, TargetArea, Window, WindowSpec};
use rma_tests::hostile::Duel;
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, kernel, local};

const ELEMENTS: usize = 80;

/// A stepped world on one node, with a window of memory that is not shared; rank 0 holds the lock of rank 1, which has an element.
struct Scene {
    world: Stepped,
    windows: Vec<Option<Window>>,
    /// The displacement of rank 1's first element.
    first: Disp,
    // Behind the windows: dropped after them.
    _memory: Vec<[u64; ELEMENTS]>,
}

impl Scene {
    fn new(setup: &Setup) -> Self {
        Self::with_len(setup, |_| ELEMENTS)
    }

    /// The same with so many elements on each rank.
    fn with_len(setup: &Setup, len: impl Fn(u32) -> usize) -> Self {
        Self::with(setup, |me, memory| WindowSpec::Create { memory: memory.part(0, 8 * len(me)), unit: 8 })
    }

    /// The same with a dynamic window, to which rank 1 has attached its memory.
    fn dynamic(setup: &Setup) -> Self {
        Self::with(setup, |_, _| WindowSpec::Dynamic)
    }

    fn with(setup: &Setup, spec: impl Fn(u32, WriteSpan) -> WindowSpec) -> Self {
        let world = Stepped::new(setup, 3);
        let mut memory = vec![[0; ELEMENTS]; setup.ranks as usize];
        memory.iter_mut().for_each(|memory| memory[..4].copy_from_slice(&[10, 11, 12, 13]));
        let spans: Vec<WriteSpan> = memory.iter_mut().map(|elements| into(elements)).collect();
        let windows = world.windows(|me| spec(me, spans[me as usize]));
        let mut first = Disp(0);
        if matches!(spec(1, spans[1]), WindowSpec::Dynamic) {
            // SAFETY: the memory is dropped after the windows.
            unsafe { windows[1].attach(spans[1]) }.unwrap();
            first = Disp(spans[1].as_mut_ptr() as u64);
        }
        let windows = windows.into_iter().map(Some).collect();
        let scene = Self { world, windows, first, _memory: memory };
        let lock = scene.window().begin_lock(Shared, Rank(1), Assert::NONE).unwrap();
        scene.world.finish(scene.window(), "lock", lock).unwrap();
        let mut value = [0];
        scene.window().get(into(&mut value), Rank(1), first).unwrap();
        scene.flush().unwrap();
        assert_eq!((value, scene.window().elements().ops), ([10], 0));
        scene
    }

    fn window(&self) -> &Window {
        self.windows[0].as_ref().expect("rank 0 lives")
    }

    fn target(&self, at: usize) -> u64 {
        local(self.windows[1].as_ref().expect("rank 1 lives"), at)
    }

    fn flush(&self) -> rma_core::Result<()> {
        self.world.finish(self.window(), "flush", self.window().begin_flush(Rank(1))?)
    }

    fn packets(&self) -> u64 {
        (0..self.windows.len() as u32).map(|rank| self.world.engine(rank).counters().packets_sent).sum()
    }

    /// Makes a call that is to be under way when it returns, and completes it.
    fn leaves(&self, fetch: impl FnOnce(&Window)) {
        let (before, window) = (self.packets(), self.window());
        fetch(window);
        assert_eq!((self.packets() - before, window.elements().ops), (1, 1));
        assert_eq!((window.outstanding(), window.outstanding_to(Rank(1))), (1, 1));
        self.flush().unwrap();
        assert_eq!((self.packets() - before, window.outstanding()), (2, 0), "the request and the reply");
    }
}

#[test]
fn every_fetch_leaves_at_once_and_costs_its_reply() {
    let scene = Scene::new(&Setup::direct(2));
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    let ty = Datatype::basic(BasicType::U64);
    let (mut one, mut two, mut old) = ([0], [0; 2], [0; 3]);
    let [fetched, swapped, kept] = old.each_mut().map(|old| into(std::slice::from_mut(old)));
    scene.leaves(|window| window.get(into(&mut two), Rank(1), Disp(1)).unwrap());
    scene.leaves(|window| {
        let sum = kernel(ReduceOp::Sum);
        window.fetch_and_op(&5u64.to_ne_bytes(), fetched, sum, Rank(1), Disp(0)).unwrap();
    });
    scene.leaves(|window| {
        let (new, compare) = (7u64.to_ne_bytes(), 15u64.to_ne_bytes());
        window.compare_and_swap(&new, &compare, swapped, swap, Rank(1), Disp(0)).unwrap();
    });
    for (op, value) in [(ReduceOp::Max, 9u64), (ReduceOp::NoOp, 0)] {
        let (value, result) = ([value], kept.as_mut_ptr());
        let origin = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
        let result = Destination { base: result, count: 1, ty: &ty };
        let area = TargetArea { disp: Disp(0), count: 1, ty: &ty };
        // SAFETY: value and result last until the flush, and do not overlap.
        scene.leaves(|window| unsafe { window.get_accumulate(origin, result, op, Rank(1), area) }.unwrap());
    }
    scene.leaves(|window| assert!(window.try_get(into(&mut one), Rank(1), Disp(0)).unwrap()));
    assert_eq!((two, old, one, scene.target(0)), ([11, 12], [10, 15, 9], [9], 9));
}

#[test]
fn a_second_one_waits_its_turn_as_an_operation() {
    let scene = Scene::new(&Setup::direct(2));
    let mut values = [0; 3];
    let [first, second, third] = values.each_mut().map(|value| into(std::slice::from_mut(value)));
    let (before, window) = (scene.packets(), scene.window());
    window.get(first, Rank(1), Disp(0)).unwrap();
    window.get(second, Rank(1), Disp(1)).unwrap();
    window.get(third, Rank(1), Disp(2)).unwrap();
    assert_eq!((window.outstanding(), window.elements().ops), (3, 3));
    scene.flush().unwrap();
    assert_eq!((values, scene.packets() - before), ([10, 11, 12], 6));
}

#[test]
fn it_sees_the_store_before_it_and_its_reply_acknowledges_it() {
    let scene = Scene::new(&Setup::direct(2));
    let (value, mut found) = ([40], [0; 2]);
    let [first, second] = found.each_mut().map(|value| into(std::slice::from_mut(value)));
    let window = scene.window();
    // A get behind a store that is held back is held back too.
    let before = scene.packets();
    window.put(from(&value), Rank(1), Disp(0)).unwrap();
    window.get(first, Rank(1), Disp(0)).unwrap();
    assert_eq!(window.elements().ops, 2);
    scene.flush().unwrap();
    assert_eq!(scene.packets() - before, 3, "two requests and one reply");
    // One that has left is behind no other.
    window.accumulate(from(&value), kernel(ReduceOp::Sum), Rank(1), Disp(0)).unwrap();
    let local = window.begin_flush_local(Rank(1)).unwrap();
    scene.world.finish(window, "flush_local", local).unwrap();
    let before = scene.packets();
    window.get(second, Rank(1), Disp(0)).unwrap();
    assert_eq!((window.elements().ops, scene.packets() - before), (1, 1));
    scene.flush().unwrap();
    assert_eq!((found, scene.packets() - before), ([40, 80], 2), "no acknowledgement besides");
}

#[test]
fn one_from_another_node_waits_for_its_lock_and_takes_the_release_along() {
    // Ranks 2 and 3 are on the other node.
    let scene = Scene::new(&Setup::mixed(4));
    let mut values = [0; 3];
    let [first, second, third] = values.each_mut().map(|value| into(std::slice::from_mut(value)));
    let (window, owner) = (scene.window(), scene.windows[2].as_ref().unwrap());
    let lock = owner.begin_lock(Exclusive, Rank(2), Assert::NONE).unwrap();
    scene.world.finish(owner, "lock", lock).unwrap();
    let lock = window.begin_lock(Shared, Rank(2), Assert::NONE).unwrap();
    scene.world.finish(window, "lock", lock).unwrap();
    window.get(first, Rank(2), Disp(0)).unwrap();
    let mut flush = window.begin_flush(Rank(2)).unwrap();
    scene.world.settle();
    // The first has left with the lock request, and waits in line.
    let before = scene.packets();
    window.get(second, Rank(2), Disp(1)).unwrap();
    scene.world.settle();
    assert_eq!((scene.packets() - before, window.elements().ops), (0, 2));
    assert!(!window.poll_sync(&mut flush).unwrap());
    let unlock = owner.begin_unlock(Rank(2)).unwrap();
    scene.world.finish(owner, "unlock", unlock).unwrap();
    scene.world.finish(window, "flush", flush).unwrap();
    // Held now, but what comes is held back until it is asked for.
    scene.world.finish(window, "flush", window.begin_flush(Rank(2)).unwrap()).unwrap();
    let before = scene.packets();
    window.get(third, Rank(2), Disp(2)).unwrap();
    scene.world.settle();
    assert_eq!((scene.packets() - before, window.elements().ops), (0, 1));
    scene.world.finish(window, "unlock", window.begin_unlock(Rank(2)).unwrap()).unwrap();
    assert_eq!((values, scene.packets() - before), ([10, 11, 12], 2), "the release rides on the request");
}

#[test]
fn long_replies_come_in_bulk() {
    let mut setup = Setup::direct(2);
    (setup.sim.bulk_from, setup.sim.body_step_bytes) = (64, 100);
    let scene = Scene::new(&setup);
    let mut values = [0; ELEMENTS];
    scene.leaves(|window| window.get(into(&mut values), Rank(1), Disp(0)).unwrap());
    assert_eq!((&values[..5], &values[5..]), (&[10, 11, 12, 13, 0][..], &[0; ELEMENTS - 5][..]));
}

#[test]
fn what_is_outside_of_a_neighbors_window_is_an_error_of_the_call() {
    // The windows have different sizes; those of the node have published theirs.
    let scene = Scene::with_len(&Setup::direct(2), |me| if me == 1 { 4 } else { 8 });
    let (window, before, value) = (scene.window(), scene.packets(), [77]);
    let mut got = [77; 3];
    let swap = CompareAndSwap::new(BasicType::U64).unwrap();
    let (word, one, all) = ([1; 8], into(&mut got).part(0, 8), into(&mut got));
    for disp in [4, 6, u64::MAX].map(Disp) {
        let calls = [
            window.put(from(&value), Rank(1), disp),
            window.get(one, Rank(1), disp),
            window.get(all, Rank(1), disp),
            window.accumulate(from(&value), kernel(ReduceOp::Sum), Rank(1), disp),
            window.fetch_and_op(&word, one, kernel(ReduceOp::Sum), Rank(1), disp),
            window.compare_and_swap(&word, &word, one, swap, Rank(1), disp),
        ];
        for error in calls.map(Result::unwrap_err) {
            assert_eq!(error.class(), ErrorClass::RmaRange);
            assert!(error.to_string().contains("32 bytes"), "{error}");
        }
    }
    let last = window.get(all, Rank(1), Disp(2)).unwrap_err();
    assert!(last.to_string().contains("24 bytes from byte 16"), "{last}");
    scene.flush().unwrap();
    assert_eq!((got, window.outstanding(), scene.packets()), ([77; 3], 0, before), "nothing was sent");
    scene.leaves(|window| window.get(one, Rank(1), Disp(3)).unwrap());
    assert_eq!(got[0], 13);
}

#[test]
fn an_error_of_the_target_ends_it() {
    // Only its owner knows what is attached to a dynamic window.
    let scene = Scene::dynamic(&Setup::direct(2));
    let mut value = [77];
    scene.window().get(into(&mut value), Rank(1), Disp(6)).unwrap();
    assert_eq!((scene.window().outstanding(), scene.window().elements().ops), (1, 1));
    let error = scene.flush().unwrap_err();
    assert!(error.class() == ErrorClass::RmaRange && error.to_string().contains("not attached"), "{error}");
    assert_eq!((value, scene.window().outstanding()), ([77], 0));
    scene.leaves(|window| window.get(into(&mut value), Rank(1), scene.first).unwrap());
    assert_eq!(value, [10]);
}

#[test]
fn the_death_of_its_target_ends_it() {
    let mut scene = Scene::new(&Setup::direct(3));
    let mut value = [77];
    let window = scene.window().clone();
    window.get(into(&mut value), Rank(1), Disp(0)).unwrap();
    (scene.windows[1], scene.world.engines[1]) = (None, None);
    let flush = window.begin_flush(Rank(1)).unwrap();
    let error = scene.world.finish(&window, "flush", flush).unwrap_err();
    assert_eq!((error.class(), window.outstanding(), value), (ErrorClass::ProcFailed, 0, [77]));
    // The place is free for another one.
    let lock = window.begin_lock(Shared, Rank(2), Assert::NONE).unwrap();
    scene.world.finish(&window, "lock", lock).unwrap();
    window.get(into(&mut value), Rank(2), Disp(1)).unwrap();
    let unlock = window.begin_unlock(Rank(2)).unwrap();
    scene.world.finish(&window, "unlock", unlock).unwrap();
    assert_eq!(value, [11]);
}

#[test]
fn a_store_with_a_request_leaves_at_once_and_is_complete_then() {
    for setup in [Setup::direct(2), Setup::packets(2)] {
        let scene = Scene::new(&setup);
        let ty = Datatype::basic(BasicType::U64);
        let window = scene.window();
        let mut value = [50u64];
        let origin = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
        let before = scene.packets();
        let area = |disp| TargetArea { disp: Disp(disp), count: 1, ty: &ty };
        // SAFETY: the value lasts until the requests are complete.
        let put = unsafe { window.rput(origin, Rank(1), area(0)) }.unwrap();
        // SAFETY: as above.
        let sum = unsafe { window.raccumulate(origin, ReduceOp::Sum, Rank(1), area(1)) }.unwrap();
        assert!(put.is_complete().unwrap() && sum.is_complete().unwrap());
        assert_eq!((window.elements().ops, scene.packets() - before), (0, 2), "{setup:?}");
        std::hint::black_box(&mut value)[0] = 99;
        assert_eq!(scene.target(0), 10, "the target has not stepped");
        scene.flush().unwrap();
        assert_eq!((scene.target(0), scene.target(1)), (50, 61));
        assert_eq!(scene.packets() - before, 4, "one acknowledgement for both");
        // What waits for its flush goes before it.
        window.put(from(&[1]), Rank(1), Disp(2)).unwrap();
        // SAFETY: as above.
        let put = unsafe { window.rput(origin, Rank(1), area(2)) }.unwrap();
        scene.world.until("the request", || put.is_complete().unwrap());
        scene.flush().unwrap();
        assert_eq!(scene.target(2), 99);
    }
}

/// A duel in which the honest rank waits for a fetch of `len` bytes, and the request.
fn challenge(setup: &Setup, memory: &mut [u64], buffer: WriteSpan) -> (Duel, rma_core::wire::Request) {
    let mut duel = Duel::new(setup, into(memory));
    // The first makes the target's element.
    duel.window.get(buffer.part(0, 8), Rank(1), Disp(0)).unwrap();
    let flush = duel.window.begin_flush(Rank(1)).unwrap();
    let request = duel.request();
    duel.answer(&request, 8, false);
    duel.flush().unwrap();
    drop(flush);
    duel.window.get(buffer, Rank(1), Disp(0)).unwrap();
    assert_eq!((duel.window.outstanding(), duel.window.elements().ops), (1, 1));
    let request = duel.request();
    (duel, request)
}

#[test]
fn replies_that_are_not_waited_for_are_refused_and_store_nothing() {
    const LEN: usize = 64;
    let mut setup = Setup::direct(2);
    (setup.sim.bulk_from, setup.sim.body_step_bytes) = (128, 16);
    // The reply, what the villain sends before it, and whether the fetch gets its data nevertheless.
    type Attack = fn(&mut Duel, &rma_core::wire::Request);
    let attacks: [(Attack, bool); 6] = [
        (|duel, request| duel.answer(request, LEN - 8, false), false),
        (|duel, request| duel.answer(request, LEN + 8, false), false),
        (|duel, request| duel.answer(request, LEN + 8, true), false),
        (
            |duel, request| {
                let mut other = request.clone();
                other.sequence.0 -= 1;
                duel.answer(&other, LEN, false);
            },
            false,
        ),
        (
            |duel, request| {
                duel.answer(request, LEN, false);
                duel.answer(request, LEN, false);
            },
            true,
        ),
        (
            |duel, request| {
                // The second is read while the body of the first is on its way, or behind it.
                duel.answer(request, LEN, true);
                duel.answer(request, LEN, false);
            },
            true,
        ),
    ];
    for (number, (attack, is_answered)) in attacks.into_iter().enumerate() {
        let (mut memory, mut buffer) = ([0; 32], [u64::MAX; 16]);
        let (mut duel, request) = challenge(&setup, &mut memory, into(&mut buffer).part(0, LEN));
        into(&mut buffer).part(0, LEN).write(&[0xff; LEN]);
        attack(&mut duel, &request);
        (0..200).for_each(|_| duel.step());
        let error = duel.flush().expect_err("the villain is lost");
        assert_eq!((error.class(), duel.window.outstanding()), (ErrorClass::ProcFailed, 0), "{number}");
        let mut found = [0; LEN];
        into(&mut buffer).part(0, LEN).as_read().read(&mut found);
        let data: [u8; LEN] = std::array::from_fn(|at| at as u8);
        assert_eq!(found, if is_answered { data } else { [0xff; LEN] }, "{number}");
        assert_eq!(buffer[LEN / 8..], [u64::MAX; 16 - LEN / 8], "{number}");
    }
}
