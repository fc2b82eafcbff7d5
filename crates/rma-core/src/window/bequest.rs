//! What the next holder of a dead process's lock learns, and what that process has left half done.
//!
//! The lock's word says so until the next grant (`control/state.rs`). Processes that map the word read it
//! there, and others get it with the answer to their request; each keeps it until its program asks. What is
//! half done is listed in the target's control block (`control/unfinished.rs`).

use super::Window;
use super::dropped::settle_dropped;
use super::requests::carry_out;
use super::sync_call::{begin, finish};
use crate::control::{REPORT_LEN, UnfinishedReport};
use crate::datatype::Scatter;
use crate::epoch::Call;
use crate::error::Result;
use crate::ids::{Disp, Rank};
use crate::mem::WriteSpan;
use crate::sync::{PromisedSync, SyncStep};
use crate::table::{OpData, OpKind, Operation};

/// What a rank lists as unfinished, after the acknowledgement of so many operations.
pub(super) fn ask_for_unfinished(
    handle: &Window,
    target: Rank,
    acknowledged: u64,
    call: &'static str,
) -> Result<UnfinishedReport> {
    if target == Rank::NULL {
        return Ok(UnfinishedReport::default());
    }
    let _call = handle.trace(call, Some(target));
    await_lock(handle, target, call)?;
    if let Some(node_rank) = handle.shared().node_rank(target) {
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
    carry_out(handle, call, target, question)?;
    Ok(UnfinishedReport::of_bytes(&report))
}

/// Waits for a lock that a call has only promised.
pub(super) fn await_lock(handle: &Window, target: Rank, call: &'static str) -> Result<()> {
    handle.shared().check_rank(target, call)?;
    settle_dropped(handle, call)?;
    let promised = SyncStep::Promised(PromisedSync::begin(target));
    let mut sync = begin(handle, Call::Flush(target), call, |_| Ok(promised))?;
    finish(handle, call, &mut sync)
}
