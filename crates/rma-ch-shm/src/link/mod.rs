//! One peer in contact: two lanes out, two lanes in, the sockets that tell of its end, and its doorbell.

mod doorbell;
mod incoming;
mod outgoing;
mod peer_link;

pub(crate) use doorbell::Doorbell;
pub(crate) use incoming::Allowance;
pub(crate) use peer_link::{Ending, Link, Role, has_left};
