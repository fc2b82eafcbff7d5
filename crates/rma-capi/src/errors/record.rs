//! What is kept and printed of errors: the last one of each thread, and lines on standard error.

use std::cell::RefCell;
use std::ffi::c_int;
use std::io::Write;

thread_local! {
    /// The last error of this thread: its code, and what there is to say of it.
    static LAST: RefCell<Option<(c_int, String)>> = const { RefCell::new(None) };
}

/// What the thread's last error was, if it has this code.
pub(crate) fn last(code: c_int) -> Option<String> {
    LAST.with_borrow(|last| last.as_ref().filter(|(known, _)| *known == code).map(|(_, text)| text.clone()))
}

/// Notes the thread's last error.
pub(crate) fn note(code: c_int, text: String) {
    LAST.set(Some((code, text)));
}

/// Prints a line in one piece, so that what others print at the same time does not get into it.
pub(crate) fn say(line: &str) {
    // A loss of the standard error stream cannot be reported anywhere.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
