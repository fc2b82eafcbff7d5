//! Info objects: ordered lists of keys with values (MPI 5.0 §10), and the one that tells of the process.

mod environment;
pub(crate) mod failure;
mod object;

pub(crate) use environment::{describe, level};
pub(crate) use object::{INFOS, Info, enter, get, get_optional, get_own};
