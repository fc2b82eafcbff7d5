//! Where this process can be reached from other machines: what interfaces there are, and which of their addresses is listened on.
//!
//! The routing table is not asked: compute nodes often have no default route, and it does not say where peers are.

mod choice;
mod interfaces;
mod prefix;

pub(crate) use choice::{Candidates, Choice, machine_name};
#[cfg(feature = "launcher")]
pub(crate) use interfaces::is_own_address;
pub use prefix::Network;
