//! The known channels, and which of them reaches which processes.
//!
//! A registry: one line per channel of this project (`registry`), and whatever a program adds with [`register`], or a shared
//! object with [`load`], before it starts. A [`ChannelKind`] says what its channel is called, what a short packet costs between two processes so far apart,
//! whether it can be had here, and opens it. [`Preference`] is what `RMA_CHANNEL` says; [`Plan`] is what comes of it.
//!
//! Invariant: all processes of a job come to the same plan, or one of them ends with a message; the choice for a pair depends
//! on nothing but their distance. Knows no launcher: addresses go through an exchange of words.

mod kind;
mod look_up;
mod ofi;
mod plan;
mod plugin;
mod preference;
mod registry;
mod shm;
mod tcp;

pub(crate) use kind::WordExchange;
pub use kind::{ChannelKind, Distance, Opening};
pub use look_up::LookUp;
pub(crate) use look_up::{LIBRARIES, of_environment};
pub use plan::Plan;
pub use plugin::load;
pub use preference::Preference;
pub use registry::{kinds, missing, names, register};
