//! Channels in C: the table of functions of `rma.h` as the engine's `Channel`, and shared objects that bring one to jobs.
//!
//! `crates/rma-embed/include/rma.h` is the interface; this crate owns the part of it that is about channels. An embedder hands
//! a table over ([`ForeignChannel`]); a shared object is loaded and opened with what a job knows ([`Plugin`], [`Meeting`]).
//! What a channel in C answers is checked as far as it can be seen, and never believed twice.
//!
//! Knows no launcher and no registry of channels, and exports no function to C: two libraries have it in them.

mod abi;
mod area;
mod channel;
mod foreign;
mod opening;
mod plugin;
mod sink;

pub use abi::{ChannelTable, Optional, SIZES};
pub use channel::ForeignChannel;
pub use foreign::{VERSION, Versioned, bad, is_outside, outside, sized, store_sized, store_text, text_of};
pub use opening::Meeting;
pub use plugin::Plugin;
