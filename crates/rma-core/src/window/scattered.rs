//! Calls whose memory does not lie side by side: run by run where the target is mapped, else as operations with a shape.
//!
//! The public forms, and what their callers promise, are in [`super::typed`] and [`super::request`].

use super::calls::{Window, returns_values};
use super::typed::{Destination, Origin, TargetArea, undefined};
use crate::control::{Note, OperationKind};
use crate::datatype::{Datatype, Gather, Layout, Scatter};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank};
use crate::kernel::{Kernel, Operands, ReduceOp};
use crate::state::MappedTarget;
use crate::table::{Notice, OpData, OpKind, OpResult, Operation, Signal};
use std::sync::Arc;

/// What a call does when it cannot be carried out at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Waits for an operation element.
    Wait,
    /// Gives up when there is none.
    Try,
    /// Waits for an operation element, and makes a signal of the operation's end.
    Request,
    /// The same, but gives up when there is none.
    TryRequest,
    /// The operation raises a counter of its target; whether the call waits for an element, and whether it has a request.
    Notify(Notice, bool, bool),
}

/// What became of a call.
pub(crate) enum Outcome {
    /// It is complete.
    Done,
    /// It is under way.
    Posted(Option<Arc<Signal>>),
    /// There was no operation element.
    Full,
}

impl Outcome {
    pub(crate) fn is_accepted(&self) -> bool {
        !matches!(self, Self::Full)
    }
}

impl Window {
    /// The whole of [`Window::put_typed`].
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(crate) unsafe fn put_scattered(
        &self,
        origin: Origin<'_>,
        target: Rank,
        area: TargetArea<'_>,
        mode: Mode,
    ) -> Result<Outcome> {
        const CALL: &str = "put";
        let (mut own_from, mut own_to) = (None, None);
        let from = origin.ty.elements_in(CALL, origin.count, &mut own_from)?;
        let to = area.ty.elements_in(CALL, area.count, &mut own_to)?;
        check_sizes(CALL, ("origin", from.size()), ("target", to.size()))?;
        // SAFETY: the caller's promise.
        let mut from = unsafe { Gather::new(origin.base, from) };
        if let Some(mapped) = self.direct(target, CALL, to.size() as usize) {
            let _pin = mapped.pin();
            let place = mapped.locate_layout(area.disp, to);
            let mut place = place.map_err(|range| range.into_error(CALL, target))?;
            let _note = self.note(mapped, OperationKind::Put, area.disp, to);
            from.transfer(&mut place);
            return Ok(Outcome::Done);
        }
        let op = Operation::new(OpKind::Put, area.disp, to.size(), from.into_owned(), OpResult::NONE);
        self.submit(target, CALL, op.on_layout(to.clone()), mode)
    }

    /// The whole of [`Window::get_typed`].
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(crate) unsafe fn get_scattered(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
        mode: Mode,
    ) -> Result<Outcome> {
        const CALL: &str = "get";
        let (mut own_from, mut own_to) = (None, None);
        let from = area.ty.elements_in(CALL, area.count, &mut own_from)?;
        let to = result.ty.elements_in(CALL, result.count, &mut own_to)?;
        check_sizes(CALL, ("target", from.size()), ("result", to.size()))?;
        // SAFETY: the caller's promise.
        let mut to = unsafe { Scatter::new(result.base, to) };
        if let Some(mapped) = self.direct_load(target, CALL, from.size() as usize) {
            let _pin = mapped.pin();
            let place = mapped.locate_layout(area.disp, from);
            place.map_err(|range| range.into_error(CALL, target))?.as_gather().transfer(&mut to);
            return Ok(Outcome::Done);
        }
        let op = Operation::new(OpKind::Get, area.disp, from.size(), OpData::NONE, to.into_owned());
        self.submit(target, CALL, op.on_layout(from.clone()), mode)
    }

    /// The whole of [`Window::accumulate_typed`].
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(crate) unsafe fn accumulate_scattered(
        &self,
        origin: Origin<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
        mode: Mode,
    ) -> Result<Outcome> {
        const CALL: &str = "accumulate";
        let (mut own_from, mut own_to) = (None, None);
        let from = origin.ty.elements_in(CALL, origin.count, &mut own_from)?;
        let to = area.ty.elements_in(CALL, area.count, &mut own_to)?;
        check_sizes(CALL, ("origin", from.size()), ("target", to.size()))?;
        if !op.is_accumulate() {
            return Err(returns_values(op));
        }
        let Some(kernel) = kernel(CALL, op, to.size(), area.ty, &[origin.ty])? else {
            return Ok(Outcome::Done);
        };
        // SAFETY: the caller's promise.
        let from = unsafe { Gather::new(origin.base, from) };
        if let Some(mapped) = self.direct(target, CALL, to.size() as usize) {
            let _pin = mapped.pin();
            let place = mapped.locate_layout(area.disp, to);
            let place = place.map_err(|range| range.into_error(CALL, target))?;
            let exclusion = self.shared().domain(mapped);
            let _note = self.note(mapped, OperationKind::Accumulate, area.disp, to);
            kernel.accumulate_scattered(&place, Operands::Memory(from), &exclusion);
            return Ok(Outcome::Done);
        }
        let kind = OpKind::Accumulate(kernel);
        let op = Operation::new(kind, area.disp, to.size(), from.into_owned(), OpResult::NONE);
        self.submit(target, CALL, op.on_layout(to.clone()), mode)
    }

    /// The whole of [`Window::get_accumulate`].
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    pub(crate) unsafe fn get_accumulate_scattered(
        &self,
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp,
        target: Rank,
        area: TargetArea<'_>,
        mode: Mode,
    ) -> Result<Outcome> {
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
        let Some(kernel) = kernel(CALL, op, to.size(), area.ty, others)? else { return Ok(Outcome::Done) };
        // SAFETY: the caller's promise.
        let old = unsafe { Scatter::new(result.base, old) };
        if let Some(mapped) = self.direct(target, CALL, to.size() as usize) {
            let _pin = mapped.pin();
            let place = mapped.locate_layout(area.disp, to);
            let place = place.map_err(|range| range.into_error(CALL, target))?;
            let exclusion = self.shared().domain(mapped);
            let _note =
                kernel.reads_operand().then(|| self.note(mapped, OperationKind::Accumulate, area.disp, to));
            let operands = from.map_or(Operands::None, Operands::Memory);
            kernel.fetch_scattered(&place, operands, &old, &exclusion);
            return Ok(Outcome::Done);
        }
        let data = from.map_or(OpData::NONE, |from| OpData::from(from.into_owned()));
        let op = Operation::new(OpKind::GetAccumulate(kernel), area.disp, to.size(), data, old.into_owned());
        self.submit(target, CALL, op.on_layout(to.clone()), mode)
    }

    /// Notes that the process is changing the bytes of a layout, which lies within the window.
    fn note<'a>(
        &'a self,
        mapped: &'a MappedTarget,
        kind: OperationKind,
        disp: Disp,
        layout: &Layout,
    ) -> Note<'a> {
        let (start, len) = mapped.extent(disp, layout);
        self.shared().domain(mapped).note_range(kind, start, len)
    }

    fn submit(&self, target: Rank, call: &'static str, mut op: Operation, mode: Mode) -> Result<Outcome> {
        if let Mode::Notify(notice, waits, is_requested) = mode {
            return self.submit_notified(target, call, op.notifying(notice), waits, is_requested);
        }
        let is_requested = matches!(mode, Mode::Request | Mode::TryRequest);
        let _call = matches!(mode, Mode::Wait | Mode::Request).then(|| self.trace(call, Some(target)));
        if is_requested && self.leaves_at_once(target, &op) {
            return Ok(Outcome::Done);
        }
        let signal = is_requested.then(Arc::<Signal>::default);
        if let Some(signal) = &signal {
            op = op.signalling(Arc::clone(signal));
        }
        if matches!(mode, Mode::Wait | Mode::Request) {
            self.post(target, call, || op)?;
        } else if self.try_post(target, call, op)?.is_some() {
            return Ok(Outcome::Full);
        }
        Ok(Outcome::Posted(signal))
    }
}

/// What is sent and where it goes must have equal sizes: type signatures match (MPI 3.1 §11.3).
fn check_sizes(call: &'static str, (source, sent): (&str, u64), (sink, room): (&str, u64)) -> Result<()> {
    if sent == room {
        return Ok(());
    }
    let class = if sent > room { ErrorClass::Truncate } else { ErrorClass::Type };
    let cause = format!("the {source}'s type and count make {sent} bytes, the {sink}'s {room}");
    Err(Error::new(class, call, cause))
}

/// The kernel of the operation on the basic type that all types consist of; `None` when there are no elements.
fn kernel(
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
