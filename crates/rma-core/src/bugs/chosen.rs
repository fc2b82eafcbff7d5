//! At most one fault for each thread, chosen by the test that runs on it.

use super::Bug;
use std::cell::{Cell, RefCell};

thread_local! {
    static CHOSEN: Cell<Option<Bug>> = const { Cell::new(None) };
    /// Address and value of the last fetch-and-op that was answered truly.
    static FETCHED: RefCell<Option<(usize, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Puts a fault into all engines that are used on this thread, or takes it out.
pub fn choose(bug: Option<Bug>) {
    CHOSEN.set(bug);
    FETCHED.set(None);
}

/// Whether the fault is in.
pub(crate) fn has(bug: Bug) -> bool {
    CHOSEN.get() == Some(bug)
}

/// The wrong answer to a fetch: the value that the operation before got there, as if both had read before
/// either updated. Every other time it is the right one.
pub(crate) fn stale(address: usize, fetched: &[u8]) -> Option<Vec<u8>> {
    if !has(Bug::FetchOutside) {
        return None;
    }
    match FETCHED.take() {
        Some((at, value)) if at == address => Some(value),
        _ => {
            FETCHED.set(Some((address, fetched.to_vec())));
            None
        }
    }
}
