//! The origin side: communication calls, the packets they become, and the responses that come back.
//!
//! A call on a mapped target never gets here past [`direct`]. For everything else [`decide`] says what becomes of it; [`submit`] carries
//! that out where nothing else of the window changes, [`post`] queues it in the operation table, whose packets leave through [`issue`]
//! and are settled by [`response`].

mod coalesce;
pub(crate) mod decide;
pub(crate) mod direct;
pub(crate) mod issue;
pub(crate) mod lost;
pub(crate) mod post;
pub(crate) mod response;
pub(crate) mod round;
pub(crate) mod submit;
mod transfer;
