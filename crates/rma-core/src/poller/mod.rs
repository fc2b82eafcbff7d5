//! Where a process sleeps until a channel or another thread wakes it, and the descriptor for sleepers
//! elsewhere.

mod external;
mod internal;

pub(crate) use external::ExternalPoller;
pub(crate) use internal::Poller;
pub use internal::{Registrar, WakeHandle};
