//! Epochs of start that reach one rank of the node whose memory is its own: the only store of an epoch leaves with the word of
//! complete, and what is more than that takes the slow path with the same result.

use super::own_memory::{ELEMENTS, NarrowLane, one_more, slow_answers};
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::error::{ErrorClass, Result};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Elements, Setup, from, into, kernel, local, run, set_local};

/// Ranks of a node, with a window of their own memory; the memory is to be kept as long.
struct Scene {
    world: Stepped,
    windows: Vec<Option<Window>>,
    // Behind the windows: dropped after them.
    _memory: Vec<[u64; ELEMENTS]>,
}

impl Scene {
    fn new(setup: &Setup, seed: u64) -> Self {
        let world = Stepped::new(setup, seed);
        let mut memory = vec![[0; ELEMENTS]; setup.ranks as usize];
        let spans: Vec<_> = memory.iter_mut().map(|elements| into(elements)).collect();
        let windows = world.windows(|me| WindowSpec::Create { memory: spans[me as usize], unit: 8 });
        Self { world, windows: windows.into_iter().map(Some).collect(), _memory: memory }
    }

    fn window(&self, rank: usize) -> &Window {
        self.windows[rank].as_ref().expect("the rank lives")
    }

    fn finish(&self, rank: usize, what: &str, sync: Result<Sync>) -> Result<()> {
        self.world.finish(self.window(rank), what, sync?)
    }

    fn start(&self, target: u32) {
        self.finish(0, "start", self.window(0).begin_start(&[Rank(target)], Assert::NONE)).unwrap();
    }

    fn complete(&self) -> Result<()> {
        self.finish(0, "complete", self.window(0).begin_complete())
    }

    fn post(&self, target: usize) {
        self.window(target).try_post_to(&[Rank(0)], Assert::NONE).unwrap();
    }

    fn wait(&self, target: usize) {
        self.finish(target, "wait", self.window(target).begin_wait()).unwrap();
    }

    /// An epoch with a store of one more than `at`, which makes the element of its target.
    fn first(&self, target: u32, at: u64) {
        self.post(target as usize);
        self.start(target);
        self.window(0).put(from(one_more(at)), Rank(target), Disp(at)).unwrap();
        self.complete().unwrap();
        self.wait(target as usize);
        assert_eq!(local(self.window(target as usize), at as usize), at + 1);
    }

    fn sent(&self, rank: usize) -> u64 {
        self.window(rank).counters().packets_sent
    }
}

#[test]
fn the_only_store_to_each_of_many_is_the_word_of_complete() {
    const TARGETS: [u32; 4] = [1, 2, 3, 4];
    let scene = Scene::new(&Setup::direct(5), 8);
    TARGETS.iter().for_each(|target| scene.first(*target, 0));
    let group = TARGETS.map(Rank);
    for at in 1..6u64 {
        let before = scene.sent(0);
        let post = |target: u32| {
            scene.post(target as usize);
            scene.world.settle();
        };
        TARGETS[..3].iter().for_each(|target| post(*target));
        scene.finish(0, "start", scene.window(0).begin_start(&group, Assert::NONE)).unwrap();
        // A store to each, or to none of the last ones.
        for target in &TARGETS[..if at % 2 == 0 { 4 } else { 2 }] {
            scene.window(0).put(from(one_more(at)), Rank(*target), Disp(at)).unwrap();
        }
        let late = at % 3 == 0;
        if !late {
            post(TARGETS[3]);
        }
        let mut complete = scene.window(0).begin_complete().unwrap();
        if late {
            assert!(!scene.window(0).poll_sync(&mut complete).unwrap(), "rank 4 has not posted");
            post(TARGETS[3]);
        }
        // No step of the engine: the word leaves within the call.
        assert!(scene.window(0).poll_sync(&mut complete).unwrap());
        assert_eq!(scene.sent(0) - before, 4, "round {at}");
        for target in TARGETS {
            scene.wait(target as usize);
            let stored = if at % 2 == 0 || target <= 2 { at + 1 } else { 0 };
            assert_eq!(local(scene.window(target as usize), at as usize), stored, "rank {target}");
        }
    }
}

#[test]
fn the_only_store_of_an_epoch_is_the_word_of_complete() {
    let scene = Scene::new(&Setup::direct(2), 1);
    scene.first(1, 0);
    for at in 1..8 {
        let before = [0, 1].map(|rank| scene.sent(rank));
        // The post comes before the start call, before the put, before complete, or while that waits.
        let posts = |when: u64| {
            if at % 4 == when {
                scene.post(1);
                (0..50).for_each(|_| scene.world.pump());
            }
        };
        posts(0);
        scene.start(1);
        posts(1);
        let has_store = at != 5;
        if has_store {
            scene.window(0).accumulate(from(one_more(at)), kernel(ReduceOp::Sum), Rank(1), Disp(at)).unwrap();
        }
        assert_eq!(scene.window(0).outstanding(), u64::from(has_store));
        assert_eq!(scene.window(0).elements().ops, u32::from(has_store), "at {at}");
        posts(2);
        let mut complete = scene.window(0).begin_complete().unwrap();
        if at % 4 == 3 {
            assert!(!scene.window(0).poll_sync(&mut complete).unwrap(), "rank 1 has not posted");
        }
        posts(3);
        scene.world.finish(scene.window(0), "complete", complete).unwrap();
        assert_eq!(scene.window(0).outstanding(), 0);
        scene.wait(1);
        let sent = [0, 1].map(|rank| scene.sent(rank) - before[rank]);
        assert_eq!(sent, [1, 1], "the word, and the post, at {at}");
        assert_eq!(local(scene.window(1), at as usize), if has_store { at + 1 } else { 0 });
        let error = scene.complete().unwrap_err();
        assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    }
    assert_eq!(scene.window(0).elements().most_ops, 1, "one operation at a time");
}

#[test]
fn what_is_more_than_one_store_takes_the_slow_path() {
    let scene = Scene::new(&Setup::direct(2), 2);
    scene.first(1, 0);
    let (window, mut seen) = (scene.window(0), [[0]; 2]);
    let [first, second] = seen.each_mut().map(|seen| into(seen));
    let sum = kernel(ReduceOp::Sum);
    let calls: [&dyn Fn(); 4] = [
        &|| {
            window.put(from(one_more(3)), Rank(1), Disp(1)).unwrap();
            window.accumulate(from(one_more(4)), sum, Rank(1), Disp(1)).unwrap();
        },
        &|| {
            window.accumulate(from(one_more(0)), sum, Rank(1), Disp(1)).unwrap();
            window.get(first, Rank(1), Disp(0)).unwrap();
        },
        &|| window.fetch_and_op(&5u64.to_ne_bytes(), second, sum, Rank(1), Disp(1)).unwrap(),
        &|| {
            window.put(from(one_more(6)), Rank(1), Disp(2)).unwrap();
            let error = window.put(from(one_more(6)), Rank(1), Disp(ELEMENTS as u64)).unwrap_err();
            assert_eq!(error.class(), ErrorClass::RmaRange, "{error}");
        },
    ];
    for (case, call) in calls.into_iter().enumerate() {
        for is_posted in [true, false] {
            if is_posted {
                scene.post(1);
            }
            scene.start(1);
            call();
            if !is_posted {
                scene.post(1);
            }
            scene.complete().unwrap();
            scene.wait(1);
        }
        let expected = [4 + 5, 4 + 5 + 2, 4 + 5 + 2 + 10, 4 + 5 + 2 + 10];
        assert_eq!(local(scene.window(1), 1), expected[case], "case {case}");
    }
    assert_eq!((seen, local(scene.window(1), 2)), ([[1], [11 + 5]], 7));
}

#[test]
fn a_rank_that_is_not_in_the_group_is_not_notified() {
    let scene = Scene::new(&Setup::direct(3), 3);
    scene.first(1, 0);
    scene.first(2, 1);
    // Rank 1 is exposed for another epoch, which this one must not end.
    scene.post(1);
    for has_store in [true, false] {
        scene.post(2);
        scene.start(2);
        if has_store {
            scene.window(0).put(from(one_more(2)), Rank(2), Disp(2)).unwrap();
        }
        scene.complete().unwrap();
        scene.wait(2);
    }
    let mut wait = scene.window(1).begin_wait().unwrap();
    (0..100).for_each(|_| scene.world.pump());
    assert!(!scene.window(1).poll_sync(&mut wait).unwrap(), "rank 0 has not completed its epoch");
    // And with a group of both, neither is left out.
    scene.post(2);
    let both = scene.window(0).begin_start(&[Rank(1), Rank(2)], Assert::NONE);
    scene.finish(0, "start", both).unwrap();
    scene.window(0).put(from(one_more(4)), Rank(2), Disp(4)).unwrap();
    scene.complete().unwrap();
    scene.world.finish(scene.window(1), "wait", wait).unwrap();
    scene.wait(2);
    assert_eq!((local(scene.window(2), 2), local(scene.window(2), 4)), (3, 5));
}

#[test]
fn epochs_of_other_kinds_follow_as_if_nothing_had_been_kept() {
    run(&Setup::direct(2), |rank| {
        let mut memory = [0; ELEMENTS];
        let window = rank.create(&mut memory);
        let other = Rank(1 - rank.me);
        for round in 0..3 {
            window.post_to(&[other], Assert::NONE).unwrap();
            window.start(&[other], Assert::NONE).unwrap();
            window.put(from(one_more(round)), other, Disp(0)).unwrap();
            window.complete().unwrap();
            window.wait().unwrap();
            assert_eq!(local(&window, 0), round + 1);
            rank.barrier();
            let before = window.counters().packets_sent;
            window.lock(Exclusive, other, Assert::NONE).unwrap();
            window.flush(other).unwrap();
            assert_eq!(window.counters().packets_sent - before, 0, "nothing is owed to it");
            window.put(from(one_more(round)), other, Disp(1)).unwrap();
            window.unlock(other).unwrap();
            window.lock_all(Assert::NONE).unwrap();
            assert_eq!(window.fetch_add(other.0, 2, 1).unwrap(), round);
            window.unlock_all().unwrap();
            rank.barrier();
            window.fence(Assert::NONE).unwrap();
            window.put(from(one_more(round)), other, Disp(3)).unwrap();
            window.fence(Assert::NO_SUCCEED).unwrap();
            let found = [0, 1, 2, 3].map(|at| local(&window, at));
            assert_eq!(found, [round + 1; 4]);
            rank.barrier();
        }
        window.free().unwrap();
    });
}

#[test]
fn of_two_complete_calls_that_wait_one_is_refused() {
    let scene = Scene::new(&Setup::direct(2), 6);
    scene.first(1, 0);
    scene.start(1);
    scene.window(0).put(from(one_more(1)), Rank(1), Disp(1)).unwrap();
    let mut completes = [0, 1].map(|_| scene.window(0).begin_complete().unwrap());
    let [first, second] = &mut completes;
    assert!(!scene.window(0).poll_sync(first).unwrap() && !scene.window(0).poll_sync(second).unwrap());
    scene.post(1);
    scene.world.until("complete", || scene.window(0).poll_sync(first).unwrap());
    let error = scene.window(0).poll_sync(second).unwrap_err();
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    scene.wait(1);
    assert_eq!(local(scene.window(1), 1), 2);
}

/// A step that finds something to do for the window makes an operation of the store, and the word must not leave before it.
#[test]
fn a_store_that_has_become_an_operation_goes_before_the_word() {
    let mut setup = Setup::direct(3);
    setup.sim.ranks_per_node = 2;
    let scene = Scene::new(&setup, 7);
    scene.first(1, 0);
    scene.window(1).lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    scene.start(1);
    scene.window(0).put(from(one_more(1)), Rank(1), Disp(1)).unwrap();
    let complete = scene.window(0).begin_complete().unwrap();
    // The request of a rank elsewhere waits for its turn at rank 0, which looks after it in each step.
    let far = scene.window(2).begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap();
    scene.world.finish(scene.window(2), "lock", far).unwrap();
    scene.window(2).put(from(one_more(4)), Rank(0), Disp(0)).unwrap();
    let mut unlock = scene.window(2).begin_unlock(Rank(0)).unwrap();
    (0..100).for_each(|_| scene.world.pump());
    assert!(!scene.window(2).poll_sync(&mut unlock).unwrap(), "rank 1 has the lock");
    assert_eq!((scene.window(0).elements().ops, scene.window(0).outstanding()), (1, 1));
    scene.post(1);
    scene.world.finish(scene.window(0), "complete", complete).unwrap();
    scene.wait(1);
    assert_eq!(local(scene.window(1), 1), 2, "what was put is there after the wait");
    scene.world.finish(scene.window(1), "unlock", scene.window(1).begin_unlock(Rank(0)).unwrap()).unwrap();
    scene.world.finish(scene.window(2), "unlock", unlock).unwrap();
    assert_eq!(local(scene.window(0), 0), 5);
}

#[test]
fn nothing_is_stored_in_an_epoch_that_is_closing() {
    let scene = Scene::new(&Setup::direct(2), 8);
    scene.first(1, 0);
    scene.start(1);
    for at in [1, 2] {
        scene.window(0).put(from(one_more(at)), Rank(1), Disp(at)).unwrap();
    }
    let complete = scene.window(0).begin_complete().unwrap();
    let error = scene.window(0).put(from(one_more(3)), Rank(1), Disp(3)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::RmaSync, "{error}");
    scene.post(1);
    scene.world.finish(scene.window(0), "complete", complete).unwrap();
    scene.wait(1);
    assert_eq!([1, 2, 3].map(|at| local(scene.window(1), at)), [2, 3, 0]);
}

#[test]
fn the_death_of_the_target_ends_complete() {
    for (has_store, is_posted) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut scene = Scene::new(&Setup::direct(2), 4);
        scene.first(1, 0);
        if is_posted {
            scene.post(1);
            (0..50).for_each(|_| scene.world.pump());
        }
        scene.start(1);
        if has_store {
            scene.window(0).put(from(one_more(1)), Rank(1), Disp(1)).unwrap();
        }
        let complete = scene.window(0).begin_complete();
        (scene.windows[1], scene.world.engines[1]) = (None, None);
        if !is_posted {
            let error = scene.finish(0, "complete", complete).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
        } else {
            // The word may have left before the channel knew.
            let _ = scene.finish(0, "complete", complete);
        }
        assert_eq!(scene.window(0).outstanding(), 0);
        assert_eq!(scene.complete().unwrap_err().class(), ErrorClass::RmaSync, "the epoch is over");
    }
}

#[test]
fn a_channel_without_room_holds_the_word_back_and_loses_neither() {
    let lane = NarrowLane::new(5);
    let NarrowLane { world, windows, .. } = &lane;
    for round in 0..6 {
        let has_store = round % 3 > 0;
        for ranks in windows {
            ranks[1].try_post_to(&[Rank(0)], Assert::NONE).unwrap();
            (0..50).for_each(|_| world.pump());
            let start = ranks[0].begin_start(&[Rank(1)], Assert::NONE).unwrap();
            world.finish(&ranks[0], "start", start).unwrap();
            if has_store {
                ranks[0].put(from(one_more(round)), Rank(1), Disp(round)).unwrap();
            }
        }
        let before = windows[1][0].counters();
        let mut completes = windows.each_ref().map(|ranks| (&ranks[0], ranks[0].begin_complete().unwrap()));
        for (window, complete) in &mut completes {
            let _ = window.poll_sync(complete).unwrap();
        }
        if round > 1 {
            assert_eq!(windows[1][0].counters().channel_full - before.channel_full, 1, "round {round}");
        }
        world.until("complete", || {
            completes.iter_mut().fold(true, |all, (window, call)| window.poll_sync(call).unwrap() && all)
        });
        for ranks in windows {
            world.finish(&ranks[1], "wait", ranks[1].begin_wait().unwrap()).unwrap();
            assert_eq!(local(&ranks[1], round as usize), if has_store { round + 1 } else { 0 });
        }
    }
}

/// The word waits for an answer that is owed, although nothing else follows it.
#[test]
fn a_word_does_not_count_before_the_data_of_a_get_have_left() {
    let long = 4096;
    for setup in slow_answers() {
        run(&setup, |rank| {
            let mut memory = vec![7; long];
            let window = rank.create(&mut memory);
            let other = Rank(1 - rank.me);
            for round in 0..20 {
                if rank.me == 1 {
                    window.post_to(&[other], Assert::NONE).unwrap();
                    window.wait().unwrap();
                    // As soon as the wait is over the memory is its owner's to change.
                    set_local(&window, long - 1, 100 + round);
                } else {
                    let mut seen = vec![0; long];
                    window.start(&[other], Assert::NONE).unwrap();
                    window.get(into(&mut seen), other, Disp(0)).unwrap();
                    rank.engine.poll();
                    window.put(from(one_more(5)), other, Disp(1)).unwrap();
                    window.complete().unwrap();
                    assert_eq!((seen[0], seen[long - 1]), (7, if round == 0 { 7 } else { 99 + round }));
                }
            }
            rank.barrier();
            window.free().unwrap();
        });
    }
}
