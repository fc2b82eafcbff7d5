//! What a process is told that gets a lock with which another one has died, and what that one has left half done.
//!
//! The lock's word says so until somebody gets it (`control/state.rs`). Who maps the word reads it there, and others are told with
//! the answer to their request; each keeps it until its program asks. What is half done stands in a list in the target's control block
//! (`control/unfinished.rs`), which is read there, or asked for.

use super::calls::Window;
use crate::control::{REPORT_LEN, UnfinishedReport};
use crate::datatype::Scatter;
use crate::epoch::Call;
use crate::error::Result;
use crate::ids::{Disp, Rank};
use crate::mem::WriteSpan;
use crate::sync::{PromisedSync, SyncStep};
use crate::table::{OpData, OpKind, Operation};

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
        let _call = self.trace(CALL, Some(target));
        self.await_lock(target, CALL)?;
        if let Some(near) = self.shared().near(target) {
            return Ok(near.take_bequest());
        }
        let took = |core: &mut crate::progress::Core| {
            core.windows.get_mut(self.id()).is_some_and(|window| window.bequests.remove(&target))
        };
        Ok(self.engine().with(took))
    }

    /// The operations of dead processes that may be half done on the memory of a rank: those that were under way when their origins
    /// died, and that nobody has acknowledged. Whatever else the dead had begun is there as a whole, or not at all. Who is told of a death
    /// by [`Window::take_bequest`] finds all of that one's here.
    ///
    /// # Errors
    /// As [`Window::take_bequest`].
    pub fn unfinished(&self, target: Rank) -> Result<UnfinishedReport> {
        self.ask_for_unfinished(target, 0, "get_owner_ops")
    }

    /// The first `number` operations that [`Window::unfinished`] tells, or all if there are fewer, have been put right: nobody else is
    /// told of them.
    ///
    /// # Errors
    /// As [`Window::take_bequest`].
    pub fn acknowledge_unfinished(&self, target: Rank, number: u64) -> Result<()> {
        self.ask_for_unfinished(target, number, "ack_owner_ops").map(drop)
    }

    fn ask_for_unfinished(
        &self,
        target: Rank,
        acknowledged: u64,
        call: &'static str,
    ) -> Result<UnfinishedReport> {
        if target == Rank::NULL {
            return Ok(UnfinishedReport::default());
        }
        let _call = self.trace(call, Some(target));
        self.await_lock(target, call)?;
        if let Some(near) = self.shared().near(target) {
            let list = near.control.unfinished();
            list.acknowledge(acknowledged);
            return Ok(list.report());
        }
        let mut report = Box::new([0; REPORT_LEN]);
        // SAFETY: the bytes are boxed and not looked at before the operation has ended, which is waited for whatever else goes wrong, and
        // has given its buffers back then.
        let result = Scatter::span(unsafe { WriteSpan::new(report.as_mut_ptr(), REPORT_LEN) });
        let (kind, disp) = (OpKind::Unfinished, Disp(acknowledged));
        let question = Operation::new(kind, disp, REPORT_LEN as u64, OpData::NONE, result);
        self.carry_out(call, target, question)?;
        Ok(UnfinishedReport::of_bytes(&report))
    }

    /// Waits for a lock that a call has only promised.
    fn await_lock(&self, target: Rank, call: &'static str) -> Result<()> {
        self.shared().check_rank(target, call)?;
        self.settle_dropped(call)?;
        let promised = SyncStep::Promised(PromisedSync::begin(target));
        let mut sync = self.begin(Call::Flush(target), call, |_| Ok(promised))?;
        self.finish(call, &mut sync)
    }
}
