//! The target side: what arrives is checked, applied to window memory, and answered.
//!
//! Handlers run inside a channel's poll, so they send nothing: answers are queued as [replies](crate::state::Replies) and leave from the
//! progress engine. Nothing received is trusted: window, rank, range, operation, type and lock are checked before a byte of
//! memory is touched.

pub(crate) mod apply;
pub(crate) mod bulk;
pub(crate) mod locks;
pub(crate) mod recovery;
