//! The origin side: communication calls, the packets they become, and the responses that come back.
//!
//! A call on a mapped target never gets here past [`direct`]. Everything else is queued in the operation table by
//! [`post`], leaves through [`issue`], and is settled by [`response`]; a small store may leave with its call ([`eager`]).

pub(crate) mod direct;
pub(crate) mod eager;
pub(crate) mod fetch;
pub(crate) mod issue;
pub(crate) mod lost;
pub(crate) mod pack;
pub(crate) mod post;
pub(crate) mod response;
pub(crate) mod round;
pub(crate) mod stream;
mod transfer;
