//! The direct path: the target's window memory is mapped here, so a call is copies and CPU atomics.
//!
//! No packet, no lock of ours, no allocation, no system call: member → gate → bounds → memory. Whatever is wrong leaves by
//! a cold path that has the time to say it well.

use crate::control::Holder;
use crate::ids::Disp;
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::{ReadSpan, WriteSpan};
use crate::window::{Member, OutOfRange};

/// Stores `origin` at `disp`.
#[inline]
pub(crate) fn put(member: &Member, origin: ReadSpan, disp: Disp) -> Result<(), OutOfRange> {
    member.locate(disp, origin.len() as u64)?.write_from(origin);
    Ok(())
}

/// Fills `result` from `disp`.
#[inline]
pub(crate) fn get(member: &Member, result: WriteSpan, disp: Disp) -> Result<(), OutOfRange> {
    result.write_from(member.locate(disp, result.len() as u64)?.as_read());
    Ok(())
}

/// Combines `origin` with the elements at `disp`.
#[inline]
pub(crate) fn accumulate(
    member: &Member,
    holder: Holder,
    origin: ReadSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    kernel.accumulate(member.locate(disp, origin.len() as u64)?, origin, &member.control.unaligned(holder));
    Ok(())
}

/// Combines one element with `operand`, and stores what it was before in `result`.
#[inline]
pub(crate) fn fetch_and_op(
    member: &Member,
    holder: Holder,
    operand: &[u8],
    result: WriteSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let element = member.locate(disp, kernel.ty().size() as u64)?;
    kernel.fetch_accumulate(element, operand, result, &member.control.unaligned(holder));
    Ok(())
}

/// Replaces one element by `operand` if it equals `compare`, and stores what it was before in `result`.
#[inline]
pub(crate) fn compare_and_swap(
    member: &Member,
    holder: Holder,
    operand: &[u8],
    compare: &[u8],
    result: WriteSpan,
    kernel: CompareAndSwap,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let element = member.locate(disp, kernel.ty().size() as u64)?;
    kernel.apply(element, compare, operand, result, &member.control.unaligned(holder));
    Ok(())
}
