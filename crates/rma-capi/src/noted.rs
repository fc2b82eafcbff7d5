//! The call that a thread is in, noted for the objects that it makes.
//!
//! Calls note their names only when `RMA_DEBUG` wants that, or when it is not known yet: before MPI is initialized. Then
//! [`crate::process`] gives the hot path of calls nothing, so that they come by here; without `RMA_DEBUG` a call has not one
//! instruction for it. A table of handles keeps the name that is noted when an object is entered, and what is left at the end is
//! listed with it ([`crate::debug`]).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_NOTING: AtomicBool = AtomicBool::new(true);

thread_local! {
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Notes the call that this thread is in.
pub(crate) fn note(call: &'static str) {
    if is_noting() {
        CALL.set(Some(call));
    }
}

/// The call that this thread is in, if that is noted.
pub(crate) fn noted() -> Option<&'static str> {
    if is_noting() { CALL.get() } else { None }
}

/// Runs what belongs to a call that has returned.
pub(crate) fn on_behalf_of<T>(call: &'static str, work: impl FnOnce() -> T) -> T {
    let before = CALL.replace(Some(call));
    let value = work();
    CALL.set(before);
    value
}

/// Decides whether calls go on noting their names, when that is known.
pub(crate) fn settle(is_wanted: bool) {
    IS_NOTING.store(is_wanted, Relaxed);
}

/// Whether calls note their names.
pub(crate) fn is_noting() -> bool {
    IS_NOTING.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_noted_for_this_thread() {
        note("MPI_Outer");
        assert_eq!(noted(), Some("MPI_Outer"));
        assert_eq!(on_behalf_of("MPI_Other", noted), Some("MPI_Other"));
        assert_eq!(noted(), Some("MPI_Outer"));
        assert_eq!(std::thread::spawn(noted).join().unwrap(), None);
    }
}
