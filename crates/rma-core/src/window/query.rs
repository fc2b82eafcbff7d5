//! What a window says of itself and of the memory that it maps, what it is told (hints, a name, attached memory, that it is revoked), and the
//! entrance of its direct path.

use super::bequest::{ask_for_unfinished, await_lock};
use super::direct_path::DirectPath;
use super::dynamic::regions;
use super::{UnfinishedReport, Window};
use crate::error::{Error, ErrorClass, Result};
use crate::host::Group;
use crate::ids::{Rank, WindowId};
use crate::mem::WriteSpan;
use crate::progress::Core;
use crate::state::{Flavor, Hints, MappedTarget, WindowState};
use crate::stats::{Counters, ElementCounts};
use crate::table::Target;
use std::sync::atomic::Ordering::Relaxed;

impl Window {
    /// The caller's rank in the window's group.
    pub fn rank(&self) -> Rank {
        self.shared().group.me()
    }

    /// Number of ranks in the window's group.
    pub fn size(&self) -> u32 {
        self.shared().group.size()
    }

    /// How the window came by its memory.
    pub fn flavor(&self) -> Flavor {
        self.shared().flavor
    }

    /// The window's id; the same on all ranks.
    pub fn id(&self) -> WindowId {
        self.shared().id
    }

    /// The memory that this rank exposes.
    ///
    /// # Safety
    /// Spans do not know how long their memory is mapped: this one must not be used once the window is freed.
    pub unsafe fn local(&self) -> WriteSpan {
        self.shared().own().span
    }

    /// Whether the memory of `rank` is mapped in this process, so that operations on it take the direct path.
    pub fn is_direct(&self, rank: Rank) -> bool {
        self.shared().mapped(rank).is_some()
    }

    /// Memory and displacement unit of a mapped rank.
    ///
    /// # Safety
    /// As for [`Window::local`].
    pub unsafe fn mapped(&self, rank: Rank) -> Option<(WriteSpan, u64)> {
        self.shared().mapped(rank).map(|mapped| (mapped.span, mapped.scale.unit()))
    }

    /// The window's processes.
    pub fn group(&self) -> &Group {
        &self.shared().group
    }

    /// `MPI_Win_shared_query` (MPI 4.1 §12.2.3): memory and displacement unit of a rank, for loads and stores. `None` asks for the lowest
    /// rank that is mapped here and has memory, and so does [`Rank::NULL`]. Memory that is not mapped here is empty.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`; `MPI_ERR_RMA_FLAVOR` for dynamic windows.
    ///
    /// # Safety
    /// As for [`Window::local`].
    pub unsafe fn shared_query(&self, rank: Option<Rank>) -> Result<(WriteSpan, u64)> {
        const CALL: &str = "win_shared_query";
        let shared = self.shared();
        if shared.flavor == Flavor::Dynamic {
            let cause = "the window is dynamic, and its memory is no segment of a size";
            return Err(Error::new(ErrorClass::RmaFlavor, CALL, cause));
        }
        let mapped = match rank {
            Some(rank) if rank != Rank::NULL => {
                shared.check_rank(rank, CALL)?;
                shared.mapped(rank)
            }
            Some(_) | None => shared.mapped.iter().find(|mapped| !mapped.span.is_empty()),
        };
        Ok(match mapped {
            Some(mapped) => (mapped.span, mapped.scale.unit()),
            None => (WriteSpan::EMPTY, shared.uniform.map_or(1, |(_, unit)| unit)),
        })
    }

    /// What the engine has done for this window; zeros when it has been freed. Operations in mapped memory are counted
    /// in a process that keeps statistics.
    pub fn counters(&self) -> Counters {
        self.engine().with(|core| {
            core.windows.get_mut(self.id()).map(|window| window.all_counters()).unwrap_or_default()
        })
    }

    /// The window's elements; none when it has been freed.
    pub fn elements(&self) -> ElementCounts {
        let elements = |window: &mut WindowState| ElementCounts {
            ops: window.op_share.in_use(),
            most_ops: window.op_share.most(),
            targets: window.target_share.in_use(),
            most_targets: window.target_share.most(),
        };
        self.engine().with(|core| core.windows.get_mut(self.id()).map(elements).unwrap_or_default())
    }

    /// The call that has opened the epoch that this rank is in, `lock` for example: one that a call of the program has to end, so
    /// none of fences.
    pub fn open_epoch(&self) -> Option<&'static str> {
        let opened = self.engine().with(|core| core.windows.get_mut(self.id())?.opened_by());
        opened.filter(|call| *call != "fence")
    }

    /// The hints in force: key and value (`MPI_Win_get_info`).
    pub fn hints(&self) -> Vec<(&'static str, String)> {
        self.shared().hints.lock().report(self.flavor())
    }

    /// Whether the program has said that it never locks the window.
    pub fn has_no_locks(&self) -> bool {
        self.shared().hints.lock().no_locks()
    }

    /// Takes over hints, but for those that only a creation can follow (`MPI_Win_set_info`, collective in the
    /// standard; here each rank has its own).
    pub fn set_hints(&self, hints: &Hints) {
        self.shared().hints.lock().update(hints);
    }

    /// Number of operations of this rank whose buffers the engine may still use.
    pub fn outstanding(&self) -> u64 {
        self.engine().with(|core| {
            let Core { state, windows, .. } = core;
            let Some(window) = windows.get_mut(self.shared().id) else { return 0 };
            let targets = window.table.keys(&state.pools.targets);
            targets.iter().map(|key| of_target(&state.pools.targets[*key])).sum()
        })
    }

    /// Number of operations on `target` whose buffers the engine may still use.
    pub fn outstanding_to(&self, target: Rank) -> u64 {
        self.engine().with(|core| {
            let Core { state, windows, .. } = core;
            let Some(window) = windows.get_mut(self.shared().id) else { return 0 };
            let target = window.table.find(&state.pools.targets, target);
            target.map_or(0, |key| of_target(&state.pools.targets[key]))
        })
    }

    /// What the user calls the window (`MPI_Win_set_name`), for messages and traces; empty for no name.
    pub fn set_name(&self, name: &str) {
        self.engine().observation().name_window(self.shared().id, name);
    }

    /// Whether stores of the direct path are still to be ordered by a flush; for tests.
    #[doc(hidden)]
    pub fn needs_store_fence(&self) -> bool {
        self.shared().store_fence.is_set()
    }

    /// `MPI_Win_attach`: the memory becomes accessible at the displacements that are its addresses.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_FLAVOR` when the window is not dynamic, `MPI_ERR_RMA_ATTACH` when part of the memory is attached, `MPIX_ERR_REVOKED`.
    ///
    /// # Safety
    /// The memory must stay mapped, readable and writable until [`Window::detach`] has returned or the window is freed.
    pub unsafe fn attach(&self, memory: WriteSpan) -> Result<()> {
        regions(self, "win_attach")?.attach(memory, "win_attach")
    }

    /// `MPI_Win_detach`: the memory attached at address `base` is no part of the window any more. When the call returns,
    /// the library touches it no longer: transfers under way are waited for, and later ones are `MPI_ERR_RMA_RANGE` at their origins.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_FLAVOR` when the window is not dynamic, `MPI_ERR_BASE` when no attached memory begins at `base`,
    /// `MPIX_ERR_REVOKED`: then freeing the window detaches.
    pub fn detach(&self, base: usize) -> Result<()> {
        let detaching = self.begin_detach(base)?;
        let window = self.engine().observation().describe_window(self.id());
        let describe = |_: &_| format!("transfers into the memory at {base:#x} of {window} to end").into();
        self.engine().wait("win_detach", &describe, &mut |_| Ok(detaching.is_over().then_some(())))
    }

    /// Makes every call on the window an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait,
    /// and those to come, but for [`Window::free`], which then waits for no rank and succeeds. Returns at
    /// once, and cannot be taken back. The memory stays until the window is freed.
    pub fn revoke(&self) {
        self.engine().with(|core| {
            let Some(mut context) = core.windows.borrow(&mut core.state, self.id()) else { return };
            let (state, window) = context.split();
            if !window.has_left() {
                state.revoke(window);
            }
        });
        // The others are notified now: the caller may not come back for long.
        self.engine().poll();
    }

    /// Whether it was revoked, as far as this process knows.
    pub fn is_revoked(&self) -> bool {
        self.engine().poll();
        self.engine().with(|core| core.windows.get(self.id()).is_some_and(WindowState::is_revoked))
    }

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
        await_lock(self, target, CALL)?;
        if let Some(node_rank) = self.shared().node_rank(target) {
            return Ok(node_rank.take_bequest());
        }
        let took = |window: &mut WindowState| window.bequests.remove(&target);
        Ok(self.engine().with(|core| core.windows.get_mut(self.id()).is_some_and(took)))
    }

    /// The operations of dead processes that may be half done on the memory of a rank: those that were under
    /// way when their origins died, and have not been acknowledged. Whatever else the dead had begun is there
    /// as a whole, or not at all. After [`Window::take_bequest`] has reported a death, all of its are here.
    ///
    /// # Errors
    /// As [`Window::take_bequest`].
    pub fn unfinished(&self, target: Rank) -> Result<UnfinishedReport> {
        ask_for_unfinished(self, target, 0, "get_owner_ops")
    }

    /// The first `number` operations that [`Window::unfinished`] lists, or all if there are fewer, have been
    /// put right: they are not listed again.
    ///
    /// # Errors
    /// As [`Window::take_bequest`].
    pub fn acknowledge_unfinished(&self, target: Rank, number: u64) -> Result<()> {
        ask_for_unfinished(self, target, number, "ack_owner_ops").map(drop)
    }

    /// The window's direct path, to be looked up once for many calls.
    #[inline]
    pub fn direct_path(&self) -> DirectPath<'_> {
        DirectPath::of(self)
    }

    /// Whether stores wait for others in a pack, which [`Window::put_coalesces`] and [`Window::accumulate_coalesces`] may join.
    #[inline(always)]
    pub fn has_pack(&self) -> bool {
        // One that another thread has just begun may be missed here, and is found on the slow path.
        self.shared().has_pack.load(Relaxed)
    }

    /// [`Window::direct_load`] for a call that may store there otherwise than by atomic steps.
    #[inline]
    pub(crate) fn direct(&self, target: Rank, call: &'static str, len: usize) -> Option<&MappedTarget> {
        let mapped = self.direct_load(target, call, len)?;
        self.shared().store_fence.note();
        Some(mapped)
    }

    /// The target's mapped memory, if it has some here and an epoch is open to it. Everything else takes the slow path,
    /// which also finds out what is wrong. `call` and `len` are for the observer and the statistics.
    #[inline]
    pub(crate) fn direct_load(&self, target: Rank, call: &'static str, len: usize) -> Option<&MappedTarget> {
        match self.shared().silent(target) {
            Some(mapped) if self.shared().is_open(mapped) => Some(mapped),
            _ => direct_observed(self, target, call, len),
        }
    }
}

/// [`Window::direct_load`] where an observer sees it, or operations are counted.
#[cold]
fn direct_observed<'a>(
    handle: &'a Window,
    target: Rank,
    call: &'static str,
    len: usize,
) -> Option<&'a MappedTarget> {
    let (observation, mapped_counts) =
        (handle.engine().observation(), handle.shared().mapped_counts.as_deref());
    if !observation.is_on() && mapped_counts.is_none() {
        return None;
    }
    let mapped = reachable(handle, target)?;
    if let Some(mapped_counts) = mapped_counts {
        mapped_counts.count(call, len);
    }
    if observation.is_on() {
        observation.direct(call, handle.shared().id, target, len as u64);
    }
    Some(mapped)
}

/// The target's mapped memory, if it has some here and an epoch is open to it.
pub(super) fn reachable(handle: &Window, target: Rank) -> Option<&MappedTarget> {
    handle.shared().mapped(target).filter(|mapped| handle.shared().is_open(mapped))
}

/// Number of operations on a target whose buffers the engine may still use.
fn of_target(target: &Target) -> u64 {
    target.pending.len() + target.issued.len()
}
