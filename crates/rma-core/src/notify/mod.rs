//! Stores that tell their target: the calls of notified access, over the data of [`crate::notification`].
//!
//! After the counters of the MPI Forum's draft of one-sided notification. All ranks together set how many counters each of them has
//! in use ([`Window::set_counters`]); an origin names one of the target's with its operation ([`Window::notifying`]); the target
//! looks at its own, takes what they are at, or waits ([`Window::notifications`]). Operations are those of [`crate::window`], for
//! passive epochs: on a mapped target one call is the operation and the step on the counter, elsewhere the operation goes into the
//! operation table with the counter, and leaves at once, because its target waits for it.
//!
//! [`Window::set_counters`]: crate::window::Window::set_counters
//! [`Window::notifying`]: crate::window::Window::notifying
//! [`Window::notifications`]: crate::window::Window::notifications

mod direct;
mod operations;
mod request;
mod setting;
mod typed;
mod waits;

pub use operations::Notifying;
pub use request::NotificationRequest;
pub use setting::CounterSetting;
pub use waits::Notifications;
