//! The calls of operations on raw memory. The caller keeps the buffers until the operation is complete, and
//! longer.

use super::memory::Buffer;
use super::operations::{Area, Call, Prepared, Side};
use rma_core::datatype::BasicType;
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{CompareAndSwap, Kernel, ReduceOp};
use rma_core::mem::WriteSpan;
use rma_core::notify::Notifying;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};

/// What became of a call.
pub(super) enum Called {
    /// There was no operation element: again later.
    Full,
    Started,
    Requested(OperationRequest),
}

impl Called {
    fn from_bool(is_started: bool) -> Self {
        if is_started { Self::Started } else { Self::Full }
    }

    fn from_request(request: Option<OperationRequest>) -> Self {
        request.map_or(Self::Full, Self::Requested)
    }
}

/// An operation under way: its buffers, and what it was called with.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) origin: Buffer,
    pub(super) result: Buffer,
}

impl Buffers {
    /// The buffers of an operation. `seen` is what a compare-and-swap without a value of its own compares with.
    pub(super) fn new(prepared: &Prepared) -> Self {
        let (origin, result): (&[u8], &[u8]) = match &prepared.call {
            Call::Put { origin, .. } | Call::Accumulate { origin, .. } => (&origin.bytes, &[]),
            Call::Get { result, .. } => (&[], &result.bytes),
            Call::GetAccumulate { origin, result, .. } => (&origin.bytes, &result.bytes),
            Call::FetchOp { operand, .. } | Call::CompareSwap { operand, .. } => (&[], operand),
        };
        let mut buffers = Self { origin: Buffer::new(origin), result: Buffer::new(result) };
        if matches!(prepared.call, Call::FetchOp { .. } | Call::CompareSwap { .. }) {
            buffers.result.fill(super::operations::BLANK);
        }
        buffers
    }
}

/// Makes the call of an operation at a displacement.
///
/// # Errors
/// Those of the call.
pub(super) fn call(
    window: &Window,
    prepared: &Prepared,
    disp: Disp,
    seen: u64,
    buffers: &mut Buffers,
) -> Result<Called> {
    let target = Rank(prepared.target);
    match &prepared.call {
        Call::FetchOp { op, basic, operand } => {
            let kernel = Kernel::new(*op, *basic).expect("the generator knows what is defined");
            window
                .try_fetch_and_op(operand, buffers.result.span(), kernel, target, disp)
                .map(Called::from_bool)
        }
        Call::CompareSwap { basic, compare, operand } => {
            let kernel = CompareAndSwap::new(*basic).expect("the generator knows what can be compared");
            let compare = compare.clone().unwrap_or_else(|| seen.to_ne_bytes().to_vec());
            let result = buffers.result.span();
            window
                .try_compare_and_swap(operand, &compare, result, kernel, target, disp)
                .map(Called::from_bool)
        }
        _ if prepared.has_request => request(window, prepared, target, disp, buffers),
        Call::Put { origin, area } if origin.is_dense && area.is_dense => {
            window.try_put(buffers.origin.read_span(), target, disp).map(Called::from_bool)
        }
        Call::Get { area, result } if area.is_dense && result.is_dense => {
            window.try_get(buffers.result.span(), target, disp).map(Called::from_bool)
        }
        Call::Accumulate { op, origin, area } if origin.is_dense && area.is_dense => {
            let kernel = Kernel::new(*op, area.basic).expect("the generator knows what is defined");
            window.try_accumulate(buffers.origin.read_span(), kernel, target, disp).map(Called::from_bool)
        }
        _ => typed(window, prepared, target, disp, buffers),
    }
}

fn origin_of<'a>(side: &'a Side, buffer: &mut Buffer) -> Origin<'a> {
    Origin { base: buffer.base().wrapping_offset(-(side.low as isize)).cast_const(), count: 1, ty: &side.ty }
}

fn result_of<'a>(side: &'a Side, buffer: &mut Buffer) -> Destination<'a> {
    Destination { base: buffer.base().wrapping_offset(-(side.low as isize)), count: 1, ty: &side.ty }
}

fn area_of(area: &Area, disp: Disp) -> TargetArea<'_> {
    TargetArea { disp, count: 1, ty: &area.ty }
}

fn typed(
    window: &Window,
    prepared: &Prepared,
    target: Rank,
    disp: Disp,
    buffers: &mut Buffers,
) -> Result<Called> {
    let Buffers { origin: from, result: into } = buffers;
    // SAFETY: the buffers have room for the types from their lowest bytes on, and the caller keeps them until
    // the operation is complete; origin and result are different buffers.
    let is_started = unsafe {
        match &prepared.call {
            Call::Put { origin, area } => {
                window.try_put_typed(origin_of(origin, from), target, area_of(area, disp))
            }
            Call::Get { area, result } => {
                window.try_get_typed(result_of(result, into), target, area_of(area, disp))
            }
            Call::Accumulate { op, origin, area } => {
                window.try_accumulate_typed(origin_of(origin, from), *op, target, area_of(area, disp))
            }
            Call::GetAccumulate { op, origin, area, result } => {
                let (origin, result) = (origin_of(origin, from), result_of(result, into));
                window.try_get_accumulate(origin, result, *op, target, area_of(area, disp))
            }
            Call::FetchOp { .. } | Call::CompareSwap { .. } => unreachable!("calls without datatypes"),
        }
    };
    is_started.map(Called::from_bool)
}

fn request(
    window: &Window,
    prepared: &Prepared,
    target: Rank,
    disp: Disp,
    buffers: &mut Buffers,
) -> Result<Called> {
    if prepared.is_notified() {
        return notified(window, prepared, target, disp, buffers);
    }
    let Buffers { origin: from, result: into } = buffers;
    // SAFETY: as in `typed`.
    let request = unsafe {
        match &prepared.call {
            Call::Put { origin, area } => {
                window.try_rput(origin_of(origin, from), target, area_of(area, disp))
            }
            Call::Get { area, result } => {
                window.try_rget(result_of(result, into), target, area_of(area, disp))
            }
            Call::Accumulate { op, origin, area } => {
                window.try_raccumulate(origin_of(origin, from), *op, target, area_of(area, disp))
            }
            Call::GetAccumulate { op, origin, area, result } => {
                let (origin, result) = (origin_of(origin, from), result_of(result, into));
                window.try_rget_accumulate(origin, result, *op, target, area_of(area, disp))
            }
            Call::FetchOp { .. } | Call::CompareSwap { .. } => unreachable!("calls without requests"),
        }
    };
    request.map(Called::from_request)
}

/// The same with a notice.
fn notified(
    window: &Window,
    prepared: &Prepared,
    target: Rank,
    disp: Disp,
    buffers: &mut Buffers,
) -> Result<Called> {
    let (Buffers { origin: from, result: into }, call) = (buffers, Notifying::of(window, 0));
    // SAFETY: as in `typed`.
    let request = unsafe {
        match &prepared.call {
            Call::Put { origin, area } => call.try_rput(origin_of(origin, from), target, area_of(area, disp)),
            Call::Get { area, result } => call.try_rget(result_of(result, into), target, area_of(area, disp)),
            Call::Accumulate { op, origin, area } => {
                call.try_raccumulate(origin_of(origin, from), *op, target, area_of(area, disp))
            }
            Call::GetAccumulate { op, origin, area, result } => {
                let (origin, result) = (origin_of(origin, from), result_of(result, into));
                call.try_rget_accumulate(origin, result, *op, target, area_of(area, disp))
            }
            Call::FetchOp { .. } | Call::CompareSwap { .. } => unreachable!("calls without requests"),
        }
    };
    request.map(Called::from_request)
}

/// Attaches memory to a dynamic window.
///
/// # Errors
/// Those of the call.
pub(super) fn attach(window: &Window, memory: WriteSpan) -> Result<()> {
    // SAFETY: the player keeps the memory until the window is freed.
    unsafe { window.attach(memory) }
}

/// The rank's own window memory.
pub(super) fn local(window: &Window) -> WriteSpan {
    // SAFETY: used only while the window is not freed.
    unsafe { window.local() }
}

/// The memory of a rank that is mapped here, or of the lowest one that has any.
///
/// # Errors
/// Those of the call.
pub(super) fn mapped(window: &Window, rank: Option<u32>) -> Result<WriteSpan> {
    // SAFETY: used only while the window is not freed.
    unsafe { window.shared_query(rank.map(Rank)) }.map(|(span, _)| span)
}

/// Whether elements of a type can be compared and swapped.
pub(super) fn can_be_swapped(basic: BasicType) -> bool {
    CompareAndSwap::new(basic).is_some()
}

/// Whether an operation may be given to fetch-and-op or get-accumulate on this type.
pub(super) fn is_defined(op: ReduceOp, basic: BasicType) -> bool {
    Kernel::new(op, basic).is_some()
}
