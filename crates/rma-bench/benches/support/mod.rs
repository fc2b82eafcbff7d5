//! What the benchmarks share.

mod memory;

pub(crate) use memory::memory;
