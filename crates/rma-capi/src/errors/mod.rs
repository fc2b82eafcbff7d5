//! Errors as C programs meet them: codes, texts, and the handlers that communicators and windows have.
//!
//! A code is its class: programs compare either. What else is known of an error, argument, value and limit, is kept for
//! the thread that met it; `MPI_Error_string` tells it until the thread meets another one. Raising one needs the objects that have
//! handlers, and so is in [`crate::entry`].

pub(crate) mod added;
mod handler;
mod raiser;
mod record;
mod text;

pub(crate) use added::last_used_code;
pub(crate) use handler::{Attached, HANDLERS, Handler, HandlerKind, Subject, create, free, outside};
pub(crate) use raiser::{Failure, Raiser};
pub(crate) use record::{last, note, say};
pub(crate) use text::of as text_of;
