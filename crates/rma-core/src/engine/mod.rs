//! The engine as its users hold it: made from a configuration, a channel, a host and the protocol above; many live in one process.

mod doze;
mod handle;
mod inquiry;
mod outlook;
mod statistics;

pub use doze::Doze;
pub use handle::Engine;
pub(crate) use handle::WeakEngine;
pub use inquiry::Inquiry;
