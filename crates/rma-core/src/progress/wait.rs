//! The one place that waits.
//!
//! A wait is a loop: step the engine, test the caller's own predicate, and when nothing moves for a while, sleep. One waiter
//! at a time holds the poller; the others sleep on a condition variable and look again whenever anybody's step moved
//! something. A state change by one thread that another thread waits for is therefore never missed:
//!
//! ```text
//!    waiter                                   any other thread
//!    lock engine; predicate false             lock engine
//!    note the generation                      step moves something
//!    unlock engine                            generation + 1      (SYNC POINT W1)
//!    take the poller, or lock `idle`          unlock engine
//!    generation changed? look again           wake the poller's holder, notify all
//!    sleep
//! ```
//!
//! Both wake-ups are sticky: a poller woken before it sleeps does not sleep, and the generation is compared under the lock
//! that the notifier takes.
//!
//! The channel's promise to wake the poller (clause C6) ends with the next poll of the channel, whoever makes it. So a
//! thread that steps the engine while another one sleeps in the poller renews the promise before it lets go of the engine.

use super::poller::{Poller, Registrar};
use super::step::Core;
use crate::channel::Armed;
use crate::error::Result;
use crate::host::Host;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Who sleeps, and how they are woken.
pub(crate) struct Waiting {
    /// Whoever holds it waits in the poller: the waiter token.
    poller: Mutex<Poller>,
    registrar: Registrar,
    in_poller: AtomicU32,
    idle: Mutex<()>,
    look_again: Condvar,
    sleeping_idle: AtomicU32,
    generation: AtomicU64,
}

/// How long a wait polls before it sleeps, and when it reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) spin: Duration,
    /// Zero is never.
    pub(crate) report: Duration,
}

/// What a wait works on.
pub(crate) struct Wait<'a> {
    pub(crate) core: &'a Mutex<Core>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) host: &'a dyn Host,
    pub(crate) patience: Patience,
    pub(crate) call: &'static str,
}

impl Waiting {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (poller, registrar) = Poller::new()?;
        Ok(Self {
            poller: Mutex::new(poller),
            registrar,
            in_poller: AtomicU32::new(0),
            idle: Mutex::new(()),
            look_again: Condvar::new(),
            sleeping_idle: AtomicU32::new(0),
            generation: AtomicU64::new(0),
        })
    }

    pub(crate) fn registrar(&self) -> &Registrar {
        &self.registrar
    }

    /// After a step, still under the engine's lock: no sleeper of this process misses what the step moved, or what comes next.
    pub(crate) fn on_stepped(&self, core: &mut Core, moved: bool) {
        // Whoever is about to sleep in the poller counts itself under the engine's lock, after arming the channel. The step
        // has polled the channel, so that promise is over.
        if moved || (self.in_poller.load(SeqCst) > 0 && core.channel.arm() == Armed::Busy) {
            self.on_moved();
        }
    }

    /// Makes every sleeper of this process look again.
    fn on_moved(&self) {
        // SYNC POINT W1: the generation changes before the sleepers are counted; they count themselves before they compare
        // the generation.
        self.generation.fetch_add(1, SeqCst);
        if self.in_poller.load(SeqCst) > 0 {
            self.registrar.wake_handle().wake();
        }
        if self.sleeping_idle.load(SeqCst) > 0 {
            let _guard = self.idle.lock();
            self.look_again.notify_all();
        }
    }
}

impl Wait<'_> {
    /// Drives the engine until `ready` has a value. `describe` says what is waited for, when it takes long.
    pub(crate) fn until<T>(
        &self,
        describe: &dyn Fn() -> String,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut idle_since = None;
        let mut report_at =
            Some(self.patience.report).filter(|after| !after.is_zero()).map(|after| self.host.now() + after);
        loop {
            let seen = self.waiting.generation.load(SeqCst);
            let mut core = self.core.lock();
            let moved = core.step(self.host);
            self.waiting.on_stepped(&mut core, moved);
            if let Some(value) = ready(&mut core)? {
                return Ok(value);
            }
            if moved {
                idle_since = None;
                continue;
            }
            let now = self.host.now();
            if now < *idle_since.get_or_insert(now) + self.patience.spin {
                drop(core);
                std::hint::spin_loop();
                continue;
            }
            if report_at.is_some_and(|at| now >= at) {
                report_at = None;
                tracing::warn!(call = self.call, waits_for = describe(), "still waiting");
                eprintln!("rma: {} has waited for {:?}: {}", self.call, self.patience.report, describe());
            }
            // What `ready` began in this round has not been sent yet: a wait sleeps only after a round without news.
            if core.is_due() {
                continue;
            }
            core.state.counters.on_sleeps(1);
            self.sleep(core, seen, report_at.map(|at| at.saturating_sub(now)));
            idle_since = None;
        }
    }

    fn sleep(&self, mut core: parking_lot::MutexGuard<'_, Core>, seen: u64, limit: Option<Duration>) {
        let Some(mut poller) = self.waiting.poller.try_lock() else {
            drop(core);
            self.waiting.sleeping_idle.fetch_add(1, SeqCst);
            let mut idle = self.waiting.idle.lock();
            // The holder of the poller may have left between the attempt above and here; it notifies when it leaves.
            if !self.has_news(seen) {
                let most = limit.unwrap_or(Duration::from_secs(3600));
                let _ = self.waiting.look_again.wait_for(&mut idle, most);
            }
            drop(idle);
            self.waiting.sleeping_idle.fetch_sub(1, SeqCst);
            return;
        };
        if core.channel.arm() == Armed::Busy {
            return;
        }
        self.waiting.in_poller.fetch_add(1, SeqCst);
        drop(core);
        if !self.has_news(seen) {
            // A poller that fails has nothing to wait on; the loop goes on polling.
            let _ = poller.sleep(limit);
        }
        self.waiting.in_poller.fetch_sub(1, SeqCst);
        drop(poller);
        // The token is free: somebody else must take it, or nobody would watch the channels.
        self.waiting.on_moved();
    }

    fn has_news(&self, seen: u64) -> bool {
        self.waiting.generation.load(SeqCst) != seen
    }
}
