//! Fairness of locks on every path: no locker waits longer than a bound times the epochs of the others, and readers that hold
//! what waiting writers want end all the same (lessons, decision 2).

use rma_core::epoch::LockKind::{self, Exclusive, Shared};
use rma_core::window::Window;
use rma_tests::scripts::{ScriptRank, play};
use rma_tests::world::Setup;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// How long the others compute in each of their epochs.
const WORK: Duration = Duration::from_millis(1);
/// For each of the others, the longest that a locker may wait, in their longest epochs.
const BOUND: u32 = 2;
/// When the others give up.
const LIMIT: Duration = Duration::from_secs(5);
/// How often the last rank takes its lock.
const TIMES: usize = 3;
/// The rank whose lock is wanted: not the one that lock_all takes first.
const WANTED: u32 = 1;
/// Epochs of each rank where all are wanted.
const ROUNDS: u32 = 30;

/// What the others do again and again.
#[derive(Clone, Copy, Debug)]
enum Epoch {
    /// Lock_all, and a get from one rank.
    AllForOne,
    /// Lock_all, and a get from each rank in ascending order.
    AllAscending,
    /// Lock_all, and a get from each rank, beginning with the next one.
    AllRing,
    /// Shared locks of two ranks.
    Two,
    /// Shared locks of two ranks, of which one is always held.
    HandOverHand,
    /// One lock.
    One(LockKind),
}

impl Epoch {
    async fn run(self, rank: &ScriptRank, window: &Window, ledger: &Ledger) {
        let (me, size) = (rank.me, rank.size);
        let started = rank.now();
        let other = if size > 2 { 2 } else { 0 };
        match self {
            Self::AllForOne | Self::AllAscending | Self::AllRing => {
                let targets = match self {
                    Self::AllForOne => vec![WANTED],
                    Self::AllAscending => (0..size).collect(),
                    _ => (1..=size).map(|step| (me + step) % size).collect(),
                };
                rank.lock_all(window).await;
                for target in targets {
                    rank.get(window, target).await;
                }
                self.work(rank, ledger).await;
                rank.unlock_all(window).await;
            }
            Self::Two => {
                rank.lock(window, Shared, other).await;
                rank.get(window, other).await;
                rank.lock(window, Shared, WANTED).await;
                rank.get(window, WANTED).await;
                self.work(rank, ledger).await;
                rank.unlock(window, WANTED).await;
                rank.unlock(window, other).await;
            }
            Self::HandOverHand => {
                rank.lock(window, Shared, other).await;
                for _ in 0..20 {
                    rank.get(window, other).await;
                    rank.lock(window, Shared, WANTED).await;
                    rank.get(window, WANTED).await;
                    rank.unlock(window, other).await;
                    self.work(rank, ledger).await;
                    rank.lock(window, Shared, other).await;
                    rank.get(window, other).await;
                    rank.unlock(window, WANTED).await;
                }
                rank.unlock(window, other).await;
                // What counts is how long the wanted lock is held.
                return ledger.note_epoch((rank.now() - started) / 20);
            }
            Self::One(kind) => {
                rank.lock(window, kind, WANTED).await;
                rank.get(window, WANTED).await;
                self.work(rank, ledger).await;
                rank.unlock(window, WANTED).await;
            }
        }
        ledger.note_epoch(rank.now() - started);
    }

    async fn work(self, rank: &ScriptRank, ledger: &Ledger) {
        ledger.open.set(ledger.open.get() + 1);
        rank.compute(WORK).await;
        ledger.open.set(ledger.open.get() - 1);
    }
}

/// What the ranks of a world tell each other: they run on one thread.
#[derive(Default)]
struct Ledger {
    /// Epochs of the others in which they compute.
    open: Cell<u32>,
    is_over: Cell<bool>,
    longest_epoch: Cell<Duration>,
    /// How long the last rank's lock took, each time.
    waits: RefCell<Vec<Duration>>,
}

impl Ledger {
    fn note_epoch(&self, length: Duration) {
        self.longest_epoch.set(self.longest_epoch.get().max(length));
    }
}

/// The last rank takes a lock of one rank now and then; each of the others repeats its epochs until it has had it.
fn check(setup: &Setup, is_created: bool, seed: u64, kind: LockKind, epoch_of: impl Fn(u32) -> Epoch) {
    let (ledger, epoch_of) = (&Ledger::default(), &epoch_of);
    play(setup, seed, |rank| async move {
        let mut memory = [0; 8];
        let window = rank.window(is_created.then_some(&mut memory)).await;
        if rank.me + 1 == rank.size {
            for _ in 0..TIMES {
                rank.until("an epoch of the others", || ledger.open.get() > 0).await;
                let started = rank.now();
                rank.lock(&window, kind, WANTED).await;
                rank.get(&window, WANTED).await;
                ledger.waits.borrow_mut().push(rank.now() - started);
                rank.unlock(&window, WANTED).await;
            }
            ledger.is_over.set(true);
        }
        while !ledger.is_over.get() {
            assert!(rank.now() < LIMIT, "the last rank waits behind {:?} without end", epoch_of(rank.me));
            epoch_of(rank.me).run(&rank, &window, ledger).await;
        }
        rank.free(window).await;
    });
    let waits = ledger.waits.borrow();
    let (longest, epoch) = (*waits.iter().max().unwrap(), ledger.longest_epoch.get().max(WORK));
    let most = epoch * BOUND * (setup.ranks - 1);
    assert!(longest <= most, "a lock took {longest:?} where epochs of the others take {epoch:?}: {setup:?}");
}

/// Where the ranks are: each on a node of its own, by pairs, or all on one; and whether the window's memory is theirs.
fn check_all(kind: LockKind, epoch_of: impl Fn(u32) -> Epoch) {
    for ranks in 2..=8 {
        for setup in [Setup::packets(ranks), Setup::mixed(ranks), Setup::direct(ranks)] {
            for is_created in [false, true] {
                check(&setup, is_created, u64::from(ranks), kind, &epoch_of);
            }
        }
    }
}

#[test]
fn a_writer_waits_a_bounded_time_for_lock_all_epochs() {
    for epoch in [Epoch::AllForOne, Epoch::AllAscending, Epoch::AllRing] {
        check_all(Exclusive, |_| epoch);
    }
}

#[test]
fn a_writer_waits_a_bounded_time_for_shared_locks_of_several_ranks() {
    for epoch in [Epoch::Two, Epoch::HandOverHand, Epoch::One(Shared)] {
        check_all(Exclusive, |_| epoch);
    }
}

#[test]
fn lockers_wait_a_bounded_time_for_all_kinds_of_epochs_at_once() {
    for kind in [Exclusive, Shared] {
        check_all(kind, |me| match me % 4 {
            0 => Epoch::AllForOne,
            1 => Epoch::One(Exclusive),
            2 => Epoch::AllRing,
            _ => Epoch::Two,
        });
    }
}

#[test]
fn readers_that_hold_what_waiting_writers_want_end_on_every_path() {
    const A: u32 = 1;
    const B: u32 = 2;
    for setup in [Setup::packets(4), Setup::mixed(4), Setup::direct(4)] {
        for (seed, is_created) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
            let holding = &Cell::new(0);
            play(&setup, seed, |rank| async move {
                let mut memory = [0; 8];
                let window = rank.window(is_created.then_some(&mut memory)).await;
                match rank.me {
                    0 | 1 => {
                        let (first, second) = if rank.me == 0 { (A, B) } else { (B, A) };
                        rank.lock_all(&window).await;
                        rank.get(&window, first).await;
                        holding.set(holding.get() + 1);
                        rank.compute(WORK / 2).await;
                        rank.get(&window, second).await;
                        rank.unlock_all(&window).await;
                    }
                    _ => {
                        rank.until("the readers to hold a lock each", || holding.get() == 2).await;
                        let target = if rank.me == 2 { A } else { B };
                        rank.lock(&window, Exclusive, target).await;
                        rank.get(&window, target).await;
                        rank.unlock(&window, target).await;
                    }
                }
                assert!(rank.now() < 20 * WORK, "it ends, but takes {:?}", rank.now());
                rank.free(window).await;
            });
        }
    }
}

#[test]
fn readers_and_writers_of_all_ranks_wait_a_bounded_time() {
    for ranks in [4, 6, 8] {
        for setup in [Setup::packets(ranks), Setup::mixed(ranks), Setup::direct(ranks)] {
            let ledger = &Ledger::default();
            let longest_wait = &Cell::new(Duration::ZERO);
            play(&setup, 3, |rank| async move {
                let window = rank.window(None).await;
                for round in 0..ROUNDS {
                    if rank.me % 2 == 0 {
                        Epoch::AllRing.run(&rank, &window, ledger).await;
                    } else {
                        let target = (rank.me + round) % rank.size;
                        let started = rank.now();
                        rank.lock(&window, Exclusive, target).await;
                        rank.get(&window, target).await;
                        longest_wait.set(longest_wait.get().max(rank.now() - started));
                        rank.unlock(&window, target).await;
                    }
                }
                rank.free(window).await;
            });
            let (waited, epoch) = (longest_wait.get(), ledger.longest_epoch.get());
            assert!(
                waited <= epoch * BOUND * (ranks - 1),
                "a lock took {waited:?}, epochs {epoch:?}: {setup:?}"
            );
            // Each of its locks may cost a reader its patience.
            assert!(epoch <= 3 * ranks * WORK, "an epoch took {epoch:?}: {setup:?}");
        }
    }
}
