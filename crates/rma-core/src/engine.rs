//! The engine as an object: made from a configuration, a channel, a host and the protocol above; many live in one process.

use crate::channel::{Channel, Closing};
use crate::config::EngineConfig;
use crate::error::{Error, ErrorClass, Result};
use crate::host::Host;
use crate::progress::{Core, Patience, State, Upper, Wait, Waiting, WakeHandle};
use crate::stats::Counters;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// One process's one-sided communication engine. Clones name the same engine; any thread may call any method.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    core: Mutex<Core>,
    waiting: Waiting,
    host: Arc<dyn Host>,
    config: EngineConfig,
    /// Calls that needed no packet, for [`Engine::poll_now_and_then`]. Lost counts do not matter.
    quiet_calls: AtomicU32,
}

impl Engine {
    /// Makes an engine that sends and receives on `channel`.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` when this system refuses the poller or the channel's registration with it.
    pub fn new(
        config: EngineConfig,
        mut channel: Box<dyn Channel>,
        host: Arc<dyn Host>,
        upper: Box<dyn Upper>,
    ) -> Result<Self> {
        let refused = |error: std::io::Error| {
            Error::new(ErrorClass::Other, "init", format!("the poller cannot be set up: {error}"))
        };
        let waiting = Waiting::new().map_err(refused)?;
        channel.register(waiting.registrar()).map_err(refused)?;
        let core = Mutex::new(Core { channel, upper, state: State::new(config.clone()) });
        Ok(Self(Arc::new(Inner { core, waiting, host, config, quiet_calls: AtomicU32::new(0) })))
    }

    /// One bounded step that never blocks: receives, sends, issues, answers. Says whether anything moved.
    pub fn poll(&self) -> bool {
        let mut core = self.0.core.lock();
        let moved = core.step(&*self.0.host);
        self.0.waiting.on_stepped(&mut core, moved);
        moved
    }

    /// Drives the engine until `ready` gives a value, sleeping when there is nothing to do. `describe` says what is waited
    /// for when it takes long. `ready` runs under the engine's lock and must not call the engine.
    ///
    /// # Errors
    /// Whatever `ready` answers.
    pub fn wait_until<T>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> String,
        ready: &mut dyn FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait(call, describe, &mut |_| ready())
    }

    /// Wakes this engine's sleepers from another thread, for hosts whose collectives end elsewhere.
    pub fn wake_handle(&self) -> WakeHandle {
        self.0.waiting.registrar().wake_handle()
    }

    /// What the engine has done so far.
    pub fn counters(&self) -> Counters {
        self.0.core.lock().state.counters
    }

    /// One-sided packets sent so far, by the name of the channel that carried them.
    pub fn packets_by_channel(&self) -> Vec<(&'static str, u64)> {
        self.0.core.lock().state.by_channel.to_vec()
    }

    /// Memory in use by the channel.
    pub fn channel_usage(&self) -> crate::channel::Usage {
        self.0.core.lock().channel.usage()
    }

    /// The configuration in force.
    pub fn config(&self) -> &EngineConfig {
        &self.0.config
    }

    /// Recomputes every count of the engine from its lists; for tests, which call it between steps.
    ///
    /// # Errors
    /// A sentence about the first that is wrong.
    #[doc(hidden)]
    pub fn check_invariants(&self) -> Result<(), String> {
        self.with(|core| core.state.invariants())
    }

    /// Number of windows that have not been freed.
    pub fn live_windows(&self) -> usize {
        self.with(|core| core.state.windows.len())
    }

    /// Sends what is queued, says goodbye to all peers and closes the channel. Windows must have been freed; collective in
    /// the sense that peers must not need this process any more.
    ///
    /// # Errors
    /// None now; the result is part of the signature because closing may come to need the host.
    pub fn close(&self) -> Result<()> {
        self.wait("finalize", &|| "goodbye to all peers".to_owned(), &mut |core| {
            Ok((core.channel.close() == Closing::Closed).then_some(()))
        })
    }

    /// Waits on the engine's own state.
    pub(crate) fn wait<T>(
        &self,
        call: &'static str,
        describe: &dyn Fn() -> String,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let config = &self.0.config;
        let patience = Patience {
            spin: Duration::from_micros(config.spin_us),
            report: Duration::from_secs(config.wait_report_s),
        };
        let Inner { core, waiting, host, .. } = &*self.0;
        Wait { core, waiting, host: &**host, patience, call }.until(describe, ready)
    }

    /// Polls once in so many calls that need no packet, so that a loop of them serves this process's peers.
    #[inline]
    pub(crate) fn poll_now_and_then(&self) {
        let calls = self.0.quiet_calls.load(Relaxed).wrapping_add(1);
        self.0.quiet_calls.store(calls, Relaxed);
        if u64::from(calls) % self.0.config.direct_poll_interval == 0 {
            self.poll();
        }
    }

    /// Works on the engine's state under its lock, without waiting.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        work(&mut self.0.core.lock())
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("config", &self.0.config).finish_non_exhaustive()
    }
}
