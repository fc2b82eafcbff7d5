//! The one place that advances and the one place that waits.
//!
//! `step` moves packets and operations, `wait` repeats it until a predicate holds, `poller` is where a process sleeps, `spin`
//! is how a wait for packets begins, `external_wait` lets a library around the engine sleep in a wait of its own, and `memory_wait` has the
//! waits for what lies in shared memory. How a wait waits, and when calls that need no packet step too, is
//! [`crate::strategy`]'s. `reports` is what a long wait says of itself, `times` how long all of them take.
//! The engine's lock (`lock`) is held during a step and released while sleeping; nothing called from a step waits or steps again.

mod agent;
mod dispatch;
mod lock;
mod protocol;
mod reports;
mod spin;
mod step;
mod times;
mod wait;

pub(crate) use agent::Agent;
pub(crate) use lock::Locked;
pub use protocol::{NoUpper, UPPER_TOKEN, Upper};
pub use reports::LastingWait;
pub(crate) use step::Core;
pub use wait::News;
pub(crate) use wait::{Patience, Wait, Waiting};
