//! The progress agent: a thread that drives the engine while the application is away from the library.
//!
//! While the application is there the agent has nothing to do: every call that waits, tests or synchronizes
//! drives the engine. So it looks rarely whether the application is away, and sleeps in the poller only then:
//!
//! ```text
//!                  the application has made a step since the last look, or a thread sleeps with the token
//!                 ┌─────┐
//!                 │     ▼
//!      start ──▶ Ticking ── no step since the last look, the token is free ──▶ Parked in the poller, serving what comes
//!                    ▲                                                           │
//!                    └──────────── the application makes a step (it wakes once) ─┘
//! ```
//!
//! * **Ticking**: the application is active, or waits in the poller itself and serves what comes. Looks once
//!   per tick whether it still does, and never takes the engine's lock. Each look in vain makes the next tick
//!   twice as long, up to [`LONGEST_ACTIVE`] times as long, or [`LONGEST_ASLEEP`] while a thread sleeps with
//!   the token: a program that communicates all the time is left alone, and one that computes between two
//!   phases is served after a tick or two. A look costs tens of microseconds where a timer has to wake a
//!   virtual processor.
//! * **Parked**: the application computes. The agent holds the waiter token and sleeps in the poller, as a waiting thread would:
//!   a packet wakes it, it steps the engine until nothing moves, and sleeps again.
//!
//! A step of the application finds the agent parked at most once per absence, so the wake-up that hands the
//! token over is paid once per absence, which lasts a tick at least. A parked agent also counts as in the
//! poller, under the rules of [`super::wait`]: no wake-up is lost between the two.

use super::lock::Locked;
use super::wait::Waiting;
use crate::channel::Armed;
use crate::host::Host;
use crate::poller::Poller;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// The longest pause between two looks at a program that steps the engine, in ticks.
pub(crate) const LONGEST_ACTIVE: u32 = 16;
/// The same while it sleeps with the token, and serves what comes.
pub(crate) const LONGEST_ASLEEP: u32 = 32;

/// What the agent and the application's threads know of each other.
#[derive(Debug)]
pub(crate) struct AgentState {
    /// Whether the agent sleeps in the poller. Changed under the engine's lock.
    is_parked: AtomicBool,
    /// Steps of the application, modulo 2³². Changed under the engine's lock.
    steps: AtomicU32,
    /// Since when the application seems away, on the host's clock in milliseconds and 1; 0 while it is there.
    away_since: AtomicU64,
    is_over: Mutex<bool>,
    bell: Condvar,
}

/// What the agent works on.
pub(crate) struct Agent<'a> {
    pub(crate) core: &'a Locked,
    pub(crate) waiting: &'a Waiting,
    pub(crate) host: &'a dyn Host,
    pub(crate) tick: Duration,
}

impl AgentState {
    pub(crate) fn new() -> Self {
        Self {
            is_parked: AtomicBool::new(false),
            steps: AtomicU32::new(0),
            away_since: AtomicU64::new(0),
            is_over: Mutex::new(false),
            bell: Condvar::new(),
        }
    }

    /// The application has made a step, and holds the engine's lock. Says whether to call the agent out,
    /// once.
    #[inline]
    pub(super) fn on_step(&self) -> bool {
        self.steps.store(self.steps.load(Relaxed).wrapping_add(1), Relaxed);
        self.is_parked.load(Relaxed) && {
            self.is_parked.store(false, Relaxed);
            true
        }
    }

    /// Ends the agent, wherever it sleeps but in the poller.
    pub(crate) fn end(&self) {
        *self.is_over.lock() = true;
        self.bell.notify_one();
    }

    /// How long the application has been away by `now`, if it is and an agent looks.
    pub(crate) fn away(&self, now: Duration) -> Option<Duration> {
        let since = self.away_since.load(Relaxed).checked_sub(1)?;
        Some(now.saturating_sub(Duration::from_millis(since)))
    }

    fn is_over(&self) -> bool {
        *self.is_over.lock()
    }
}

impl Agent<'_> {
    /// The life of the agent's thread, until [`AgentState::end`].
    pub(crate) fn run(&self) {
        let state = &self.waiting.agent;
        let mut seen = state.steps.load(Relaxed);
        let mut pause = self.tick;
        loop {
            let mut is_over = state.is_over.lock();
            if !*is_over {
                let _ = state.bell.wait_for(&mut is_over, pause);
            }
            if *is_over {
                return;
            }
            drop(is_over);
            let steps = state.steps.load(Relaxed);
            let is_active = std::mem::replace(&mut seen, steps) != steps;
            if is_active {
                state.away_since.store(0, Relaxed);
            } else if state.away_since.load(Relaxed) == 0 {
                let since = self.host.now().saturating_sub(pause).as_millis() as u64;
                state.away_since.store(since + 1, Relaxed);
            }
            let token = if is_active { None } else { self.waiting.poller.try_lock() };
            pause = match token {
                Some(poller) => {
                    self.serve(poller, seen);
                    self.tick
                }
                None => {
                    let longest = if is_active { LONGEST_ACTIVE } else { LONGEST_ASLEEP };
                    (pause * 2).min(self.tick * longest)
                }
            };
        }
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
            if core.upper.before_sleep() || core.channel.arm() == Armed::Busy {
                continue;
            }
            let until_due = core.state.look_at.map(|at| at.saturating_sub(self.host.now()));
            self.waiting.in_poller.fetch_add(1, SeqCst);
            state.is_parked.store(true, Relaxed);
            drop(core);
            // A poller that fails has nothing to wait on; then the engine is driven tick by tick.
            let slept = poller.sleep(until_due);
            // Under the engine's lock, so that a step sees the agent parked or does not have to wake it.
            let core = self.core.lock();
            state.is_parked.store(false, Relaxed);
            self.waiting.in_poller.fetch_sub(1, SeqCst);
            drop(core);
            if slept.is_err() {
                break;
            }
            // It may have been woken by a wake handle, for something that no step moves: others have to look too.
            self.waiting.pass_on();
        }
        drop(poller);
        // The token is free: a thread that wanted it meanwhile must take it.
        self.waiting.pass_on();
    }
}
