//! The one place that advances and the one place that waits.

mod poller;
mod protocol;

#[cfg(feature = "conformance")]
pub(crate) use poller::Poller;
pub use poller::{Registrar, WakeHandle};
pub use protocol::{NoUpper, UPPER_TOKEN, Upper};
