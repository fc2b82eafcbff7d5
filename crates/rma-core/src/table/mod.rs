//! The operation table of a window: slots → target elements → operation elements (design note, "Data structures").
//!
//! Slots are fixed at creation; everything else comes from the two-level pools, so the table's memory follows operations in
//! flight and peers in contact, never the number of processes. Only slots with a target are ever walked. The table keeps
//! lists and counts; *when* an operation may leave is decided by [`crate::origin`], and no fact about a lock lives here,
//! because elements are reclaimable (lessons, decision 3).

mod list;
mod operation;
mod outline;
mod pack;
mod slots;
mod target;
mod transfer;

pub(crate) use list::OpList;
pub(crate) use operation::{Notice, OpArea, OpData, OpKind, OpResult, Operation, Signal};
pub(crate) use outline::{FetchCall, OPERAND_BYTES, Outline, SmallStore};
pub(crate) use pack::Pack;
pub(crate) use slots::{OpPool, Table, TargetPool};
pub(crate) use target::{ClosingWord, Target};
