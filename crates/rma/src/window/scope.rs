//! What makes scopes sound: operations are complete, or have been given up by the engine, before a scope returns.
//!
//! A scope runs its closure, then closes, whatever the closure did. Closing completes the operations; it can fail (a peer
//! died, an operation was out of range), and then the engine has given the buffers back first. Should operations be
//! outstanding nevertheless, or should closing itself panic, their buffers must not be released: the process ends there.
//!
//! Nothing here relies on a value being dropped by the user, so `std::mem::forget` cannot keep a scope open.

use rma_core::Result;
use rma_core::window::Window;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `body`, then `close`, also when `body` panics. The first error wins. When closing fails, `is_settled` must find
/// that the engine uses no buffer of the scope any more.
pub(super) fn run<R>(
    window: &Window,
    body: impl FnOnce() -> Result<R>,
    close: impl FnOnce() -> Result<()>,
    is_settled: impl FnOnce() -> bool,
) -> Result<R> {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let closing = Closing(window);
    let closed = close();
    if closed.is_err() && !is_settled() {
        eprintln!("rma: {window:?}: {closed:?}");
        drop(closing);
    } else {
        std::mem::forget(closing);
    }
    match outcome {
        Err(panic) => resume_unwind(panic),
        Ok(Ok(value)) => closed.map(|()| value),
        Ok(Err(error)) => Err(error),
    }
}

/// A scope that is not known to be closed. Leaving it, by an unwinding panic for example, would release its buffers.
struct Closing<'a>(&'a Window);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        eprintln!("rma: {:?} has operations that can neither complete nor be given up", self.0);
        std::process::abort();
    }
}
