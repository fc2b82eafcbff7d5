//! What calls that have begun wait for: for libraries that poll them, and report long waits by themselves.
//!
//! The engine's own waits say the same ([`LongWait`](crate::host::LongWait)). An answer is read off the state when it is asked for; nothing
//! decides by it.

use crate::host::Awaited;
use crate::window::{Sync, Window, WindowCreation, WindowFree};

/// What a synchronization call on `window` waits for.
pub fn synchronization(window: &Window, sync: &Sync) -> Awaited {
    let engine = window.engine();
    engine.with(|core| engine.waits(core).of_call(window.id(), sync.1, sync.0.in_line()))
}

/// What the making of a window waits for.
pub fn creation(creation: &WindowCreation) -> Awaited {
    let engine = &creation.engine;
    engine.with(|core| engine.waits(core).of_creation(creation.group(), creation.number()))
}

/// What the freeing of a window waits for.
pub fn release(free: &WindowFree) -> Awaited {
    let (engine, id) = (free.window.engine(), free.window.id());
    engine.with(|core| engine.waits(core).of_free(id))
}
