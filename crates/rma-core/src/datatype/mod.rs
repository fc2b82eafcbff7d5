//! Layouts: which bytes a count of a datatype covers, as a loop nest, and the resumable walk over them.
//!
//! A [`Layout`] describes both sides of every transfer. It knows no memory: [`Segments`] yields offsets, [`Gather`] and
//! [`Scatter`] bind them to a base address for the channels.

mod basic;
mod layout;
mod transfer;

pub use basic::BasicType;
pub use layout::{Layout, Loop, Segment, Segments};
pub use transfer::{Gather, Scatter};
