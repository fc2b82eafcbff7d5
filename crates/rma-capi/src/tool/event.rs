//! Events (MPI 5.0 §15.3.8): what happens in calls, told to functions of a tool. One of the few files with `unsafe`.
//!
//! An event is raised by the thread whose call it is about, when the call has done its work and holds no lock. While no handle of any
//! type exists, a call has one load for it, and those that end on the fast path have not even that: windows that are made while one
//! exists have no fast path ([`process::want_events`]).
//!
//! What the engine counts for a window, waits for locks and for elements of pools, is looked at when a synchronization call of the window
//! ends, and is an event when it has grown.

use super::answer::{Answer, Fault, place};
use super::state::{EVENT, INSTANCE, Store};
use crate::abi::*;
use crate::arguments::Opaque;
use crate::process;
use crate::window;
use parking_lot::Mutex;
use rma::Result;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// `MPI_T_event_cb_function`.
pub(crate) type EventFunction =
    unsafe extern "C" fn(MPI_T_event_instance, MPI_T_event_registration, c_int, Opaque);
/// `MPI_T_event_free_cb_function`.
pub(crate) type EventFreeFunction = unsafe extern "C" fn(MPI_T_event_registration, c_int, Opaque);
/// `MPI_T_event_dropped_cb_function`.
pub(crate) type DroppedFunction =
    unsafe extern "C" fn(MPI_Count, MPI_T_event_registration, c_int, c_int, Opaque);

/// A type of event.
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// What it has, and where in its data.
    pub(crate) elements: &'static [(MPI_Datatype, usize)],
}

/// Data of an event: two numbers of four bytes, and one of eight.
type EventData = [u8; 16];

const WINDOW: (MPI_Datatype, usize) = (MPI_INT, 0);
const SECOND: (MPI_Datatype, usize) = (MPI_INT, 4);
const LONG: (MPI_Datatype, usize) = (MPI_COUNT, 8);

pub(crate) const TYPES: [Type; 5] = [
    Type {
        name: "rma_win_made",
        text: "A window was made: its number (MPI_Win_toint), its flavor, its bytes here.",
        elements: &[WINDOW, SECOND, LONG],
    },
    Type { name: "rma_win_freed", text: "A window was freed: the number it had.", elements: &[WINDOW] },
    Type {
        name: "rma_epoch",
        text: "A synchronization call has succeeded: window, call, nanoseconds in it. Windows made before the handle leave some out.",
        elements: &[WINDOW, SECOND, LONG],
    },
    Type {
        name: "rma_lock_wait",
        text: "Lock requests have found a lock of this window taken, of mapped memory at their origin, else here: window, number since the last event.",
        elements: &[WINDOW, LONG],
    },
    Type {
        name: "rma_pool_exhausted",
        text: "Operations have waited for an element of a pool: window, number since the last event.",
        elements: &[WINDOW, LONG],
    },
];
const MADE: usize = 0;
const FREED: usize = 1;
const EPOCH: usize = 2;
const LOCK_WAIT: usize = 3;
const EXHAUSTED: usize = 4;

/// The calls that [`EPOCH`] tells of, by number.
pub(crate) const CALLS: &[&str] = &[
    "MPI_Win_fence",
    "MPI_Win_lock",
    "MPI_Win_unlock",
    "MPI_Win_lock_all",
    "MPI_Win_unlock_all",
    "MPI_Win_start",
    "MPI_Win_complete",
    "MPI_Win_post",
    "MPI_Win_wait",
    "MPI_Win_test",
    "MPI_Win_flush",
    "MPI_Win_flush_local",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local_all",
];

/// The levels of safety, from what asks least of a function to what asks most.
pub(crate) const LEVELS: [c_int; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

#[derive(Clone, Copy)]
struct Callback {
    function: EventFunction,
    user_data: Opaque,
}

/// A handle of an event type, and the functions that were given for it.
pub(crate) struct Registration {
    kind: usize,
    functions: Mutex<[Option<Callback>; LEVELS.len()]>,
    dropped: Mutex<Option<DroppedFunction>>,
}

/// What a function that is told of an event asks about.
#[derive(Clone, Copy)]
struct Instance {
    handle: usize,
    kind: usize,
    timestamp: i64,
    data: EventData,
}

static REGISTRATIONS: Mutex<Store<Arc<Registration>>> = Mutex::new(Store::new(EVENT));
static INSTANCES: AtomicU64 = AtomicU64::new(0);
/// Waits for locks and for elements of pools that windows have been told of.
static TOLD: Mutex<BTreeMap<usize, [u64; 2]>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The event that a function of this thread is told of now.
    static CURRENT: Cell<Option<Instance>> = const { Cell::new(None) };
}

/// Nanoseconds since the first question.
pub(crate) fn now() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as i64
}

pub(crate) fn kind(index: c_int) -> Answer<&'static Type> {
    static ALL: [Type; TYPES.len()] = TYPES;
    Ok(&ALL[place(index, ALL.len())?])
}

/// Makes a handle of a type.
pub(crate) fn register(index: c_int) -> Answer<MPI_T_event_registration> {
    let kind = place(index, TYPES.len())?;
    now();
    let registration = Registration { kind, functions: Mutex::default(), dropped: Mutex::default() };
    let handle = REGISTRATIONS.lock().insert(Arc::new(registration));
    process::want_events(true);
    Ok(MPI_T_event_registration(handle))
}

pub(crate) fn find(handle: MPI_T_event_registration) -> Answer<Arc<Registration>> {
    REGISTRATIONS.lock().get(handle.0).cloned().ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))
}

/// Takes a handle out.
pub(crate) fn unregister(handle: MPI_T_event_registration) -> Answer {
    let mut all = REGISTRATIONS.lock();
    all.remove(handle.0).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?;
    process::want_events(!all.is_empty());
    Ok(())
}

/// The last user of the interface has gone.
pub(crate) fn clear() {
    REGISTRATIONS.lock().clear();
    process::want_events(false);
}

/// The place of a level of safety.
pub(crate) fn level(cb_safety: c_int) -> Answer<usize> {
    LEVELS.iter().position(|level| *level == cb_safety).ok_or(Fault(MPI_T_ERR_INVALID))
}

impl Registration {
    /// Gives the function of a level, or takes it back.
    pub(crate) fn set(&self, level: usize, function: Option<EventFunction>, user_data: Opaque) {
        self.functions.lock()[level] = function.map(|function| Callback { function, user_data });
    }

    /// Whether there is a function of the level.
    pub(crate) fn has(&self, level: usize) -> bool {
        self.functions.lock()[level].is_some()
    }

    pub(crate) fn set_dropped(&self, function: Option<DroppedFunction>) {
        *self.dropped.lock() = function;
    }
}

/// Calls the function that is told of the end of a handle.
pub(crate) fn tell_freed(function: EventFreeFunction, handle: MPI_T_event_registration, user_data: Opaque) {
    // SAFETY: the tool has given the function for this call, and its word is its own.
    unsafe { function(handle, LEVELS[needed()], user_data) };
}

/// The level that a function must have: other threads may be in calls, too, if the program has asked for that.
fn needed() -> usize {
    const THREADS: usize = 2;
    if process::running().is_none_or(process::Process::has_one_caller) { 0 } else { THREADS }
}

fn raise(kind: usize, words: [i32; 2], long: i64) {
    // What a function does about an event is none.
    if CURRENT.get().is_some() {
        return;
    }
    let mut data = [0; 16];
    data[..4].copy_from_slice(&words[0].to_ne_bytes());
    data[4..8].copy_from_slice(&words[1].to_ne_bytes());
    data[8..].copy_from_slice(&long.to_ne_bytes());
    let number = INSTANCES.fetch_add(1, Relaxed) + 1;
    let handle = super::state::handle(INSTANCE, number);
    let instance = Instance { handle, kind, timestamp: now(), data };
    let all = REGISTRATIONS.lock().all(|registration| registration.kind == kind);
    let level = needed();
    CURRENT.set(Some(instance));
    for (handle, registration) in all {
        let handle = MPI_T_event_registration(handle);
        let fit = registration.functions.lock()[level..].iter().flatten().next().copied();
        let dropped = *registration.dropped.lock();
        let user_data = registration.functions.lock().iter().flatten().last().map(|last| last.user_data);
        match (fit, dropped) {
            (Some(Callback { function, user_data }), _) => {
                // SAFETY: the tool has given the function for this call; no lock is held.
                unsafe { function(MPI_T_event_instance(instance.handle), handle, LEVELS[level], user_data) };
            }
            // SAFETY: as above.
            (None, Some(dropped)) => unsafe {
                dropped(1, handle, 0, LEVELS[level], user_data.unwrap_or(Opaque::NULL))
            },
            (None, None) => {}
        }
    }
    CURRENT.set(None);
}

/// The bytes of an element of the event that this thread is told of, or of all of them.
pub(crate) fn read(event: MPI_T_event_instance, element: Option<c_int>) -> Answer<Vec<u8>> {
    let Instance { kind, data, .. } = current(event)?;
    let elements = TYPES[kind].elements;
    let len = |datatype| if datatype == MPI_COUNT { 8 } else { 4 };
    match element {
        Some(element) => {
            let (datatype, at) = elements[place(element, elements.len())?];
            Ok(data[at..at + len(datatype)].to_vec())
        }
        None => {
            let end = elements.last().map_or(0, |(datatype, at)| at + len(*datatype));
            Ok(data[..end].to_vec())
        }
    }
}

pub(crate) fn timestamp(event: MPI_T_event_instance) -> Answer<i64> {
    current(event).map(|instance| instance.timestamp)
}

fn current(event: MPI_T_event_instance) -> Answer<Instance> {
    CURRENT.get().filter(|current| current.handle == event.0).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))
}

/// A window was made.
pub(crate) fn made(win: MPI_Win) {
    if process::are_events_wanted()
        && let (Some(window), Some(number)) = (window::find(win), window::WINDOWS.number(win))
    {
        raise(MADE, [number, window.facts.flavor], window.facts.size as i64);
    }
}

/// A window with this number was freed.
pub(crate) fn freed(win: MPI_Win, number: Option<c_int>) {
    if process::are_events_wanted()
        && let Some(number) = number
    {
        TOLD.lock().remove(&win.0);
        raise(FREED, [number, 0], 0);
    }
}

/// Runs a synchronization call, and tells of it.
#[cold]
pub(crate) fn observe(win: MPI_Win, call: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = now();
    let result = body();
    let time = now() - start;
    if let (Ok(()), Some(number)) = (&result, window::WINDOWS.number(win)) {
        let call = CALLS.iter().position(|known| *known == call);
        raise(EPOCH, [number, call.map_or(-1, |call| call as i32)], time);
        let counted = window::find(win).map(|window| window.inner.counters()).unwrap_or_default();
        let counted = [counted.locks_waited, counted.op_pool_exhausted + counted.target_pool_exhausted];
        let told = TOLD.lock().insert(win.0, counted).unwrap_or_default();
        for (kind, (now, before)) in [LOCK_WAIT, EXHAUSTED].into_iter().zip(counted.into_iter().zip(told)) {
            if now > before {
                raise(kind, [number, 0], (now - before) as i64);
            }
        }
    }
    result
}
