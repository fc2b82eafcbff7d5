//! The thread that serves other ranks while the program computes (`RMA_AGENT`).
//!
//! Its loop is the engine's ([`Engine::run_agent`]). This file starts it, with the job or with its first window, and ends it before
//! the channels end.
//! It leaves to the program's own threads: signals, whose handlers the program expects there, and collectives
//! that were begun, whose steps may call functions of the user.

use parking_lot::Mutex;
use rma_core::{Engine, Error, ErrorClass, Result};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

thread_local! {
    static IS_AGENT: Cell<bool> = const { Cell::new(false) };
}

/// The thread of a process, which has at most one in its life.
#[derive(Debug, Default)]
pub(crate) struct AgentPlace(Mutex<Slot>);

#[derive(Debug, Default)]
enum Slot {
    /// There is none, and there will be none.
    #[default]
    Closed,
    /// The first window has it started.
    Awaited { tick_us: u64 },
    /// Ended by being dropped.
    Running(#[allow(dead_code)] Agent),
}

impl AgentPlace {
    /// Starts the thread.
    ///
    /// # Errors
    /// As [`Agent::start`].
    pub(crate) fn start(&self, engine: &Engine, tick_us: u64) -> Result<()> {
        *self.0.lock() = Slot::Running(Agent::start(engine, tick_us)?);
        Ok(())
    }

    /// Leaves the start to the first window. What moves before it moves in calls of all processes concerned.
    pub(crate) fn await_windows(&self, tick_us: u64) {
        *self.0.lock() = Slot::Awaited { tick_us };
    }

    /// Before a window is made: from then on others may need this process at any time.
    ///
    /// # Errors
    /// As [`Agent::start`].
    pub(crate) fn before_window(&self, engine: &Engine) -> Result<()> {
        let mut slot = self.0.lock();
        if let Slot::Awaited { tick_us } = *slot {
            *slot = Slot::Running(Agent::start(engine, tick_us)?);
        }
        Ok(())
    }

    /// Ends the thread, and waits until it has ended.
    pub(crate) fn end(&self) {
        let slot = std::mem::take(&mut *self.0.lock());
        drop(slot);
    }
}

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
struct Agent {
    engine: Engine,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread left.
    fn start(engine: &Engine, tick_us: u64) -> Result<Self> {
        let serves = engine.clone();
        let thread = with_signals_blocked(|| {
            Builder::new().name("rma-agent".to_owned()).spawn(move || {
                IS_AGENT.set(true);
                serves.run_agent(Duration::from_micros(tick_us));
            })
        });
        let thread = thread.map_err(|error| {
            Error::new(
                ErrorClass::Other,
                "init",
                format!(
                    "the progress agent's thread cannot be started: {error}; RMA_AGENT=0 does without it"
                ),
            )
        })?;
        Ok(Self { engine: engine.clone(), thread: Some(thread) })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.engine.end_agent();
        if let Some(thread) = self.thread.take() {
            // A panic of the agent has been printed by its thread.
            let _ = thread.join();
        }
    }
}

/// Whether the calling thread is the agent.
pub(crate) fn is_agent() -> bool {
    IS_AGENT.get()
}

/// Signals that an instruction of the thread itself raises: a program that watches its memory by them handles them wherever they
/// come up, and where they are blocked they end the process.
const RAISED_BY_INSTRUCTIONS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Runs `start` with the signals blocked that others send; a thread inherits that. Those that come meanwhile are handled afterwards.
pub(crate) fn with_signals_blocked<T>(start: impl FnOnce() -> T) -> T {
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets live on this frame; `sigfillset` initializes the one, `pthread_sigmask` the other before it is read
    // below. It changes only this thread's mask, and fails only when its first argument is wrong.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for signal in RAISED_BY_INSTRUCTIONS {
            libc::sigdelset(all.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let outcome = start();
    // SAFETY: `before` was initialized above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    outcome
}

#[cfg(test)]
mod tests {
    use super::with_signals_blocked;

    /// The signals that a thread blocks, as the system shows them.
    fn blocked() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap()
    }

    #[test]
    fn a_thread_started_with_signals_blocked_handles_none_and_the_starter_handles_what_it_did() {
        const USR1: u64 = 1 << (libc::SIGUSR1 - 1);
        const ALARM: u64 = 1 << (libc::SIGALRM - 1);
        let before = blocked();
        let thread = with_signals_blocked(|| std::thread::spawn(blocked)).join().unwrap();
        const FAULT: u64 = 1 << (libc::SIGSEGV - 1);
        assert_eq!(thread & (USR1 | ALARM | FAULT), USR1 | ALARM);
        assert_eq!(blocked(), before);
        assert_eq!(before & (USR1 | ALARM), 0);
    }
}
