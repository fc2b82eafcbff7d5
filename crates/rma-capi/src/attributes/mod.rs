//! Attributes: words that a program hangs on communicators, windows and datatypes under keys of its own (MPI 5.0 §7.7).
//!
//! One machinery serves the three kinds of object. [`Attributes`] is what an object has; [`create`] and [`free`] are the
//! keys; [`CopyFunction`] and [`DeleteFunction`] are the program's functions. Predefined attributes are not here: the module
//! of the object answers them before it looks here.

mod attached;
mod callback;
mod keyval;

pub(crate) use attached::{AttributeOwner, Attributes, OwnerKind};
pub(crate) use callback::{CopyFunction, DeleteFunction};
pub(crate) use keyval::{create, free, keyvals_alive};
