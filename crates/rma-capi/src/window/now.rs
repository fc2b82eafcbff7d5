//! What the communication calls try first: a copy, an atomic step or a run of them on memory that is mapped, and stores that join
//! others in a pack.
//!
//! Each answers `None`, and has done nothing, when there is more to do or something is wrong; the slow path of
//! [`super::transfer`] sees to that. See `rma_core::window` for what they call.

use super::near::find_near;
use super::object::{Win, find};
use super::transfer::{Origin, Target, alike, dense, elements, is_same, otherwise};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::cancel::Uncancelled;
use crate::datatype::{self, dense_size};
use crate::op;
use crate::overlap::are_apart;
use crate::request::{give_back, take_ended};
use rma_core::datatype::BasicType;
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{DirectPath, RunStep, WordStep};
use std::ffi::c_int;

/// `MPI_Put`, where it can be no more than a copy; `None` when the slow path has to be taken.
#[inline(always)]
pub(crate) fn put_now<C: Wide>(origin: &Origin<C>, target: &Target<C>, win: MPI_Win) -> Option<()> {
    let path = find_near(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    path.put_now(origin.address.readable_at_all(len)?, rank, disp).then_some(())
}

/// `MPI_Put` of bytes that the sides say with different types, or where it can join others that wait; `None` likewise.
#[inline(always)]
pub(crate) fn put_unlike_or_joins<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    win: MPI_Win,
) -> Option<()> {
    let (len, (rank, disp)) = (dense(origin, target)?, target.place()?);
    let from = origin.address.readable_at_all(len)?;
    let path = find_near(win)?;
    let joins = |window: &Win| window.inner.has_pack() && window.inner.put_joins(from, rank, disp);
    let is_done = find(win).is_some_and(joins) || path.put_now(from, rank, disp);
    is_done.then_some(())
}

/// `MPI_Get`, likewise.
#[inline(always)]
pub(crate) fn get_now<C: Wide>(origin: &Origin<C>, target: &Target<C>, win: MPI_Win) -> Option<()> {
    let path = find_near(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    path.get_now(origin.address.writable_at_all(len)?, rank, disp).then_some(())
}

/// `MPI_Get` of bytes that the sides say with different types, likewise.
#[inline(always)]
pub(crate) fn get_unlike<C: Wide>(origin: &Origin<C>, target: &Target<C>, win: MPI_Win) -> Option<()> {
    let (len, (rank, disp)) = (dense(origin, target)?, target.place()?);
    find_near(win)?.get_now(origin.address.writable_at_all(len)?, rank, disp).then_some(())
}

/// `MPI_Accumulate` of aligned words on memory that is mapped, likewise: of one, an atomic step.
#[inline(always)]
pub(crate) fn accumulate_now<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    let path = find_near(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    let (op, basic) = (op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    if target.count.wide() == 1 {
        let from = |len: usize| origin.address.readable_at_all(len as u64);
        return path.accumulate_now(from, WordStep::accumulate(op, basic), op, rank, disp).then_some(());
    }
    let from = origin.address.readable_at_all(len)?;
    path.accumulate_words_now(from, RunStep::of(op, basic), rank, disp).then_some(())
}

/// `MPI_Accumulate`, where it can join others that wait, or all of it can be carried out on memory that is mapped, likewise.
#[inline(always)]
pub(crate) fn accumulate_joins_or_runs<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    accumulate_whole(origin, target, op, win, true)
}

/// As [`accumulate_joins_or_runs`], without packs.
#[inline(always)]
pub(crate) fn accumulate_runs<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    accumulate_whole(origin, target, op, win, false)
}

#[inline(always)]
fn accumulate_whole<C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
    may_join: bool,
) -> Option<()> {
    let path = find_near(win)?;
    let (len, kernel) = elements(origin, target, op::reduce_op(op)?)?;
    let (from, (rank, disp)) = (origin.address.readable_at_all(len)?, target.place()?);
    let joins =
        |window: &Win| window.inner.has_pack() && window.inner.accumulate_joins(from, kernel, rank, disp);
    let is_done =
        may_join && find(win).is_some_and(joins) || path.accumulate_run_now(from, kernel, rank, disp);
    is_done.then_some(())
}

/// `MPI_Get_accumulate`, likewise; `MPI_NO_OP`, which has no origin and no step, takes the slow path.
#[inline(always)]
pub(crate) fn get_accumulate_now<C: Wide>(
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    let path = find_near(win)?;
    let (len, rank, disp) = alike(origin, target)?;
    if result.datatype != target.datatype || result.count.wide() != target.count.wide() {
        return otherwise();
    }
    let (op, basic) = (op::reduce_op(op)?, datatype::basic_type(target.datatype)?);
    if target.count.wide() == 1 {
        let buffers = |len: usize| spans_apart(origin, result, len as u64);
        return path.fetch_and_op_now(buffers, WordStep::fetch(op, basic), rank, disp).then_some(());
    }
    let (from, old) = spans_apart(origin, result, len)?;
    path.get_accumulate_words_now(from, old, RunStep::of(op, basic), rank, disp).then_some(())
}

/// `MPI_Get_accumulate`, where all of it can be carried out on memory that is mapped, likewise.
#[inline(always)]
pub(crate) fn get_accumulate_runs<C: Wide>(
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    let path = find_fetching(result, target, op, win)?;
    let (len, kernel) = elements(origin, target, op::reduce_op(op)?)?;
    let ((rank, disp), (from, old)) = (target.place()?, spans_apart(origin, result, len)?);
    path.get_accumulate_run_now(from, old, kernel, rank, disp).then_some(())
}

/// The direct path of a call that fetches what it accumulates on.
#[inline(always)]
fn find_fetching<C: Wide>(
    result: &Origin<C>,
    target: &Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<&'static DirectPath<'static>> {
    find_near(win).filter(|_| is_same(result, target) && op != MPI_NO_OP)
}

/// What is read and what is written at the origin, which do not overlap.
#[inline(always)]
fn spans_apart<C: Wide>(origin: &Origin<C>, result: &Origin<C>, len: u64) -> Option<(ReadSpan, WriteSpan)> {
    let (from, to) = (origin.address, result.address);
    if !are_apart(from, to, len) {
        return None;
    }
    Some((from.readable_at_all(len)?, to.writable_at_all(len)?))
}

/// `MPI_Fetch_and_op`, likewise.
#[inline(always)]
pub(crate) fn fetch_and_op_now(
    origin: Memory,
    result: Memory,
    target: &Target<c_int>,
    op: MPI_Op,
    win: MPI_Win,
) -> Option<()> {
    let count = target.count;
    let (origin, result) =
        (Origin::new(origin, count, target.datatype), Origin::new(result, count, target.datatype));
    get_accumulate_now(&origin, &result, target, op, win)
}

/// `MPI_Compare_and_swap`, likewise.
#[inline(always)]
pub(crate) fn compare_and_swap_now(
    origin: Memory,
    compare: Memory,
    result: Memory,
    target: &Target<c_int>,
    win: MPI_Win,
) -> Option<()> {
    let path = find_near(win)?;
    let kernel = CompareAndSwap::new(datatype::basic_type(target.datatype)?)?;
    let (len, (rank, disp)) = (dense_size(target.datatype), target.place()?);
    if !are_apart(origin, result, len) {
        return None;
    }
    let (new, old) = (origin.readable_at_all(len)?, result.writable_at_all(len)?);
    path.compare_and_swap_now(new, compare.readable_at_all(len)?, old, kernel, rank, disp).then_some(())
}

/// Does what is complete as it returns, if there is a request for that, which has ended then, and the epoch allows requests;
/// `None`, likewise.
#[inline(always)]
pub(crate) fn requested_now<C: Wide>(
    request: Out<MPI_Request>,
    target: &Target<C>,
    win: MPI_Win,
    operate: impl FnOnce() -> Option<()>,
) -> Option<()> {
    let (path, (rank, _)) = (find_near(win)?, target.place()?);
    if request.is_null() || !path.is_locked_now(rank) {
        return None;
    }
    ended_by(request, operate)
}

/// `MPI_Rput`, where it can join others that wait; `None`, likewise.
#[inline(always)]
pub(crate) fn put_joins_with_request<C: Wide>(
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
    ended_by(request, || window.inner.rput_joins(from, rank, disp).then_some(()))
}

/// `MPI_Raccumulate` of one element, likewise.
#[inline(always)]
pub(crate) fn accumulate_joins_with_request<C: Wide>(
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
    ended_by(request, || window.inner.raccumulate_joins(from, kernel, rank, disp).then_some(()))
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
