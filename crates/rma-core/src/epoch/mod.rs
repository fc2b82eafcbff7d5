//! Epochs: which calls are legal when, and the synchronization protocols, one file each.
//!
//! A protocol is a value, [`Sync`], that is begun and then polled until it is over; it never waits. The facts it works on
//! (window state, locks held, what targets have acknowledged) belong to the window and its table. Each predicate is
//! recomputed from them at every poll (lessons, fixed 12).

mod access;
mod assert;
mod caller;
mod expose;
mod fence;
mod flush;
mod legal;
mod lock;
pub(crate) mod lock_all;
mod promised;
mod start;
mod state;
mod sync;
mod transition;

pub use crate::control::LockKind;
pub use assert::Assert;
pub use caller::Caller;
pub(crate) use expose::{WaitSync, expose};
pub(crate) use fence::{FenceSync, Opening, is_open};
pub(crate) use flush::{FlushAllSync, FlushSync, Reach};
pub(crate) use legal::{Call, Facts, RankLock, check};
pub(crate) use lock::{LockSync, UnlockSync};
pub(crate) use lock_all::{LockAllSync, UnlockAllSync};
pub(crate) use promised::PromisedSync;
pub(crate) use start::{CompleteSync, StartSync, on_posted};
pub(crate) use state::{Lock, Stage, WindowEpoch};
pub use sync::Sync;
pub(crate) use sync::SyncStep;
pub(crate) use transition::{Epoch, LockEvent, LockState};
