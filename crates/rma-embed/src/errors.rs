//! Errors: the classes by number, and the text of a thread's last one.

use rma_core::{Error, ErrorClass};
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

/// `RMA_AGAIN`.
pub(crate) const AGAIN: c_int = -1;

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// The classes that a host may answer; any other number becomes `MPI_ERR_OTHER`.
const OF_HOSTS: &[ErrorClass] = &[
    ErrorClass::Arg,
    ErrorClass::Other,
    ErrorClass::Intern,
    ErrorClass::NoMem,
    ErrorClass::RmaShared,
    ErrorClass::ProcAborted,
    ErrorClass::ProcFailed,
];

/// A text for C.
pub(crate) fn c_text(text: &str) -> CString {
    let mut bytes = text.as_bytes().to_vec();
    bytes.retain(|byte| *byte != 0);
    // Nothing is left that a C string could not hold.
    CString::new(bytes).unwrap_or_default()
}

/// Keeps the text for `rma_error_text`; answers the number.
pub(crate) fn keep(error: &Error) -> c_int {
    // A thread that is ending has no text any more.
    let _ = TEXT.try_with(|kept| *kept.borrow_mut() = c_text(&error.to_string()));
    error.class() as c_int
}

/// An error that a function of the host has answered.
pub(crate) fn of_host(function: &'static str, answer: c_int) -> Error {
    let class = OF_HOSTS.iter().copied().find(|class| *class as c_int == answer).unwrap_or(ErrorClass::Other);
    Error::new(class, "host", format!("the host's {function} answered {answer}"))
}

/// `rma_error_text`.
// SAFETY: the name is this library's to define, once.
#[unsafe(no_mangle)]
extern "C" fn rma_error_text() -> *const c_char {
    const NONE: &std::ffi::CStr = c"";
    TEXT.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(NONE.as_ptr())
}
