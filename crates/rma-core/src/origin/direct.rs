//! The direct path: the target's window memory is mapped here, so a call is copies and CPU atomics.
//!
//! No packet, no engine lock, no allocation, no system call: mapped target → gate → bounds → memory. Errors leave by
//! a cold path that has the time to describe them. Attached memory is pinned meanwhile: another thread's
//! detach call waits. What is more than one store of the processor is noted meanwhile, for survivors of this
//! process (`control/notes.rs`).

use crate::control::{Domain, OperationKind, is_word};
use crate::ids::Disp;
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::{ReadSpan, WriteSpan};
use crate::state::{MappedTarget, OutOfRange, Shared};

/// Stores `origin` at `disp`. In a build for development it is a function of its own, at which a debugger stops.
#[cfg_attr(not(debug_assertions), inline)]
#[cfg_attr(debug_assertions, inline(never))]
pub(crate) fn put(
    shared: &Shared,
    mapped: &MappedTarget,
    origin: ReadSpan,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = mapped.pin();
    let place = mapped.locate(disp, origin.len() as u64)?;
    shared.domain(mapped).put(place, origin);
    Ok(())
}

/// Fills `result` from `disp`.
#[inline]
pub(crate) fn get(mapped: &MappedTarget, result: WriteSpan, disp: Disp) -> Result<(), OutOfRange> {
    let _pin = mapped.pin();
    result.write_from(mapped.locate(disp, result.len() as u64)?.as_read());
    Ok(())
}

/// Combines `origin` with the elements at `disp`.
#[inline]
pub(crate) fn accumulate(
    shared: &Shared,
    mapped: &MappedTarget,
    origin: ReadSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = mapped.pin();
    let (place, domain) = (mapped.locate(disp, origin.len() as u64)?, shared.domain(mapped));
    if is_word(place) {
        kernel.accumulate(place, origin, &domain);
    } else {
        accumulate_noted(domain, place, origin, kernel);
    }
    Ok(())
}

/// Kept out of the way of single words, which are one step.
#[inline(never)]
fn accumulate_noted(domain: Domain<'_>, place: WriteSpan, origin: ReadSpan, kernel: Kernel) {
    let _note = domain.note(OperationKind::Accumulate, place);
    kernel.accumulate(place, origin, &domain);
}

/// Combines one element with `operand`, and stores what it was before in `result`.
#[inline]
pub(crate) fn fetch_and_op(
    shared: &Shared,
    mapped: &MappedTarget,
    operand: &[u8],
    result: WriteSpan,
    kernel: Kernel,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = mapped.pin();
    let (element, domain) = (mapped.locate(disp, kernel.ty().size() as u64)?, shared.domain(mapped));
    if is_word(element) {
        kernel.fetch_accumulate(element, operand, result, &domain);
    } else {
        fetch_noted(domain, element, operand, result, kernel);
    }
    Ok(())
}

/// As [`accumulate_noted`].
#[inline(never)]
fn fetch_noted(domain: Domain<'_>, element: WriteSpan, operand: &[u8], result: WriteSpan, kernel: Kernel) {
    let _note = kernel.reads_operand().then(|| domain.note(OperationKind::Accumulate, element));
    kernel.fetch_accumulate(element, operand, result, &domain);
}

/// Replaces one element by `operand` if it equals `compare`, and stores what it was before in `result`.
#[inline]
pub(crate) fn compare_and_swap(
    shared: &Shared,
    mapped: &MappedTarget,
    operand: &[u8],
    compare: &[u8],
    result: WriteSpan,
    kernel: CompareAndSwap,
    disp: Disp,
) -> Result<(), OutOfRange> {
    let _pin = mapped.pin();
    let (element, domain) = (mapped.locate(disp, kernel.ty().size() as u64)?, shared.domain(mapped));
    if is_word(element) {
        kernel.apply(element, compare, operand, result, &domain);
    } else {
        swap_noted(domain, element, (compare, operand), result, kernel);
    }
    Ok(())
}

/// As [`accumulate_noted`].
#[inline(never)]
fn swap_noted(
    domain: Domain<'_>,
    element: WriteSpan,
    (compare, operand): (&[u8], &[u8]),
    result: WriteSpan,
    kernel: CompareAndSwap,
) {
    let _note = domain.note(OperationKind::Accumulate, element);
    kernel.apply(element, compare, operand, result, &domain);
}
