//! The progress agent: a thread that drives the engine while the application is away from the library.
//!
//! It has no deadline to meet while the application is there, and nothing to do: every call that waits, tests or synchronizes
//! drives the engine. So it has three ways to sleep, of which only the first costs anything:
//!
//! ```text
//!                  the application has made a step since the last tick
//!                 ┌─────┐
//!                 │     ▼
//!      start ──▶ Ticking ── no step for a tick, the token is free ──▶ Parked in the poller, serving what comes
//!                  ▲  ▲ │                                              │
//!                  │  └─┼────────── the application makes a step ──────┘ (it rings once)
//!                  │    └─ no step for a tick, somebody sleeps with the token ──▶ Dozing
//!                  └──────────────── that thread wakes (it rings once) ─────────────┘
//! ```
//!
//! * **Ticking**: the application is active. Looks once per tick whether it still is; never takes the engine's lock.
//! * **Parked**: the application computes. The agent holds the waiter token and sleeps in the poller, as a waiting thread would:
//!   a packet wakes it, it steps the engine until nothing moves, and sleeps again.
//! * **Dozing**: a thread of the application waits in the poller itself, and serves what comes.
//!
//! A step of the application finds the agent parked at most once for each time that the application was away, so the wake-up
//! that hands the token over is paid once per absence, which lasts a tick at least. While it counts as parked it also counts as
//! in the poller, under the rules of [`super::wait`]: no wake-up is lost between the two.
//!
//! ```text
//!    the agent                                 a thread that has slept with the token
//!    say that it dozes                         give the token back
//!    token still taken? sleep    (SYNC POINT W3)   somebody dozes? ring
//! ```

use super::poller::Poller;
use super::step::Core;
use super::wait::Waiting;
use crate::channel::Armed;
use crate::host::Host;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// How long the agent sleeps at most while somebody else has the token.
const LONGEST_DOZE: Duration = Duration::from_millis(10);

/// The agent's way of sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Doing {
    Ticking,
    Parked,
    Dozing,
}

/// What the agent and the application's threads know of each other.
#[derive(Debug)]
pub(crate) struct AgentState {
    doing: AtomicU8,
    /// Steps of the application, modulo 2³². Changed under the engine's lock.
    steps: AtomicU32,
    is_over: Mutex<bool>,
    bell: Condvar,
}

/// What the agent works on.
pub(crate) struct Agent<'a> {
    pub(crate) core: &'a Mutex<Core>,
    pub(crate) waiting: &'a Waiting,
    pub(crate) host: &'a dyn Host,
    pub(crate) tick: Duration,
}

impl AgentState {
    pub(crate) fn new() -> Self {
        Self {
            doing: AtomicU8::new(Doing::Ticking as u8),
            steps: AtomicU32::new(0),
            is_over: Mutex::new(false),
            bell: Condvar::new(),
        }
    }

    /// The application has made a step, and holds the engine's lock. Says whether the agent has to be called out of the
    /// poller, once.
    #[inline]
    pub(super) fn on_step(&self) -> bool {
        self.steps.store(self.steps.load(Relaxed).wrapping_add(1), Relaxed);
        // Parked is said and unsaid under the engine's lock, which the caller holds.
        self.doing.load(Relaxed) == Doing::Parked as u8 && {
            self.doing.store(Doing::Ticking as u8, Relaxed);
            true
        }
    }

    /// A thread of the application has given the token back after a sleep.
    pub(super) fn on_woken(&self) {
        // SYNC POINT W3
        if self.doing.load(SeqCst) == Doing::Dozing as u8 {
            let _guard = self.is_over.lock();
            self.doing.store(Doing::Ticking as u8, SeqCst);
            self.bell.notify_one();
        }
    }

    /// Ends the agent, wherever it sleeps but in the poller.
    pub(crate) fn end(&self) {
        *self.is_over.lock() = true;
        self.bell.notify_one();
    }

    fn is_over(&self) -> bool {
        *self.is_over.lock()
    }

    fn is(&self, doing: Doing) -> bool {
        self.doing.load(SeqCst) == doing as u8
    }

    fn set(&self, doing: Doing) {
        self.doing.store(doing as u8, SeqCst);
    }
}

impl Agent<'_> {
    /// The life of the agent's thread, until [`AgentState::end`].
    pub(crate) fn run(&self) {
        let state = &self.waiting.agent;
        let mut seen = state.steps.load(Relaxed);
        loop {
            let mut is_over = state.is_over.lock();
            if !*is_over {
                let _ = state.bell.wait_for(&mut is_over, self.tick);
            }
            if *is_over {
                return;
            }
            drop(is_over);
            let steps = state.steps.load(Relaxed);
            if std::mem::replace(&mut seen, steps) != steps {
                continue;
            }
            match self.waiting.poller.try_lock() {
                Some(poller) => self.serve(poller, seen),
                None => self.doze(),
            }
        }
    }

    /// Sleeps until the thread that sleeps with the token has woken.
    fn doze(&self) {
        let state = &self.waiting.agent;
        let mut is_over = state.is_over.lock();
        state.set(Doing::Dozing);
        // SYNC POINT W3. Not everybody who has the token for a moment sleeps with it and rings the bell afterwards, so the
        // agent looks again now and then.
        while self.waiting.poller.is_locked() && state.is(Doing::Dozing) && !*is_over {
            let _ = state.bell.wait_for(&mut is_over, LONGEST_DOZE);
        }
        state.set(Doing::Ticking);
    }

    /// Drives the engine until the application makes a step, which had made `seen` of them.
    fn serve(&self, mut poller: MutexGuard<'_, Poller>, seen: u32) {
        let state = &self.waiting.agent;
        loop {
            let mut core = self.core.lock();
            if state.steps.load(Relaxed) != seen || state.is_over() {
                break;
            }
            if core.step(self.host) {
                // Other threads may wait for what has moved, by way of the application's own wake-ups.
                self.waiting.on_moved();
                continue;
            }
            if core.channel.arm() == Armed::Busy {
                continue;
            }
            self.waiting.in_poller.fetch_add(1, SeqCst);
            state.set(Doing::Parked);
            drop(core);
            // A poller that fails has nothing to wait on; then the engine is driven tick by tick.
            let slept = poller.sleep(None);
            // Under the engine's lock, so that a step sees the agent parked or does not have to ring it.
            let core = self.core.lock();
            state.set(Doing::Ticking);
            self.waiting.in_poller.fetch_sub(1, SeqCst);
            drop(core);
            if slept.is_err() {
                break;
            }
        }
        drop(poller);
        // The token is free: a thread that wanted it meanwhile must take it.
        self.waiting.pass_on();
    }
}
