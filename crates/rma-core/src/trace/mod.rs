//! Observation: what an engine reports to an observer of its calls, epochs, packets and waits, while it
//! works.
//!
//! An engine is made with an [`Observer`] or without one, and with `tracing` spans (targets `rma::call`,
//! `rma::epoch`, `rma::packet`) if a subscriber wanted them when the engine was made. Whether tracing is on
//! is one fact, fixed when the engine is made ([`Observation::is_on`]), and costs the paths of packets one
//! branch; what they do is the same with an observer and without (`tests/tests/engine/observed.rs`). The
//! direct path has no instruction for it: a traced engine gives its windows no ranks for calls past the
//! engine ([`Shared::fast`](crate::state::Shared)), so that they come to a place that reports them.
//!
//! The engine knows no file, no format and no clock here: when an event happened, and where it is kept, is the observer's.

mod epochs;
mod event;
mod observation;
mod packets;

pub use event::{Event, Observer, Packet};
pub(crate) use observation::{CallSpan, Observation};
pub use packets::ObservedPackets;
