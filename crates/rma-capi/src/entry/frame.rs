//! What happens around the body of a call: MPI has to run, the thread is not cancelled, panics end here, errors are raised.

use super::raise::raise;
use crate::cancel::Uncancelled;
use crate::errors::{Failure, Raiser};
use crate::noted;
use crate::process::{Process, enter, not_running};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a call that needs MPI to be running.
#[inline(always)]
pub(crate) fn call(
    name: &'static str,
    raiser: impl FnOnce() -> Raiser,
    body: impl FnOnce(&'static Process) -> Result<()>,
) -> c_int {
    let _uncancelled = Uncancelled::begin();
    let Some(process) = enter(name) else { return raise(not_running(name), Raiser::None) };
    // Asked for before the body, which may put another handle in the place of the one that the call was made with.
    let raiser = raiser();
    // State that a panic leaves half changed is found again by the checks of later calls, which do not trust it.
    match catch_unwind(AssertUnwindSafe(|| body(process))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), raiser),
    }
}

/// Runs the body of a call that needs MPI to be running, and whose errors say themselves where they belong.
#[inline(always)]
pub(crate) fn call_of_any(
    name: &'static str,
    body: impl FnOnce(&'static Process) -> std::result::Result<(), Failure>,
) -> c_int {
    let _uncancelled = Uncancelled::begin();
    let Some(process) = enter(name) else { return raise(not_running(name), Raiser::None) };
    // As in `call`.
    match catch_unwind(AssertUnwindSafe(|| body(process))) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure { error, raiser })) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), Raiser::None),
    }
}

/// Runs the body of a call that is legal at any time; its errors are raised where no object is known.
pub(crate) fn call_any_time(name: &'static str, body: impl FnOnce() -> Result<()>) -> c_int {
    call_for(name, Raiser::None, body)
}

/// As [`call_any_time`], with errors that belong to this object.
pub(crate) fn call_for(name: &'static str, raiser: Raiser, body: impl FnOnce() -> Result<()>) -> c_int {
    let _uncancelled = Uncancelled::begin();
    noted::note(name);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => raise(error.in_call(name), raiser),
        Err(_) => raise(panicked(name), raiser),
    }
}

#[cold]
fn panicked(name: &'static str) -> Error {
    Error::new(
        ErrorClass::Intern,
        name,
        "the library has met a state it holds for impossible; see the message above",
    )
}
