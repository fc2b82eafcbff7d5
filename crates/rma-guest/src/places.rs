//! Windows that the library serves at once, by the program's handle. One of the few files with `unsafe`.
//!
//! The place of a window is found by its handle alone, before any memory is read, and has what the library looks at in a call: behind an atomic
//! step, which lets no later load begin before it is over, each look-up that waits for another one costs its time. A window whose
//! place is taken by another one has none: its calls go the way of all.

use crate::abi::Handle;
use crate::fixed;
use crate::memory::handle;
use crate::ours::WindowContents;
use std::cell::UnsafeCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Hosts whose handles are numbers give them in a row, so that as many windows have a place.
const PLACES: usize = 1 << 10;

/// No window. No handle of a host has this key or the next, so that a comparison says all: a second one would be a jump that
/// [`crate::at_once`] has no place for.
const FREE: usize = 0;
/// A window is being entered.
const TAKEN: usize = 1;

static ALL: [Place; PLACES] = [const { Place::free() }; PLACES];

/// As long as a cache line, and on one, so that a call reads one. The library knows this form.
#[repr(C, align(64))]
pub(crate) struct Place {
    key: AtomicUsize,
    /// What the library has written. Changed only while no thread can find the place.
    contents: UnsafeCell<WindowContents>,
}

const _: () = assert!(size_of::<Place>() == 64);

// SAFETY: the contents are written by the thread that has taken the place, while it has no handle; the library reads them in calls of
// threads that have found the handle, which the release and the acquire of the key order behind the writing. That no thread uses
// a handle while another one frees its window is the program's duty (MPI 5.0 §12.2.6).
unsafe impl Sync for Place {}

impl Place {
    const fn free() -> Self {
        Self { key: AtomicUsize::new(FREE), contents: UnsafeCell::new(WindowContents::uninit()) }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The place of a window, if it has one.
#[inline(always)]
pub(crate) fn find(win: Handle) -> Option<&'static Place> {
    let (place, key) = (place_of(win), key_of(win));
    // SYNC POINT places: what the library has written before the window got its place.
    if place.key.load(Acquire) == key { Some(place) } else { None }
}

/// A window of the library's gets a place for the program's handle, if there is one and the library has something to write there.
pub(crate) fn enter(win: Handle, write: impl FnOnce(*mut WindowContents) -> bool) {
    let place = place_of(win);
    if place.key.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_err() {
        return;
    }
    let has_written = write(place.contents.get());
    // SYNC POINT places
    place.key.store(if has_written { key_of(win) } else { FREE }, Release);
}

/// The window is about to be freed; answers its place, if it has had one, for [`settle`].
pub(crate) fn leave(win: Handle) -> Option<&'static Place> {
    find(win).inspect(|place| place.key.store(TAKEN, Relaxed))
}

/// It has been freed, or not.
pub(crate) fn settle(place: &Place, win: Handle, is_freed: bool) {
    place.key.store(if is_freed { FREE } else { key_of(win) }, Release);
}

/// The library is about to end.
pub(crate) fn close() {
    // A load takes no memory of places that were never used; a store would.
    let used = ALL.iter().filter(|place| place.key.load(Relaxed) != FREE);
    used.for_each(|place| place.key.store(FREE, Relaxed));
}

/// All bits the other way round: a null handle has the last of all keys.
#[inline(always)]
fn key_of(win: Handle) -> usize {
    !handle(win)
}

/// By the lower half of the handle, which is all of it where handles are numbers.
#[inline(always)]
fn place_of(win: Handle) -> &'static Place {
    &ALL[fixed::place_of::<PLACES, { fixed::FACTORS[0] }>(win)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_there(win: Handle) -> bool {
        find(win).is_some()
    }

    /// Three handles whose place is one and the same.
    fn rivals(from: Handle) -> [Handle; 3] {
        let place = &raw const *place_of(from);
        let mut others = (from + 1..).filter(|win| std::ptr::eq(place_of(*win), place));
        [from, others.next().unwrap_or(0), others.next().unwrap_or(0)]
    }

    #[test]
    fn of_windows_on_one_place_the_first_has_it_until_it_is_freed() {
        let [first, second, third] = rivals(0x100);
        enter(first, |_| true);
        enter(second, |_| unreachable!("the place is taken"));
        assert_eq!([first, second].map(is_there), [true, false]);
        assert!(leave(second).is_none(), "it has no place to leave");
        let place = leave(first).unwrap_or_else(|| unreachable!("it has a place"));
        enter(third, |_| unreachable!("the place is kept until the window is freed"));
        assert_eq!([first, second, third].map(is_there), [false; 3]);
        settle(place, first, true);
        enter(third, |_| true);
        assert_eq!([first, second, third].map(is_there), [false, false, true]);
    }

    #[test]
    fn a_window_that_could_not_be_freed_keeps_its_place() {
        let [win, other, _] = rivals(0x200);
        enter(win, |_| true);
        let place = leave(win).unwrap_or_else(|| unreachable!("it has a place"));
        assert!(!is_there(win), "no call finds it while it is being freed");
        settle(place, win, false);
        enter(other, |_| unreachable!("the place is taken"));
        assert_eq!([win, other].map(is_there), [true, false]);
    }

    #[test]
    fn a_window_that_the_library_has_nothing_for_has_no_place() {
        let [win, other, _] = rivals(0x300);
        enter(win, |_| false);
        enter(other, |_| true);
        assert_eq!([win, other].map(is_there), [false, true]);
        assert!(!is_there(0), "null is no window");
    }
}
