//! Notices of a start that has a descriptor: a thread waits there for them. It sleeps in the system until there is something,
//! and ends with the connection.

use super::{OnNotice, Start};
use crate::agent::with_signals_blocked;
use rma_core::Result;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::Builder;

/// Has `on_notice` told from now on; says whether of every death.
pub(crate) fn watch(start: &Arc<dyn Start>, on_notice: OnNotice) -> Result<bool> {
    let has_all_notices = start.watch(on_notice)?;
    // Without a descriptor or the thread notices are read when the launcher is asked for something, and channels tell of
    // most deaths.
    if let Some(descriptor) = start.descriptor() {
        let start = Arc::downgrade(start);
        let reads = move || {
            while await_bytes(&descriptor) {
                let Some(start) = start.upgrade() else { return };
                if !start.read() {
                    return;
                }
            }
        };
        let _ = with_signals_blocked(|| Builder::new().name("rma-notices".to_owned()).spawn(reads));
    }
    Ok(has_all_notices)
}

/// Sleeps until there is something to read; `false` when there will be nothing.
fn await_bytes(descriptor: &OwnedFd) -> bool {
    loop {
        match poll(&mut [PollFd::new(descriptor, PollFlags::IN)], None) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok(),
        }
    }
}
