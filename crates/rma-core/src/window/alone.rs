//! Operations that leave within the call, because nothing goes before them and nothing rides on them: fetches
//! ([`crate::origin::lone_fetch`]), and stores with a request, which is complete then ([`crate::origin::lone`]). The calls try that
//! before they make an operation of the pool. Each answers `false`, and has done nothing, where an operation is needed, or the call is
//! wrong.

use super::calls::{OPERAND_BYTES, Window};
use crate::ids::{Disp, Rank};
use crate::kernel::{CompareAndSwap, Kernel};
use crate::mem::{ReadSpan, WriteSpan};
use crate::origin::lone;
use crate::origin::lone_fetch::{self, REPLY_TO};
use crate::origin::pack::Small;
use crate::table::Operation;
use crate::wire::{Place, RequestKind};

/// Longest data of a get-accumulate that goes this way: of longer ones the way is no matter.
const MOST_DATA: usize = 128;

impl Window {
    /// [`Window::get`].
    pub(super) fn gets_alone(&self, result: WriteSpan, target: Rank, disp: Disp) -> bool {
        let (place, len) = (Place::run(disp, 0), result.len() as u64);
        self.fetches_alone((target, disp), result, RequestKind::Get { place, len, reply_to: REPLY_TO }, &[])
    }

    /// [`Window::fetch_and_op`], of one element on all sides.
    pub(super) fn fetches_and_ops_alone(
        &self,
        operand: &[u8],
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> bool {
        let kind = RequestKind::FetchOp { place: Place::run(disp, 0), kernel, reply_to: REPLY_TO };
        self.fetches_alone((target, disp), result, kind, operand)
    }

    /// [`Window::compare_and_swap`], likewise.
    pub(super) fn swaps_alone(
        &self,
        operand: &[u8],
        compare: &[u8],
        result: WriteSpan,
        kernel: CompareAndSwap,
        target: Rank,
        disp: Disp,
    ) -> bool {
        let (mut operands, size) = ([0; OPERAND_BYTES], compare.len());
        operands[..size].copy_from_slice(compare);
        operands[size..2 * size].copy_from_slice(operand);
        let kind = RequestKind::CompareSwap { place: Place::run(disp, 0), kernel, reply_to: REPLY_TO };
        self.fetches_alone((target, disp), result, kind, &operands[..2 * size])
    }

    /// [`Window::get_accumulate`] of elements side by side, as many on all sides; those of the origin are not read for
    /// `MPI_NO_OP`.
    pub(super) fn gets_and_accumulates_alone(
        &self,
        origin: ReadSpan,
        result: WriteSpan,
        kernel: Kernel,
        target: Rank,
        disp: Disp,
    ) -> bool {
        let mut data = [0; MOST_DATA];
        let reads = if kernel.reads_operand() { origin.len() } else { 0 };
        let Some(data) = data.get_mut(..reads) else { return false };
        origin.part(0, reads).read(data);
        let (place, len) = (Place::run(disp, 0), result.len() as u64);
        let kind = RequestKind::GetAccumulate { place, kernel, len, reply_to: REPLY_TO };
        self.fetches_alone((target, disp), result, kind, data)
    }

    /// A store that somebody waits for alone, who waits for no more than that it has left.
    pub(super) fn leaves_at_once(&self, target: Rank, op: &Operation) -> bool {
        let small = Small::of(op);
        !self.engine().sight().is_on()
            && small.is_some_and(|small| {
                self.engine().with(|core| lone::send_at_once(core, self.shared(), target, &small))
            })
    }

    #[inline(never)]
    fn fetches_alone(&self, target: (Rank, Disp), result: WriteSpan, kind: RequestKind, data: &[u8]) -> bool {
        let may = !self.shared().neighbors.is_empty() && !self.engine().sight().is_on();
        may && self.engine().with(|core| lone_fetch::send(core, self.shared(), target, result, kind, data))
    }
}
