//! The thread that serves other ranks while the program computes (`RMA_AGENT`).
//!
//! What it does is the engine's business ([`Engine::run_agent`]). Here stands that it is started, that it ends before the
//! channels do, and what it leaves to the program's own threads: collectives that were begun, whose steps may call functions
//! that the user has written.

use rma_core::{Engine, Error, ErrorClass, Result};
use std::cell::Cell;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

thread_local! {
    static IS_AGENT: Cell<bool> = const { Cell::new(false) };
}

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Agent {
    engine: Engine,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(crate) fn start(engine: &Engine, tick_us: u64) -> Result<Self> {
        let serves = engine.clone();
        let thread = Builder::new().name("rma-agent".to_owned()).spawn(move || {
            IS_AGENT.set(true);
            serves.run_agent(Duration::from_micros(tick_us));
        });
        let thread = thread.map_err(|error| {
            Error::new(
                ErrorClass::Other,
                "init",
                format!("the thread of RMA_AGENT cannot be started: {error}"),
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
