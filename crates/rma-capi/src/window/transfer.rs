//! What the communication calls do: arguments to the engine's calls.
//!
//! Elements without gaps on both sides, of equal size in all, take a shorter path: of their datatypes only the size is looked
//! at. Everything else goes with its datatypes.
//!
//! The engine's calls with datatypes are `unsafe`, because they take addresses; what they need of the memory is what the
//! standard says of the buffers of a call, and so the contract of [`Memory`].

use super::object::{self, Win};
use super::sides::SideElements;
pub(crate) use super::sides::{ORIGIN_AND_RESULT, Origin, Sides, Target, with_sides};
use crate::abi::*;
use crate::arguments::{Memory, Wide};
use crate::datatype::{self, dense_bytes, dense_size};
use crate::op;
use crate::overlap::{are_apart, check_spans_apart};
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::BasicType;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::Destination;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

pub(crate) fn put<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<()> {
    let window = object::get(win)?;
    match (dense(&origin, &target), target.place()) {
        (Some(len), Some((rank, disp))) => {
            window.inner.put(origin.address.readable("origin_addr", len)?, rank, disp)
        }
        _ => put_any(window, &origin, &target),
    }
}

pub(crate) fn get<C: Wide>(origin: Origin<C>, target: Target<C>, win: MPI_Win) -> Result<()> {
    let window = object::get(win)?;
    match (dense(&origin, &target), target.place()) {
        (Some(len), Some((rank, disp))) => {
            window.inner.get(origin.address.writable("origin_addr", len)?, rank, disp)
        }
        _ => get_any(window, &origin, &target),
    }
}

#[inline(always)]
pub(crate) fn accumulate<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    op: MPI_Op,
    win: MPI_Win,
) -> Result<()> {
    let window = object::get(win)?;
    let basic = datatype::basic_type(target.datatype).filter(|_| origin.datatype == target.datatype);
    match (dense(&origin, &target), target.place(), basic) {
        (Some(len), Some((rank, disp)), Some(basic)) => {
            let kernel = kernel(op, target.datatype, basic, len)?;
            window.inner.accumulate(origin.address.readable("origin_addr", len)?, kernel, rank, disp)
        }
        _ => accumulate_any(window, &origin, &target, op),
    }
}

/// `MPI_Get_accumulate`: the origin is not looked at for `MPI_NO_OP`.
pub(crate) fn get_accumulate<C: Wide>(
    origin: Origin<C>,
    result: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<()> {
    let window = object::get(win)?;
    let op = predefined(handle)?;
    if let Some((len, kernel)) = elements(&result, &target, op)
        && (op == ReduceOp::NoOp || is_same(&origin, &target))
        && let Some((rank, disp)) = target.place()
    {
        let old = result.address.writable("result_addr", len)?;
        // MPI_NO_OP reads no operand: any address will do that has as many bytes.
        let from = match op {
            ReduceOp::NoOp => old.as_read(),
            _ => {
                check_spans_apart(ORIGIN_AND_RESULT, origin.address, result.address, len)?;
                origin.address.readable("origin_addr", len)?
            }
        };
        return window.inner.get_accumulate_elements(from, old, kernel, rank, disp);
    }
    with_result(window, &origin, &result, &target, handle, |sides, op, to| {
        // SAFETY: both buffers are good until the operation is complete, by the contract of `Memory`.
        unsafe { window.inner.get_accumulate(sides.origin(), to, op, sides.rank, sides.area()) }
    })
    .map(Option::unwrap_or_default)
}

/// The buffers of a get-accumulate that count, for [`named`].
fn buffers_of<C: Wide>(
    origin: &Origin<C>,
    result: &Origin<C>,
    op: ReduceOp,
) -> SmallVec<[(&'static str, MPI_Datatype); 2]> {
    let origin = (op != ReduceOp::NoOp).then_some(("origin_datatype", origin.datatype));
    origin.into_iter().chain([("result_datatype", result.datatype)]).collect()
}

#[inline(always)]
pub(crate) fn fetch_and_op(
    origin: Memory,
    result: Memory,
    target: Target<c_int>,
    handle: MPI_Op,
    win: MPI_Win,
) -> Result<()> {
    let window = object::get(win)?;
    let basic = datatype::predefined_only("datatype", target.datatype)?;
    let op = predefined(handle)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere() };
    // MPI_NO_OP reads no operand, and its address may be anything (§12.3.4).
    if op != ReduceOp::NoOp {
        origin.check("origin_addr")?;
        check_spans_apart(ORIGIN_AND_RESULT, origin, result, basic.size() as u64)?;
    }
    result.check("result_addr")?;
    // SAFETY: as in `get_accumulate`.
    let done = unsafe {
        window.inner.fetch_and_op_typed(origin.as_ptr(), result.as_mut_ptr(), basic, op, rank, disp)
    };
    done.map_err(|error| named(error, handle, target.datatype, &[]))
}

#[inline(always)]
pub(crate) fn compare_and_swap(
    origin: Memory,
    compare: Memory,
    result: Memory,
    target: Target<c_int>,
    win: MPI_Win,
) -> Result<()> {
    let window = object::get(win)?;
    let basic = datatype::predefined_only("datatype", target.datatype)?;
    let Some((rank, disp)) = target.place() else { return target.nowhere() };
    if CompareAndSwap::new(basic).is_none() {
        return Err(not_compared(target.datatype));
    }
    swap(window, origin, compare, result, basic, rank, disp)
}

/// [`compare_and_swap`] of elements that can be compared.
pub(crate) fn swap(
    window: &Win,
    origin: Memory,
    compare: Memory,
    result: Memory,
    basic: BasicType,
    rank: Rank,
    disp: Disp,
) -> Result<()> {
    origin.check("origin_addr")?;
    compare.check("compare_addr")?;
    result.check("result_addr")?;
    check_spans_apart(ORIGIN_AND_RESULT, origin, result, basic.size() as u64)?;
    // SAFETY: as in `get_accumulate`.
    unsafe {
        let (origin, compare, result) = (origin.as_ptr(), compare.as_ptr(), result.as_mut_ptr());
        window.inner.compare_and_swap_typed(origin, compare, result, basic, rank, disp)
    }
}

#[cold]
fn not_compared(datatype: MPI_Datatype) -> Error {
    let cause = format!("{} elements cannot be compared and swapped", datatype::elements_name(datatype));
    Error::new(ErrorClass::Type, "", cause)
}

// What these get is read where it is: copied, it would be read in other pieces than it was just written in.
#[inline(never)]
fn put_any<C: Wide>(window: &Win, origin: &Origin<C>, target: &Target<C>) -> Result<()> {
    // SAFETY: as in `get_accumulate`.
    let run = |sides: Sides<'_>| unsafe { window.inner.put_typed(sides.origin(), sides.rank, sides.area()) };
    with_sides(window, origin, target, run).map(Option::unwrap_or_default)
}

#[inline(never)]
fn get_any<C: Wide>(window: &Win, origin: &Origin<C>, target: &Target<C>) -> Result<()> {
    // SAFETY: as in `get_accumulate`.
    let run =
        |sides: Sides<'_>| unsafe { window.inner.get_typed(sides.destination(), sides.rank, sides.area()) };
    with_sides(window, origin, target, run).map(Option::unwrap_or_default)
}

#[inline(never)]
fn accumulate_any<C: Wide>(
    window: &Win,
    origin: &Origin<C>,
    target: &Target<C>,
    handle: MPI_Op,
) -> Result<()> {
    // SAFETY: as in `get_accumulate`.
    with_op(window, origin, target, handle, |sides, op| unsafe {
        window.inner.accumulate_typed(sides.origin(), op, sides.rank, sides.area())
    })
    .map(Option::unwrap_or_default)
}

/// Runs an accumulate on decoded sides, unless it has no target; its errors name the handles.
pub(crate) fn with_op<C: Wide, R>(
    window: &Win,
    origin: &Origin<C>,
    target: &Target<C>,
    handle: MPI_Op,
    run: impl FnOnce(&Sides<'_>, ReduceOp) -> Result<R>,
) -> Result<Option<R>> {
    let named = |error| named(error, handle, target.datatype, &[("origin_datatype", origin.datatype)]);
    let done = with_sides(window, origin, target, |sides| run(&sides, predefined(handle)?).map_err(named))?;
    match done {
        // Of a wrong operation is told also where nothing is done.
        None => predefined(handle).map(|_| None),
        done => Ok(done),
    }
}

/// Runs a get-accumulate on decoded sides, unless it has no target; its errors name the handles.
pub(crate) fn with_result<C: Wide, R>(
    window: &Win,
    origin: &Origin<C>,
    result: &Origin<C>,
    target: &Target<C>,
    handle: MPI_Op,
    run: impl FnOnce(&Sides<'_>, ReduceOp, Destination<'_>) -> Result<R>,
) -> Result<Option<R>> {
    let op = predefined(handle)?;
    let there = SideElements::at_target(target)?;
    let back = SideElements::of_result(result, target)?;
    let here = here_of_accumulate(origin, target, &back, &there, op)?;
    let mut own = None;
    let Some(sides) = Sides::new(window, here, there, target, &mut own)? else { return Ok(None) };
    sides.here.check_apart(&back)?;
    let done = run(&sides, op, back.destination()).map(Some);
    done.map_err(|error| named(error, handle, target.datatype, &buffers_of(origin, result, op)))
}

/// What a get-accumulate brings: with `MPI_NO_OP` nothing, whatever the arguments.
fn here_of_accumulate<'t, C: Wide>(
    origin: &Origin<C>,
    target: &Target<C>,
    back: &SideElements<'t>,
    there: &SideElements<'t>,
    op: ReduceOp,
) -> Result<SideElements<'t>> {
    match op {
        ReduceOp::NoOp => Ok(SideElements { datatype: there.datatype, count: 0, ..*back }),
        _ => SideElements::of_origin(origin, target),
    }
}

/// Bytes and place of a call whose sides are as many elements of one type, which lie without gaps; each look is a jump of its own,
/// which is less than to collect what they find.
#[inline(always)]
pub(crate) fn alike<C: Wide>(origin: &Origin<C>, target: &Target<C>) -> Option<(u64, Rank, Disp)> {
    if origin.datatype != target.datatype || origin.count.wide() != target.count.wide() {
        return otherwise();
    }
    // One look at all signs.
    if target.rank as i64 | target.disp as i64 | origin.count.wide() < 0 {
        return otherwise();
    }
    let (count, size) = (origin.count.wide() as u64, dense_size(origin.datatype));
    if size == 0 {
        return otherwise();
    }
    // No bytes may have any address, which is not for here.
    if origin.address.is_no_place() {
        return otherwise();
    }
    // An `int` times the size of an element is no more.
    let len = if C::IS_WIDE {
        count.checked_mul(size).filter(|len| i64::try_from(*len).is_ok())?
    } else {
        count * size
    };
    Some((len, Rank(target.rank as u32), Disp(target.disp as u64)))
}

/// What is read and what is written at the origin, which do not overlap.
#[inline(always)]
pub(crate) fn spans_apart(from: Memory, to: Memory, len: u64) -> Option<(ReadSpan, WriteSpan)> {
    if !are_apart(from, to, len) {
        return None;
    }
    Some((from.readable_at_all(len)?, to.writable_at_all(len)?))
}

/// The slow path has to be taken. The fence, which is no instruction, makes each way here one of its own to the compiler, which
/// collects in registers what it finds to lead to the same place, for one jump.
#[inline(always)]
pub(crate) fn otherwise<T>() -> Option<T> {
    compiler_fence(SeqCst);
    None
}

/// The number of bytes, when both sides have as many without gaps.
#[inline(always)]
pub(crate) fn dense<C: Wide>(origin: &Origin<C>, target: &Target<C>) -> Option<u64> {
    let here = dense_bytes(origin.count, origin.datatype)?;
    (is_same(origin, target) || dense_bytes(target.count, target.datatype)? == here).then_some(here)
}

/// Bytes and kernel of a call on elements of a predefined type that lie without gaps, of which the other side is given.
#[inline]
pub(crate) fn elements<C: Wide>(side: &Origin<C>, target: &Target<C>, op: ReduceOp) -> Option<(u64, Kernel)> {
    let len = dense_bytes(target.count, target.datatype).filter(|_| is_same(side, target))?;
    Some((len, Kernel::new(op, datatype::basic_type(target.datatype)?)?))
}

/// Whether both sides are as many elements of one type: most calls say the same twice.
#[inline(always)]
pub(crate) fn is_same<C: Wide>(side: &Origin<C>, target: &Target<C>) -> bool {
    side.datatype == target.datatype && side.count.wide() == target.count.wide()
}

#[inline]
fn kernel(handle: MPI_Op, datatype: MPI_Datatype, basic: BasicType, len: u64) -> Result<Kernel> {
    let known = op::reduce_op(handle).and_then(|op| op::kernel(op, basic, len));
    known.ok_or_else(|| op::refused(handle, datatype))
}

/// The engine's operation of a predefined handle, which is what accumulates take.
#[inline]
pub(crate) fn predefined(handle: MPI_Op) -> Result<ReduceOp> {
    op::reduce_op(handle).ok_or_else(|| op::refused(handle, MPI_BYTE))
}

/// An accumulate's error, in the names of the program's datatypes where the engine can only name its own types. `others` are
/// the datatypes that have to be of the same elements as the target's, by their arguments' names.
#[cold]
pub(crate) fn named(
    error: Error,
    op: MPI_Op,
    target: MPI_Datatype,
    others: &[(&str, MPI_Datatype)],
) -> Error {
    let basic = |datatype| datatype::get("", datatype).ok().and_then(|datatype| datatype.basic_type());
    // What has no bytes has no elements of another type: then it is their number that is wrong.
    let has_bytes = |datatype| datatype::get("", datatype).is_ok_and(|datatype| datatype.size() > 0);
    let of_target = basic(target);
    match (error.class(), of_target, op::reduce_op(op)) {
        (ErrorClass::Op, Some(basic), Some(reduce)) if !reduce.is_defined_on(basic) => {
            op::refused(op, target)
        }
        (ErrorClass::Type, None, _) => {
            let elements = datatype::elements_name(target);
            let cause =
                format!("target_datatype has elements of {elements}, but an accumulate takes one type");
            Error::new(ErrorClass::Type, "", cause)
        }
        (ErrorClass::Type, Some(_), _) => {
            match others.iter().find(|(_, other)| has_bytes(*other) && basic(*other) != of_target) {
                Some((name, other)) => {
                    let (here, there) = (datatype::elements_name(*other), datatype::elements_name(target));
                    let cause = format!("{name} has elements of {here}, and target_datatype of {there}");
                    Error::new(ErrorClass::Type, "", cause)
                }
                None => error,
            }
        }
        _ => error,
    }
}
