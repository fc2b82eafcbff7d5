//! The calls on communicators (MPI 5.0 §7, and the fault chapter to be).

mod attributes;
mod create;
mod faults;
mod hints;
mod idup;
mod inter;
mod query;

pub(super) use attributes::{delete as delete_attribute, get as get_attribute, set as set_attribute};
pub(super) use hints::given;
