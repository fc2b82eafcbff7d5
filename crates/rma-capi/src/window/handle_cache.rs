//! The direct paths of a program's windows, where one look at the handle finds what a call on mapped memory needs.
//!
//! Each index that a window can have has a place, so all windows of a program are as fast as its first. Places that were never used are
//! no memory: pages of zeros that the system has yet to give.
//!
//! The table of windows ([`super::WINDOWS`]) has the objects, and each call that finds nothing here goes
//! there. A place here belongs to the slot of the same index there. Invariant: while a place has a handle,
//! its window is in the table: entered after it, taken out before it; and MPI is running and notes no names
//! of calls ([`crate::process::is_unwatched`]), so that no call has to ask.

use super::object::{FIRST_INDEX, WINDOWS, Win, find};
use crate::abi::MPI_Win;
use crate::handle::Handle;
use crate::process::{are_events_wanted, is_unwatched};
use rma_core::window::DirectPath;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Windows that have a place: as many as `RMA_WINDOWS` allows at most.
const PLACES: usize = 1 << 15;

/// No handle of any place, whose windows have indices from [`FIRST_INDEX`] on. A program may pass anything, a zero too.
const NO_HANDLE: usize = 0;

/// The place of the lowest index is the first: index 0 has none.
static CACHE: [WindowPlace; PLACES] = [const { WindowPlace::empty() }; PLACES];

/// How many of the first places may have a handle.
static USED: AtomicU32 = AtomicU32::new(0);

/// A window's place: as long as a cache line, and on one, so that a call reads one.
#[repr(align(64))]
struct WindowPlace {
    handle: AtomicUsize,
    /// Changed only while there is no handle.
    path: UnsafeCell<MaybeUninit<DirectPath<'static>>>,
}

const _: () = assert!(size_of::<WindowPlace>() == 64);

// SAFETY: the path is written only by the thread that enters or removes the window, under no handle; it is
// read by threads that have found the handle, which the release and the acquire of `handle` order behind the
// writing. That no thread uses a handle while another one frees its window is the program's duty (MPI 5.0
// §12.2.6).
unsafe impl Sync for WindowPlace {}

impl WindowPlace {
    const fn empty() -> Self {
        Self { handle: AtomicUsize::new(NO_HANDLE), path: UnsafeCell::new(MaybeUninit::uninit()) }
    }
}

/// The direct path of a handle's window, if that has a place here.
#[inline(always)]
pub(crate) fn find_cached(win: MPI_Win) -> Option<&'static DirectPath<'static>> {
    let place = place_of(win)?;
    if place.handle.load(Acquire) != win.bits() {
        return None;
    }
    // SAFETY: the place has the handle, so the path was written before, and the program does not free the
    // window meanwhile, so no thread writes.
    Some(unsafe { (*place.path.get()).assume_init_ref() })
}

/// Enters a window into the table, and here if there is a place; `None` when no handle is left.
pub(super) fn enter(window: Win) -> Option<MPI_Win> {
    let handle = WINDOWS.insert(window)?;
    if is_unwatched()
        && !are_events_wanted()
        && let (Some(place), Some(window)) = (place_of(handle), find(handle))
    {
        // SAFETY: the index is this window's, whose handle no thread has yet, and the one before has left the
        // place.
        unsafe { *place.path.get() = MaybeUninit::new(window.inner.direct_path()) };
        USED.fetch_max(handle.bits() as u32 - FIRST_INDEX + 1, Relaxed);
        place.handle.store(handle.bits(), Release);
    }
    Some(handle)
}

/// Takes a window out of both.
pub(crate) fn remove(handle: MPI_Win) -> Option<Box<Win>> {
    if let Some(place) = place_of(handle)
        && place.handle.load(Relaxed) == handle.bits()
    {
        place.handle.store(NO_HANDLE, Release);
    }
    WINDOWS.remove(handle)
}

/// MPI ends: windows that were not freed are found in the table alone.
pub(crate) fn close() {
    // Places behind these stay untouched: a store would have the system give their memory.
    let used = CACHE.iter().take(USED.load(Relaxed) as usize);
    used.for_each(|place| place.handle.store(NO_HANDLE, Release));
}

#[inline(always)]
fn place_of(handle: MPI_Win) -> Option<&'static WindowPlace> {
    CACHE.get((handle.bits() as u32).wrapping_sub(FIRST_INDEX) as usize)
}
