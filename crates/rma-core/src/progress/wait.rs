//! The one place that waits.
//!
//! A wait is a loop: step the engine, test the caller's own predicate, and when nothing moves for a while,
//! sleep. One waiter at a time holds the poller; the others sleep on a condition variable and look again
//! whenever a step of any thread moved something. A state change by one thread that another thread waits for
//! is therefore never missed:
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
//! A spinning wait yields now and then, and before it sleeps a few times in a row, and looks after each: what
//! it waits for may need this very core, and a sleep with its wake-up costs more than some yields. Where
//! ranks outnumber cores, and where yields have shown that it does ([`Sharing`]), a wait does not spin, and
//! yields first as soon as it has sent what was begun. When yields are of no use it sleeps at once
//! ([`YieldHistory`]).
//!
//! The channel's promise to wake the poller (clause C6) ends with its next poll by any thread. So a thread
//! that steps the engine while another one sleeps in the poller renews it before it unlocks the engine.

use super::agent::AgentState;
use super::lock::Locked;
use super::reports::{Inquiries, Reports};
use super::step::Core;
use super::times::WaitTimes;
use crate::channel::Armed;
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Host};
use crate::poller::{Poller, Registrar};
use crate::strategy::{
    AdaptiveSpin, Counted, Next, Observed, Paced, Sharing, YieldHistory, Yielded, begins_with_yield, rest,
};
use crate::trace::Observation;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// What an engine had done when a look at it began; see [`Engine::news`](crate::Engine::news).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News(pub u64);

/// The sleeping threads, and how they are woken.
pub(crate) struct Waiting {
    /// Its holder waits in the poller: the waiter token.
    pub(super) poller: Mutex<Poller>,
    registrar: Registrar,
    pub(super) in_poller: AtomicU32,
    idle: Mutex<()>,
    look_again: Condvar,
    sleeping_idle: AtomicU32,
    generation: AtomicU64,
    pub(crate) yield_history: YieldHistory,
    /// Whether what this process waits for needs its core.
    pub(super) sharing: Sharing,
    adaptive_spin: AdaptiveSpin,
    pub(crate) inquiries: Inquiries,
    pub(crate) times: WaitTimes,
    /// The thread that drives the engine while the application is away, if there is one.
    pub(crate) agent: AgentState,
}

/// How long a wait polls before it sleeps, and when it reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) spin: Duration,
    /// Yields between spinning and sleeping.
    pub(crate) yields: u64,
    /// Zero is never.
    pub(crate) report: Duration,
}

/// Steps after which a wait that always moves something looks at the clock: often enough for reports in seconds.
const LOOK_EVERY: u32 = 1024;

/// Looks at the channel's memory between two steps of a wait that spins: a packet is seen sooner than by
/// steps alone, and other threads wait for the engine's lock no longer than for a step that moves something.
const LOOKS_BETWEEN_STEPS: Counted = Counted::new(0, 8, 0);

/// What a wait works on.
pub(crate) struct Wait<'a> {
    pub(crate) core: &'a Locked,
    pub(crate) waiting: &'a Waiting,
    pub(crate) host: &'a dyn Host,
    pub(crate) patience: Patience,
    pub(crate) observation: &'a Observation,
    pub(crate) call: &'static str,
    /// Whether only packets, and threads of this process that step the engine, can bring what is waited for.
    pub(crate) is_for_packets: bool,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        let (poller, registrar) = Poller::new();
        Self {
            poller: Mutex::new(poller),
            registrar,
            in_poller: AtomicU32::new(0),
            idle: Mutex::new(()),
            look_again: Condvar::new(),
            sleeping_idle: AtomicU32::new(0),
            generation: AtomicU64::new(0),
            yield_history: YieldHistory::default(),
            sharing: Sharing::new(),
            adaptive_spin: AdaptiveSpin::default(),
            inquiries: Inquiries::default(),
            times: WaitTimes::default(),
            agent: AgentState::new(),
        }
    }

    pub(crate) fn registrar(&self) -> &Registrar {
        &self.registrar
    }

    /// After a step, still under the engine's lock: no sleeper of this process misses what the step moved, or what comes next.
    pub(crate) fn on_stepped(&self, core: &mut Core, moved: bool) {
        // A thread that is about to sleep in the poller counts itself under the engine's lock, after arming
        // the channel. The step has polled the channel, so that promise is over.
        self.on_entered();
        let is_watched = || self.in_poller.load(SeqCst) > 0 || self.registrar.external().has_sleepers();
        if moved || (is_watched() && core.channel.arm() == Armed::Busy) {
            self.on_moved();
        }
    }

    /// The application has come to wait, and has made no step yet: as [`Waiting::on_stepped`] for the agent.
    #[inline]
    pub(crate) fn on_entered(&self) {
        if self.agent.on_step() {
            self.registrar.wake_poller();
        }
    }

    /// What waiters compare to find out whether anything has moved.
    pub(crate) fn news(&self) -> News {
        // Both only grow, so neither hides what the other says.
        News(self.generation.load(SeqCst).wrapping_add(self.registrar.wakes()))
    }

    /// Yields and lets go of the engine for it, and says how long that was.
    fn yield_core(&self, mut core: MutexGuard<'_, Core>, host: &dyn Host, given: Duration) -> Yielded {
        core.state.counters.on_turns_given(1);
        drop(core);
        self.yield_history.yield_measured(host, given, self.sharing.count_yield())
    }

    /// Yields that no step has counted.
    pub(crate) fn uncounted_yields(&self) -> u64 {
        self.yield_history.uncounted()
    }

    /// The poller is free: another thread must take it, or the channels would not be watched. Sleepers
    /// outside watch them still, and are not woken.
    pub(super) fn pass_on(&self) {
        self.generation.fetch_add(1, SeqCst);
        self.notify_idle();
    }

    fn notify_idle(&self) {
        if self.sleeping_idle.load(SeqCst) > 0 {
            let _guard = self.idle.lock();
            self.look_again.notify_all();
        }
    }

    /// Makes every sleeper of this process look again.
    pub(crate) fn on_moved(&self) {
        // SYNC POINT W1: the generation changes before the sleepers are counted; they count themselves before they compare
        // the generation.
        self.generation.fetch_add(1, SeqCst);
        if self.in_poller.load(SeqCst) > 0 {
            self.registrar.wake_poller();
        }
        if self.registrar.external().has_sleepers() {
            self.registrar.external().wake();
        }
        self.notify_idle();
    }
}

impl Wait<'_> {
    /// Drives the engine until `ready` has a value. `describe` says what is waited for, when it takes long.
    pub(crate) fn until<T>(
        &self,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let keeps = self.waiting.times.are_kept();
        if keeps { self.until_with_time(describe, ready) } else { self.go_on(describe, ready) }
    }

    /// [`Wait::until`] without its time.
    pub(super) fn go_on<T>(
        &self,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut span = None;
        let ready = &mut |core: &mut Core| {
            let value = ready(core)?;
            if value.is_none() && self.observation.is_on() && span.is_none() {
                span = Some(self.observation.wait(self.call, &describe(core).text));
            }
            Ok(value)
        };
        let parts = self.waiting.sharing.parts(self.patience.spin);
        if parts || !self.yields_at_once() {
            return self.go_on_until(None, parts, describe, ready);
        }
        let (value, yielded) = self.send_and_yield(ready)?;
        value.map_or_else(|| self.go_on_until(yielded, false, describe, ready), Ok)
    }

    /// The loop of all waits, behind a yield, or none, and without yields if it [parts](Sharing::parts).
    fn go_on_until<T>(
        &self,
        mut yielded: Option<Yielded>,
        parts: bool,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let mut strategy = Paced::new(self.patience.spin, self.patience.yields);
        let mut reports = Reports::new(&self.waiting.inquiries, self.patience.report);
        // The engine, kept locked from a look that has found it idle and a packet there to the step that takes that; and the last sleep.
        let (mut held, mut slept, mut rounds) = (None, None, 0u32);
        let mut looks = self.may_look();
        loop {
            if let Some(value) = self.spin(std::mem::take(&mut looks), ready)? {
                return Ok(value);
            }
            let seen = self.waiting.news();
            let was_held = held.is_some();
            let (mut core, moved) = self.step(held.take());
            self.learn(yielded.take(), slept.take(), moved, strategy.was_idle());
            if let Some(value) = self.test(&mut core, strategy.looks_again(), ready)? {
                return Ok(value);
            }
            rounds = rounds.wrapping_add(1);
            if moved {
                if rounds.is_multiple_of(LOOK_EVERY) {
                    reports.look(self, &core, self.host.now(), describe);
                }
                strategy.on_moved();
                looks = self.may_look();
                continue;
            }
            let now = self.host.now();
            let next = strategy.observe(Observed {
                now,
                spin: self.waiting.adaptive_spin.spin(self.patience.spin),
                is_shared: self.waiting.sharing.is_likely(),
                avoids_yields: parts || self.waiting.yield_history.avoids_yields(now),
                is_due: core.is_due(),
            });
            match next {
                Next::Yield => {
                    yielded = Some(self.waiting.yield_core(core, self.host, now));
                    continue;
                }
                Next::Spin => {
                    held = self.look(core, was_held);
                    continue;
                }
                Next::Look | Next::Sleep => {}
            }
            if core.state.has_left {
                let cause = "this process has ended its part in the job, and nothing comes any more";
                return Err(Error::new(ErrorClass::Other, self.call, cause));
            }
            let until_report = reports.look(self, &core, now, describe);
            if next == Next::Look || core.upper.before_sleep() {
                continue;
            }
            core.state.counters.on_sleeps(1);
            self.waiting.sharing.on_elsewhere();
            self.observation.sleep();
            let until_due = core.state.look_at.map(|at| at.saturating_sub(now));
            self.sleep(core, seen, [until_report, until_due].into_iter().flatten().min());
            slept = Some(self.host.now().saturating_sub(now));
            strategy.on_slept();
        }
    }

    /// A step, of the engine that is held because there is a packet, or of any; says whether it has moved anything.
    fn step<'c>(&'c self, held: Option<MutexGuard<'c, Core>>) -> (MutexGuard<'c, Core>, bool) {
        let was_held = held.is_some();
        let mut core = held.unwrap_or_else(|| self.core.lock());
        let moved = if was_held { core.step_for_packet(self.host) } else { core.step(self.host) };
        self.waiting.on_stepped(&mut core, moved);
        (core, moved)
    }

    /// Learns from a step what the yield or the sleep before it was worth; `was_idle` as for [`Sharing::on_step`].
    fn learn(&self, yielded: Option<Yielded>, slept: Option<Duration>, moved: bool, was_idle: bool) {
        self.waiting.sharing.on_step(yielded, moved, was_idle);
        if let Some(slept) = slept {
            self.waiting.adaptive_spin.on_woken(slept, moved);
        }
    }

    /// Whether the wait begins with a yield: where waits do not spin but yield.
    fn yields_at_once(&self) -> bool {
        begins_with_yield(self.patience.spin, self.patience.yields, self.waiting.sharing.is_likely())
    }

    /// Sends what was begun, and yields if that was all there was to do: a poll before would be a system call
    /// that finds no answer yet. Says how long the yield was, if there was one.
    fn send_and_yield<T>(
        &self,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<(Option<T>, Option<Yielded>)> {
        let mut core = self.core.lock();
        let mut moved = core.step_to_send(self.host);
        if core.channel.keeps_packets() {
            // What was put into the channel leaves before the yield, not behind it.
            moved |= core.flush();
        }
        self.waiting.on_stepped(&mut core, moved);
        if let Some(value) = self.test(&mut core, true, ready)? {
            // A wait that is over serves the others all the same.
            let moved = core.step_for_packet(self.host);
            self.waiting.on_stepped(&mut core, moved);
            return Ok((Some(value), None));
        }
        if !core.is_idle() {
            return Ok((None, None));
        }
        let now = self.host.now();
        if self.waiting.yield_history.avoids_yields(now) {
            return Ok((None, None));
        }
        Ok((None, Some(self.waiting.yield_core(core, self.host, now))))
    }

    /// Spins until the channel's memory shows something, or it is time for a step. Keeps the engine locked
    /// for a packet that it has found, but not twice in a row, for other threads want the engine too, and not
    /// at the first look: a channel that does not know is never quiet. Only a wait for packets looks here: any
    /// other tests what it waits for with each step.
    fn look<'c>(&self, core: MutexGuard<'c, Core>, was_held: bool) -> Option<MutexGuard<'c, Core>> {
        if self.is_for_packets && core.is_idle() {
            let mut looks = 0;
            let found = LOOKS_BETWEEN_STEPS.look_for(|| {
                looks += 1;
                (!core.channel.is_quiet()).then_some(())
            });
            if found.is_some() {
                return (looks > 1 && !was_held).then_some(core);
            }
        }
        drop(core);
        rest(Next::Spin);
        None
    }

    fn sleep(&self, mut core: MutexGuard<'_, Core>, seen: News, limit: Option<Duration>) {
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
        self.waiting.pass_on();
    }

    fn has_news(&self, seen: News) -> bool {
        self.waiting.news() != seen
    }
}
