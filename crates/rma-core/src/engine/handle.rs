//! The engine as an object: made from a configuration, a channel, a host and the protocol above; many live in one process.

use super::ExternalWait;
use crate::channel::{Channel, Closing};
use crate::config::EngineConfig;
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Host};
use crate::poller::WakeHandle;
use crate::progress::{Agent, Core, Locked, News, Patience, Upper, Wait, Waiting};
use crate::state::{State, Windows};
use crate::stats::{Counters, ElementCounts};
use crate::strategy::{Next, PollThrottle, rest};
use crate::trace::{Observation, Observer};
use parking_lot::MutexGuard;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// One process's one-sided communication engine. Clones name the same engine; any thread may call any method.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

/// Names an engine without keeping it.
#[derive(Clone)]
pub(crate) struct WeakEngine(Weak<Inner>);

struct Inner {
    core: Locked,
    waiting: Waiting,
    host: Arc<dyn Host>,
    config: EngineConfig,
    observation: Observation,
    /// How long a wait spins, and when it reports: those of the configuration until they are changed.
    spin_us: AtomicU64,
    wait_report_s: AtomicU64,
    /// See [`Engine::promise_one_caller`].
    has_one_caller: AtomicBool,
    /// For [`Engine::poll_throttled`]. Lost counts do not matter.
    poll_throttle: PollThrottle,
}

/// Calls that send or receive without waiting, of which one looks whether a poll would find anything: a
/// process that makes many of them serves its peers within a microsecond, and a poll costs more than they do.
/// Where no wait spins, because ranks outnumber cores, that one polls, and so yields.
const SHORT_CALLS_OF_A_LOOK: u32 = 8;
/// Such calls of which one polls in any case, for what only a poll finds.
const SHORT_CALLS_OF_A_POLL: u32 = 64;

impl Engine {
    /// Makes an engine that sends and receives on `channel`.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when this system refuses the channel's registration with the poller.
    pub fn new(
        config: EngineConfig,
        channel: Box<dyn Channel>,
        host: Arc<dyn Host>,
        upper: Box<dyn Upper>,
    ) -> Result<Self> {
        Self::with_observer(config, channel, host, upper, None)
    }

    /// [`Engine::new`] with an observer of calls, epochs and waits, which for packets wraps `channel`
    /// ([`ObservedPackets`](crate::trace::ObservedPackets)).
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_observer(
        config: EngineConfig,
        mut channel: Box<dyn Channel>,
        host: Arc<dyn Host>,
        upper: Box<dyn Upper>,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Self> {
        let refused = |error: std::io::Error| {
            // EMFILE and ENFILE.
            let limit = match error.raw_os_error() {
                Some(23 | 24) => ": the limit of open files is reached (RLIMIT_NOFILE, ulimit -n)",
                _ => "",
            };
            Error::new(ErrorClass::Other, "init", format!("the poller cannot be set up: {error}{limit}"))
        };
        let waiting = Waiting::new();
        channel.register(waiting.registrar()).map_err(refused)?;
        let core = Locked::new(Core {
            channel,
            upper,
            state: State::new(config.clone(), Arc::clone(&host)),
            windows: Windows::new(config.windows as usize),
        });
        let spin_us = AtomicU64::new(config.spin_us);
        let wait_report_s = AtomicU64::new(config.wait_report_s);
        let observation = Observation::new(observer);
        let (has_one_caller, poll_throttle) = (AtomicBool::new(false), PollThrottle::default());
        let inner = Inner {
            core,
            waiting,
            host,
            config,
            observation,
            spin_us,
            wait_report_s,
            has_one_caller,
            poll_throttle,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Promises that from now on one thread at a time calls this engine and what belongs to it, each after
    /// the one before as up to `MPI_THREAD_SERIALIZED` (MPI 5.0 §11.6.1). Locks of windows made afterwards
    /// cost less. The engine's own threads do not count. Where the promise is broken, locks may be found held
    /// without a holder, or the other way round.
    pub fn promise_one_caller(&self) {
        self.0.has_one_caller.store(true, Relaxed);
    }

    /// Whether that was promised: then no other thread waits in a call while one calls.
    pub fn has_one_caller(&self) -> bool {
        self.0.has_one_caller.load(Relaxed)
    }

    /// One bounded step that never blocks: receives, sends, issues, answers. Says whether anything moved.
    ///
    /// Repeated polls in vain, in an engine that does not spin, yield now and then. A poll cannot sleep as a
    /// wait can, so neither `RMA_YIELDS` nor a yield to a process that computes prevents that: a loop of
    /// polls would hold the core of the process that it waits for until the system takes it away.
    pub fn poll(&self) -> bool {
        let core = self.0.core.lock();
        self.poll_and_yield(core, &|| true)
    }

    /// [`Engine::poll`] that does not yield unless `may_yield` allows it.
    fn poll_and_yield(&self, mut core: MutexGuard<'_, Core>, may_yield: &dyn Fn() -> bool) -> bool {
        let moved = core.step(&*self.0.host);
        self.0.waiting.on_stepped(&mut core, moved);
        if self.0.poll_throttle.on_poll(moved) && self.0.spin_us.load(Relaxed) == 0 && may_yield() {
            core.state.counters.on_turns_given(1);
            drop(core);
            rest(Next::Yield);
        }
        moved
    }

    /// Lets `send` put small packets into the channel, and sends them, without a step: the fast path of a
    /// protocol above, for packets that need not wait for others. `false` when `send` answers so, when a step
    /// is due or when tracing is on: then nothing was sent, and the packet goes the slow path.
    pub fn send_fast(&self, send: &mut dyn FnMut(&mut dyn Channel) -> bool) -> bool {
        if self.0.observation.is_on() {
            return false;
        }
        self.poll_in_short_calls();
        let mut core = self.0.core.lock();
        if !send(&mut *core.channel) {
            return false;
        }
        if !core.channel.keeps_packets() {
            self.0.waiting.on_entered();
        } else {
            let moved = core.flush();
            self.0.waiting.on_stepped(&mut core, moved);
        }
        true
    }

    /// Whether tracing of this engine is on: then calls take the slow path, which is observed.
    pub fn is_observed(&self) -> bool {
        self.0.observation.is_on()
    }

    /// Makes every waiting thread look again, after a change without a step.
    pub fn wake_waiters(&self) {
        self.0.waiting.on_moved();
    }

    /// Looks in one of a few calls that send or receive without waiting, and polls if there is something: a
    /// process that makes no other calls serves its peers too.
    pub fn poll_in_short_calls(&self) {
        let short = self.0.poll_throttle.on_short_call(SHORT_CALLS_OF_A_POLL);
        let is_due = short == SHORT_CALLS_OF_A_POLL || self.0.spin_us.load(Relaxed) == 0;
        if short.is_multiple_of(SHORT_CALLS_OF_A_LOOK) && (is_due || !self.is_quiet()) {
            self.poll();
        }
    }

    /// Whether a step would find nothing, by loads of memory alone.
    fn is_quiet(&self) -> bool {
        self.with(|core| core.is_idle() && core.channel.is_quiet())
    }

    /// Polls once in so many calls that need no packet, so that a loop of them serves this process's peers.
    /// While there is something for the engine to do, besides writing what lies in the channel, each call
    /// polls; the longer there is nothing, the fewer do, up to the setting. So a process that takes its own
    /// lock in a loop is not far ahead of origins that ask for it by packets.
    #[inline]
    pub fn poll_throttled(&self) {
        if !self.pass_poll() {
            self.poll_due(&|| true);
        }
    }

    /// Drives the engine until `ready` gives a value, sleeping when there is nothing to do. `describe` says what is waited
    /// for when it takes long. `ready` runs under the engine's lock and must not call the engine.
    ///
    /// # Errors
    /// Whatever `ready` answers.
    pub fn wait_until<T, W: Into<Awaited>>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> W,
        ready: &mut dyn FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let describe = |core: &Core| self.waits(core).of_operations(describe().into());
        self.wait_for(call, true, &describe, &mut |_| ready())
    }

    /// Wakes this engine's sleepers from another thread, for hosts whose collectives end elsewhere.
    pub fn wake_handle(&self) -> WakeHandle {
        self.0.waiting.registrar().wake_handle()
    }

    /// What has moved so far, for [`Engine::arm`]. Taken before the step and the look that precede a sleep.
    pub fn news(&self) -> News {
        self.0.waiting.news()
    }

    /// Prepares to sleep elsewhere than in the engine; `None` when there is something to do, or something has moved since
    /// `seen`. For a library with a progress loop of its own:
    ///
    /// 1. [`Engine::news`], [`Engine::poll`], and a look at what is waited for;
    /// 2. arm; at `None` begin again;
    /// 3. a last look at the library's own events, and a sleep until one of them or [`Engine::wait_descriptor`] is ready;
    /// 4. drop the [`ExternalWait`], and begin again.
    ///
    /// Between arming and the sleep no other method of the engine or a window is called: what it begins would lie until
    /// something else wakes the sleeper.
    pub fn arm(&self, seen: News) -> Option<ExternalWait> {
        ExternalWait::begin(self, &self.0.waiting, &mut self.0.core.lock(), seen)
    }

    /// When something is to be tried again without an arrival, on the clock of the host: for a scheduler of
    /// simulated processes. Waits of the engine see to it by themselves, and [`Engine::arm`] answers `None`
    /// until then.
    pub fn due(&self) -> Option<Duration> {
        self.with(|core| core.state.look_at)
    }

    /// Readable, while an [`ExternalWait`] lives, as soon as a step has something to do or a [`WakeHandle`] was used. Not to be read,
    /// closed or added to.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when the process cannot have the descriptors of a sleeper, which the first call makes.
    pub fn wait_descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.0.waiting.registrar().descriptor().map_err(|error| {
            Error::new(ErrorClass::Other, "wait_descriptor", format!("no descriptor to sleep on: {error}"))
        })
    }

    /// Drives the engine while the application is away from the library, until [`Engine::end_agent`]; for one
    /// thread of its own. The application counts as away after one or two `tick`s.
    pub fn run_agent(&self, tick: Duration) {
        let Inner { core, waiting, host, .. } = &*self.0;
        Agent { core, waiting, host: &**host, tick }.run();
    }

    /// Makes [`Engine::run_agent`] return.
    pub fn end_agent(&self) {
        self.0.waiting.agent.end();
        self.wake_handle().wake();
    }

    /// What the engine has done so far, for all windows together.
    pub fn counters(&self) -> Counters {
        let core = self.0.core.lock();
        let mut all = core.state.counters;
        core.windows.iter().for_each(|window| all.add(&window.all_counters()));
        drop(core);
        all.on_turns_given(self.0.waiting.uncounted_yields());
        all
    }

    /// Elements of all windows.
    pub fn elements(&self) -> ElementCounts {
        let pools = &self.0.core.lock().state.pools;
        let (ops, targets) = (pools.ops.stats(), pools.targets.stats());
        ElementCounts {
            ops: ops.in_use,
            most_ops: ops.high_water,
            targets: targets.in_use,
            most_targets: targets.high_water,
        }
    }

    /// One-sided packets sent so far, by the name of the channel that carried them.
    pub fn packets_by_channel(&self) -> Vec<(&'static str, u64)> {
        self.0.core.lock().state.by_channel.to_vec()
    }

    /// Memory in use by the channel.
    pub fn channel_usage(&self) -> crate::channel::Usage {
        self.0.core.lock().channel.usage()
    }

    /// The configuration that the engine was made with.
    pub fn config(&self) -> &EngineConfig {
        &self.0.config
    }

    /// How long a wait spins, in microseconds, and after how many seconds it reports what it waits for: what
    /// [`EngineConfig::spin_us`] and [`EngineConfig::wait_report_s`] are now.
    pub fn patience(&self) -> (u64, u64) {
        (self.0.spin_us.load(Relaxed), self.0.wait_report_s.load(Relaxed))
    }

    /// Changes what [`Engine::patience`] answers, for waits that begin from now on.
    pub fn set_patience(&self, spin_us: u64, wait_report_s: u64) {
        self.0.spin_us.store(spin_us, Relaxed);
        self.0.wait_report_s.store(wait_report_s, Relaxed);
    }

    /// Recomputes every count of the engine from its lists; for tests, which call it between steps.
    ///
    /// # Errors
    /// A sentence about the first that is wrong.
    #[doc(hidden)]
    pub fn check_invariants(&self) -> Result<(), String> {
        self.with(|core| core.state.invariants(&core.windows))
    }

    /// Number of windows that have not been freed.
    pub fn live_windows(&self) -> usize {
        self.with(|core| core.windows.iter().filter(|window| !window.has_left()).count())
    }

    /// Number of windows that this process has freed and others may still use; for tests.
    #[doc(hidden)]
    pub fn ghost_windows(&self) -> usize {
        self.with(|core| core.windows.iter().filter(|window| window.has_left()).count())
    }

    /// Sends what is queued, says goodbye to all peers and closes the channel. Windows must have been freed; collective in
    /// the sense that peers must not need this process any more.
    ///
    /// # Errors
    /// None now; the result is part of the signature because closing may come to need the host.
    pub fn close(&self) -> Result<()> {
        self.wait("finalize", &|_| "goodbye to all peers".into(), &mut |core| {
            Ok((core.channel.close() == Closing::Closed).then_some(()))
        })
    }

    /// The steps of [`Engine::close`]: answers whether the channel is closed. Call it until it is, and poll in between.
    pub fn poll_close(&self) -> bool {
        self.with(|core| core.channel.close() == Closing::Closed)
    }

    /// Names the engine without keeping it.
    pub(crate) fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// Puts another channel in the place of one that is closed, which goes with its sockets and its memory.
    /// For processes that live on after their part in a job: the engine itself may be kept for ever by
    /// readers of its counters. A wait that something would have to come for is an error from now on.
    pub fn replace_channel(&self, channel: Box<dyn Channel>) {
        let closed = self.with(|core| {
            core.state.has_left = true;
            std::mem::replace(&mut core.channel, channel)
        });
        self.0.waiting.on_moved();
        drop(closed);
    }

    pub(crate) fn waiting(&self) -> &Waiting {
        &self.0.waiting
    }

    /// Waits on the engine's own state.
    pub(crate) fn wait<T>(
        &self,
        call: &'static str,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait_for(call, false, describe, ready)
    }

    /// As [`Engine::wait`]; says whether what is waited for comes in packets alone.
    pub(crate) fn wait_for<T>(
        &self,
        call: &'static str,
        is_for_packets: bool,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let (spin_us, wait_report_s) = self.patience();
        let Inner { core, waiting, host, config, observation, .. } = &*self.0;
        let spin = Duration::from_micros(spin_us);
        let patience = Patience { spin, yields: config.yields, report: Duration::from_secs(wait_report_s) };
        let over = Wait { core, waiting, host: &**host, patience, observation, call, is_for_packets }
            .until(describe, ready);
        self.0.poll_throttle.on_waited(config.direct_poll_interval);
        over
    }

    /// Whether a call that needs no packet may go by without a poll; it is counted then.
    #[inline]
    pub fn pass_poll(&self) -> bool {
        self.0.poll_throttle.pass()
    }

    /// Lets one more call go by without a poll: what has been done needs none, and brings its own when there is more of it.
    pub(crate) fn spare_poll(&self) {
        self.0.poll_throttle.spare(self.0.config.direct_poll_interval);
    }

    /// The poll of [`Engine::poll_throttled`], which does not yield unless `may_yield` allows it.
    #[cold]
    pub(crate) fn poll_due(&self, may_yield: &dyn Fn() -> bool) {
        let mut core = self.0.core.lock();
        // What has only waited to be written needs no other poll soon, so that what is sent next can leave together.
        if core.channel.keeps_packets() && core.flush() {
            self.0.waiting.on_moved();
        }
        let moved = self.poll_and_yield(core, may_yield);
        let most = u32::try_from(self.0.config.direct_poll_interval).unwrap_or(u32::MAX);
        self.0.poll_throttle.put_off(moved, most);
    }

    /// When calls that need no packet poll next.
    pub(crate) fn poll_throttle(&self) -> &PollThrottle {
        &self.0.poll_throttle
    }

    /// Works on the engine's state under its lock, without waiting.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.0.core.lock();
        let value = work(&mut core);
        if std::mem::take(&mut core.state.must_notify) {
            self.0.waiting.on_moved();
        }
        value
    }

    /// [`Engine::with`] that sends what the work has put into the channel, without a step.
    pub(crate) fn with_sending<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        self.with(|core| {
            let value = work(core);
            if core.channel.keeps_packets() {
                let moved = core.flush();
                self.0.waiting.on_stepped(core, moved);
            } else {
                self.0.waiting.on_entered();
            }
            value
        })
    }

    /// The engine's lock, if it is free by the time `limit`.
    pub(super) fn try_lock_for(&self, limit: Duration) -> Option<MutexGuard<'_, Core>> {
        self.0.core.try_lock_for(limit)
    }

    /// The observer of this engine.
    pub(crate) fn observation(&self) -> &Observation {
        &self.0.observation
    }

    /// A call of the user's that no window makes begins, for traces: the answer is dropped when it ends.
    pub fn trace_call(&self, call: &'static str) -> impl Sized + '_ {
        self.0.observation.call(call, None, None)
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }
}

impl WeakEngine {
    /// The engine, while it lives.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(Engine)
    }
}

impl fmt::Debug for WeakEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakEngine")
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("config", &self.0.config).finish_non_exhaustive()
    }
}
