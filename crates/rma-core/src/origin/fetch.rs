//! Calls that fetch, and those among them that leave with their call.
//!
//! Most programs that fetch a value want it before they go on: they get, and flush. Nothing else rides on
//! such a request, and its reply says that it is complete. So where no lock and no release goes with it, and
//! nothing waits for the target, the request leaves within the call, and its element is among the issued ones
//! from the start. A fetch behind another one is held back as any operation: a later store then goes before
//! it, and is acknowledged by its reply.
//!
//! This holds for ranks of the node whose lock is a word ([`crate::window`], `node_rank.rs`). Elsewhere an
//! operation is held back, so that the release of the lock rides on it.

use super::issue::request_kind;
use crate::channel::{Channel, Lane, MIN_PACKET};
use crate::ids::{Disp, Rank, Sequence};
use crate::kernel::Kernel;
use crate::mem::{ReadSpan, WriteSpan};
use crate::state::{Outbox, Sent, Shared, State, WindowState};
use crate::table::{OpData, OpKind, OpResult, Operation};
use crate::wire::{Place, RUN_HEAD, Request, RequestFlags};

/// Longest operand: of longer ones the element is no matter, and every channel carries so much in a small packet.
const MOST_DATA: usize = 128;
const _: () = assert!(RUN_HEAD + MOST_DATA <= MIN_PACKET);

/// Most bytes of the operands of a call of one element, together.
pub(crate) const OPERAND_BYTES: usize = 16;

/// A call that fetches bytes side by side, until it is an operation of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchCall {
    kind: OpKind,
    disp: Disp,
    result: WriteSpan,
    operand: Operand,
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    /// Operands of one element, or none.
    Copied { bytes: [u8; OPERAND_BYTES], len: u8 },
    /// The user's, left as they are until the operation is complete.
    Memory(ReadSpan),
}

impl FetchCall {
    pub(crate) fn get(result: WriteSpan, disp: Disp) -> Self {
        Self::of_element(OpKind::Get, &[], result, disp)
    }

    /// A call of one element with these operands, at most [`OPERAND_BYTES`] in all.
    pub(crate) fn of_element(kind: OpKind, operands: &[&[u8]], result: WriteSpan, disp: Disp) -> Self {
        let mut bytes = [0; OPERAND_BYTES];
        let mut len = 0;
        for operand in operands {
            let room = &mut bytes[len..len + operand.len()];
            match <[u8; 8]>::try_from(*operand) {
                // A word is no call of a function.
                Ok(word) => room.copy_from_slice(&word),
                Err(_) => room.copy_from_slice(operand),
            }
            len += operand.len();
        }
        Self { kind, disp, result, operand: Operand::Copied { bytes, len: len as u8 } }
    }

    /// `MPI_Get_accumulate`; the origin is not read for `MPI_NO_OP`.
    pub(crate) fn accumulate(origin: ReadSpan, result: WriteSpan, kernel: Kernel, disp: Disp) -> Self {
        let reads = if kernel.reads_operand() { origin.len() } else { 0 };
        let operand = Operand::Memory(origin.part(0, reads));
        Self { kind: OpKind::GetAccumulate(kernel), disp, result, operand }
    }
}

impl Operand {
    fn len(&self) -> usize {
        match self {
            Self::Copied { len, .. } => usize::from(*len),
            Self::Memory(origin) => origin.len(),
        }
    }

    /// Copies all of it.
    fn read(&self, to: &mut [u8]) {
        match self {
            Self::Copied { bytes, len } => to.copy_from_slice(&bytes[..usize::from(*len)]),
            Self::Memory(origin) => origin.read(to),
        }
    }
}

impl From<&FetchCall> for Operation {
    #[inline]
    fn from(call: &FetchCall) -> Self {
        let data = match call.operand {
            Operand::Copied { bytes, len } => OpData::Operand { bytes, len },
            Operand::Memory(origin) if origin.is_empty() => OpData::NONE,
            Operand::Memory(origin) => OpData::Run(origin),
        };
        Self::new(call.kind, call.disp, call.result.len() as u64, data, OpResult::Run(call.result))
    }
}

/// Sends the request of a call, if nothing goes before it to its rank and nothing is to be asked for besides; says whether it has.
pub(crate) fn send(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    shared: &Shared,
    rank: Rank,
    call: &FetchCall,
) -> bool {
    let State { pools, config, lost, by_channel, .. } = state;
    let (disp, result) = (call.disp, call.result);
    if !lost.is_empty() || result.is_empty() || shared.start_of(rank, disp, result.len()).is_none() {
        return false;
    }
    let (len, data_len) = (result.len() as u64, call.operand.len());
    let is_long = call.kind.streamed_element().is_some() && len > config.unit_bytes;
    if is_long || data_len > MOST_DATA || window.needs_issue || !window.holds_node_target(rank) {
        return false;
    }
    let Some(key) = window.table.find(&pools.targets, rank) else { return false };
    let target = &mut pools.targets[key];
    let is_first = target.pending.is_empty() && target.fetching == 0;
    if !is_first || !pools.ops.can_take(&window.op_share) {
        return false;
    }
    let op = pools.ops.next_key();
    let sequence = Sequence(target.sent.0 + 1);
    let kind = request_kind(call.kind, op.into(), Place::run(disp, 0), len);
    let request = Request { window: shared.id, flags: RequestFlags::NONE, sequence, kind };
    let mut outbox = Outbox { channel, counters: &mut window.counters, by_channel };
    let mut packet = [0; RUN_HEAD + MOST_DATA];
    let (head, _) = packet.split_first_chunk_mut().expect("a packet longer than the head");
    let head_len = request.put_head(head).expect("the head of a run");
    call.operand.read(&mut packet[head_len..head_len + data_len]);
    if outbox.whole(target.peer, Lane::Request, &packet[..head_len + data_len], data_len) != Sent::Yes {
        return false;
    }
    // The target works on it while the element is filled in.
    let mut operation = Operation::from(call);
    (operation.order, operation.sent) = (target.posted + 1, len);
    operation.on_asked(sequence, len);
    let taken = pools.ops.take(&mut window.op_share, operation);
    debug_assert_eq!(taken, Ok(op), "the pool has said that there is an element, and which");
    target.on_fetch_left(&mut pools.ops, op, sequence);
    window.counters.on_ops_queued(1);
    window.counters.on_ops_issued(1);
    true
}
