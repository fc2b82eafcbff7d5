//! Values that operations read from after the call that gave them has returned.
//!
//! An operation on a rank that is not mapped reads its origin when its packet leaves. A value that the caller has no buffer for is kept here
//! until the scope in which it was given has ended. In passive epochs, which may be long, the values are completed locally when there are
//! many, and their places used again. So are the buffers of requests that nothing waits for.

use parking_lot::Mutex;
use rma_core::Result;
use rma_core::mem::ReadSpan;
use std::fmt;

/// Values of a part: parts never move or grow, because operations hold their addresses.
const PART: usize = 64;

/// Parts after which a passive epoch completes what it holds.
const MOST_PARTS: usize = 64;

pub(super) struct ScopeValues<T> {
    parts: Mutex<Vec<Vec<T>>>,
    /// Buffers of requests that were dropped before their end.
    buffers: Mutex<Vec<Vec<T>>>,
}

impl<T> ScopeValues<T> {
    pub(super) const fn new() -> Self {
        Self { parts: Mutex::new(Vec::new()), buffers: Mutex::new(Vec::new()) }
    }

    /// Hands `value`'s place to `operation`. When there are many values, `complete` is called first: after it, no operation
    /// reads any of them. One thread does so at a time, so that no value is on its way to its operation meanwhile.
    pub(super) fn keep(
        &self,
        value: T,
        complete: Option<impl FnOnce() -> Result<()>>,
        operation: impl FnOnce(ReadSpan) -> Result<()>,
    ) -> Result<()> {
        let mut parts = self.parts.lock();
        if is_full(&parts) {
            match complete {
                Some(complete) if parts.len() >= MOST_PARTS => {
                    complete()?;
                    empty(&mut parts);
                }
                _ => parts.push(Vec::with_capacity(PART)),
            }
        }
        let Some(part) = parts.last_mut() else { unreachable!("a part was added") };
        let place = part.as_mut_ptr().wrapping_add(part.len());
        part.push(value);
        // SAFETY: the part is not moved, and the place in it not written, before `complete` or `clear`.
        operation(unsafe { ReadSpan::new(place.cast_const().cast(), size_of::<T>()) })
    }

    /// Keeps a buffer that an operation uses.
    pub(super) fn keep_buffer(&self, buffer: Vec<T>) {
        self.buffers.lock().push(buffer);
    }

    /// Lets go of all values and buffers. No operation may read them any more, which a closed scope has seen to.
    pub(super) fn clear(&self) {
        empty(&mut self.parts.lock());
        self.buffers.lock().clear();
    }
}

/// Keeps one part to begin with.
fn empty<T>(parts: &mut Vec<Vec<T>>) {
    parts.truncate(1);
    parts.iter_mut().for_each(Vec::clear);
}

fn is_full<T>(parts: &[Vec<T>]) -> bool {
    parts.last().is_none_or(|part| part.len() == part.capacity())
}

impl<T> fmt::Debug for ScopeValues<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::{Error, ErrorClass};
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    #[test]
    fn places_are_used_again_when_their_operations_are_complete() {
        const MOST: usize = PART * MOST_PARTS;
        let (values, read) = (ScopeValues::new(), RefCell::new(BTreeSet::new()));
        let keep = |value: usize, complete: &dyn Fn() -> Result<()>| {
            values.keep(value, Some(complete), |span| {
                assert!(read.borrow_mut().insert(span.as_ptr()), "the place of value {value} is still read");
                Ok(())
            })
        };
        let completed = Cell::new(0);
        let complete = || {
            completed.set(completed.get() + 1);
            read.borrow_mut().clear();
            Ok(())
        };
        (0..MOST).for_each(|value| keep(value, &complete).unwrap());
        assert_eq!((completed.get(), read.borrow().len()), (0, MOST));
        // Nothing is used again where that fails.
        let fails = || Err(Error::new(ErrorClass::ProcFailed, "flush", "a rank is lost"));
        assert!(keep(MOST, &fails).is_err() && read.borrow().len() == MOST);
        (0..=MOST).for_each(|value| keep(value, &complete).unwrap());
        assert_eq!(completed.get(), 2);
    }
}
