//! Synchronization calls of a script, begun.

use crate::program::Instruction;
use rma_core::error::Result;
use rma_core::ids::Rank;
use rma_core::window::Sync;
use rma_core::window::Window;

/// Begins the call of a step; `None` when the step is no synchronization call with steps.
pub(super) fn begin(windows: &[Window], step: &Instruction) -> Result<Option<Sync>> {
    let sync = match step {
        Instruction::Fence { window, assert } => windows[*window].begin_fence(*assert),
        Instruction::Lock { window, kind, target, assert } => {
            windows[*window].begin_lock(*kind, Rank(*target), *assert)
        }
        Instruction::Unlock { window, target } => windows[*window].begin_unlock(Rank(*target)),
        Instruction::Flush { window, target, is_local: true } => {
            windows[*window].begin_flush_local(Rank(*target))
        }
        Instruction::Flush { window, target, is_local: false } => windows[*window].begin_flush(Rank(*target)),
        Instruction::LockAll { window, assert } => windows[*window].begin_lock_all(*assert),
        Instruction::UnlockAll { window } => windows[*window].begin_unlock_all(),
        Instruction::FlushAll { window, is_local: true } => windows[*window].begin_flush_local_all(),
        Instruction::FlushAll { window, is_local: false } => windows[*window].begin_flush_all(),
        Instruction::Start { window, group, assert } => {
            windows[*window].begin_start(&ranks_of(group), *assert)
        }
        Instruction::Complete { window } => windows[*window].begin_complete(),
        Instruction::Wait { window } => windows[*window].begin_wait(),
        _ => return Ok(None),
    };
    sync.map(Some)
}

/// A group of a script as ranks.
pub(super) fn ranks_of(group: &[u32]) -> Vec<Rank> {
    group.iter().copied().map(Rank).collect()
}
