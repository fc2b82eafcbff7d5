//! Calls whose memory does not lie side by side: run by run where the target is mapped, else as operations with a shape.
//!
//! The public forms, and what their callers promise, are in [`super::communicate`] and [`super::requests`].

use super::Window;
use super::queue::operation;
use super::typed::{Destination, Origin, TargetArea, check_sizes, kernel, returns_values};
use crate::control::{Note, OperationKind};
use crate::datatype::{Gather, Layout, Scatter};
use crate::error::Result;
use crate::ids::{Disp, Rank};
use crate::kernel::{Operands, ReduceOp};
use crate::state::MappedTarget;
use crate::table::{Notice, OpData, OpKind, OpResult, Operation, Signal};
use std::sync::Arc;

/// What a call does when it cannot be carried out at once, and what becomes of its operation.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    /// It waits for an operation element; otherwise it gives up when there is none.
    waits: bool,
    /// It makes a signal of the operation's end.
    is_requested: bool,
    /// The operation raises a counter of its target.
    notice: Option<Notice>,
}

impl Mode {
    pub(crate) const WAIT: Self = Self { waits: true, is_requested: false, notice: None };
    pub(crate) const TRY: Self = Self { waits: false, ..Self::WAIT };
    pub(crate) const REQUEST: Self = Self { is_requested: true, ..Self::WAIT };
    pub(crate) const TRY_REQUEST: Self = Self { waits: false, ..Self::REQUEST };

    /// Whether the call waits for an operation element.
    pub(super) fn waits(self) -> bool {
        self.waits
    }

    /// Whether it makes a signal of the operation's end.
    pub(super) fn is_requested(self) -> bool {
        self.is_requested
    }

    pub(super) fn notice(self) -> Option<Notice> {
        self.notice
    }

    /// Whether the operation leaves with its call: the target waits for it, and the caller may compute for long.
    pub(super) fn leaves(self) -> bool {
        self.waits && self.notice.is_some()
    }

    pub(crate) fn notifying(self, notice: Notice) -> Self {
        Self { notice: Some(notice), ..self }
    }
}

/// What became of a call.
pub(crate) enum CallOutcome {
    /// It is complete.
    Done,
    /// It is under way.
    Posted(Option<Arc<Signal>>),
    /// There was no operation element.
    Full,
}

impl CallOutcome {
    pub(crate) fn is_accepted(&self) -> bool {
        !matches!(self, Self::Full)
    }
}

/// The whole of [`Window::put_typed`].
///
/// # Safety
/// As there.
#[inline(never)]
pub(crate) unsafe fn put(
    handle: &Window,
    origin: Origin<'_>,
    target: Rank,
    area: TargetArea<'_>,
    mode: Mode,
) -> Result<CallOutcome> {
    const CALL: &str = "put";
    let (mut own_from, mut own_to) = (None, None);
    let from = origin.ty.elements_in(CALL, origin.count, &mut own_from)?;
    let to = area.ty.elements_in(CALL, area.count, &mut own_to)?;
    check_sizes(CALL, ("origin", from.size()), ("target", to.size()))?;
    // SAFETY: the caller's promise.
    let mut from = unsafe { Gather::new(origin.base, from) };
    if let Some(mapped) = handle.direct(target, CALL, to.size() as usize) {
        let _pin = mapped.pin();
        let place = mapped.locate_layout(area.disp, to);
        let mut place = place.map_err(|range| range.into_error(CALL, target))?;
        let _note = note(handle, mapped, OperationKind::Put, area.disp, to);
        from.transfer(&mut place);
        return Ok(CallOutcome::Done);
    }
    let op = Operation::new(OpKind::Put, area.disp, to.size(), from.into_owned(), OpResult::NONE);
    operation(handle, target, CALL, op.on_layout(to.clone()), mode)
}

/// The whole of [`Window::get_typed`].
///
/// # Safety
/// As there.
#[inline(never)]
pub(crate) unsafe fn get(
    handle: &Window,
    result: Destination<'_>,
    target: Rank,
    area: TargetArea<'_>,
    mode: Mode,
) -> Result<CallOutcome> {
    const CALL: &str = "get";
    let (mut own_from, mut own_to) = (None, None);
    let from = area.ty.elements_in(CALL, area.count, &mut own_from)?;
    let to = result.ty.elements_in(CALL, result.count, &mut own_to)?;
    check_sizes(CALL, ("target", from.size()), ("result", to.size()))?;
    // SAFETY: the caller's promise.
    let mut to = unsafe { Scatter::new(result.base, to) };
    if let Some(mapped) = handle.direct_load(target, CALL, from.size() as usize) {
        let _pin = mapped.pin();
        let place = mapped.locate_layout(area.disp, from);
        place.map_err(|range| range.into_error(CALL, target))?.as_gather().transfer(&mut to);
        return Ok(CallOutcome::Done);
    }
    let op = Operation::new(OpKind::Get, area.disp, from.size(), OpData::NONE, to.into_owned());
    operation(handle, target, CALL, op.on_layout(from.clone()), mode)
}

/// The whole of [`Window::accumulate_typed`].
///
/// # Safety
/// As there.
#[inline(never)]
pub(crate) unsafe fn accumulate(
    handle: &Window,
    origin: Origin<'_>,
    op: ReduceOp,
    target: Rank,
    area: TargetArea<'_>,
    mode: Mode,
) -> Result<CallOutcome> {
    const CALL: &str = "accumulate";
    let (mut own_from, mut own_to) = (None, None);
    let from = origin.ty.elements_in(CALL, origin.count, &mut own_from)?;
    let to = area.ty.elements_in(CALL, area.count, &mut own_to)?;
    check_sizes(CALL, ("origin", from.size()), ("target", to.size()))?;
    if !op.is_accumulate() {
        return Err(returns_values(op));
    }
    let Some(kernel) = kernel(CALL, op, to.size(), area.ty, &[origin.ty])? else {
        return Ok(CallOutcome::Done);
    };
    // SAFETY: the caller's promise.
    let from = unsafe { Gather::new(origin.base, from) };
    if let Some(mapped) = handle.direct(target, CALL, to.size() as usize) {
        let _pin = mapped.pin();
        let place = mapped.locate_layout(area.disp, to);
        let place = place.map_err(|range| range.into_error(CALL, target))?;
        let exclusion = handle.shared().domain(mapped);
        let _note = note(handle, mapped, OperationKind::Accumulate, area.disp, to);
        kernel.accumulate_scattered(&place, Operands::Memory(from), &exclusion);
        return Ok(CallOutcome::Done);
    }
    let kind = OpKind::Accumulate(kernel);
    let op = Operation::new(kind, area.disp, to.size(), from.into_owned(), OpResult::NONE);
    operation(handle, target, CALL, op.on_layout(to.clone()), mode)
}

/// The whole of [`Window::get_accumulate`].
///
/// # Safety
/// As there.
#[inline(never)]
pub(crate) unsafe fn get_accumulate(
    handle: &Window,
    origin: Origin<'_>,
    result: Destination<'_>,
    op: ReduceOp,
    target: Rank,
    area: TargetArea<'_>,
    mode: Mode,
) -> Result<CallOutcome> {
    const CALL: &str = "get_accumulate";
    let (mut own_from, mut own_to, mut own_old) = (None, None, None);
    let to = area.ty.elements_in(CALL, area.count, &mut own_to)?;
    let old = result.ty.elements_in(CALL, result.count, &mut own_old)?;
    check_sizes(CALL, ("target", to.size()), ("result", old.size()))?;
    let mut from = None;
    if op != ReduceOp::NoOp {
        let layout = origin.ty.elements_in(CALL, origin.count, &mut own_from)?;
        check_sizes(CALL, ("origin", layout.size()), ("target", to.size()))?;
        // SAFETY: the caller's promise.
        from = Some(unsafe { Gather::new(origin.base, layout) });
    }
    let others = if from.is_some() { &[result.ty, origin.ty][..] } else { &[result.ty] };
    let Some(kernel) = kernel(CALL, op, to.size(), area.ty, others)? else { return Ok(CallOutcome::Done) };
    // SAFETY: the caller's promise.
    let old = unsafe { Scatter::new(result.base, old) };
    if let Some(mapped) = handle.direct(target, CALL, to.size() as usize) {
        let _pin = mapped.pin();
        let place = mapped.locate_layout(area.disp, to);
        let place = place.map_err(|range| range.into_error(CALL, target))?;
        let exclusion = handle.shared().domain(mapped);
        let _note =
            kernel.reads_operand().then(|| note(handle, mapped, OperationKind::Accumulate, area.disp, to));
        let operands = from.map_or(Operands::None, Operands::Memory);
        kernel.fetch_scattered(&place, operands, &old, &exclusion);
        return Ok(CallOutcome::Done);
    }
    let data = from.map_or(OpData::NONE, |from| OpData::from(from.into_owned()));
    let op = Operation::new(OpKind::GetAccumulate(kernel), area.disp, to.size(), data, old.into_owned());
    operation(handle, target, CALL, op.on_layout(to.clone()), mode)
}

/// Notes that the process is changing the bytes of a layout, which lies within the window.
fn note<'a>(
    handle: &'a Window,
    mapped: &'a MappedTarget,
    kind: OperationKind,
    disp: Disp,
    layout: &Layout,
) -> Note<'a> {
    let (start, len) = mapped.extent(disp, layout);
    handle.shared().domain(mapped).note_range(kind, start, len)
}
