//! What communication calls are given, and what they ask of it before anything else; and the calls on one element of any basic type
//! (MPI 3.1 §11.3).

use super::Window;
use super::queue::fetch;
use super::scattered::Mode;
use crate::control::OperationKind;
use crate::datatype::{BasicType, Datatype};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank};
use crate::kernel::{CompareAndSwap, Kernel, ReduceOp};
use crate::mem::{ReadSpan, WriteSpan};
use crate::table::{FetchCall, OPERAND_BYTES};

/// Elements in the caller's memory that a call reads.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The address that the type's displacements count from.
    pub base: *const u8,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// Elements in the caller's memory that a call fills.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The address that the type's displacements count from.
    pub base: *mut u8,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// Elements in the target's window.
#[derive(Clone, Copy, Debug)]
pub struct TargetArea<'a> {
    /// What the type's displacements count from, in units of the target's displacement unit.
    pub disp: Disp,
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// The whole of [`Window::get_accumulate_elements`].
#[inline]
pub(super) fn get_accumulate_elements(
    handle: &Window,
    origin: ReadSpan,
    result: WriteSpan,
    kernel: Kernel,
    target: Rank,
    disp: Disp,
) -> Result<()> {
    const CALL: &str = "get_accumulate";
    if !kernel.ty().divides(result.len()) || origin.len() != result.len() {
        let cause = format!("{} and {} bytes of {}", origin.len(), result.len(), kernel.ty());
        return Err(Error::new(ErrorClass::Count, CALL, cause));
    }
    let Some(mapped) = handle.direct(target, CALL, result.len()) else {
        let call = FetchCall::accumulate(origin, result, kernel, disp);
        return fetch(handle, target, CALL, &call, Mode::WAIT).map(|_| ());
    };
    let _pin = mapped.pin();
    let place = mapped.locate(disp, result.len() as u64);
    let place = place.map_err(|range| range.into_error(CALL, target))?;
    let domain = handle.shared().domain(mapped);
    let _note = kernel.reads_operand().then(|| domain.note(OperationKind::Accumulate, place));
    kernel.fetch_accumulate(place, origin, result, &domain);
    Ok(())
}

/// The whole of [`Window::fetch_and_op_typed`].
///
/// # Safety
/// As there.
#[inline]
pub(super) unsafe fn fetch_and_op(
    handle: &Window,
    origin: *const u8,
    result: *mut u8,
    ty: BasicType,
    op: ReduceOp,
    target: Rank,
    disp: Disp,
) -> Result<()> {
    const CALL: &str = "fetch_and_op";
    let Some(kernel) = Kernel::new(op, ty) else { return Err(undefined(CALL, op, ty)) };
    let size = ty.word_size();
    if size == 0 {
        let ty = Datatype::basic(ty);
        let (count, ty) = (1, &ty);
        let (origin, result) = (Origin { base: origin, count, ty }, Destination { base: result, count, ty });
        // SAFETY: the caller's promise.
        let done =
            unsafe { handle.get_accumulate(origin, result, op, target, TargetArea { disp, count, ty }) };
        return done.map_err(|error| error.in_call(CALL));
    }
    let mut operand = [0; 8];
    let operand = &mut operand[..size];
    if kernel.reads_operand() {
        // SAFETY: the caller's promise, used only here.
        unsafe { ReadSpan::new(origin, size) }.read(operand);
    }
    // SAFETY: the caller's promise.
    handle.fetch_and_op(operand, unsafe { WriteSpan::new(result, size) }, kernel, target, disp)
}

/// The whole of [`Window::compare_and_swap_typed`].
///
/// # Safety
/// As there.
#[inline]
pub(super) unsafe fn compare_and_swap(
    handle: &Window,
    origin: *const u8,
    compare: *const u8,
    result: *mut u8,
    ty: BasicType,
    target: Rank,
    disp: Disp,
) -> Result<()> {
    let Some(kernel) = CompareAndSwap::new(ty) else {
        let cause = format!("elements of {ty} cannot be compared and swapped");
        return Err(Error::new(ErrorClass::Type, "compare_and_swap", cause));
    };
    let size = ty.size();
    let (mut operand, mut comparand) = ([0; 8], [0; 8]);
    let (operand, comparand) = (&mut operand[..size], &mut comparand[..size]);
    // SAFETY: the caller's promise, used only here.
    unsafe {
        ReadSpan::new(origin, size).read(operand);
        ReadSpan::new(compare, size).read(comparand);
    }
    // SAFETY: the caller's promise.
    let result = unsafe { WriteSpan::new(result, size) };
    handle.compare_and_swap(operand, comparand, result, kernel, target, disp)
}

/// Bytes of so many elements, when they lie side by side from the address on.
#[inline]
pub(super) fn dense(ty: &Datatype, count: u64) -> Option<usize> {
    usize::try_from(ty.dense_len(count)?).ok()
}

/// Whether the buffers of a call on one element are of its size.
#[inline]
pub(super) fn check_element(call: &'static str, size: usize, lens: &[usize]) -> Result<()> {
    if size > OPERAND_BYTES {
        return Err(long_element(call, size));
    }
    if lens.iter().all(|len| *len == size) { Ok(()) } else { Err(bad_element(call, size, lens)) }
}

#[cold]
fn long_element(call: &'static str, size: usize) -> Error {
    let cause = format!("an element of {size} bytes, but calls of one element take {OPERAND_BYTES} at most");
    Error::new(ErrorClass::Type, call, cause)
}

#[cold]
fn bad_element(call: &'static str, size: usize, lens: &[usize]) -> Error {
    Error::new(
        ErrorClass::Count,
        call,
        format!("buffers of {lens:?} bytes, but one element of {size} is needed in each"),
    )
}

#[cold]
pub(super) fn returns_values(op: ReduceOp) -> Error {
    let cause = format!("{op} returns the target's value, and accumulate returns nothing");
    Error::new(ErrorClass::Op, "accumulate", cause)
}

/// Whether so many bytes may be accumulated by a kernel.
#[inline]
pub(super) fn check_accumulate(len: usize, kernel: Kernel) -> Result<()> {
    if kernel.ty().divides(len) && kernel.op().is_accumulate() {
        Ok(())
    } else {
        Err(bad_accumulate(len, kernel))
    }
}

#[cold]
fn bad_accumulate(len: usize, kernel: Kernel) -> Error {
    if !kernel.op().is_accumulate() {
        return returns_values(kernel.op());
    }
    let cause =
        format!("{len} bytes are not whole elements of {} ({} bytes)", kernel.ty(), kernel.ty().size());
    Error::new(ErrorClass::Count, "accumulate", cause)
}

/// What is sent and where it goes must have equal sizes: type signatures match (MPI 3.1 §11.3).
pub(super) fn check_sizes(
    call: &'static str,
    (source, sent): (&str, u64),
    (sink, room): (&str, u64),
) -> Result<()> {
    if sent == room {
        return Ok(());
    }
    let class = if sent > room { ErrorClass::Truncate } else { ErrorClass::Type };
    let cause = format!("the {source}'s type and count make {sent} bytes, the {sink}'s {room}");
    Err(Error::new(class, call, cause))
}

/// The kernel of the operation on the basic type that all types consist of; `None` when there are no elements.
pub(super) fn kernel(
    call: &'static str,
    op: ReduceOp,
    size: u64,
    target: &Datatype,
    others: &[&Datatype],
) -> Result<Option<Kernel>> {
    if size == 0 {
        return Ok(None);
    }
    let Some(ty) =
        target.basic_type().filter(|ty| others.iter().all(|other| other.basic_type() == Some(*ty)))
    else {
        let cause = format!("{target:?} and {others:?} do not consist of one and the same basic type");
        return Err(Error::new(ErrorClass::Type, call, cause));
    };
    Kernel::new(op, ty).map(Some).ok_or_else(|| undefined(call, op, ty))
}

#[cold]
fn undefined(call: &'static str, op: ReduceOp, ty: BasicType) -> Error {
    Error::new(ErrorClass::Op, call, format!("{op} is not defined on {ty}"))
}
