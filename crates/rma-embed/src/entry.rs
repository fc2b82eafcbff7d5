//! The frame of every entry point: panics do not cross it, errors become a class and a text, and functions of the embedder's
//! tables are not let in, since they run with locks held that an entry point takes.

use crate::errors::{AGAIN, keep};
use rma_ch_c::{VERSION, is_outside};
use rma_core::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Declares entry points that answer `RMA_SUCCESS` or a class of error. Bodies answer `Result<()>`, or `Result<bool>` where
/// false is `RMA_AGAIN`.
macro_rules! entry {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// Every pointer is what `rma.h` says, or null.
        // SAFETY: the name is this library's to define, once.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> std::ffi::c_int {
            $crate::entry::call(stringify!($name), move || {
                let body = move || $body;
                Ok($crate::entry::Answer::from(body()?))
            })
        }
    )*};
}
pub(crate) use entry;

/// What an entry point's body comes to.
pub(crate) struct Answer(c_int);

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self(0)
    }
}

impl From<bool> for Answer {
    fn from(is_accepted: bool) -> Self {
        Self(if is_accepted { 0 } else { AGAIN })
    }
}

/// Runs the body of an entry point.
pub(crate) fn call(name: &'static str, body: impl FnOnce() -> Result<Answer>) -> c_int {
    if is_outside() {
        let cause =
            "called from a function of the channel's or the host's table, which must not call the engine";
        return keep(&Error::new(ErrorClass::Intern, name, cause));
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => answer.0,
        Ok(Err(error)) => keep(&error.in_call(name)),
        Err(_) => keep(&Error::new(ErrorClass::Intern, name, "the library has a bug, and panicked")),
    }
}

/// `rma_version`.
// SAFETY: the name is this library's to define, once.
#[unsafe(no_mangle)]
extern "C" fn rma_version() -> c_int {
    VERSION as c_int
}
