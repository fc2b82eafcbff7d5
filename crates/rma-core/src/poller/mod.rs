//! Where a process sleeps until a channel or another thread wakes it, and the descriptor for sleepers
//! elsewhere.

mod inside;
mod outside;

pub(crate) use inside::Poller;
pub use inside::{Registrar, WakeHandle};
pub(crate) use outside::Outside;
