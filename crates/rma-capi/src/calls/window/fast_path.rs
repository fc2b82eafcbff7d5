//! What the communication calls try first: a copy, an atomic step or a run of them on memory that is mapped.
//!
//! Each decodes its arguments once. It answers `None`, and has done nothing, when they are of no kind that is decoded here or something
//! is wrong; the slow path of [`crate::window::transfer`] sees to that. Else it answers the code of the call, which it has carried out or
//! handed on as it was decoded ([`super::decoded`]). See `rma_core::window` for what they call.

use super::decoded::{self, DecodedAim};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::cancel::Uncancelled;
use crate::datatype::{self, dense_size};
use crate::entry::Named;
use crate::op;
use crate::overlap::are_apart;
use crate::request::{give_back, take_ended};
use crate::window::find;
use crate::window::handle_cache::find_cached;
use crate::window::notified::value_of;
use crate::window::transfer::{Origin, Target, alike, dense, is_same, otherwise, spans_apart};
use rma_core::datatype::BasicType;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::window::{DirectPath, RunStep, WordStep};
use std::ffi::c_int;

/// `MPI_Put` of as many elements of one type on both sides; `None` when it is not that.
#[inline(always)]
pub(super) fn try_put<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
) -> Option<c_int> {
    let target = same_sides(origin, target)?;
    Some(match put_of_alike::<N, C>(origin, &target, win) {
        Some(code) => code,
        None => {
            let (rank, disp) = target.as_given();
            decoded::put_alike::<N, C>(origin.address, origin.count, origin.datatype, rank, disp, win)
        }
    })
}

#[inline(always)]
fn put_of_alike<N: Named, C: Wide>(origin: &Origin<C>, target: &Target<C>, win: MPI_Win) -> Option<c_int> {
    let path = find_cached(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    let from = origin.address.readable_place(len)?;
    Some(if path.try_put(from, rank, disp) { 0 } else { decoded::put::<N>(from, rank, disp, win) })
}

/// `MPI_Put` of bytes that the sides say with different types, likewise.
#[inline(always)]
pub(super) fn put_decoded<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
) -> Option<c_int> {
    let path = find_cached(win)?;
    let (len, (rank, disp)) = (dense(origin, target)?, target.place()?);
    let from = origin.address.readable_at_all(len)?;
    Some(if path.try_put(from, rank, disp) { 0 } else { decoded::put::<N>(from, rank, disp, win) })
}

/// `MPIX_Put_notify`, as [`try_put`], where it is a copy and a step on a counter; the slow path decodes anew.
#[inline(always)]
pub(super) fn try_put_notify<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    notify: c_int,
    win: MPI_Win,
) -> Option<c_int> {
    let path = find_cached(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    let from = origin.address.readable_place(len)?;
    // No rank has so many in use as a negative number becomes.
    let may_sleep = path.try_put_notify(from, rank, disp, notify as u32)?;
    Some(if may_sleep { decoded::wake_notified::<N>(rank, win) } else { 0 })
}

/// `MPIX_Win_wait_notify`, where the counter is there, or comes there at once.
#[inline(always)]
pub(super) fn try_wait_notify(
    win: MPI_Win,
    notify: c_int,
    number: MPI_Count,
    value: Out<MPI_Count>,
) -> Option<c_int> {
    let path = find_cached(win).filter(|_| !value.is_null())?;
    // As in `try_put_notify`; a negative number is wrong.
    let at = path.try_wait_notify(notify as u32, u64::try_from(number).ok()?)?;
    value.set("value", value_of(at)).ok().map(|()| 0)
}

/// `MPI_Get`, likewise.
#[inline(always)]
pub(super) fn try_get<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
) -> Option<c_int> {
    let target = same_sides(origin, target)?;
    Some(match get_of_alike::<N, C>(origin, &target, win) {
        Some(code) => code,
        None => {
            let (rank, disp) = target.as_given();
            decoded::get_alike::<N, C>(origin.address, origin.count, origin.datatype, rank, disp, win)
        }
    })
}

#[inline(always)]
fn get_of_alike<N: Named, C: Wide>(origin: &Origin<C>, target: &Target<C>, win: MPI_Win) -> Option<c_int> {
    let path = find_cached(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    let to = origin.address.writable_place(len)?;
    Some(if path.try_get(to, rank, disp) { 0 } else { decoded::get::<N>(to, rank, disp, win) })
}

/// The target of a call that says the same of both sides. What it says twice is then in registers once, which leaves enough of them
/// for a call to save none.
#[inline(always)]
fn same_sides<C: Wide>(origin: &Origin<C>, target: &Target<C>) -> Option<Target<C>> {
    if !is_same(origin, target) {
        return otherwise();
    }
    let (rank, disp) = target.as_given();
    Some(Target::new(rank, disp, origin.count, origin.datatype))
}

/// `MPI_Get` otherwise, as [`put_decoded`].
#[inline(always)]
pub(super) fn get_decoded<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
) -> Option<c_int> {
    let path = find_cached(win)?;
    let (len, (rank, disp)) = (dense(origin, target)?, target.place()?);
    let to = origin.address.writable_at_all(len)?;
    Some(if path.try_get(to, rank, disp) { 0 } else { decoded::get::<N>(to, rank, disp, win) })
}

/// `MPI_Accumulate` of aligned words on memory that is mapped: of one, an atomic step. `None` when the slow path has to be taken, which
/// decodes anew: to hand on what is decoded here would take more registers than there are free ones.
#[inline(always)]
pub(super) fn try_accumulate<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    accumulate_words(find_cached(win)?, origin, target, op)
}

#[inline(always)]
pub(super) fn accumulate_words<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
) -> Option<()> {
    let (len, rank, disp) = alike(origin, target)?;
    let (op, basic) = (op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    if target.count.wide() == 1 {
        let from = |len: usize| origin.address.readable_place(len as u64);
        return path.try_accumulate(from, WordStep::accumulate(op, basic), op, rank, disp).then_some(());
    }
    let from = origin.address.readable_place(len)?;
    path.try_accumulate_words(from, RunStep::of(op, basic), rank, disp).then_some(())
}

/// `MPI_Accumulate` of elements without gaps, otherwise.
#[inline(always)]
pub(super) fn accumulate_decoded<N: Named, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<c_int> {
    find_cached(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    let aim = DecodedAim::new(rank, op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    let from = origin.address.readable_place(len)?;
    Some(decoded::accumulate::<N>(from, aim, disp, win, op, target.datatype))
}

/// `MPI_Get_accumulate`, as [`try_accumulate`]; `MPI_NO_OP`, which has no origin and no step, takes the slow path.
#[inline(always)]
pub(super) fn try_get_accumulate<C: Wide>(
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    get_accumulate_words(find_cached(win)?, origin, result, target, op)
}

#[inline(always)]
pub(super) fn get_accumulate_words<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
) -> Option<()> {
    let (len, rank, disp) = alike(origin, target)?;
    if result.datatype != target.datatype || result.count.wide() != target.count.wide() {
        return otherwise();
    }
    let (op, basic) = (op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    if target.count.wide() == 1 {
        let buffers = |len: usize| spans_apart(origin.address, result.address, len as u64);
        return path.try_fetch_and_op(buffers, WordStep::fetch(op, basic), rank, disp).then_some(());
    }
    let (from, old) = spans_apart(origin.address, result.address, len)?;
    path.try_get_accumulate_words(from, old, RunStep::of(op, basic), rank, disp).then_some(())
}

/// `MPI_Get_accumulate` of elements without gaps, otherwise.
#[inline(always)]
pub(super) fn get_accumulate_decoded<N: Named, C: Wide>(
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<c_int> {
    find_cached(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    if !is_same(result, target) {
        return otherwise();
    }
    let aim = DecodedAim::new(rank, op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    let (from, old) = (origin.address, result.address);
    Some(decoded::get_accumulate::<N>(from, old, len, aim, disp, win, op, target.datatype))
}

/// `MPI_Fetch_and_op`, as [`try_get_accumulate`].
#[inline(always)]
pub(super) fn try_fetch_and_op(
    origin: Memory,
    result: Memory,
    target: &Target<c_int>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    let count = target.count;
    let (origin, result) =
        (Origin::new(origin, count, target.datatype), Origin::new(result, count, target.datatype));
    try_get_accumulate(&origin, &result, target, op, win)
}

/// `MPI_Fetch_and_op` otherwise.
#[inline(always)]
pub(super) fn fetch_and_op_decoded<N: Named>(
    origin: Memory,
    result: Memory,
    target: &Target<c_int>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<c_int> {
    find_cached(win)?;
    let (rank, disp) = target.place()?;
    let aim = DecodedAim::new(rank, op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    Some(decoded::fetch_and_op::<N>(origin, result, aim, disp, win, op, target.datatype))
}

/// `MPI_Compare_and_swap`, as [`try_get_accumulate`].
#[inline(always)]
pub(super) fn try_compare_and_swap(
    origin: Memory,
    compare: Memory,
    result: Memory,
    target: &Target<c_int>,
    win: MPI_Win,
) -> Option<()> {
    let (path, basic) = (find_cached(win)?, datatype::basic_type(target.datatype)?);
    let element = (basic, dense_size(target.datatype));
    compare_and_swap_on(path, origin, compare, result, element, target.place()?)
}

/// Likewise, on a path that is known.
#[inline(always)]
pub(super) fn compare_and_swap_on(
    path: &DirectPath<'_>,
    origin: Memory,
    compare: Memory,
    result: Memory,
    (basic, len): (BasicType, u64),
    (rank, disp): (Rank, Disp),
) -> Option<()> {
    let kernel = CompareAndSwap::new(basic)?;
    if !are_apart(origin, result, len) {
        return None;
    }
    let (new, old) = (origin.readable_at_all(len)?, result.writable_at_all(len)?);
    path.try_compare_and_swap(new, compare.readable_at_all(len)?, old, kernel, rank, disp).then_some(())
}

/// `MPI_Compare_and_swap` otherwise.
#[inline(always)]
pub(super) fn compare_and_swap_decoded<N: Named>(
    origin: Memory,
    compare: Memory,
    result: Memory,
    target: &Target<c_int>,
    win: MPI_Win,
) -> Option<c_int> {
    find_cached(win)?;
    let basic = datatype::basic_type(target.datatype)?;
    CompareAndSwap::new(basic)?;
    let (rank, disp) = target.place()?;
    let aim = DecodedAim::new(rank, ReduceOp::Replace, basic);
    Some(decoded::compare_and_swap::<N>(origin, compare, result, aim, disp, win))
}

/// `MPI_Win_lock_all`, where all locks are free or shared; `None` when the slow path has to be taken.
#[inline(always)]
pub(super) fn try_lock_all<N: Named>(assert: c_int, win: MPI_Win) -> Option<c_int> {
    lock_all_on::<N>(find_cached(win).filter(|_| assert == 0)?, win)
}

/// Likewise, on a path that is known.
#[inline(always)]
pub(super) fn lock_all_on<N: Named>(path: &DirectPath<'_>, win: MPI_Win) -> Option<c_int> {
    Some(match path.try_lock_all()? {
        Ok(()) => 0,
        Err(held) => decoded::lock_all::<N>(held, win),
    })
}

/// `MPI_Win_unlock_all`, where all ranks are mapped, likewise.
#[inline(always)]
pub(super) fn try_unlock_all<N: Named>(win: MPI_Win) -> Option<c_int> {
    unlock_all_on::<N>(find_cached(win)?, win)
}

/// Likewise, on a path that is known.
#[inline(always)]
pub(super) fn unlock_all_on<N: Named>(path: &DirectPath<'_>, win: MPI_Win) -> Option<c_int> {
    Some(match path.try_unlock_all()? {
        Ok(()) => 0,
        Err(released) => decoded::unlock_all::<N>(released, win),
    })
}

/// What a call whose window is known does at once; `None`, and nothing done, when it cannot be.
#[inline(always)]
pub(super) fn put_at_once<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    target: &Target<C>,
) -> Option<()> {
    let (len, rank, disp) = alike(origin, target)?;
    path.try_put(origin.address.readable_place(len)?, rank, disp).then_some(())
}

/// Likewise.
#[inline(always)]
pub(super) fn get_at_once<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    target: &Target<C>,
) -> Option<()> {
    let (len, rank, disp) = alike(origin, target)?;
    path.try_get(origin.address.writable_place(len)?, rank, disp).then_some(())
}

/// Likewise.
#[inline(always)]
pub(super) fn accumulate_at_once<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
) -> Option<()> {
    accumulate_words(path, origin, target, op).or_else(|| {
        let (len, rank, disp) = alike(origin, target)?;
        let kernel = Kernel::new(op::reduce_op(op)?, datatype::basic_type(target.datatype)?)?;
        let from = origin.address.readable_place(len)?;
        path.try_accumulate_run(from, kernel, rank, disp).then_some(())
    })
}

/// Likewise.
#[inline(always)]
pub(super) fn get_accumulate_at_once<C: Wide>(
    path: &DirectPath<'_>,
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
) -> Option<()> {
    get_accumulate_words(path, origin, result, target, op).or_else(|| {
        let (len, rank, disp) = alike(origin, target)?;
        if !is_same(result, target) || op == MPI_NO_OP {
            return otherwise();
        }
        let kernel = Kernel::new(op::reduce_op(op)?, datatype::basic_type(target.datatype)?)?;
        let (from, old) = spans_apart(origin.address, result.address, len)?;
        path.try_get_accumulate_run(from, old, kernel, rank, disp).then_some(())
    })
}

/// Does what is complete as it returns, if there is a request for that, which has ended then, and the epoch allows requests;
/// `None`, likewise.
#[inline(always)]
pub(super) fn try_requested<C: Wide>(
    request: Out<MPI_Request>,
    target: &Target<C>,
    win: MPI_Win,
    operate: impl FnOnce(&DirectPath<'static>) -> Option<()>,
) -> Option<()> {
    let (path, (rank, _)) = (find_cached(win)?, target.place()?);
    if request.is_null() || !path.is_locked(rank) {
        return None;
    }
    ended_by(request, || operate(path))
}

/// `MPI_Rput`, where it can join others that wait; `None`, likewise.
#[inline(always)]
pub(super) fn put_joins_with_request<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> Option<()> {
    let window = find(win).filter(|window| window.inner.has_pack() && !request.is_null())?;
    let (len, (rank, disp)) = (dense(origin, target)?, target.place()?);
    let from = origin.address.readable_at_all(len)?;
    // A full pack is sent, by a system call.
    let _uncancelled = Uncancelled::begin();
    ended_by(request, || window.inner.put_coalesces(from, rank, disp, true).then_some(()))
}

/// `MPI_Raccumulate` of one element, likewise.
#[inline(always)]
pub(super) fn accumulate_joins_with_request<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
    request: Out<MPI_Request>,
) -> Option<()> {
    let window = find(win).filter(|window| window.inner.has_pack() && !request.is_null())?;
    let (op, basic) = one_element(origin, target, op)?;
    let (kernel, (rank, disp)) = (Kernel::new(op, basic)?, target.place()?);
    let from = origin.address.readable_at_all(dense_size(target.datatype))?;
    let _uncancelled = Uncancelled::begin();
    ended_by(request, || window.inner.accumulate_coalesces(from, kernel, rank, disp, true).then_some(()))
}

/// A request for what is complete as `operate` returns; `None` when that has done nothing.
#[inline(always)]
fn ended_by(request: Out<MPI_Request>, operate: impl FnOnce() -> Option<()>) -> Option<()> {
    let ended = take_ended()?;
    if operate().is_none() {
        give_back(ended);
        return None;
    }
    request.set("request", ended).ok()
}

/// Operation and type of a call on one element of a predefined type.
#[inline(always)]
fn one_element<C: Wide>(origin: &Origin<C>, target: &Target<C>, op: MPI_Op) -> Option<(ReduceOp, BasicType)> {
    if origin.datatype != target.datatype {
        return otherwise();
    }
    if target.count.wide() != 1 {
        return otherwise();
    }
    if origin.count.wide() != 1 {
        return otherwise();
    }
    Some((op::reduce_op(op)?, datatype::basic_type(target.datatype)?))
}
