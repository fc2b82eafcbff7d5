//! Worlds of simulated ranks in virtual time that one thread drives step by step: for tests that need an exact order.

use crate::world::Setup;
use rma_ch_sim::{Latency, SimHost, SimNet};
use rma_core::Engine;
use rma_core::channel::Channel;
use rma_core::config::EngineConfig;
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::host::{Group, Host};
use rma_core::ids::{Peer, Rank};
use rma_core::progress::NoUpper;
use rma_core::trace::Observer;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use std::sync::Arc;

/// Rounds after which something that must happen has not.
const ROUNDS: u32 = 20_000;

/// Ranks with an engine each. A rank dies when its engine and windows are dropped.
#[derive(Debug)]
pub struct Stepped {
    net: SimNet,
    /// The engines of the ranks that live.
    pub engines: Vec<Option<Engine>>,
}

impl Stepped {
    /// A world whose packets take 1 to 20 µs, drawn from `seed`.
    pub fn new(setup: &Setup, seed: u64) -> Self {
        Self::with_channels(setup, seed, |channel| channel)
    }

    /// The same with engines that differ by rank.
    pub fn with_engines(setup: &Setup, seed: u64, mut config: impl FnMut(u32) -> EngineConfig) -> Self {
        Self::with(setup, seed, |me, channel, host| Engine::new(config(me), channel, host, Box::new(NoUpper)))
    }

    /// The same with hosts that `wrap` makes of the world's.
    pub fn with_hosts(
        setup: &Setup,
        seed: u64,
        mut wrap: impl FnMut(Arc<dyn Host>) -> Arc<dyn Host>,
    ) -> Self {
        let config = || setup.engine.clone();
        Self::with(setup, seed, |_, channel, host| {
            Engine::new(config(), channel, wrap(host), Box::new(NoUpper))
        })
    }

    /// The same with channels that `wrap` makes of the world's.
    pub fn with_channels(
        setup: &Setup,
        seed: u64,
        mut wrap: impl FnMut(Box<dyn Channel>) -> Box<dyn Channel>,
    ) -> Self {
        let config = || setup.engine.clone();
        Self::with(setup, seed, |_, channel, host| {
            Engine::new(config(), wrap(channel), host, Box::new(NoUpper))
        })
    }

    /// The same with an observer of all engines.
    pub fn observed(setup: &Setup, seed: u64, observer: &Arc<dyn Observer>) -> Self {
        Self::with(setup, seed, |_, channel, host| {
            let observer = Some(Arc::clone(observer));
            Engine::with_observer(setup.engine.clone(), channel, host, Box::new(NoUpper), observer)
        })
    }

    fn with(
        setup: &Setup,
        seed: u64,
        mut engine: impl FnMut(u32, Box<dyn Channel>, Arc<dyn Host>) -> Result<Engine>,
    ) -> Self {
        let net = SimNet::virtual_time(setup.ranks, setup.sim.clone(), Latency::default(), seed);
        net.allow_windows(setup.engine.windows);
        let engines = (0..setup.ranks).map(|me| {
            let host: Arc<SimHost> = Arc::new(net.host(Peer(me)));
            Some(engine(me, Box::new(net.channel(Peer(me))), host).unwrap())
        });
        Self { engines: engines.collect(), net }
    }

    /// The network.
    pub fn net(&self) -> &SimNet {
        &self.net
    }

    /// The engine of a rank that lives.
    ///
    /// # Panics
    /// When the rank is dead.
    pub fn engine(&self, rank: u32) -> &Engine {
        self.engines[rank as usize].as_ref().expect("the rank lives")
    }

    /// All ranks, as `me` sees them.
    pub fn group(&self, me: u32) -> Group {
        Group::strided(0, Rank(me), Peer(0), 1, self.net.ranks())
    }

    /// A window of zeroed 8-byte elements on every rank.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn allocate(&self, elements: u64) -> Vec<Window> {
        self.windows(|_| WindowSpec::Allocate { len: elements * 8, unit: 8 })
    }

    /// A window, of each rank as this says.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn windows(&self, spec: impl Fn(u32) -> WindowSpec) -> Vec<Window> {
        let mut creations = (0..self.net.ranks())
            .map(|me| self.engine(me).begin_window(self.group(me), spec(me)).unwrap())
            .collect::<Vec<_>>();
        let mut windows = creations.iter().map(|_| None).collect::<Vec<Option<Window>>>();
        self.until("a window", || {
            for (creation, window) in creations.iter_mut().zip(&mut windows) {
                if window.is_none() {
                    *window = creation.poll().unwrap();
                }
            }
            windows.iter().all(Option::is_some)
        });
        windows.into_iter().flatten().collect()
    }

    /// Lets all ranks step, some virtual time.
    pub fn pump(&self) {
        self.pump_only(|_| true);
    }

    /// Lets some ranks step.
    pub fn pump_only(&self, is_to_step: impl Fn(u32) -> bool) {
        for (me, engine) in self.engines.iter().enumerate() {
            if let Some(engine) = engine.as_ref().filter(|_| is_to_step(me as u32)) {
                engine.poll();
                engine.check_invariants().unwrap_or_else(|broken| panic!("rank {me}: {broken}"));
            }
        }
        self.net.advance();
    }

    /// Lets all ranks step for a while, so that everything that can happen has happened.
    pub fn settle(&self) {
        (0..300).for_each(|_| self.pump());
    }

    /// Breaks the connection of two ranks, which both live.
    pub fn cut(&self, a: Peer, b: Peer) {
        self.net.cut(a, b);
    }

    /// Lets all ranks step until `done`.
    ///
    /// # Panics
    /// When that takes too long.
    pub fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        for _ in 0..ROUNDS {
            if done() {
                return;
            }
            self.pump();
        }
        panic!("{what} did not come in {ROUNDS} rounds");
    }

    /// Whether the rank of a window can lock another one exclusively at once.
    ///
    /// # Panics
    /// When a call fails.
    pub fn is_free(&self, window: &Window, target: u32) -> bool {
        let mut lock = window.begin_lock(LockKind::Exclusive, Rank(target), Assert::NONE).unwrap();
        let is_held = window.poll_sync(&mut lock).unwrap();
        if !is_held {
            self.finish(window, "lock", lock).unwrap();
        }
        self.finish(window, "unlock", window.begin_unlock(Rank(target)).unwrap()).unwrap();
        is_held
    }

    /// Finishes a synchronization call.
    ///
    /// # Errors
    /// Those of the call.
    pub fn finish(&self, window: &Window, what: &str, mut sync: Sync) -> Result<()> {
        let mut outcome = Ok(false);
        self.until(what, || {
            outcome = window.poll_sync(&mut sync);
            !matches!(outcome, Ok(false))
        });
        outcome.map(|_| ())
    }
}
