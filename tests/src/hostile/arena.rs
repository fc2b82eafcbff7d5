//! The arena: makes the windows, lets all act, and checks.

use super::forge::Forge;
use super::honest::{Guarded, try_put_notify};
use super::villain::{Attempt, Lent, Villain};
use crate::world::kernel;
use rma_ch_sim::{Latency, SimConfig, SimNet};
use rma_core::Engine;
use rma_core::channel::Channel;
use rma_core::config::EngineConfig;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::host::{Group, Host};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::notify::{CounterSetting, Notifications};
use rma_core::progress::NoUpper;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of the honest ranks' memory in the common window, and elements of their own.
const LEN: usize = 256;
const ELEMENTS: usize = 16;
/// Counters in use in both windows, and the one that the honest raise in their own.
const COUNTERS: u32 = 3;
const COUNTER: u32 = 1;
/// Rounds after which a villain that has not answered is killed, and those after which a call must be over then.
const PATIENCE: u32 = 20;
const ROUNDS: u32 = 5_000;
/// Packets after which the next villain has its turn.
const TURN: u32 = 300;

/// What an arena is made of.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The network.
    pub sim: SimConfig,
    /// The engines.
    pub engine: EngineConfig,
    /// Number of villains.
    pub villains: u32,
}

type Choices<'a> = Box<dyn FnMut(u64) -> u64 + 'a>;

/// Two honest ranks and their enemies.
pub struct Arena<'a> {
    net: SimNet,
    /// Dropped before the memory they were given.
    common: Vec<Window>,
    own: Vec<Window>,
    engines: Vec<Engine>,
    villains: VecDeque<Villain>,
    forge: Forge<Choices<'a>>,
    memory: [Guarded; 2],
    buffer: Guarded,
    origin: Guarded,
    /// What the own window of each rank holds.
    expected: [[u64; ELEMENTS]; 2],
    /// What its counters are at.
    noticed: [u64; 2],
    next_value: u64,
    /// Packets of the villain whose turn it is.
    turn: u32,
    /// Packets sent.
    pub sent: u64,
    /// Connections that honest ranks have closed.
    pub closed: u64,
}

impl<'a> Arena<'a> {
    /// Makes the windows. All that happens follows from what `choose` answers: a number below its argument.
    ///
    /// # Panics
    /// When the windows cannot be made.
    pub fn new(scene: &Scene, choose: impl FnMut(u64) -> u64 + 'a) -> Self {
        let ranks = 2 + scene.villains;
        let net = SimNet::virtual_time(ranks, scene.sim.clone(), Latency::default(), 1);
        let memory = [Guarded::new(LEN), Guarded::new(LEN)];
        let body: Arc<[u8]> = (0..4096).map(|at| at as u8).collect();
        let mut villains = VecDeque::new();
        let engines = (0..ranks).map(|me| {
            let channel: Box<dyn Channel> = if me < 2 {
                Box::new(net.channel(Peer(me)))
            } else {
                let lent = Lent::new(net.channel(Peer(me)));
                villains.push_back(Villain::new(Peer(me), lent.clone(), Arc::clone(&body)));
                Box::new(lent)
            };
            let host = Arc::new(net.host(Peer(me))) as Arc<dyn Host>;
            Engine::new(scene.engine.clone(), channel, host, Box::new(NoUpper)).expect("engine")
        });
        let mut engines = engines.collect::<Vec<_>>();
        let spec = |me: usize| WindowSpec::Create {
            memory: memory.get(me).map_or(rma_core::mem::WriteSpan::EMPTY, Guarded::inner),
            unit: [4, 1][me % 2],
        };
        let all = |me| Group::strided(0, Rank(me), Peer(0), 1, ranks);
        let mut common = create(&net, &engines, spec, all);
        use_counters(&net, &engines, &common);
        common.truncate(2);
        engines.truncate(2);
        let spec = |_| WindowSpec::Allocate { len: 8 * ELEMENTS as u64, unit: 8 };
        let own = create(&net, &engines, spec, |me| Group::strided(1, Rank(me), Peer(0), 1, 2));
        use_counters(&net, &engines, &own);
        let windows = vec![common[0].id(), own[0].id()];
        Self {
            net,
            common,
            own,
            engines,
            villains,
            forge: Forge::new(Box::new(choose), windows),
            memory,
            buffer: Guarded::new(LEN),
            origin: Guarded::new(LEN),
            expected: [[0; ELEMENTS]; 2],
            noticed: [0; 2],
            next_value: 1,
            turn: 0,
            sent: 0,
            closed: 0,
        }
    }

    /// Lets each act once: the honest work for themselves, or deal with a villain, and villains send all the
    /// time.
    ///
    /// # Panics
    /// When a villain has done any harm.
    pub fn act(&mut self) {
        match self.forge.below(5) {
            0 => self.lock_a_villain(),
            1 => self.post_to_a_villain(),
            _ => self.work(),
        }
        // Calls may be over at once, also those that concern a villain that cannot be reached any more.
        self.pump();
    }

    /// Whether there is a villain left.
    pub fn has_villains(&self) -> bool {
        !self.villains.is_empty()
    }

    /// Kills the villains that are left, and looks whether everything is in order.
    ///
    /// # Panics
    /// When it is not.
    pub fn finish(mut self) {
        while self.has_villains() {
            self.kill();
        }
        (0..100).for_each(|_| self.pump());
        for me in 0..2 {
            self.use_common(me);
            self.work();
        }
        for window in std::mem::take(&mut self.own).into_iter().chain(std::mem::take(&mut self.common)) {
            // The common window's members are dead; freeing it says so, and ends.
            drop(window);
        }
        for memory in self.memory.iter().chain([&self.buffer, &self.origin]) {
            memory.check();
        }
    }

    /// A locked epoch between the honest ranks in their own window.
    fn work(&mut self) {
        let me = self.forge.below(2) as usize;
        let (window, to) = (self.own[me].clone(), 1 - me);
        let target = Rank(to as u32);
        let kind = [LockKind::Shared, LockKind::Exclusive][self.forge.below(2) as usize];
        self.complete("lock", &window, window.begin_lock(kind, target, Assert::NONE)).expect("own lock");
        let at = self.forge.below(ELEMENTS as u64 / 2) as usize;
        self.next_value += 1;
        self.origin.store(&[self.next_value, 1]);
        let (value, one) = (self.origin.source().part(0, 8), self.origin.source().part(8, 8));
        let has_notice = self.forge.below(2) == 0;
        let put = || match has_notice {
            true => try_put_notify(&window, value, target, Disp(2 * at as u64), COUNTER),
            false => window.try_put(value, target, Disp(2 * at as u64)),
        };
        self.post("put", put);
        self.noticed[to] += u64::from(has_notice);
        let sum = || window.try_accumulate(one, kernel(ReduceOp::Sum), target, Disp(2 * at as u64 + 1));
        self.post("sum", sum);
        self.expected[to][2 * at] = self.next_value;
        self.expected[to][2 * at + 1] += 1;
        self.complete("flush", &window, window.begin_flush(target)).expect("own flush");
        let into = self.buffer.inner().part(0, 8 * ELEMENTS);
        self.post("get", || window.try_get(into, target, Disp(0)));
        self.complete("unlock", &window, window.begin_unlock(target)).expect("own unlock");
        let found = (0..ELEMENTS).map(|at| self.buffer.load(at)).collect::<Vec<_>>();
        assert_eq!(found, self.expected[to], "what rank {me} reads of its friend");
        let own = Notifications::of(&self.own[to]);
        let noticed = [0, 1, 2].map(|counter| own.value(counter).expect("a counter in use"));
        assert_eq!(noticed, [0, self.noticed[to], 0], "what the friend of rank {me} was told");
    }

    /// An honest rank locks a villain, that may answer anything, or nothing.
    fn lock_a_villain(&mut self) {
        let Some(target) = self.villain() else { return };
        let me = self.forge.below(2) as usize;
        let window = self.common[me].clone();
        let assert = [Assert::NONE, Assert::NO_CHECK][self.forge.below(2) as usize];
        let Ok(lock) = window.begin_lock(LockKind::Shared, target, assert) else { return };
        self.wait_for_villain(&window, lock, target);
        for _ in 0..self.forge.below(4) {
            let (value, into) = (self.origin.source().part(0, 8), self.buffer.inner().part(16, 64));
            let one = self.buffer.inner().part(0, 8);
            // Full pools and lost targets are the villain's doing; what matters is what happens to the honest.
            let _ = match self.forge.below(3) {
                0 => window.try_put(value, target, Disp(3)),
                1 => window.try_get(into, target, Disp(0)),
                _ => window.try_fetch_and_op(&[1; 8], one, kernel(ReduceOp::Sum), target, Disp(0)),
            };
            self.pump();
        }
        if self.forge.below(2) == 0
            && let Ok(flush) = window.begin_flush(target)
        {
            self.wait_for_villain(&window, flush, target);
        }
        if let Ok(unlock) = window.begin_unlock(target) {
            self.wait_for_villain(&window, unlock, target);
        }
    }

    /// An honest rank opens an exposure epoch to a villain, and an access epoch to it besides.
    fn post_to_a_villain(&mut self) {
        let Some(target) = self.villain() else { return };
        let me = self.forge.below(2) as usize;
        let window = self.common[me].clone();
        let is_exposed = window.try_post_to(&[target], Assert::NONE).is_ok();
        if self.forge.below(2) == 0
            && let Ok(start) = window.begin_start(&[target], Assert::NONE)
        {
            self.wait_for_villain(&window, start, target);
            let value = self.origin.source().part(0, 8);
            let _ = window.try_put(value, target, Disp(3));
            if let Ok(complete) = window.begin_complete() {
                self.wait_for_villain(&window, complete, target);
            }
        }
        if is_exposed && let Ok(wait) = window.begin_wait() {
            self.wait_for_villain(&window, wait, target);
        }
    }

    /// When all villains are dead, what they held is free and what they sent is over.
    fn use_common(&mut self, me: usize) {
        let (window, to) = (self.common[me].clone(), 1 - me);
        let target = Rank(to as u32);
        let errors = 4;
        for _ in 0..errors {
            let lock = window.begin_lock(LockKind::Exclusive, target, Assert::NONE);
            if self.complete("lock", &window, lock).is_ok() {
                break;
            }
            // An error that a villain's packet has caused, raised by this call: the next one is free of it.
        }
        self.origin.store(&[self.next_value]);
        let value = self.origin.source().part(0, 8);
        self.post("put", || window.try_put(value, target, Disp(0)));
        let outcome = self.complete("unlock", &window, window.begin_unlock(target));
        outcome.expect("an epoch between the honest");
        assert_eq!(self.memory[to].load(0), self.next_value);
    }

    /// The rank in the common window of the villain whose turn it is.
    fn villain(&self) -> Option<Rank> {
        self.villains.front().map(|villain| Rank(villain.peer.0))
    }

    /// Finishes a call between the honest.
    fn complete(&mut self, what: &str, window: &Window, sync: Result<Sync>) -> Result<()> {
        let mut sync = sync?;
        for _ in 0..ROUNDS {
            if window.poll_sync(&mut sync)? {
                return Ok(());
            }
            self.pump();
        }
        panic!("{what} between the honest is not over after {ROUNDS} rounds: {window:?}, {sync:?}");
    }

    fn post(&mut self, what: &str, post: impl Fn() -> Result<bool>) {
        for _ in 0..ROUNDS {
            if post().expect(what) {
                return;
            }
            self.pump();
        }
        panic!("{what} between the honest finds no room");
    }

    /// Waits for a villain, which does not get all the time of the world.
    fn wait_for_villain(&mut self, window: &Window, mut sync: Sync, target: Rank) {
        for round in 0..ROUNDS {
            // An error is an end too.
            if window.poll_sync(&mut sync).unwrap_or(true) {
                return;
            }
            if round >= PATIENCE && self.villain() == Some(target) {
                self.kill();
            }
            self.pump();
        }
        panic!("a call goes on although the villain {target} is dead: {window:?}");
    }

    /// All living ranks take a step.
    fn pump(&mut self) {
        for (me, engine) in self.engines.iter().enumerate() {
            engine.poll();
            engine.check_invariants().unwrap_or_else(|broken| panic!("rank {me}: {broken}"));
        }
        self.attack();
        self.net.advance();
    }

    fn attack(&mut self) {
        let packets = self.forge.below(4);
        if self.forge.below(3) > 0
            && let Some(villain) = self.villains.front_mut()
        {
            villain.poll();
        }
        for _ in 0..packets {
            let Some(villain) = self.villains.front_mut() else { return };
            let packet = self.forge.packet(villain.requests());
            let to = Peer(self.forge.below(2) as u32);
            let attempt = villain.send(to, &packet);
            self.turn += 1;
            if attempt == Attempt::Sent {
                self.sent += 1;
            }
            let is_done = [Peer(0), Peer(1)].iter().all(|peer| villain.is_closed_by(*peer));
            if is_done || self.turn > TURN {
                self.kill();
            }
        }
    }

    fn kill(&mut self) {
        if let Some(mut villain) = self.villains.pop_front() {
            villain.poll();
            self.closed +=
                [Peer(0), Peer(1)].iter().filter(|peer| villain.is_closed_by(**peer)).count() as u64;
        }
        self.turn = 0;
    }
}

/// Puts counters of a window into use on all its ranks.
fn use_counters(net: &SimNet, engines: &[Engine], windows: &[Window]) {
    let begin = |window: &Window| CounterSetting::begin(window, Ok(COUNTERS)).expect("room for counters");
    let mut settings: Vec<_> = windows.iter().map(begin).collect();
    for _ in 0..ROUNDS {
        settings.retain_mut(|setting| !setting.poll().expect("counters"));
        if settings.is_empty() {
            return;
        }
        engines.iter().for_each(|engine| {
            engine.poll();
        });
        net.advance();
    }
    panic!("counters are not in use after {ROUNDS} rounds");
}

pub(super) fn create(
    net: &SimNet,
    engines: &[Engine],
    spec: impl Fn(usize) -> WindowSpec,
    group: impl Fn(u32) -> Group,
) -> Vec<Window> {
    let begin =
        |(me, engine): (usize, &Engine)| engine.begin_window(group(me as u32), spec(me)).expect("creation");
    let mut creations = engines.iter().enumerate().map(begin).collect::<Vec<_>>();
    let mut windows = creations.iter().map(|_| None).collect::<Vec<Option<Window>>>();
    for _ in 0..ROUNDS {
        for (creation, window) in creations.iter_mut().zip(&mut windows) {
            if window.is_none() {
                *window = creation.poll().expect("creation");
            }
        }
        if windows.iter().all(Option::is_some) {
            return windows.into_iter().flatten().collect();
        }
        for engine in engines {
            engine.poll();
        }
        net.advance();
    }
    panic!("a window did not come");
}

impl std::fmt::Debug for Arena<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("sent", &self.sent)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
