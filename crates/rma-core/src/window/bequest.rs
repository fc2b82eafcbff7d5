//! What a process is told that gets a lock with which another one has died.
//!
//! The lock's word says so until somebody gets it (`control/state.rs`). Who maps the word reads it there, and others are told with
//! the answer to their request; each keeps it until its program asks.

use super::calls::Window;
use crate::epoch::{Call, PromisedSync, SyncStep};
use crate::error::Result;
use crate::ids::Rank;

impl Window {
    /// Whether a process had died with the lock of a rank when this process got that: what it was changing may be half done. Told to
    /// one who gets the lock behind it, and there once, to whoever asks first. A lock that a call has only promised is asked for,
    /// and waited for.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC` when the rank is not locked; `MPIX_ERR_PROC_FAILED` when it is dead itself.
    pub fn take_bequest(&self, target: Rank) -> Result<bool> {
        const CALL: &str = "get_owner_died";
        if target == Rank::NULL {
            return Ok(false);
        }
        self.shared().check_rank(target, CALL)?;
        let _call = self.trace(CALL, Some(target));
        self.settle_dropped(CALL)?;
        let mut sync = self
            .begin(Call::Flush(target), CALL, |_, _| Ok(SyncStep::Promised(PromisedSync::begin(target))))?;
        self.finish(CALL, &mut sync)?;
        if let Some(near) = self.shared().near(target) {
            return Ok(near.take_bequest());
        }
        let took = |core: &mut crate::progress::Core| {
            core.state.windows.get_mut(self.id()).is_some_and(|window| window.bequests.remove(&target))
        };
        Ok(self.engine().with(took))
    }
}
