//! Errors as C programs meet them: codes, texts, and the handlers that communicators and windows have.
//!
//! A code is its class: programs compare either. What else is known of an error, argument, value and limit, is kept for
//! the thread that met it; `MPI_Error_string` tells it until the thread meets another one.

mod added;
mod calls;
mod handler;
mod raise;
mod text;

pub(crate) use added::last_used_code;
pub(crate) use handler::{Attached, HANDLERS, Subject};
pub(crate) use raise::{Failure, Raiser, raise, say};
