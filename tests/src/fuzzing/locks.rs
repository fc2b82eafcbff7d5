//! Scripts of passive epochs: the lock queue and its packets in any order that bytes can choose.
//!
//! Programs cannot deadlock by themselves: a rank locks targets in ascending order, or one at a time where others use
//! lock_all. So everything must end. What one rank reads and writes back under an exclusive lock is lost when two have it.

use super::choices::Choices;
use crate::stepped::Stepped;
use crate::world::{Setup, from, into, kernel, local};
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::Sync;
use rma_core::window::Window;
use std::collections::BTreeMap;

const RANKS: u32 = 3;
const LONGEST_SCRIPT: u32 = 400;
const ROUNDS: u32 = 20_000;
const ONE: [u64; 1] = [1];

/// A rank of a script.
struct Player {
    window: Window,
    locks: BTreeMap<u32, LockKind>,
    has_all: bool,
    /// The call under way, and what follows it.
    call: Option<(Sync, Then)>,
    /// Where a count is read to, and written from.
    count: Box<[u64; 1]>,
    fetched: Box<[u64; 1]>,
}

#[derive(Clone, Copy)]
enum Then {
    Locked(u32, LockKind),
    LockedAll,
    Unlocked(u32),
    UnlockedAll,
    Flushed,
    /// The count of a target has been read: one more is written.
    Counted(u32),
}

struct Script {
    world: Stepped,
    players: Vec<Player>,
    all_windows: Vec<Window>,
    /// What each target's memory must hold: sums, and counts under exclusive locks.
    sums: [u64; RANKS as usize],
    counts: [u64; RANKS as usize],
    with_all: bool,
}

/// Plays a script.
///
/// # Panics
/// When it does not end, a lock is held by two, or an update is lost.
pub fn locks(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut script = Script::new(&mut choices);
    for _ in 0..LONGEST_SCRIPT {
        if choices.is_over() {
            break;
        }
        let (me, what, target) = (choices.below(3), choices.below(16), choices.below(3));
        script.step(me as usize, what, target as u32);
    }
    script.end();
}

impl Script {
    fn new(choices: &mut Choices<'_>) -> Self {
        let mut setup = Setup::packets(RANKS);
        setup.sim.ranks_per_node = [1, 1, 2][choices.below(3) as usize];
        setup.sim.lane_packets = [16, 1][choices.below(2) as usize];
        setup.engine.op_pool_window = [4, 1][choices.below(2) as usize];
        setup.engine.op_pool_global = 0;
        setup.engine.target_pool_window = [4, 1][choices.below(2) as usize];
        setup.engine.target_pool_global = 0;
        setup.engine.slots = 1;
        setup.engine.piggyback_threshold = [8, 0][choices.below(2) as usize];
        setup.engine.lock_queue_bytes = [65536, 1][choices.below(2) as usize];
        let world = Stepped::new(&setup, choices.below(256));
        let all_windows = world.allocate(4);
        let players = all_windows.iter().map(|window| Player {
            window: window.clone(),
            locks: BTreeMap::new(),
            has_all: false,
            call: None,
            count: Box::default(),
            fetched: Box::default(),
        });
        let players = players.collect();
        let with_all = choices.below(2) == 0;
        Self { world, players, all_windows, sums: [0; 3], counts: [0; 3], with_all }
    }

    fn step(&mut self, me: usize, what: u64, target: u32) {
        if what >= 14 {
            return self.world.pump();
        }
        if what >= 12 {
            return self.world.pump_only(|rank| rank == me as u32);
        }
        if self.players[me].call.is_some() {
            return self.go_on(me);
        }
        let (with_all, player) = (self.with_all, &mut self.players[me]);
        let rank = Rank(target);
        let held = player.locks.get(&target).copied();
        let is_open = held.is_some() || player.has_all;
        let window = &player.window;
        let started = match what {
            0..3 if player.has_all => None,
            0 if with_all && player.locks.is_empty() => {
                Some((window.begin_lock_all(Assert::NONE), Then::LockedAll))
            }
            1 | 2 => {
                let last = player.locks.keys().next_back().copied();
                let is_next = last.is_none_or(|last| last < target && !with_all);
                let kind = [LockKind::Shared, LockKind::Exclusive][what as usize - 1];
                is_next.then(|| (window.begin_lock(kind, rank, Assert::NONE), Then::Locked(target, kind)))
            }
            3 if held.is_some() => Some((window.begin_unlock(rank), Then::Unlocked(target))),
            3 if player.has_all => Some((window.begin_unlock_all(), Then::UnlockedAll)),
            4..6 if is_open => {
                let sum = kernel(ReduceOp::Sum);
                if window.try_accumulate(from(&ONE), sum, rank, Disp(0)).expect("sum") {
                    self.sums[target as usize] += 1;
                }
                None
            }
            6 if is_open => {
                let result = into(&mut player.fetched[..]);
                let sum = kernel(ReduceOp::Sum);
                let one = ONE[0].to_ne_bytes();
                if window.try_fetch_and_op(&one, result, sum, rank, Disp(0)).expect("fetch") {
                    self.sums[target as usize] += 1;
                }
                None
            }
            7..9 if held == Some(LockKind::Exclusive) => {
                let result = into(&mut player.count[..]);
                let is_posted = window.try_get(result, rank, Disp(1)).expect("get");
                is_posted.then(|| (window.begin_flush(rank), Then::Counted(target)))
            }
            9 if is_open => Some((window.begin_flush(rank), Then::Flushed)),
            10 if is_open => Some((window.begin_flush_local(rank), Then::Flushed)),
            11 if is_open => Some((window.begin_flush_all(), Then::Flushed)),
            _ => None,
        };
        if let Some((sync, then)) = started {
            player.call = Some((sync.expect("a legal call"), then));
            self.go_on(me);
        }
    }

    fn go_on(&mut self, me: usize) {
        let player = &mut self.players[me];
        let Some((sync, then)) = &mut player.call else { return };
        if !player.window.poll_sync(sync).expect("a call among the living") {
            return;
        }
        let then = *then;
        if let Then::Counted(target) = then {
            let more = player.count[0] + 1;
            player.count[0] = more;
            let put = || player.window.try_put(from(&player.count[..]), Rank(target), Disp(1)).expect("put");
            if !put() {
                // Out of elements: the flush that ends next frees one.
                player.count[0] = more - 1;
                let flush = player.window.begin_flush(Rank(target)).expect("flush");
                player.call = Some((flush, Then::Counted(target)));
                return;
            }
            self.counts[target as usize] += 1;
            // The count must not change before it has been read from here.
            let flush = player.window.begin_flush(Rank(target)).expect("flush");
            player.call = Some((flush, Then::Flushed));
            return;
        }
        player.call = None;
        match then {
            Then::Locked(target, kind) => drop(player.locks.insert(target, kind)),
            Then::LockedAll => player.has_all = true,
            Then::Unlocked(target) => drop(player.locks.remove(&target)),
            Then::UnlockedAll => player.has_all = false,
            Then::Flushed | Then::Counted(_) => {}
        }
    }

    /// Each player ends what is open.
    fn end(mut self) {
        for _ in 0..ROUNDS {
            for me in 0..self.players.len() {
                self.go_on(me);
                let player = &mut self.players[me];
                if player.call.is_some() {
                    continue;
                }
                let next = player.locks.keys().next().copied();
                let started = match next {
                    Some(target) => Some((player.window.begin_unlock(Rank(target)), Then::Unlocked(target))),
                    None if player.has_all => Some((player.window.begin_unlock_all(), Then::UnlockedAll)),
                    None => None,
                };
                player.call = started.map(|(sync, then)| (sync.expect("a legal call"), then));
            }
            if self.players.iter().all(|player| player.call.is_none()) {
                break;
            }
            self.world.pump();
        }
        for (me, player) in self.players.iter().enumerate() {
            assert!(player.call.is_none(), "rank {me} waits for ever");
        }
        for (at, window) in self.all_windows.iter().enumerate() {
            assert_eq!(local(window, 0), self.sums[at], "sums at rank {at}");
            assert_eq!(local(window, 1), self.counts[at], "counts under the exclusive lock of rank {at}");
        }
    }
}
