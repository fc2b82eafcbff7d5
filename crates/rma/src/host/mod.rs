//! What the engine asks its host for, made of messages, collectives and shared memory.
//!
//! [`RuntimeHost`] is the host of a process of this runtime. Its collectives are step machines that [`Host::poll`]
//! advances; nothing here waits and nothing calls the engine. [`Places`] knows which processes share a node.

mod arena;
pub(crate) mod huge_pages;
mod layout;
mod memory;
mod node_memory;
mod places;
mod runtime;
mod segment;
mod space;
mod wish;

#[cfg(test)]
mod tests;

pub use arena::Block;
pub use memory::ask_for_huge_pages;
pub use node_memory::NodeMemory;
pub use places::Places;
pub use runtime::{HostSettings, RuntimeHost};

#[cfg(doc)]
use rma_core::host::Host;
