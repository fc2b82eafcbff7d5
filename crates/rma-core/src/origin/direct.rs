//! The direct path: the target's window memory is mapped here, so a call is copies and CPU atomics.
//!
//! No packet, no lock of ours, no allocation, no system call: member → gate → bounds → memory. Whatever is wrong leaves by
//! a cold path that has the time to say it well. Attached memory is pinned meanwhile: another thread's detach call waits.

use crate::ids::Disp;
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::{ReadSpan, WriteSpan};
use crate::window::{Member, OutOfRange, Shared};

/// Stores `origin` at `disp`.
#[inline]
pub(crate) fn put(member: &Member, origin: ReadSpan, disp: Disp) -> Result<(), OutOfRange> {
    let _pin = member.pin();
    member.locate(disp, origin.len() as u64)?.write_from(origin);
    Ok(())
}

/// Fills `result` from `disp`.
#[inline]
pub(crate) fn get(member: &Member, result: WriteSpan, disp: Disp) -> Result<(), OutOfRange> {
    let _pin = member.pin();
    result.write_from(member.locate(disp, result.len() as u64)?.as_read());
    Ok(())
}

/// Combines `origin` with the elements at `disp`.
#[inline]
pub(crate) fn accumulate(
    shared: &Shared,
    member: &Member,
    origin: ReadSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = member.pin();
    kernel.accumulate(member.locate(disp, origin.len() as u64)?, origin, &shared.domain(member));
    Ok(())
}

/// Combines one element with `operand`, and stores what it was before in `result`.
#[inline]
pub(crate) fn fetch_and_op(
    shared: &Shared,
    member: &Member,
    operand: &[u8],
    result: WriteSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = member.pin();
    let element = member.locate(disp, kernel.ty().size() as u64)?;
    kernel.fetch_accumulate(element, operand, result, &shared.domain(member));
    Ok(())
}

/// Replaces one element by `operand` if it equals `compare`, and stores what it was before in `result`.
#[inline]
pub(crate) fn compare_and_swap(
    shared: &Shared,
    member: &Member,
    operand: &[u8],
    compare: &[u8],
    result: WriteSpan,
    kernel: CompareAndSwap,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = member.pin();
    let element = member.locate(disp, kernel.ty().size() as u64)?;
    kernel.apply(element, compare, operand, result, &shared.domain(member));
    Ok(())
}
