//! What the next holder of a dead process's lock learns, and what that process has left half done.
//!
//! The lock's word says so until the next grant (`control/state.rs`). Processes that map the word read it
//! there, and others get it with the answer to their request; each keeps it until its program asks. What is
//! half done is listed in the target's control block (`control/unfinished.rs`).

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
    /// Whether a process died with the lock of a rank before this process got it: what it was changing may be half done. The next holder
    /// of the lock gets this notice, and its first call takes it. A lock that a call has only promised is asked for, and waited for.
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
        if let Some(node_rank) = self.shared().node_rank(target) {
            return Ok(node_rank.take_bequest());
        }
        let took = |core: &mut crate::progress::Core| {
            core.windows.get_mut(self.id()).is_some_and(|window| window.bequests.remove(&target))
        };
        Ok(self.engine().with(took))
    }

    /// The operations of dead processes that may be half done on the memory of a rank: those that were under
    /// way when their origins died, and have not been acknowledged. Whatever else the dead had begun is there
    /// as a whole, or not at all. After [`Window::take_bequest`] has reported a death, all of its are here.
    ///
    /// # Errors
    /// As [`Window::take_bequest`].
    pub fn unfinished(&self, target: Rank) -> Result<UnfinishedReport> {
        self.ask_for_unfinished(target, 0, "get_owner_ops")
    }

    /// The first `number` operations that [`Window::unfinished`] lists, or all if there are fewer, have been
    /// put right: they are not listed again.
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
        if let Some(node_rank) = self.shared().node_rank(target) {
            let list = node_rank.control.unfinished();
            list.acknowledge(acknowledged);
            return Ok(list.report());
        }
        let mut report = Box::new([0; REPORT_LEN]);
        // SAFETY: the bytes are boxed and not looked at before the operation has ended and given its buffers
        // back, which is waited for whatever else goes wrong.
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
