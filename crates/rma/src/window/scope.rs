//! What makes scopes sound: operations are complete, or have been given up by the engine, before a scope returns.
//!
//! A scope runs its closure, then closes, whatever the closure did. Closing completes the operations; it can fail (a peer
//! died, an operation was out of range), and then the engine has given the buffers back first. Should operations be
//! outstanding nevertheless, their buffers must not be released: the process ends there.

use rma_core::Result;
use rma_core::window::Window;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `body`, then `close`, also when `body` panics. The first error wins.
pub(super) fn run<R>(
    window: &Window,
    body: impl FnOnce() -> Result<R>,
    close: impl FnOnce() -> Result<()>,
) -> Result<R> {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let closed = close();
    if closed.is_err() && window.outstanding() > 0 {
        eprintln!("rma: {window:?} has operations that can neither complete nor be given up: {closed:?}");
        std::process::abort();
    }
    match outcome {
        Err(panic) => resume_unwind(panic),
        Ok(Ok(value)) => closed.map(|()| value),
        Ok(Err(error)) => Err(error),
    }
}
