//! What makes scopes sound: operations are complete, or have been given up by the engine, before a scope returns.
//!
//! A scope runs its closure, then closes, whatever the closure did. Closing completes the operations; it can fail (a peer
//! died, an operation was out of range), and then the engine has given the buffers back first. Should operations be
//! outstanding nevertheless, or should closing itself panic, their buffers must not be released: the process ends there.
//!
//! Nothing here relies on a value being dropped by the user, so `std::mem::forget` cannot keep a scope open.

use super::core::Core;
use super::operations::WindowParts;
use rma_core::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `body` in an epoch, then `close`, also when `body` panics. The first error wins.
pub(super) fn epoch<T, R, E: From<Error>>(
    parts: &WindowParts<T>,
    body: impl FnOnce() -> Result<R, E>,
    close: impl FnOnce() -> Result<()>,
) -> Result<R, E> {
    let close = || {
        let closed = close();
        if closed.is_ok() || parts.core.plain().outstanding() == 0 {
            parts.values.clear();
        }
        closed
    };
    run(&parts.core, body, close, || parts.core.plain().outstanding() == 0)
}

/// As [`epoch`], within one. When closing fails, `is_settled` must find that the engine uses no buffer of the scope any more.
pub(super) fn run<R, E: From<Error>>(
    core: &Core,
    body: impl FnOnce() -> Result<R, E>,
    close: impl FnOnce() -> Result<()>,
    is_settled: impl FnOnce() -> bool,
) -> Result<R, E> {
    let outcome = catch(body);
    let closing = Closing(core);
    let closed = close();
    if closed.is_err() && !is_settled() {
        eprintln!("rma: {core:?}: {closed:?}");
        drop(closing);
    } else {
        std::mem::forget(closing);
    }
    self::outcome(outcome, closed)
}

/// What a closure has come to: its result, or the panic that is to go on when its scope is closed.
pub(super) type Caught<R, E> = std::thread::Result<Result<R, E>>;

/// Runs a closure whose scope is closed in any case.
pub(super) fn catch<R, E>(body: impl FnOnce() -> Result<R, E>) -> Caught<R, E> {
    catch_unwind(AssertUnwindSafe(body))
}

/// What the scope comes to, once it is closed. The first error wins.
pub(super) fn outcome<R, E: From<Error>>(outcome: Caught<R, E>, closed: Result<()>) -> Result<R, E> {
    match outcome {
        Err(panic) => resume_unwind(panic),
        Ok(Ok(value)) => Ok(closed.map(|()| value)?),
        Ok(Err(error)) => Err(error),
    }
}

/// A scope that is not known to be closed. Leaving it, by an unwinding panic for example, would release its buffers.
struct Closing<'a>(&'a Core);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        eprintln!("rma: {:?} has operations that can neither complete nor be given up", self.0);
        std::process::abort();
    }
}
