//! What the communicators of a process share: engine, messages, the way they wait, collectives under way, and the boards by
//! which those of a node go without messages.

pub(crate) mod boards;
mod process;
mod request;

pub use process::Runtime;
pub(crate) use process::{Alarm, Parts};
pub use request::CollectiveRequest;
