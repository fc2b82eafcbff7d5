//! A block of shared memory as rings see it: words, and bytes that are copied in and out.
//!
//! `mapped` and `ring_memory` are memory shared with another process; the two files below `model`, beside `src`, are to rings the same
//! over the atomics of the model checker, for the tests of their orderings.

#[cfg(not(loom))]
mod mapped;
#[cfg(loom)]
#[path = "../../model/block.rs"]
mod modelled;
#[cfg(not(loom))]
mod ring_memory;
#[cfg(loom)]
#[path = "../../model/ring_memory.rs"]
mod ring_memory;

#[cfg(not(loom))]
pub(crate) use mapped::Block;
#[cfg(loom)]
pub(crate) use modelled::{Block, Strong};
pub(crate) use ring_memory::RingMemory;

/// A word of a ring's control part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Lines consumed since the start.
    Consumed,
    /// Not zero while the consumer sleeps.
    ConsumerAlarm,
    /// Not zero while the producer sleeps.
    ProducerAlarm,
}
