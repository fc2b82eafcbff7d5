//! Synchronization calls on the window where it lies, for the epochs that most programs have: one target, and little or nothing under
//! way to it.
//!
//! Such a call changes nothing of the window but what its own protocol does, so nothing has to be found out again afterwards: the
//! window is not taken out of the table, and no step of the engine is made for it. Each `begin_…` call and
//! [`Window::poll_sync`] try this first; `None` says that nothing was done, and that the ordinary way has to see to it. When that is
//! so each protocol decides ([`crate::epoch`]); while somebody looks, it always is, because the ordinary way tells of it.

use super::Sync;
use super::calls::Window;
use crate::epoch::{Assert, Call, Reach};
use crate::ids::Rank;
use crate::progress::Core;
use crate::sync::{CompleteSync, FenceSync, FlushSync, SyncStep};

impl Window {
    pub(super) fn begin_flush_calmly(&self, target: Rank, reach: Reach) -> Option<Sync> {
        let step = self.begin_step(|core| {
            let (channel, state) = (&mut *core.channel, &mut core.state);
            FlushSync::begin_calmly(channel, state, self.id(), target, reach).map(SyncStep::Flush)
        })?;
        Some(Sync(step, Call::Flush(target), None))
    }

    pub(super) fn begin_fence_calmly(&self, assert: Assert) -> Option<Sync> {
        let step = self.begin_step(|core| {
            let (channel, state) = (&mut *core.channel, &mut core.state);
            FenceSync::begin_calmly(channel, state, self.id(), assert).map(SyncStep::Fence)
        })?;
        Some(Sync(step, Call::Fence, None))
    }

    pub(super) fn begin_complete_calmly(&self) -> Option<Sync> {
        let step = self.begin_step(|core| {
            CompleteSync::begin_calmly(&mut core.state, self.id()).map(SyncStep::Complete)
        })?;
        Some(Sync(step, Call::Complete, None))
    }

    #[inline(always)] // one of three callers is the flush of a single operation
    fn begin_step(&self, begin: impl FnOnce(&mut Core) -> Option<SyncStep>) -> Option<SyncStep> {
        if self.engine().sight().is_on() { None } else { self.engine().with(begin) }
    }

    /// Advances a call that was begun so; answers whether it is over.
    pub(super) fn advance_calmly(&self, core: &mut Core, sync: &mut Sync) -> Option<bool> {
        if self.engine().sight().is_on() {
            return None;
        }
        let (id, Core { channel, state, .. }) = (self.id(), &mut *core);
        let is_over = match &sync.0 {
            // Nothing to raise, and nothing to change.
            SyncStep::Flush(flush) => {
                let window = state.windows.get(id).filter(|window| window.error.is_none())?;
                flush.poll(state, window).ok()?
            }
            SyncStep::Fence(fence) => fence.poll_calmly(state.windows.get_mut(id)?)?,
            SyncStep::Complete(complete) => complete.poll_calmly(&mut **channel, state, id)?,
            _ => return None,
        };
        if is_over {
            let has_told = !matches!(sync.0, SyncStep::Flush(_));
            sync.0 = SyncStep::Done;
            // No step may follow: the caller computes, and the other one waits for the word of this call.
            if has_told && core.channel.keeps_packets() && !core.channel.is_quiet() {
                core.flush();
            }
        }
        Some(is_over)
    }
}
