//! What the communicators of a process share: engine, messages, the way they wait, collectives under way, and the slots
//! that replace messages within a node.

mod process;
mod request;
pub(crate) mod slots;

pub use process::Runtime;
pub(crate) use process::RuntimeParts;
pub use request::CollectiveRequest;
