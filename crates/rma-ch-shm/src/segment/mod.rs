//! Memory of windows that the processes of a node share: making it, mapping it, and handing it to siblings.
//!
//! Building blocks for a host of the engine. One process creates [`SharedMemory`], sends its descriptor to its siblings
//! through its [`Mailbox`], and everybody maps it ([`Mapping`]). Nothing of it has a name in a file system: when the last
//! process that has it ends, in whatever way, the memory is gone.

mod mailbox;
mod mapping;
mod memory;

pub use mailbox::{Mailbox, Parcel};
pub use mapping::Mapping;
pub use memory::{Attempt, SegmentError, SharedMemory};
