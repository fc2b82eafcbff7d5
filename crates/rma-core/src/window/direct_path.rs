//! What a caller tries first when every instruction counts: puts and gets that are nothing but a copy, accumulates and compare-and-swaps
//! that are one atomic instruction or a run of elements side by side, small stores that join others in a pack which waits for more, flushes
//! that are nothing but an order, locks that are free and unlocks that no other rank waits for.
//!
//! They answer `false`, and have done nothing, whenever there is more to do or something is wrong: the target is not mapped, no epoch is
//! open to it, bytes lie outside of the window's one range, tracing is on, the rank has to be searched for, or it is time to serve the
//! channels. The caller then makes the ordinary call, which sees to all of that. Those that join a pack look only at the pack, which lasts
//! as long as an epoch. They do not panic, so that a caller across a language boundary needs no frame around them.
//!
//! Those on mapped memory are calls of a [`DirectPath`], which has side by side what they look at. An atomic step, or the full ordering of
//! a flush, lets no later load begin before it is over, so each dependent look-up costs its time in every call: from the path there are two
//! to the target's memory, from the window there would be five.

use super::Window;
use crate::control::{LockKind, OperationKind, RunStep, Step, Width, WordStep, compare_and_swap};
use crate::engine::Engine;
use crate::ids::{Disp, Rank};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use crate::mem::{Element, ReadSpan, Word, WriteSpan};
use crate::state::{MappedTarget, Shared};
use crate::strategy::PollThrottle;
use std::fmt;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// A window's direct path: its mapped ranks, for calls that need nothing else. As good as the [`Window`] that it is of.
#[derive(Clone, Copy)]
pub struct DirectPath<'w> {
    /// As in [`Shared::silent`]; none where their ranks do not follow one another.
    mapped: &'w [MappedTarget],
    /// The rank of the first of them.
    first: Rank,
    shared: &'w Shared,
    poll_throttle: &'w PollThrottle,
    pub(crate) engine: &'w Engine,
}

impl<'w> DirectPath<'w> {
    #[inline]
    pub(super) fn of(window: &'w Window) -> Self {
        let (shared, engine) = (&**window.shared(), window.engine());
        // They ascend, so the last one tells.
        let ends_row =
            |last: &MappedTarget| (last.rank.0 - shared.first.0) as usize == shared.silent.len() - 1;
        let mapped: &[MappedTarget] =
            if shared.silent.last().is_none_or(ends_row) { &shared.silent } else { &[] };
        Self { mapped, first: shared.first, shared, poll_throttle: engine.poll_throttle(), engine }
    }

    /// [`Window::put`], where it is nothing but a copy; says whether it has been done.
    #[inline(always)] // a call to it costs as much as half of it
    pub fn try_put(&self, origin: ReadSpan, target: Rank, disp: Disp) -> bool {
        let Some((mapped, place)) = self.reach(target, disp, origin.len()) else { return false };
        self.shared.store_fence.note();
        self.shared.domain(mapped).put(place, origin);
        true
    }

    /// [`Window::get`], where it is nothing but a copy; says whether it has been done.
    #[inline(always)] // as above
    pub fn try_get(&self, result: WriteSpan, target: Rank, disp: Disp) -> bool {
        let Some(place) = self.place(target, disp, result.len()) else { return false };
        result.write_from(place.as_read());
        true
    }

    /// [`Window::accumulate`] of one element, where it is one atomic instruction on one aligned word, or a loop around one; says whether it
    /// has been done. `origin` answers the operand for its length; `step` is that of `op`.
    #[inline(always)] // as above
    pub fn try_accumulate(
        &self,
        origin: impl Fn(usize) -> Option<ReadSpan>,
        step: &WordStep,
        op: ReduceOp,
        target: Rank,
        disp: Disp,
    ) -> bool {
        // It is a plain store, where the old value is not wanted.
        if op == ReduceOp::Replace {
            self.shared.store_fence.note();
        }
        match step.0 {
            Width::Eight(step) => self.change(step, &origin, target, disp).is_some(),
            Width::Four(step) => self.change(step, &origin, target, disp).is_some(),
            Width::None => false,
        }
    }

    /// [`Window::accumulate`] of words, where the target is mapped and open and they are aligned; says whether it was done.
    #[inline(always)] // as above
    pub fn try_accumulate_words(&self, origin: ReadSpan, step: &RunStep, target: Rank, disp: Disp) -> bool {
        let reached = self.reach(target, disp, origin.len()).filter(|(_, place)| step.suits(*place));
        let Some((mapped, place)) = reached else { return false };
        self.shared.store_fence.note();
        let domain = self.shared.domain(mapped);
        let _note = domain.note(OperationKind::Accumulate, place);
        step.change(domain, place, origin);
        true
    }

    /// [`Window::get_accumulate`], likewise; both buffers are of one length.
    #[inline(always)] // as above
    pub fn try_get_accumulate_words(
        &self,
        origin: ReadSpan,
        result: WriteSpan,
        step: &RunStep,
        target: Rank,
        disp: Disp,
    ) -> bool {
        if origin.len() != result.len() {
            return false;
        }
        let reached = self.reach(target, disp, origin.len()).filter(|(_, place)| step.suits(*place));
        let Some((mapped, place)) = reached else { return false };
        self.shared.store_fence.note();
        let domain = self.shared.domain(mapped);
        let _note = domain.note(OperationKind::Accumulate, place);
        step.fetch(domain, place, origin, result);
        true
    }

    /// [`Window::accumulate`] of elements without holes, where the target is mapped and open; says whether it was done.
    #[inline(always)] // as above
    pub fn try_accumulate_run(&self, origin: ReadSpan, kernel: Kernel, target: Rank, disp: Disp) -> bool {
        if !kernel.op().is_accumulate() || !is_run(kernel, origin.len()) {
            return false;
        }
        let Some((mapped, place)) = self.reach(target, disp, origin.len()) else { return false };
        self.shared.store_fence.note();
        let domain = self.shared.domain(mapped);
        let _note = domain.note(OperationKind::Accumulate, place);
        kernel.accumulate(place, origin, &domain);
        true
    }

    /// [`Window::get_accumulate`], likewise. `origin` is not read for `MPI_NO_OP`.
    #[inline(always)] // as above
    pub fn try_get_accumulate_run(
        &self,
        origin: ReadSpan,
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> bool {
        if !is_run(kernel, result.len()) || origin.len() != result.len() {
            return false;
        }
        let Some((mapped, place)) = self.reach(target, disp, result.len()) else { return false };
        self.shared.store_fence.note();
        let domain = self.shared.domain(mapped);
        let _note = kernel.reads_operand().then(|| domain.note(OperationKind::Accumulate, place));
        kernel.fetch_accumulate(place, origin, result, &domain);
        true
    }

    /// [`Window::fetch_and_op`], or [`Window::get_accumulate`] of one element, on one aligned word, likewise; `buffers` answers the operand
    /// and where the old value goes.
    #[inline(always)] // as above
    pub fn try_fetch_and_op(
        &self,
        buffers: impl Fn(usize) -> Option<(ReadSpan, WriteSpan)>,
        step: &WordStep,
        target: Rank,
        disp: Disp,
    ) -> bool {
        match step.0 {
            Width::Eight(step) => self.fetch(step, &buffers, target, disp),
            Width::Four(step) => self.fetch(step, &buffers, target, disp),
            Width::None => false,
        }
    }

    /// [`Window::compare_and_swap`] on one aligned word; says whether it has been done. All three buffers are one element long.
    #[inline(always)] // as above
    pub fn try_compare_and_swap(
        &self,
        origin: ReadSpan,
        compare: ReadSpan,
        result: WriteSpan,
        kernel: CompareAndSwap,
        target: Rank,
        disp: Disp,
    ) -> bool {
        match kernel.ty().size() {
            8 => self.swap::<u64>(origin, compare, result, target, disp),
            4 => self.swap::<u32>(origin, compare, result, target, disp),
            _ => false,
        }
    }

    /// Whether a lock of the target is held here, so that requests are legal; `false` also when that takes longer.
    #[inline(always)] // as above
    pub fn is_locked(&self, target: Rank) -> bool {
        self.mapped(target).is_some_and(|mapped| mapped.gate.is_locked())
    }

    /// [`Window::flush`], where operations are complete at once and only order is left; says whether it was done.
    #[inline(always)] // as above
    pub fn try_flush(&self, target: Rank) -> bool {
        self.is_locked(target) && self.try_order_stores()
    }

    /// [`Window::flush_all`], likewise.
    #[inline(always)] // as above
    pub fn try_flush_all(&self) -> bool {
        self.shared.are_all_locked() && self.try_order_stores()
    }

    /// [`Window::sync`] in an epoch of locks that the own rank is locked in; says whether it has been done.
    #[inline(always)] // as above
    pub fn try_sync(&self) -> bool {
        let may_pass = self.shared.own().gate.is_locked() && self.poll_throttle.pass();
        if may_pass {
            fence(SeqCst);
        }
        may_pass
    }

    /// [`Window::lock`] without assertions, where the lock is free and nothing else goes on; says whether it has been done.
    #[inline(always)] // as above
    pub fn try_lock(&self, kind: LockKind, target: Rank) -> bool {
        self.mapped(target)
            .is_some_and(|mapped| self.poll_throttle.pass() && self.shared.try_lock(mapped, kind, false))
    }

    /// [`Window::unlock`], where no other process holds the lock or waits for it and nothing else goes on; says whether it has been done.
    #[inline(always)] // as above
    pub fn try_unlock(&self, target: Rank) -> bool {
        self.mapped(target)
            .is_some_and(|mapped| self.poll_throttle.pass() && self.shared.try_unlock_alone(mapped))
    }

    /// What calls on all ranks look at.
    #[inline(always)]
    pub(crate) fn shared(&self) -> &'w Shared {
        self.shared
    }

    /// Whether it is no time for a poll.
    #[inline(always)]
    pub(crate) fn pass(&self) -> bool {
        self.poll_throttle.pass()
    }

    /// Orders the stores so far before all that comes after, unless it is time for a poll.
    #[inline(always)]
    fn try_order_stores(&self) -> bool {
        let may_pass = self.poll_throttle.pass();
        if may_pass {
            self.shared.store_fence.order();
        }
        may_pass
    }

    /// The mapped part of `rank`, if its distance from the first one says where to look for it.
    #[inline(always)]
    pub(crate) fn mapped(&self, rank: Rank) -> Option<&'w MappedTarget> {
        self.mapped.get(rank.0.wrapping_sub(self.first.0) as usize)
    }

    /// A step on a word of an open target that is mapped; answers what the step does.
    #[inline(always)]
    fn change<W: Word>(
        &self,
        step: Step<W>,
        origin: &impl Fn(usize) -> Option<ReadSpan>,
        target: Rank,
        disp: Disp,
    ) -> Option<W> {
        let (mapped, element) = self.word(target, disp)?;
        Some(step(self.shared.domain(mapped), element, word_of(origin(W::SIZE)?)?))
    }

    /// Likewise, and stores what it answers.
    #[inline(always)]
    fn fetch<W: Word>(
        &self,
        step: Step<W>,
        buffers: &impl Fn(usize) -> Option<(ReadSpan, WriteSpan)>,
        target: Rank,
        disp: Disp,
    ) -> bool {
        let Some((origin, result)) = buffers(W::SIZE).filter(|(_, result)| result.len() == W::SIZE) else {
            return false;
        };
        let Some(before) = self.change(step, &|_| Some(origin), target, disp) else { return false };
        result.set_word(0, before);
        true
    }

    #[inline(always)]
    fn swap<W: Word>(
        &self,
        origin: ReadSpan,
        compare: ReadSpan,
        result: WriteSpan,
        target: Rank,
        disp: Disp,
    ) -> bool {
        if result.len() != W::SIZE {
            return false;
        }
        let Some((mapped, element)) = self.word::<W>(target, disp) else { return false };
        let (Some(compare), Some(new)) = (word_of(compare), word_of(origin)) else { return false };
        result.set_word(0, compare_and_swap(self.shared.domain(mapped), element, compare, new));
        true
    }

    /// The aligned word of an open target that is mapped, and whose it is.
    #[inline(always)]
    fn word<W: Word>(&self, target: Rank, disp: Disp) -> Option<(&'w MappedTarget, Element<W>)> {
        let (mapped, place) = self.reach(target, disp, W::SIZE)?;
        Some((mapped, place.element(0)?))
    }

    /// The bytes of an open target that is mapped.
    #[inline(always)]
    fn place(&self, target: Rank, disp: Disp, len: usize) -> Option<WriteSpan> {
        self.reach(target, disp, len).map(|(_, place)| place)
    }

    /// As [`DirectPath::place`], with whose they are.
    #[inline(always)]
    fn reach(&self, target: Rank, disp: Disp, len: usize) -> Option<(&'w MappedTarget, WriteSpan)> {
        let mapped = self.mapped(target).filter(|mapped| self.shared.is_open(mapped))?;
        Some((mapped, mapped.place(disp, len)?))
    }
}

impl fmt::Debug for DirectPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectPath").field("window", &self.shared.id).finish_non_exhaustive()
    }
}

/// Whether so many bytes are whole elements of the kernel's type, and these have no holes.
#[inline(always)] // as above
fn is_run(kernel: Kernel, len: usize) -> bool {
    let ty = kernel.ty();
    // Words have none, which is less to ask.
    (ty.word_size() > 0 || ty.is_dense()) && ty.divides(len)
}

/// The word that an operand is, if it is one.
#[inline(always)]
fn word_of<W: Word>(span: ReadSpan) -> Option<W> {
    (span.len() == W::SIZE).then(|| span.word(0))
}

impl MappedTarget {
    /// The `len` bytes at displacement `disp` of memory that is one range.
    #[inline(always)]
    pub(crate) fn place(&self, disp: Disp, len: usize) -> Option<WriteSpan> {
        let start = usize::try_from(self.scale.within(disp)?).ok()?;
        self.span.part_within(start, len)
    }
}
