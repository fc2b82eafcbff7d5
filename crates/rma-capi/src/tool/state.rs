//! Whether the interface is in use, the handles that are out, and the frame of its calls.

use super::answer::{Answer, Fault};
use super::session::PerformanceSession;
use crate::abi::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Everything of the interface that changes.
pub(crate) struct Tool {
    /// Calls of `MPI_T_init_thread` less those of `MPI_T_finalize`.
    pub(crate) users: u64,
    /// Handles of control variables: the index of the variable.
    pub(crate) cvars: Store<usize>,
    pub(crate) sessions: Store<PerformanceSession>,
    /// The next number of a handle of a performance variable, whose session has it.
    pub(crate) pvar_handles: u64,
}

/// Things by handle: the kind in the top byte, as in other handles, and a number that is never used again.
pub(crate) struct Store<T> {
    kind: u8,
    last: u64,
    things: BTreeMap<usize, T>,
}

/// The kinds of the interface's handles; other handles have others.
const CVAR: u8 = 10;
const SESSION: u8 = 11;
pub(crate) const PVAR: u8 = 12;
pub(crate) const ENUM: u8 = 13;
pub(crate) const EVENT: u8 = 16;
pub(crate) const INSTANCE: u8 = 17;

static TOOL: Mutex<Tool> =
    Mutex::new(Tool { users: 0, cvars: Store::new(CVAR), sessions: Store::new(SESSION), pvar_handles: 0 });

/// The bits of a handle.
pub(crate) const fn handle(kind: u8, number: u64) -> usize {
    (kind as usize) << 56 | number as usize
}

impl<T> Store<T> {
    pub(crate) const fn new(kind: u8) -> Self {
        Self { kind, last: 0, things: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, thing: T) -> usize {
        self.last += 1;
        let handle = handle(self.kind, self.last);
        self.things.insert(handle, thing);
        handle
    }

    pub(crate) fn get(&mut self, handle: usize) -> Option<&mut T> {
        self.things.get_mut(&handle)
    }

    pub(crate) fn remove(&mut self, handle: usize) -> Option<T> {
        self.things.remove(&handle)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Copies of those of which this is true, with their handles.
    pub(crate) fn all(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<(usize, T)>
    where
        T: Clone,
    {
        let wanted = self.things.iter().filter(|(_, thing)| is_wanted(thing));
        wanted.map(|(handle, thing)| (*handle, thing.clone())).collect()
    }

    /// Takes all things out.
    pub(crate) fn clear(&mut self) {
        self.things.clear();
    }
}

/// Runs the body of a call that needs the interface to be initialized.
pub(crate) fn call(body: impl FnOnce(&mut Tool) -> Answer) -> c_int {
    frame(|tool| match tool.users {
        0 => Err(Fault(MPI_T_ERR_NOT_INITIALIZED)),
        _ => body(tool),
    })
}

/// Runs the body of a call that may be made at any time.
pub(crate) fn frame(body: impl FnOnce(&mut Tool) -> Answer) -> c_int {
    let mut tool = TOOL.lock();
    match catch_unwind(AssertUnwindSafe(|| body(&mut tool))) {
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(Fault(code))) => code,
        Err(_) => MPI_ERR_INTERN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_for_one_thing() {
        let mut store = Store::new(CVAR);
        let first = store.insert("a");
        assert_eq!(store.get(first), Some(&mut "a"));
        assert_eq!((store.remove(first), store.get(first)), (Some("a"), None));
        let second = store.insert("b");
        assert_ne!(first, second);
        assert_eq!(store.get(first), None);
        assert_eq!(store.remove(first), None);
        let foreign = Store::new(SESSION).insert("c");
        assert!([foreign, 0, 1].into_iter().all(|other| store.get(other).is_none()));
    }
}
