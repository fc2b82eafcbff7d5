//! Programs of simulated ranks in virtual time, written as they read: each rank is an async function whose
//! calls drive its engine. The seed decides which rank steps next and how long packets are under way; time is
//! the world's, so waits can be measured.

use crate::world::{Setup, into};
use rma_ch_sim::{Actor, Context, Latency, SimHost, SimWorld, Step};
use rma_core::Engine;
use rma_core::epoch::{Assert, LockKind};
use rma_core::host::{Group, Host};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::progress::NoUpper;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Steps of all ranks after which a program hangs.
const MOST_STEPS: u64 = 20_000_000;
/// Polls without news after which a rank waits to be woken.
const QUIET_POLLS: u32 = 3;

/// A rank as its program sees it.
#[derive(Clone, Debug)]
pub struct ScriptRank {
    /// Its number.
    pub me: u32,
    /// Number of ranks.
    pub size: u32,
    engine: Engine,
    host: Arc<SimHost>,
    /// Until when it computes.
    away: Rc<Cell<Option<Duration>>>,
    /// What it waits for.
    call: Rc<RefCell<String>>,
}

impl ScriptRank {
    /// Virtual time.
    pub fn now(&self) -> Duration {
        self.host.now()
    }

    /// Computes for a while; its agent serves the others meanwhile.
    pub async fn compute(&self, length: Duration) {
        let until = self.now() + length;
        self.away.set(Some(until));
        self.wait(|| format!("{until:?}"), || (self.now() >= until).then_some(())).await;
        self.away.set(None);
    }

    /// Creates a window of zeroed 8-byte elements, which ranks of one node map, or of memory of its own.
    pub async fn window(&self, memory: Option<&mut [u64]>) -> Window {
        let group = Group::strided(0, Rank(self.me), Peer(0), 1, self.size);
        let spec = match memory {
            Some(memory) => WindowSpec::Create { memory: into(memory), unit: 8 },
            None => WindowSpec::Allocate { len: 64, unit: 8 },
        };
        let mut creation = self.engine.begin_window(group, spec).expect("creation begins");
        self.wait(|| "the window".into(), || creation.poll().expect("creation")).await
    }

    /// Takes a lock.
    pub async fn lock(&self, window: &Window, kind: LockKind, target: u32) {
        let sync = window.begin_lock(kind, Rank(target), Assert::NONE).expect("lock");
        self.finish(window, format!("{kind:?} lock of {target}"), sync).await;
    }

    /// Gives it back.
    pub async fn unlock(&self, window: &Window, target: u32) {
        let sync = window.begin_unlock(Rank(target)).expect("unlock");
        self.finish(window, format!("unlock of {target}"), sync).await;
    }

    /// Opens an epoch to all.
    pub async fn lock_all(&self, window: &Window) {
        let sync = window.begin_lock_all(Assert::NONE).expect("lock_all");
        self.finish(window, "lock_all".to_owned(), sync).await;
    }

    /// Ends it.
    pub async fn unlock_all(&self, window: &Window) {
        let sync = window.begin_unlock_all().expect("unlock_all");
        self.finish(window, "unlock_all".to_owned(), sync).await;
    }

    /// Fetches an element, which takes the lock of its rank.
    pub async fn get(&self, window: &Window, target: u32) -> u64 {
        let mut got = [9];
        window.get(into(&mut got), Rank(target), Disp(0)).expect("get");
        let sync = window.begin_flush(Rank(target)).expect("flush");
        self.finish(window, format!("flush of {target}"), sync).await;
        got[0]
    }

    /// Frees the window with all others.
    pub async fn free(&self, window: Window) {
        let mut free = window.begin_free().map_err(|(_, error)| error).expect("free");
        self.wait(|| "the window's end".into(), || free.poll().expect("free").then_some(())).await;
    }

    /// Waits for something that other ranks do without a packet to this one.
    pub async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            *self.call.borrow_mut() = what.to_owned();
            self.compute(Duration::from_micros(10)).await;
        }
    }

    async fn finish(&self, window: &Window, call: String, mut sync: Sync) {
        self.wait(|| call.clone(), || window.poll_sync(&mut sync).expect("a call").then_some(())).await;
    }

    async fn wait<T>(&self, what: impl Fn() -> String, mut ready: impl FnMut() -> Option<T>) -> T {
        *self.call.borrow_mut() = what();
        poll_fn(|_| ready().map_or(Poll::Pending, Poll::Ready)).await
    }
}

struct Script<'a> {
    rank: ScriptRank,
    program: Pin<Box<dyn Future<Output = ()> + 'a>>,
    quiet: u32,
}

impl Actor for Script<'_> {
    fn step(&mut self, _: &mut Context<'_>) -> Step {
        let moved = self.rank.engine.poll();
        let before = self.rank.call.borrow().clone();
        let outcome = self.program.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop()));
        if let Err(broken) = self.rank.engine.check_invariants() {
            panic!("rank {} in {}: {broken}", self.rank.me, self.rank.call.borrow());
        }
        if outcome.is_ready() {
            return Step::Done;
        }
        let call = self.rank.call.borrow();
        self.quiet = if moved || *call != before { 0 } else { self.quiet + 1 };
        if self.quiet < QUIET_POLLS {
            return Step::Again;
        }
        let until = [self.rank.away.get(), self.rank.engine.due()].into_iter().flatten().min();
        match until {
            Some(until) => Step::WaitUntil(until, call.clone().into()),
            None => Step::Wait(call.clone().into()),
        }
    }
}

/// Runs a program on every rank in virtual time; panics when it does not end, and says what each rank waits
/// for.
pub fn play<'a, P: Future<Output = ()> + 'a>(setup: &Setup, seed: u64, program: impl Fn(ScriptRank) -> P) {
    let mut world = SimWorld::new(setup.ranks, setup.sim.clone(), Latency::default(), seed);
    for me in 0..setup.ranks {
        let host = Arc::new(world.net().host(Peer(me)));
        let channel = Box::new(world.net().channel(Peer(me)));
        let shared_host = Arc::clone(&host) as Arc<dyn Host>;
        let engine = Engine::new(setup.engine.clone(), channel, shared_host, Box::new(NoUpper));
        let engine = engine.expect("engine");
        let rank =
            ScriptRank { me, size: setup.ranks, engine, host, away: Rc::default(), call: Rc::default() };
        world.spawn(Peer(me), Script { rank: rank.clone(), program: Box::pin(program(rank)), quiet: 0 });
    }
    world.run(MOST_STEPS).unwrap_or_else(|stuck| panic!("{setup:?}: {stuck}"));
}
