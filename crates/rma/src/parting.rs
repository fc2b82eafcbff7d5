//! The barrier at the end of a job that goes on when ranks die: of the ranks that live.
//!
//! A barrier by messages needs every rank that a message goes through, and no rank knows of all deaths. The
//! launcher does: its barrier waits for neither a process that is gone nor one that has finalized. A thread
//! waits there, since the engine has to move meanwhile: others may need this rank until they have come as
//! well.

use crate::agent::with_signals_blocked;
use crate::join::Start;
use crate::pmi::{Client, ON_FAILURE_KEY};
use crate::runtime::Runtime;
use parking_lot::Mutex;
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;
use std::thread::Builder;

/// Whether ranks of this job outlive each other, which the launcher says.
pub(crate) fn is_survivable(start: &dyn Start) -> Result<bool> {
    let Some(launcher) = start.overseer() else { return Ok(false) };
    Ok(launcher.get(ON_FAILURE_KEY)?.is_some_and(|value| value == "continue"))
}

/// Waits until every living rank of the job has come here, and moves everything meanwhile.
pub(crate) fn meet_survivors(runtime: &Runtime, start: &Arc<dyn Start>) -> Result<()> {
    let (met, waits) = (Arc::new(Mutex::new(None)), Arc::clone(start));
    let (seen, wake) = (Arc::clone(&met), runtime.engine.wake_handle());
    let thread = with_signals_blocked(|| {
        Builder::new().name("rma-parting".to_owned()).spawn(move || {
            let end = waits.overseer().map_or(Ok(()), Client::barrier_beside);
            *seen.lock() = Some(end);
            wake.wake();
        })
    });
    let thread = thread.map_err(|error| {
        let cause = format!("a thread that waits for the other ranks cannot be started: {error}");
        Error::new(ErrorClass::Other, "finalize", cause)
    })?;
    let describe = || "all living ranks to finalize".to_owned();
    let ended = runtime.wait_until("finalize", &describe, &mut || met.lock().take().transpose());
    if ended.is_ok() {
        // A panic of the thread has been printed by itself.
        let _ = thread.join();
    }
    ended
}
