//! Epochs: which calls are legal when, and the synchronization protocols, one file each.
//!
//! A protocol is a value, [`Sync`], that is begun and then polled until it is over; it never waits. The facts it works on
//! (window state, locks held, what targets have acknowledged) belong to the window and its table. Each predicate is
//! recomputed from them at every poll (lessons, fixed 12).

mod arguments;
mod caller;
mod legal;
mod transition;

pub use crate::ids::LockKind;
pub use arguments::Assert;
pub(crate) use arguments::Reach;
pub use caller::Caller;
pub(crate) use legal::{Call, Facts, OpenEpoch, RankLock, check};
pub(crate) use transition::{AccessEvent, AccessWord, Epoch, FastEpoch, LockEvent, LockStage, Stage};
