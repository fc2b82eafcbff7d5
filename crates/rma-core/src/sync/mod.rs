//! The protocols of synchronization: one file each, a value that is begun and polled.

pub(crate) mod dropped;
mod expose;
mod fence;
mod fence_memory;
mod fence_words;
mod flush;
mod liveness;
mod lock;
mod lock_all;
pub(crate) mod parting;
mod promised;
mod start;
mod step;
mod waits;

pub(crate) use expose::{WaitSync, expose, watch};
pub(crate) use fence::{FenceSync, is_open};
pub(crate) use flush::{FlushAllSync, FlushSync};
pub(crate) use liveness::LivenessCheck;
pub(crate) use lock::{LockSync, UnlockSync};
pub(crate) use lock_all::{LockAllSync, UnlockAllSync, settle};
pub(crate) use promised::PromisedSync;
pub(crate) use start::{CompleteSync, StartSync};
pub(crate) use step::SyncStep;
pub(crate) use waits::{InLine, Waits};
