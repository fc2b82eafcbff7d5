//! The handlers of signals are the program's: no library that libfabric loads puts its own in their place.

#![allow(missing_docs)]

use rma_ch_ofi::{OfiConfig, probe};

/// What providers take, if they are let.
const SIGNALS: [libc::c_int; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGSEGV];

/// The address of a signal's handler.
fn handler(signal: libc::c_int) -> libc::sighandler_t {
    // SAFETY: a structure of numbers.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the handler alone, and there is room for the answer.
    assert_eq!(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) }, 0);
    action.sa_sigaction
}

#[test]
fn handlers_stay_when_libfabric_is_loaded() {
    let before = SIGNALS.map(handler);
    let config = OfiConfig::read(&|name| std::env::var(name).ok()).unwrap();
    // SAFETY: the environment of the tests names libfabric.
    if let Err(why) = unsafe { probe(&config) } {
        return eprintln!("skipped: {why}");
    }
    assert_eq!(SIGNALS.map(handler), before, "of {SIGNALS:?}");
}
