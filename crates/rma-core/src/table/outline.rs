//! Outlines: what the fast path of a call knows of its operation, which has no element yet.
//!
//! Most operations on node targets never need one that is more than that: a store leaves whole or joins others, and a fetch has its
//! element filled in while the target works on it. Everything else becomes an [`Operation`] first.

use super::operation::{OpArea, OpData, OpKind, OpResult, Operation};
use crate::ids::Disp;
use crate::kernel::Kernel;
use crate::mem::{ReadSpan, WriteSpan};
use crate::wire::Store;

/// Longest small store: an element of the pool costs more than the rest of it.
const SMALL: usize = 1024;

/// Most bytes of the operands of a call of one element, together.
pub(crate) const OPERAND_BYTES: usize = 16;

/// An operation as a call makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outline<'a> {
    Store(&'a SmallStore),
    Fetch(&'a FetchCall),
    /// One that needs an element, whatever else.
    Other,
}

impl<'a> Outline<'a> {
    /// Of a store, if it is a small one.
    #[inline]
    pub(crate) fn of(small: Option<&'a SmallStore>) -> Self {
        small.map_or(Self::Other, Self::Store)
    }
}

/// A contiguous store that may leave eagerly, or, a short one, share a packet with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallStore {
    pub(crate) store: Store,
    pub(crate) disp: Disp,
    pub(crate) data: ReadSpan,
}

impl SmallStore {
    /// The store, if it is small enough.
    #[inline]
    pub(crate) fn new(store: Store, disp: Disp, data: ReadSpan) -> Option<Self> {
        ((1..=SMALL).contains(&data.len())).then_some(Self { store, disp, data })
    }

    /// What a queued operation stores, if it is small, in no packet, and waited for by no call of its own.
    pub(crate) fn of(op: &Operation) -> Option<Self> {
        let store = match op.kind {
            OpKind::Put => Store::Put,
            OpKind::Accumulate(kernel) => Store::Accumulate(kernel),
            OpKind::Get
            | OpKind::FetchOp(_)
            | OpKind::GetAccumulate(_)
            | OpKind::CompareSwap(_)
            | OpKind::Pack
            | OpKind::Unfinished => return None,
        };
        let (OpData::Run(data), OpArea::Run(0), false, 0) = (&op.data, op.area(), op.is_awaited(), op.sent)
        else {
            return None;
        };
        Self::new(store, op.disp, *data)
    }
}

impl From<&SmallStore> for Operation {
    #[inline]
    fn from(small: &SmallStore) -> Self {
        Self::store(small.store, small.disp, small.data)
    }
}

/// A call that fetches bytes side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchCall {
    pub(crate) kind: OpKind,
    pub(crate) disp: Disp,
    pub(crate) result: WriteSpan,
    pub(crate) operand: Operand,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
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
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Copied { len, .. } => usize::from(*len),
            Self::Memory(origin) => origin.len(),
        }
    }

    /// Copies all of it.
    pub(crate) fn read(&self, to: &mut [u8]) {
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
