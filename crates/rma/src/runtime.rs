//! What the communicators of a process share: engine, messages, and the way they wait.

use crate::collective::Machine;
use crate::config::Configuration;
use crate::message::Messenger;
use parking_lot::Mutex;
use rma_core::ids::Peer;
use rma_core::progress::WakeHandle;
use rma_core::{Engine, Error, ErrorClass, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One process of a job.
pub(crate) struct Runtime {
    pub(crate) me: Peer,
    pub(crate) size: u32,
    pub(crate) engine: Engine,
    pub(crate) messenger: Messenger,
    pub(crate) configuration: Configuration,
    /// The first context that no communicator of this process has.
    pub(crate) next_context: AtomicU64,
    pub(crate) alarm: Arc<Alarm>,
    /// Whether the last collective failed here: then the ranks are out of step.
    pub(crate) is_out_of_step: AtomicBool,
}

/// Ends the waits of all ranks of one process, when one of them has failed. Processes need none: their launcher ends them.
#[derive(Default)]
pub(crate) struct Alarm {
    is_raised: AtomicBool,
    sleepers: Mutex<Vec<WakeHandle>>,
}

impl Runtime {
    /// Drives a collective to its end.
    pub(crate) fn run<M: Machine>(&self, call: &'static str, machine: M) -> Result<M::Output> {
        let _span = tracing::debug_span!("collective", call).entered();
        self.noted(self.drive(call, machine))
    }

    /// Notes whether a collective succeeded.
    pub(crate) fn noted<T>(&self, result: Result<T>) -> Result<T> {
        self.is_out_of_step.store(result.is_err(), Ordering::Relaxed);
        result
    }

    fn drive<M: Machine>(&self, call: &'static str, mut machine: M) -> Result<M::Output> {
        if let Some(output) = machine.step().map_err(|error| error.in_call(call))? {
            // Every call is a chance to serve others, also one that has its answer at once (lessons, decision 8).
            self.engine.poll();
            return Ok(output);
        }
        let describe = || format!("process {} of {} waits for the other ranks", self.me, self.size);
        self.engine.wait_until(call, &describe, &mut || {
            self.alarm.check()?;
            machine.step().map_err(|error| error.in_call(call))
        })
    }

    /// Waits until everything this process has sent has left, says goodbye, and closes the channels.
    pub(crate) fn close(&self) -> Result<()> {
        let describe = || format!("messages of process {} to leave", self.me);
        self.engine.wait_until("finalize", &describe, &mut || {
            self.alarm.check()?;
            Ok(self.messenger.has_sent_all().then_some(()))
        })?;
        self.engine.close()
    }
}

impl Alarm {
    /// Adds somebody to be woken.
    pub(crate) fn add(&self, sleeper: WakeHandle) {
        self.sleepers.lock().push(sleeper);
    }

    /// Ends all waits.
    pub(crate) fn raise(&self) {
        // Whoever checks before this store is woken by what follows, and checks again.
        self.is_raised.store(true, Ordering::SeqCst);
        self.sleepers.lock().iter().for_each(WakeHandle::wake);
    }

    fn check(&self) -> Result<()> {
        match self.is_raised.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorClass::ProcAborted, "wait", "another rank of the job has failed")),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("me", &self.me).field("size", &self.size).finish_non_exhaustive()
    }
}
