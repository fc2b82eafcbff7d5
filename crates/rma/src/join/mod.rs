//! How a process joins a job: the one seam to whatever has started it, and what stands on the other side.
//!
//! [`Start`] is all that the library asks of a launcher or of another runtime. Where the environment names a launcher, that is taken; [`crate::World::builder`] takes any other. [`Allgather`] makes one of nothing but an allgather.

mod allgather;
mod draft;
mod environment;
mod nodes;
mod pmi1;
mod pmix;
mod start;
#[cfg(test)]
mod tests;
mod watch;

pub use crate::pmi::{Notice, ProcessMapping, Secret};
pub use allgather::Allgather;
pub(crate) use environment::from_environment;
pub(crate) use nodes::{announce, mapping};
pub use start::{OnNotice, Start};
pub(crate) use watch::{Notices, watch};
