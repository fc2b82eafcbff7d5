//! A block of shared memory as rings see it: words, and bytes that are copied in and out.
//!
//! Two files of equal interface: `mapped` is memory shared with another process; `model/block.rs`, beside `src`, is the same
//! over the atomics of the model checker, for the tests of the rings' orderings.

#[cfg(not(loom))]
mod mapped;
#[cfg(loom)]
#[path = "../../model/block.rs"]
mod modelled;

#[cfg(not(loom))]
pub(crate) use mapped::Block;
#[cfg(loom)]
pub(crate) use modelled::{Block, Strong};
