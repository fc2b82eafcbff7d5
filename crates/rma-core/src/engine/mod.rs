//! The engine as its users hold it: made from a configuration, a channel, a host and the protocol above; many live in one process.

mod external_wait;
mod handle;
mod inquiry;
mod leaving;
mod memory_wait;
mod statistics;

pub use external_wait::ExternalWait;
pub use handle::Engine;
pub(crate) use handle::WeakEngine;
pub use inquiry::Inquiry;
