//! A block of shared memory as rings see it: words, and bytes that are copied in and out.
//!
//! Two files of equal names: `mapped` is memory shared with another process; `modelled` is the same interface over the
//! atomics of the model checker, for the tests of the rings' orderings.

#[cfg(not(loom))]
mod mapped;
#[cfg(loom)]
mod modelled;

#[cfg(not(loom))]
pub(crate) use mapped::Block;
#[cfg(loom)]
pub(crate) use modelled::Block;
