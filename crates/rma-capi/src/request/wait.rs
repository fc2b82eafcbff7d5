//! Waiting within a call for what the program has no request of.

use super::object::Pending;
use super::status::StatusOut;
use crate::process::{Process, Seek, Sought};
use rma::Result;
use std::cell::RefCell;

/// Waits for something that the program has no request of, and tells how it ended.
///
/// # Errors
/// What it ended with.
pub(crate) fn wait_for(
    process: &'static Process,
    pending: &mut dyn Pending,
    status: Option<StatusOut>,
) -> Result<()> {
    wait_within(process, pending.call(), pending, &|_| {}, status)
}

/// As [`wait_for`], in a call that seeks something besides.
///
/// # Errors
/// As [`wait_for`].
pub(crate) fn wait_within(
    process: &'static Process,
    call: &'static str,
    pending: &mut dyn Pending,
    beside: &Seek<'_>,
    status: Option<StatusOut>,
) -> Result<()> {
    let end = match pending.take_end() {
        // What need not be waited for serves the others all the same.
        Some(end) => {
            process.end_short_call();
            end
        }
        None => {
            let pending = RefCell::new(pending);
            let seek = |each: &mut dyn FnMut(Sought)| {
                pending.borrow().seek(each);
                beside(each);
            };
            process.wait_for(call, &seek, || Ok(pending.borrow_mut().take_end()))?
        }
    };
    if let Some(place) = status {
        end.status.store(place);
    }
    end.into_blocking().map(drop)
}
