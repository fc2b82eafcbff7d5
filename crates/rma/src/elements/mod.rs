//! Elements: the types that windows and messages hold, and their bytes.
//!
//! A room below both, because windows are made on communicators, whose messages and collectives have elements too.

mod bytes;
mod element;

pub(crate) use bytes::{as_bytes, bytes_of, copy_into, from_bytes, read_span, write_span};
pub(crate) use element::has_size;
pub use element::{Element, Integer, Number};
