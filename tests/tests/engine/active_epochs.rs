//! Active target synchronization of ranks that map each other, which needs no engine while nothing else goes
//! on (`rma-core`, `window/fast_sync.rs`): that it does without, that the engine can take over at any point, and
//! that no rank is left asleep. The calls of a [`Stepped`] world are made in turn by one thread, so none of
//! them waits.

use rma_core::ErrorClass;
use rma_core::config::EngineConfig;
use rma_core::datatype::{BasicType, Datatype};
use rma_core::epoch::{Assert, LockKind::Exclusive};
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Origin, Sync, TargetArea};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, local, refused, run};

const ROUNDS: u64 = 320;

/// Steps of an engine that a loop of calls may make to serve the channels.
const FEW: u64 = ROUNDS / 4;

fn steps(world: &Stepped, rank: u32) -> u64 {
    world.engine(rank).counters().progress_steps
}

#[test]
fn post_start_complete_and_wait_take_no_step_of_the_engine() {
    let world = Stepped::new(&Setup::direct(3), 31);
    let windows = world.allocate(4);
    let before: Vec<_> = (0..3).map(|rank| steps(&world, rank)).collect();
    for round in 1..=ROUNDS {
        let value = [round];
        windows[1].post_to(&[Rank(2), Rank(0)], Assert::NONE).unwrap();
        for origin in [0, 2] {
            windows[origin].start(&[Rank(1)], Assert::NONE).unwrap();
            windows[origin].put(from(&value), Rank(1), Disp(origin as u64)).unwrap();
            windows[origin].complete().unwrap();
        }
        windows[1].wait().unwrap();
        assert_eq!([local(&windows[1], 0), local(&windows[1], 2)], [round; 2]);
    }
    for rank in 0..3 {
        let taken = steps(&world, rank) - before[rank as usize];
        assert!(taken < FEW, "rank {rank}: {taken} steps in {ROUNDS} epochs");
    }
}

#[test]
fn groups_of_any_size_take_no_step_of_the_engine() {
    const RANKS: u32 = 9;
    let world = Stepped::new(&Setup::direct(RANKS), 35);
    let windows = world.allocate(u64::from(RANKS));
    let others = |me: u32| (0..RANKS).filter(|rank| *rank != me).map(Rank).collect::<Vec<_>>();
    let before: Vec<_> = (0..RANKS).map(|rank| steps(&world, rank)).collect();
    let rounds = ROUNDS / 2;
    for round in 1..=rounds {
        for me in 0..RANKS {
            windows[me as usize].post_to(&others(me), Assert::NONE).unwrap();
        }
        for me in 0..RANKS {
            let (window, value) = (&windows[me as usize], [round]);
            window.start(&others(me), Assert::NONE).unwrap();
            for target in others(me) {
                window.put(from(&value), target, Disp(u64::from(me))).unwrap();
            }
            window.complete().unwrap();
        }
        for me in 0..RANKS {
            windows[me as usize].wait().unwrap();
        }
    }
    for (rank, before) in before.into_iter().enumerate() {
        let taken = steps(&world, rank as u32) - before;
        // Four calls in each round.
        assert!(taken < rounds / 2, "rank {rank}: {taken} steps in {rounds} epochs");
        for other in others(rank as u32) {
            assert_eq!(local(&windows[rank], other.0 as usize), rounds);
        }
    }
}

#[test]
fn no_rank_leaves_a_fence_of_words_before_what_others_have_sent_is_there() {
    let mut setup = Setup::packets(3);
    setup.engine.fence_packets = 3;
    let world = Stepped::new(&setup, 36);
    let windows = world.allocate(4);
    let finish_all = |fences: &mut [(usize, Sync)]| {
        let mut waits: Vec<_> = fences.iter_mut().collect();
        world.until("a fence", || {
            waits.retain_mut(|(rank, fence)| !windows[*rank].poll_sync(fence).unwrap());
            waits.is_empty()
        });
    };
    finish_all(&mut [0, 1, 2].map(|rank| (rank, windows[rank].begin_fence(Assert::NONE).unwrap())));
    // Rank 1 has come to the next fence, and told so, and then looks at nothing.
    let mut first = [(1, windows[1].begin_fence(Assert::NONE).unwrap())];
    for _ in 0..50 {
        world.pump_only(|rank| rank == 1);
        assert!(!windows[1].poll_sync(&mut first[0].1).unwrap());
    }
    windows[0].put(from(&[7]), Rank(1), Disp(0)).unwrap();
    let mut others = [0, 2].map(|rank: usize| (rank, windows[rank].begin_fence(Assert::NONE).unwrap()));
    for _ in 0..300 {
        world.pump_only(|rank| rank != 1);
        for (rank, fence) in &mut others {
            assert!(!windows[*rank].poll_sync(fence).unwrap(), "rank {rank} may look at rank 1 now");
        }
    }
    assert_eq!(local(&windows[1], 0), 0);
    let all = first.into_iter().chain(others);
    finish_all(&mut all.collect::<Vec<_>>());
    assert_eq!(local(&windows[1], 0), 7);
}

#[test]
fn fence_takes_no_step_of_the_engine() {
    let world = Stepped::new(&Setup::direct(1), 32);
    let windows = world.allocate(4);
    windows[0].fence(Assert::NONE).unwrap();
    let before = steps(&world, 0);
    for round in 1..=ROUNDS {
        let value = [round];
        windows[0].put(from(&value), Rank(0), Disp(1)).unwrap();
        windows[0].fence([Assert::NONE, Assert::NO_STORE, Assert::NO_PUT][round as usize % 3]).unwrap();
        assert_eq!(local(&windows[0], 1), round);
    }
    let taken = steps(&world, 0) - before;
    assert!(taken < FEW, "{taken} steps in {ROUNDS} fences");
    // What was put is over, so another kind of epoch may replace the fence's; and after a put it may not.
    let lock = || windows[0].lock(Exclusive, Rank(0), Assert::NONE);
    windows[0].put(from(&[1]), Rank(0), Disp(1)).unwrap();
    refused(lock(), &["call fence first"]);
    windows[0].fence(Assert::NONE).unwrap();
    lock().unwrap();
    refused(windows[0].fence(Assert::NONE), &["fence", "lock"]);
    windows[0].unlock(Rank(0)).unwrap();
    windows[0].fence(Assert::NO_SUCCEED).unwrap();
    refused(windows[0].put(from(&[1]), Rank(0), Disp(1)), &["no epoch is open"]);
    let illegal = windows[0].fence(Assert::NO_CHECK).unwrap_err();
    assert_eq!(illegal.class(), ErrorClass::Assert);
}

#[test]
fn the_engine_takes_an_access_epoch_over_at_any_call() {
    let world = Stepped::new(&Setup::direct(3), 33);
    let windows = world.allocate(4);
    let (origin, value) = (&windows[0], [9]);
    let ty = Datatype::basic(BasicType::U64);
    let wrong: [&dyn Fn(); 8] = [
        &|| {
            let words = Origin { base: value.as_ptr().cast(), count: 1, ty: &ty };
            let area = TargetArea { disp: Disp(1), count: 1, ty: &ty };
            // SAFETY: the value lives until the end of the test.
            let request = unsafe { origin.rput(words, Rank(1), area) };
            refused(request.map(drop), &["requests are for epochs of lock", "start"]);
        },
        &|| {
            refused(
                origin.put(from(&value), Rank(2), Disp(0)),
                &["group of the start call", "opened by start"],
            )
        },
        &|| refused(origin.lock(Exclusive, Rank(2), Assert::NONE), &["complete first", "opened by start"]),
        &|| refused(origin.start(&[Rank(1)], Assert::NONE), &["complete first", "opened by start"]),
        &|| refused(origin.fence(Assert::NONE), &["complete first"]),
        &|| refused(origin.flush(Rank(1)), &["opened by start"]),
        &|| refused(origin.lock_all(Assert::NONE), &["complete first"]),
        &|| refused(origin.clone().free(), &["complete first"]),
    ];
    for is_wrong in wrong {
        for takes_over in [true, false] {
            windows[1].post_to(&[Rank(0)], Assert::NONE).unwrap();
            origin.start(&[Rank(1)], Assert::NONE).unwrap();
            if takes_over {
                is_wrong();
                world.pump();
            }
            origin.put(from(&value), Rank(1), Disp(1)).unwrap();
            origin.complete().unwrap();
            refused(origin.complete(), &["start has not been called"]);
            windows[1].wait().unwrap();
            assert_eq!(local(&windows[1], 1), 9);
        }
    }
    // Locks and the epochs of start exclude each other on the fast paths too.
    origin.lock(Exclusive, Rank(2), Assert::NONE).unwrap();
    windows[1].post_to(&[Rank(0)], Assert::NONE).unwrap();
    refused(origin.start(&[Rank(1)], Assert::NONE), &["unlock", "opened by lock"]);
    origin.unlock(Rank(2)).unwrap();
    origin.start(&[Rank(1)], Assert::NONE).unwrap();
    origin.complete().unwrap();
    windows[1].wait().unwrap();
}

#[test]
fn the_engine_takes_an_exposure_epoch_over_at_any_call() {
    let world = Stepped::new(&Setup::direct(2), 34);
    let windows = world.allocate(4);
    let (target, origin, value) = (&windows[1], &windows[0], [7]);
    let others: [&dyn Fn(); 5] = [
        &|| refused(target.post_to(&[Rank(0)], Assert::NONE), &["opened by post", "wait"]),
        &|| refused(target.fence(Assert::NONE), &["opened by post"]),
        &|| refused(target.clone().free(), &["opened by post"]),
        &|| assert!(!target.test().unwrap()),
        &|| {
            target.lock(Exclusive, Rank(0), Assert::NONE).unwrap();
            target.unlock(Rank(0)).unwrap();
        },
    ];
    for other in others {
        for is_test in [true, false] {
            target.post_to(&[Rank(0)], Assert::NONE).unwrap();
            other();
            world.pump();
            origin.start(&[Rank(1)], Assert::NONE).unwrap();
            origin.put(from(&value), Rank(1), Disp(1)).unwrap();
            origin.complete().unwrap();
            if is_test {
                assert!(target.test().unwrap());
            } else {
                target.wait().unwrap();
            }
            refused(target.wait(), &["no exposure epoch is open"]);
        }
    }
    // Between fences too, which the exposure excludes.
    let mut fences: Vec<_> = windows.iter().map(|window| window.begin_fence(Assert::NONE).unwrap()).collect();
    world.until("a fence", || {
        let open =
            windows.iter().zip(&mut fences).filter_map(|(window, fence)| match window.poll_sync(fence) {
                Ok(is_over) => (!is_over).then_some(()),
                Err(error) => panic!("{error}"),
            });
        open.count() == 0
    });
    target.post_to(&[Rank(0)], Assert::NONE).unwrap();
    refused(target.fence(Assert::NONE), &["opened by post"]);
}

#[test]
fn an_epoch_that_the_fast_path_opened_names_the_lost_rank() {
    let mut world = Stepped::new(&Setup::direct(3), 35);
    let mut windows = world.allocate(4);
    windows[2].post_to(&[Rank(0)], Assert::NONE).unwrap();
    windows[1].post_to(&[Rank(0), Rank(2)], Assert::NONE).unwrap();
    windows[0].start(&[Rank(1), Rank(2)], Assert::NONE).unwrap();
    // Contact is made by calls that wait for a rank; there was none.
    let mut wait = windows[1].begin_wait().unwrap();
    assert!(!windows[1].poll_sync(&mut wait).unwrap());
    let mut rest = windows[0].begin_fence(Assert::NONE);
    assert!(rest.as_mut().is_err());
    world.settle();
    windows.remove(2);
    world.engines[2] = None;
    world.settle();
    windows[0].complete().map_or_else(|error| assert!(error.to_string().contains("rank 2"), "{error}"), drop);
    let error = world.finish(&windows[1], "wait", wait).unwrap_err();
    assert!(error.class() == ErrorClass::ProcFailed && error.to_string().contains("rank 2"), "{error}");
}

/// A setup whose ranks spin for a while, as they do by default.
fn spinning(ranks: u32) -> Setup {
    let mut setup = Setup::direct(ranks);
    setup.engine.spin_us = 30;
    setup
}

#[test]
fn ranks_that_run_ahead_and_ranks_that_fall_asleep_meet_in_every_fence() {
    for setup in [spinning(2), spinning(3), Setup::direct(3), Setup::direct(3).smallest()] {
        run(&setup, |rank| {
            let window = rank.allocate(8);
            let right = (rank.me + 1) % rank.size;
            window.fence(Assert::NONE).unwrap();
            for round in 1..400u64 {
                let value = [round];
                window.put(from(&value), Rank(right), Disp(u64::from(rank.me))).unwrap();
                if round % 7 == u64::from(rank.me) {
                    // Behind the others, which are asleep by the time it comes.
                    (0..300).for_each(|_| std::thread::yield_now());
                }
                window.fence(Assert::NONE).unwrap();
                let left = (rank.me + rank.size - 1) % rank.size;
                assert_eq!(local(&window, left as usize), round);
                let mut seen = [0];
                window.get(into(&mut seen), Rank(right), Disp(u64::from(rank.me))).unwrap();
                window.fence(Assert::NO_STORE).unwrap();
                assert_eq!(seen, [round]);
            }
            window.fence(Assert::NO_SUCCEED).unwrap();
            window.free().unwrap();
        });
    }
}

#[test]
fn origins_and_targets_that_fall_asleep_are_woken() {
    for setup in [spinning(3), Setup::direct(3), Setup::direct(3).smallest()] {
        run(&setup, |rank| {
            let window = rank.allocate(8);
            let others: Vec<_> = (0..rank.size).filter(|other| *other != rank.me).map(Rank).collect();
            for round in 1..200u64 {
                if round % 5 == u64::from(rank.me) {
                    (0..300).for_each(|_| std::thread::yield_now());
                }
                let value = [round];
                window.post_to(&others, Assert::NONE).unwrap();
                window.start(&others, Assert::NONE).unwrap();
                for other in &others {
                    window.put(from(&value), *other, Disp(u64::from(rank.me))).unwrap();
                }
                window.complete().unwrap();
                window.wait().unwrap();
                assert!(others.iter().all(|other| local(&window, other.0 as usize) == round));
            }
            window.free().unwrap();
        });
    }
}

#[test]
fn a_thread_may_expose_while_another_one_accesses() {
    run(&spinning(2), |rank| {
        let window = rank.allocate(8);
        let other = Rank(1 - rank.me);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    window.post_to(&[other], Assert::NONE).unwrap();
                    window.wait().unwrap();
                }
            });
            for round in 1..=300u64 {
                let value = [round];
                window.start(&[other], Assert::NONE).unwrap();
                window.put(from(&value), other, Disp(3)).unwrap();
                window.complete().unwrap();
            }
        });
        rank.barrier();
        assert_eq!(local(&window, 3), 300);
        window.free().unwrap();
    });
}

static SEVEN: [u64; 1] = [7];

/// Has ranks enter and leave a fence.
fn fence(world: &Stepped, windows: &[rma_core::window::Window], ranks: &[usize], assert: Assert) {
    let mut fences: Vec<_> = ranks.iter().map(|rank| windows[*rank].begin_fence(assert).unwrap()).collect();
    world.until("a fence", || {
        let over =
            ranks.iter().zip(&mut fences).map(|(rank, fence)| windows[*rank].poll_sync(fence).unwrap());
        over.filter(|is_over| *is_over).count() == ranks.len()
    });
}

#[test]
fn a_fence_that_nothing_precedes_waits_for_mapped_ranks_alone() {
    // Two nodes of two ranks.
    let world = Stepped::new(&Setup::mixed(4), 37);
    let windows = world.allocate(2);
    for _ in 0..3 {
        let mut first = windows[0].begin_fence(Assert::NO_PRECEDE).unwrap();
        for _ in 0..50 {
            world.pump();
            let is_over = windows[0].poll_sync(&mut first).unwrap();
            assert!(!is_over, "rank 1 may still read what a direct access changes");
        }
        fence(&world, &windows, &[1], Assert::NO_PRECEDE);
        world.finish(&windows[0], "fence", first).unwrap();
        windows[0].put(from(&SEVEN), Rank(1), Disp(0)).unwrap();
        assert_eq!(local(&windows[1], 0), 7, "the epoch is open to a mapped rank");
        windows[0].put(from(&SEVEN), Rank(2), Disp(1)).unwrap();
        world.settle();
        assert_eq!(local(&windows[2], 1), 0, "a packet waits for all ranks");
        fence(&world, &windows, &[2, 3], Assert::NO_PRECEDE);
        fence(&world, &windows, &[0, 1, 2, 3], Assert::NONE);
        assert_eq!(local(&windows[2], 1), 7);
        // Fences that wait for all are counted too, and one may end the epochs.
        rma_tests::world::set_local(&windows[1], 0, 0);
        rma_tests::world::set_local(&windows[2], 1, 0);
        fence(&world, &windows, &[0, 1, 2, 3], Assert::NO_SUCCEED);
    }
}

#[test]
fn a_rank_that_dies_ends_a_fence_that_waits_for_its_node() {
    let mut world = Stepped::new(&Setup::mixed(4), 41);
    let mut windows = world.allocate(1);
    let mut waits = windows[0].begin_fence(Assert::NO_PRECEDE).unwrap();
    world.pump();
    assert!(!windows[0].poll_sync(&mut waits).unwrap());
    drop(windows.remove(1));
    world.engines[1] = None;
    let error = world.finish(&windows[0], "fence", waits).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
}

#[test]
fn a_fence_that_a_death_ends_leaves_an_epoch_that_a_lock_may_replace() {
    for (setup, fence_packets) in [(Setup::packets(3), 8), (Setup::packets(3), 0), (Setup::direct(3), 0)] {
        let config = |_| EngineConfig { fence_packets, ..setup.engine.clone() };
        let mut world = Stepped::with_engines(&setup, 43, config);
        let mut windows = world.allocate(1);
        fence(&world, &windows, &[0, 1, 2], Assert::NONE);
        windows[0].put(from(&SEVEN), Rank(0), Disp(0)).unwrap();
        let waits = windows[0].begin_fence(Assert::NONE).unwrap();
        drop(windows.remove(2));
        world.engines[2] = None;
        let error = world.finish(&windows[0], "fence", waits).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed, "{error}");
        let lock = windows[0].begin_lock(Exclusive, Rank(1), Assert::NONE).unwrap();
        world.finish(&windows[0], "lock", lock).unwrap();
        let unlock = windows[0].begin_unlock(Rank(1)).unwrap();
        world.finish(&windows[0], "unlock", unlock).unwrap();
    }
}
