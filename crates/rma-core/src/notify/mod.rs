//! Stores that tell their target: the calls of notified access, over the data of [`crate::notification`].
//!
//! After the counters of the MPI Forum's draft of one-sided notification. All ranks together set how many counters each of them has
//! in use ([`set_counters`]); an origin names one of the target's with its operation ([`Notifying`]); the target
//! looks at its own, takes what they are at, or waits ([`Notifications`]). Operations are those of [`crate::window`], for
//! passive epochs: on a mapped target one call is the operation and the step on the counter, elsewhere the operation goes into the
//! operation table with the counter, and leaves at once, because its target waits for it.

mod direct;
mod operations;
mod request;
mod setting;
mod typed;
mod waits;

pub use operations::{Notifying, wake};
pub use request::NotificationRequest;
pub use setting::{CounterSetting, counters_of, room_for_counters, set_counters};
pub use waits::Notifications;
