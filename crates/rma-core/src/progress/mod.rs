//! The one place that advances and the one place that waits.

mod poller;
mod protocol;

pub use poller::{Registrar, WakeHandle};
pub use protocol::{NoUpper, UPPER_TOKEN, Upper};
