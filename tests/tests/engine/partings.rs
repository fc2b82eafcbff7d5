//! Windows that their ranks do not leave together, in virtual time: freed with an error because a rank is dead, and revoked.

use rma_core::epoch::{Assert, LockKind::Exclusive, LockKind::Shared};
use rma_core::host::{Barriers, Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::window::Sync;
use rma_core::window::{Window, WindowFree, WindowSpec};
use rma_core::{Error, ErrorClass, Result};
use rma_tests::keeper::{Keeper, Slow};
use rma_tests::stepped::Stepped;
use rma_tests::world::{Setup, from, into, local};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

const ONE: Rank = Rank(1);

/// A rank's window, until it is freed.
type Windows = Vec<Option<Window>>;

fn allocate(world: &Stepped) -> Windows {
    world.allocate(8).into_iter().map(Some).collect()
}

fn begin_free(windows: &mut Windows, rank: usize) -> WindowFree {
    windows[rank].take().unwrap().begin_free().map_err(|(_, error)| error).unwrap()
}

fn free(world: &Stepped, windows: &mut Windows, rank: usize) -> Result<()> {
    let mut free = begin_free(windows, rank);
    let mut outcome = Ok(false);
    world.until("the end of free", || {
        outcome = free.poll();
        !matches!(outcome, Ok(false))
    });
    outcome.map(drop)
}

fn kill(world: &mut Stepped, windows: &mut Windows, rank: usize) {
    windows[rank] = None;
    world.engines[rank] = None;
}

fn ghosts(world: &Stepped) -> Vec<usize> {
    world.engines.iter().flatten().map(|engine| engine.ghost_windows()).collect()
}

/// Nothing is left of any window, and no rank has lost another one that lives.
fn are_gone(world: &Stepped) {
    world.until("the end of all ghosts", || ghosts(world).iter().all(|ghosts| *ghosts == 0));
    for engine in world.engines.iter().flatten() {
        assert_eq!((engine.live_windows(), engine.elements().targets, engine.elements().ops), (0, 0, 0));
    }
}

/// Stores a number at a rank, and reads it again.
fn access(world: &Stepped, window: &Window, target: u32, value: u64) -> Result<u64> {
    let (values, mut got, target) = ([value], [0], Rank(target));
    world.finish(window, "lock", window.begin_lock(Exclusive, target, Assert::NONE)?)?;
    let mut access = || {
        world.until("room", || window.try_put(from(&values), target, Disp(3)).unwrap());
        world.finish(window, "flush", window.begin_flush(target)?)?;
        world.until("room", || window.try_get(into(&mut got), target, Disp(3)).unwrap());
        Ok(())
    };
    let accessed = access();
    let ended = world.finish(window, "unlock", window.begin_unlock(target)?);
    accessed.and(ended).map(|()| got[0])
}

fn class(outcome: Result<impl Sized>) -> Option<ErrorClass> {
    outcome.err().map(|error| error.class())
}

#[test]
fn a_window_that_was_freed_with_an_error_serves_those_that_use_it_on() {
    for setup in Setup::all(4) {
        let world = &mut Stepped::new(&setup, 21);
        let mut windows = allocate(world);
        kill(world, &mut windows, 3);
        for rank in [0, 2] {
            assert_eq!(class(free(world, &mut windows, rank)), Some(ErrorClass::ProcFailed));
            assert_eq!(world.engine(rank as u32).live_windows(), 0);
        }
        world.settle();
        assert_eq!(ghosts(world), [1, 0, 1], "rank 1 has not left");
        let window = windows[1].clone().unwrap();
        for target in [0, 1, 2] {
            assert_eq!(access(world, &window, target, 7).unwrap(), 7);
        }
        assert!(access(world, &window, 3, 7).is_err());
        assert_eq!(class(free(world, &mut windows, 1)), Some(ErrorClass::ProcFailed));
        assert_eq!(class(window.begin_fence(Assert::NONE)), Some(ErrorClass::Win), "it is freed");
        are_gone(world);
    }
}

#[test]
fn memory_of_the_program_is_not_touched_once_it_has_freed_the_window() {
    for setup in [Setup::packets(3), Setup::direct(3), Setup::packets(3).smallest()] {
        let mut memory = vec![vec![0u64; 300]; 3];
        let spans = memory.iter_mut().map(|memory| into(memory)).collect::<Vec<_>>();
        let world = &mut Stepped::new(&setup, 22);
        let spec = |me: u32| WindowSpec::Create { memory: spans[me as usize], unit: 8 };
        let mut windows = world.windows(spec).into_iter().map(Some).collect::<Windows>();
        kill(world, &mut windows, 2);
        assert!(free(world, &mut windows, 0).is_err());
        let window = windows[1].clone().unwrap();
        for len in [1, 300] {
            let values = vec![5; len];
            world.finish(&window, "lock", window.begin_lock(Shared, Rank(0), Assert::NONE).unwrap()).unwrap();
            world.until("room", || window.try_put(from(&values), Rank(0), Disp(0)).unwrap());
            let unlock = world.finish(&window, "unlock", window.begin_unlock(Rank(0)).unwrap());
            let error = unlock.unwrap_err();
            assert_eq!(error.class(), ErrorClass::ProcAborted);
            assert!(error.to_string().contains("rank 0 has freed the window"), "{error}");
        }
        assert!(free(world, &mut windows, 1).is_err());
        are_gone(world);
        drop(windows);
        assert!(memory[0].iter().all(|word| *word == 0));
    }
}

#[test]
fn the_gathering_rank_may_die_and_the_next_one_gathers() {
    for setup in [Setup::packets(5), Setup::mixed(5)] {
        let world = &mut Stepped::new(&setup, 23);
        let mut windows = allocate(world);
        kill(world, &mut windows, 4);
        for rank in [0, 1, 3] {
            assert!(free(world, &mut windows, rank).is_err());
        }
        world.settle();
        kill(world, &mut windows, 0);
        world.settle();
        assert_eq!(ghosts(world), [1, 0, 1], "ranks 1, 2 and 3 live");
        assert_eq!(access(world, windows[2].as_ref().unwrap(), 3, 9).unwrap(), 9);
        assert!(free(world, &mut windows, 2).is_err());
        are_gone(world);
    }
}

/// A host whose next barriers fail on a rank, as they do where a rank hears of a death that the others have not heard of.
struct Faulty {
    host: Arc<dyn Host>,
    fails: Arc<AtomicU32>,
}

impl Host for Faulty {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.host.begin_barrier(group)
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        self.host.begin_reduce(group, combine, values)
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        match self.host.poll(request)? {
            Some(Outcome::Met) if self.fails.load(Relaxed) > 0 => {
                Err(Error::new(ErrorClass::ProcFailed, "collective", "a rank has died"))
            }
            outcome => Ok(outcome),
        }
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        self.host.begin_segment(group, request)
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.host.locality(peer)
    }

    fn now(&self) -> Duration {
        self.host.now()
    }

    fn barriers(&self) -> Barriers {
        self.host.barriers()
    }
}

#[test]
fn a_release_may_fail_on_some_ranks_and_succeed_on_others() {
    // A rank that has freed the window in order says so to those that ask, whether it would gather or not.
    for failing in [&[0][..], &[2], &[0, 1], &[1, 2]] {
        let fails = (0..3).map(|_| Arc::new(AtomicU32::new(0))).collect::<Vec<_>>();
        let mut hosts = fails.iter();
        let wrap =
            |host| Arc::new(Faulty { host, fails: Arc::clone(hosts.next().unwrap()) }) as Arc<dyn Host>;
        let world = &Stepped::with_hosts(&Setup::mixed(3), 24, wrap);
        // Several, of which all is said at once.
        let mut windows = [(); 3].map(|()| allocate(world));
        failing.iter().for_each(|rank| fails[*rank].store(1, Relaxed));
        let mut frees = windows
            .iter_mut()
            .flat_map(|windows| (0..3).map(|rank| (rank, begin_free(windows, rank))).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        world.until("the end of free", || {
            frees.retain_mut(|(rank, free)| match free.poll() {
                Ok(false) => true,
                outcome => {
                    assert_eq!(outcome.is_err(), failing.contains(rank), "rank {rank}");
                    false
                }
            });
            frees.is_empty()
        });
        are_gone(world);
        // The indices are free again, and no rank has lost another.
        failing.iter().for_each(|rank| fails[*rank].store(0, Relaxed));
        let mut windows = allocate(world);
        assert_eq!(access(world, windows[2].as_ref().unwrap(), 1, 4).unwrap(), 4);
        windows.clear();
    }
}

/// Calls that wait for rank 1, or would.
const WAITS: [fn(&Window) -> Result<Sync>; 6] = [
    |window| window.begin_lock(Exclusive, ONE, Assert::NONE),
    |window| window.begin_lock_all(Assert::NONE),
    |window| window.begin_fence(Assert::NONE),
    |window| window.begin_start(&[ONE], Assert::NONE),
    |window| {
        window.try_post_to(&[ONE], Assert::NONE)?;
        window.begin_wait()
    },
    |window| window.begin_lock(Shared, ONE, Assert::NONE),
];

#[test]
fn a_revoked_window_ends_every_wait_and_every_call_everywhere() {
    for (setup, wait) in
        Setup::all(4).into_iter().flat_map(|setup| (0..WAITS.len()).map(move |wait| (setup.clone(), wait)))
    {
        let what = format!(
            "wait {wait}, {} ranks on a node, {} slots",
            setup.sim.ranks_per_node, setup.engine.slots
        );
        let world = &Stepped::new(&setup, 25);
        let mut windows = allocate(world);
        let window = |rank: usize| windows[rank].as_ref().unwrap();
        if matches!(wait, 0 | 1 | 5) {
            let lock = window(1).begin_lock(Exclusive, ONE, Assert::NONE).unwrap();
            world.finish(window(1), "lock", lock).unwrap();
        }
        let values = [6];
        let mut syncs = [0, 3].map(|rank| (rank, WAITS[wait](window(rank)).unwrap()));
        for (rank, sync) in &mut syncs {
            world.settle();
            if window(*rank).poll_sync(sync).unwrap() {
                // The epoch is promised: what is asked for in it waits.
                assert!(window(*rank).try_put(from(&values), ONE, Disp(0)).unwrap(), "{what}");
                let is_started = wait == 3;
                let end = if is_started {
                    Window::begin_complete(window(*rank))
                } else {
                    window(*rank).begin_flush(ONE)
                };
                *sync = end.unwrap();
                world.settle();
                assert!(!window(*rank).poll_sync(sync).unwrap(), "{what}");
            }
        }
        assert!(!window(2).is_revoked());
        window(2).revoke();
        assert!(window(2).is_revoked());
        for (rank, sync) in syncs {
            assert_eq!(class(world.finish(window(rank), &what, sync)), Some(ErrorClass::Revoked), "{what}");
        }
        world.until("the word", || (0..4).all(|rank| window(rank).is_revoked()));
        for rank in 0..4 {
            let calls: [Result<()>; 10] = [
                window(rank).try_put(from(&values), ONE, Disp(0)).map(drop),
                window(rank).begin_lock(Shared, Rank(2), Assert::NONE).map(drop),
                window(rank).begin_unlock(ONE).map(drop),
                window(rank).begin_flush(ONE).map(drop),
                window(rank).begin_lock_all(Assert::NONE).map(drop),
                window(rank).begin_fence(Assert::NONE).map(drop),
                window(rank).begin_start(&[ONE], Assert::NONE).map(drop),
                window(rank).begin_complete().map(drop),
                window(rank).try_post_to(&[ONE], Assert::NONE),
                window(rank).begin_wait().map(drop),
            ];
            for (call, outcome) in calls.into_iter().enumerate() {
                assert_eq!(class(outcome), Some(ErrorClass::Revoked), "{what}: call {call} of rank {rank}");
            }
        }
        // Local: each succeeds while the others do nothing of the kind.
        for rank in [3, 1, 0, 2] {
            assert_eq!(class(free(world, &mut windows, rank)), None, "{what}: rank {rank}");
        }
        are_gone(world);
        assert_eq!(values, [6]);
    }
}

#[test]
fn what_a_revoked_window_has_on_its_way_ends_before_it_is_freed() {
    // Long stores and loads whose buffers the channel has in hand, at every moment.
    for (setup, rounds) in [Setup::packets(2), Setup::mixed(3)]
        .into_iter()
        .flat_map(|setup| (0..24).map(move |rounds| (setup.clone(), rounds)))
    {
        let last = setup.ranks - 1;
        let world = &mut Stepped::new(&setup, 26 + rounds);
        let spec = WindowSpec::Allocate { len: 80_000, unit: 8 };
        let mut windows = world.windows(|_| spec).into_iter().map(Some).collect::<Windows>();
        let (values, mut got) = (vec![3u64; 10_000], vec![0u64; 10_000]);
        let window = windows[0].clone().unwrap();
        world.finish(&window, "lock", window.begin_lock_all(Assert::NONE).unwrap()).unwrap();
        world.until("room", || window.try_put(from(&values), Rank(last), Disp(0)).unwrap());
        world.until("room", || window.try_get(into(&mut got), Rank(last), Disp(0)).unwrap());
        let flush = window.begin_flush(Rank(last)).unwrap();
        (0..rounds).for_each(|_| world.pump());
        windows[last as usize].as_ref().unwrap().revoke();
        let _any = world.finish(&window, "flush", flush);
        drop(window);
        world.until("the word", || windows[0].as_ref().unwrap().is_revoked());
        for rank in 0..setup.ranks as usize {
            assert_eq!(class(free(world, &mut windows, rank)), None, "rank {rank} after {rounds} rounds");
            if rank == 0 {
                // They are the program's again.
                got.fill(1);
            }
        }
        are_gone(world);
        assert!(got.iter().all(|word| *word == 1), "after {rounds} rounds");
    }
}

#[test]
fn a_release_that_waits_for_others_ends_when_the_window_is_revoked() {
    for setup in Setup::all(3) {
        let world = &Stepped::new(&setup, 27);
        let mut windows = allocate(world);
        let mut freeing = begin_free(&mut windows, 0);
        world.settle();
        assert!(!freeing.poll().unwrap(), "the others do not come");
        windows[1].as_ref().unwrap().revoke();
        world.until("the end of free", || freeing.poll().unwrap());
        for rank in [1, 2] {
            assert_eq!(class(free(world, &mut windows, rank)), None);
        }
        are_gone(world);
    }
}

#[test]
fn the_revoking_rank_may_die_once_a_living_one_has_heard_of_it() {
    let world = &mut Stepped::new(&Setup::mixed(5), 28);
    let mut windows = allocate(world);
    let value = [8];
    let holder = windows[3].clone().unwrap();
    world.finish(&holder, "lock", holder.begin_lock(Exclusive, Rank(0), Assert::NONE).unwrap()).unwrap();
    assert!(holder.try_put(from(&value), Rank(0), Disp(0)).unwrap());
    world.finish(&holder, "flush", holder.begin_flush(Rank(0)).unwrap()).unwrap();
    windows[4].as_ref().unwrap().revoke();
    world.until("the word", || windows[..4].iter().flatten().any(Window::is_revoked));
    kill(world, &mut windows, 4);
    world.until("the word", || windows[..4].iter().flatten().all(Window::is_revoked));
    assert_eq!(local(windows[0].as_ref().unwrap(), 0), 8, "the memory stays");
    drop(holder);
    for rank in 0..4 {
        assert_eq!(class(free(world, &mut windows, rank)), None);
    }
    are_gone(world);
}

#[test]
fn words_that_are_late_find_another_window_in_the_place_of_their_own() {
    for setup in Setup::all(3) {
        let (slow, mut made) = (Slow::default(), 0);
        let world = &Stepped::with_channels(&setup, 29, |channel| {
            made += 1;
            Box::new(if made == 2 { Keeper::slow(channel, slow.clone()) } else { Keeper::new(channel) })
        });
        let mut windows = allocate(world);
        slow.set(Some(Peer(2)));
        windows[0].as_ref().unwrap().revoke();
        world.until("the word", || windows.iter().flatten().all(Window::is_revoked));
        for rank in 0..3 {
            assert_eq!(class(free(world, &mut windows, rank)), None);
        }
        are_gone(world);
        let windows = world.allocate(8);
        slow.set(None);
        world.settle();
        assert!(!windows[2].is_revoked());
        for (from, to) in [(2, 1), (1, 2)] {
            assert_eq!(access(world, &windows[from], to, 4).unwrap(), 4, "rank {from} at {to}");
        }
    }
}
