//! A window of the engine whose errors say that they are its own.
//!
//! The one way from a typed window to a call of the engine that can fail, so no call has to think of it.

use rma_core::window::Window;
use rma_core::{Error, Result};
use std::fmt;

/// The engine's part of a typed window.
#[derive(Clone)]
pub(super) struct Core(Window);

impl Core {
    pub(super) fn new(window: Window) -> Self {
        Self(window)
    }

    /// For what cannot fail.
    #[inline]
    pub(super) fn plain(&self) -> &Window {
        &self.0
    }

    /// Calls what can fail: its error is one of this window.
    #[inline]
    pub(super) fn call<'w, R>(&'w self, call: impl FnOnce(&'w Window) -> Result<R>) -> Result<R> {
        match call(&self.0) {
            Err(error) => Err(self.own(error)),
            result => result,
        }
    }

    #[cold]
    fn own(&self, error: Error) -> Error {
        error.in_window(self.0.id())
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
