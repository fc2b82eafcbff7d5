//! Datatypes and layouts: which bytes a count of a datatype covers, and the resumable walk over them.
//!
//! A [`Datatype`] is what programs build and pass; a [`Layout`] is what it comes to, and describes both sides of every
//! transfer. Neither knows memory: [`Segments`] yields offsets, [`Gather`] and [`Scatter`] bind them to a base address for
//! the channels.

mod arrays;
mod basic;
mod behind;
mod blocks;
mod copy;
#[cfg(test)]
mod copy_tests;
mod layout;
mod shape;
#[cfg(test)]
mod tests;
mod transfer;
mod types;
mod walk;

pub use arrays::{ArrayOrder, DarrayDim, Distribution, SubarrayDim};
pub use basic::{BasicType, TypeClass};
pub(crate) use blocks::{Pairs, ReadBlocks, WriteBlocks};
pub(crate) use layout::ListOfRuns;
pub use layout::{Layout, Loop, Segment};
pub(crate) use shape::{LOOP_LEN, NumberLen, Piece, ShapeLimits};
pub use transfer::{Gather, Scatter};
pub(crate) use transfer::{Upcoming, UpcomingRoom};
pub use types::{Datatype, Field};
pub use walk::{Run, Segments};
