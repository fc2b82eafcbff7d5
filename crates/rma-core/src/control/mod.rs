//! The control block of one (window, target): the facts that direct and packet origins share.
//!
//! A [`ControlBlock`] is a view over control memory that peers of the node map: the lock word with its waiting line,
//! the exclusion of unaligned accumulates, what the owner published when it created the window, and what
//! deaths leave half done. Zeroed memory is a fresh block. There is one block per window and target, apart
//! from the window's data, so one lock word serves origins of every path: an origin that maps the block acts
//! on it by itself, and the target's engine acts for the others.
//! The memory may be written by any process that maps it, so every value read is taken for hostile: it can make locks
//! misbehave, it cannot make this code panic or leave its bounds.
//!
//! Knows no windows, epochs or packets; waiting, sleeping and waking are the caller's business.

mod announcer;
#[cfg(all(test, not(loom)))]
mod beside_tests;
mod block;
mod bulk;
#[cfg(all(test, loom))]
mod bulk_loom_tests;
mod cells;
mod directory;
mod domain;
#[cfg(all(test, not(loom)))]
mod domain_tests;
mod exclusion;
mod layout;
mod lock;
#[cfg(all(test, loom))]
mod loom_recovery;
#[cfg(all(test, loom))]
mod loom_signals;
#[cfg(all(test, loom))]
mod loom_tests;
mod marks;
mod meeting;
#[cfg(test)]
mod mortal;
mod notes;
mod patience;
mod pause;
mod places;
mod recovery;
#[cfg(all(test, not(loom)))]
mod recovery_tests;
mod shim;
mod state;
mod steps;
#[cfg(all(test, not(loom)))]
mod steps_tests;
#[cfg(all(test, not(loom)))]
mod tests;
mod thread_address;
mod ticket;
mod unfinished;

pub use crate::ids::LockKind;
pub use block::{ControlBlock, Published, Sleep};
pub(crate) use block::{Living, LockCell};
pub use bulk::Entry;
pub use domain::{Domain, NodeDomain, TargetDomain};
pub use exclusion::{UnalignedExclusion, UnalignedGuard};
pub use layout::ControlShape;
pub(crate) use lock::Attempt;
pub use lock::{Grant, NotHeld, Wake};
pub use marks::{Marks, Taken};
pub use meeting::{Attendance, Meeting, attendance};
pub(crate) use notes::{Note, is_word};
pub use places::{KeptPlaces, Places};
pub(crate) use recovery::OfEngine;
pub use state::{Holder, LockRequest, LockState};
pub use steps::{RunStep, WordStep};
pub(crate) use steps::{Step, Width, compare_and_swap};
pub(crate) use thread_address::thread_address;
pub use ticket::Ticket;
pub(crate) use unfinished::REPORT_LEN;
pub use unfinished::{OperationKind, Unfinished, UnfinishedReport};
