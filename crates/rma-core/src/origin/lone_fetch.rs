//! A lone fetch: the one operation that waits for data, in a few words instead of an element of the pool.
//!
//! Most programs that fetch a value want it before they go on: they get, and flush. Nothing rides on the request but what it is, and
//! its reply says that it is complete. So where nothing has to be asked for besides, no lock and no release, the request leaves within
//! the call, and all that is left of the operation is where the reply goes. That stays with the window until the reply has come.
//!
//! So it is for ranks of the node whose lock is a word ([`crate::window`], `near.rs`). Elsewhere an operation is held back, so that the
//! release of the lock rides on it.
//!
//! Invariants: there is one in a window at most; its target has an element, which counts it among its requests for data
//! ([`Target::awaits`](crate::table::Target)) and stays until the reply has come or the target is lost; it is the newest operation that
//! has left when it leaves. Replies name it by [`REPLY_TO`], which no element has.

use super::issue::request_kind;
use crate::channel::Channel;
use crate::channel::{Lane, MIN_PACKET};
use crate::ids::{Disp, Rank, RequestId, Sequence};
use crate::kernel::Kernel;
use crate::mem::{ReadSpan, WriteSpan};
use crate::pool::PoolKey;
use crate::state::{LoneFetch, Outbox, Pools, Sent, Shared, State, WindowState};
use crate::table::{OpData, OpKind, OpResult, Operation};
use crate::wire::{Place, RUN_HEAD, Request, RequestFlags};

/// Whom replies to lone fetches name: generation 0 is never given out.
pub(crate) const REPLY_TO: RequestId = RequestId { index: 0, generation: 0 };

/// Longest operand: of longer ones the element is no matter, and every channel carries so much in a small packet.
const MOST_DATA: usize = 128;
const _: () = assert!(RUN_HEAD + MOST_DATA <= MIN_PACKET);

/// Most bytes of the operands of a call of one element, together.
pub(crate) const OPERAND_BYTES: usize = 16;

/// A call that fetches bytes side by side, until it has left or is an operation of the pool.
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
    /// The user's, who leaves them as they are until the operation is complete.
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
            bytes[len..len + operand.len()].copy_from_slice(operand);
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

impl From<FetchCall> for Operation {
    fn from(call: FetchCall) -> Self {
        let data = match call.operand {
            Operand::Copied { bytes, len } => OpData::Operand { bytes, len },
            Operand::Memory(origin) if origin.is_empty() => OpData::NONE,
            Operand::Memory(origin) => OpData::Run(origin),
        };
        Self::new(call.kind, call.disp, call.result.len() as u64, data, OpResult::Run(call.result))
    }
}

/// Sends the request of a call, if nothing goes before it to its rank and nothing needs it to be an operation; says whether it has.
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
    let len = result.len() as u64;
    if call.kind.streamed_element().is_some() && len > config.unit_bytes {
        return false;
    }
    let data_len = call.operand.len();
    if data_len > MOST_DATA {
        return false;
    }
    if window.lone_fetch.is_some() || window.dirty || !window.is_calm(rank) {
        return false;
    }
    let Some(key) = window.table.find(&pools.targets, rank) else { return false };
    let target = &mut pools.targets[key];
    if !target.pending.is_empty() || target.fetching >= config.credits || !shared.may_send_to_neighbor(rank) {
        return false;
    }
    let sequence = Sequence(target.sent.0 + 1);
    let kind = request_kind(call.kind, REPLY_TO, Place::run(disp, 0), len);
    let request = Request { window: shared.id, flags: RequestFlags::NONE, sequence, kind };
    let mut outbox = Outbox { channel, counters: &mut window.counters, by_channel };
    let mut packet = [0; RUN_HEAD + MOST_DATA];
    let (head, _) = packet.split_first_chunk_mut().expect("a packet longer than the head");
    let Some(head_len) = request.put_head(head) else { return false };
    call.operand.read(&mut packet[head_len..head_len + data_len]);
    if outbox.whole(target.peer, Lane::Request, &packet[..head_len + data_len], data_len) != Sent::Yes {
        return false;
    }
    let order = target.on_lone_fetch();
    window.counters.on_ops_queued(1);
    window.counters.on_ops_issued(1);
    window.lone_fetch = Some(LoneFetch { target: key, sequence, order, result });
    true
}

impl LoneFetch {
    /// Whether the fetch of a window waits for this reply, with this many bytes; those of an error are not known.
    ///
    /// # Errors
    /// A reason for a refusal.
    pub(super) fn of(
        window: &WindowState,
        target: PoolKey,
        sequence: Sequence,
        len: Option<u64>,
    ) -> Result<Self, &'static str> {
        let fetch = window.lone_fetch.filter(|fetch| fetch.target == target && fetch.sequence == sequence);
        let fetch = fetch.ok_or("data for an operation that does not wait for it")?;
        match len {
            Some(len) if len != fetch.result.len() as u64 => Err("data of another length than was asked for"),
            Some(_) | None => Ok(fetch),
        }
    }

    /// Whether it waits for the target of this element.
    pub(super) fn is_to(&self, target: PoolKey) -> bool {
        self.target == target
    }

    /// Ends it: the reply has come.
    pub(super) fn end(self, window: &mut WindowState, pools: &mut Pools) {
        window.lone_fetch = None;
        pools.targets[self.target].on_lone_data(self.order);
    }

    /// Recomputes what holds for a lone fetch; for tests.
    ///
    /// # Errors
    /// A sentence about what does not.
    pub(crate) fn invariants(&self, pools: &Pools) -> Result<(), String> {
        let target = pools.targets.get(self.target);
        let is_it = |target: &&crate::table::Target| {
            target.awaits == Some(self.order)
                && self.sequence <= target.sent
                && self.order <= target.issued_to
        };
        match target.filter(is_it) {
            Some(_) => Ok(()),
            None => Err(format!("nobody knows of the lone fetch {self:?}")),
        }
    }
}
