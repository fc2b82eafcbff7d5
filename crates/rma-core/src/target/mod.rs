//! The target side: what arrives is checked, applied to window memory, and answered.
//!
//! Handlers run inside a channel's poll, so they send nothing: answers are queued as [`replies`] and leave from the
//! progress engine. Nothing received is trusted: window, rank, range, operation, type and lock are checked before a byte of
//! memory is touched.

pub(crate) mod apply;
mod arrivals;
mod buffers;
pub(crate) mod bulk;
mod exposure;
mod line;
pub(crate) mod locks;
mod pieces;
pub(crate) mod recovery;
pub(crate) mod replies;

pub(crate) use arrivals::Arrivals;
pub(crate) use locks::TargetRole;
pub(crate) use replies::{Replies, Reply, ReplyBody};
