//! What the engine needs from above: small collectives, locality, shared segments and the clock.
//!
//! The runtime of this project is one host; a larger MPI is another (design §6). All methods are nonblocking: what takes
//! time is begun, answered by a [`HostRequest`], and polled. They may be called from any thread, with or without the
//! engine's lock held, so a host never calls the engine back.

pub mod barrier;
pub mod clock;
mod group;
mod need;
mod private;
mod services;
pub mod vitals;

pub use group::Group;
pub use need::{Awaited, HeldLock, Instance, Need, Place, Way};
pub use services::{
    Barriers, Combine, Host, HostRequest, Locality, LongWait, Outcome, SegmentControl, SegmentKind,
    SegmentPart, SegmentRequest, SegmentSet, Vitals,
};
