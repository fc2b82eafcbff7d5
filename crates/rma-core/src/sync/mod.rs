//! The protocols of synchronization: one file each, a value that is begun and polled.

pub(crate) mod dropped;
mod expose;
mod fence;
mod fence_memory;
mod fence_words;
mod flush;
mod lock;
mod lock_all;
mod needs;
pub(crate) mod parting;
mod promised;
mod start;
mod step;
mod vigil;

pub(crate) use expose::{WaitSync, expose};
pub(crate) use fence::{FenceSync, is_open};
pub(crate) use flush::{FlushAllSync, FlushSync};
pub(crate) use lock::{LockSync, UnlockSync};
pub(crate) use lock_all::{LockAllSync, UnlockAllSync, settle};
pub(crate) use needs::{
    InLine, absent, held_locks, needs, needs_to_create, needs_to_free, unfinished, with_operations,
};
pub(crate) use promised::PromisedSync;
pub(crate) use start::{CompleteSync, StartSync};
pub(crate) use step::SyncStep;
pub(crate) use vigil::Vigil;
