//! Windows that are taken over: the program's handle is a window of the host without memory, which has name, attributes, group and
//! error handler; everything else is a window of the library.

use crate::abi::Handle;
use crate::errors::{Failure, settle};
use crate::memory::{handle, read_handle, write_handle};
use crate::table::Table;
use crate::{attributes, host_window, ours, places, report, served, world};
use std::ffi::{c_int, c_void};

static KNOWN: Table<64> = Table::new();

/// The library's window; `None` when the window is the host's, or none.
#[inline(always)]
pub(crate) fn find(win: Handle) -> Option<Handle> {
    KNOWN.find(handle(win))
}

/// The library has met an error on its window `own` in a call at once: raises it at the host's; answers the host's code.
pub(crate) unsafe extern "C-unwind" fn raise(own: Handle, code: c_int) -> c_int {
    settle(KNOWN.key_of(own).unwrap_or(0), code)
}

/// A window of the library's gets its handle for the program. Collective.
///
/// # Safety
/// A window of the library just made by all ranks of `comm`, a communicator of the host, on the library's of the same ranks, and room for a
/// handle of the host.
pub(crate) unsafe fn enter(
    call: &str,
    mut own: Handle,
    comm: Handle,
    own_comm: Handle,
    to: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let win = match host_window::make(comm, own_comm) {
            Ok(win) => win,
            Err(code) => {
                ours::win_free(&raw mut own);
                return code;
            }
        };
        ours::return_errors_of_window(own);
        KNOWN.insert(win, own);
        places::enter(win, |to| ours::place(own, to));
        served::note(win, own, comm);
        write_handle(to, win);
        report::say(|| format!("{call}: the window is taken over"));
    }
    0
}

/// The library is about to end. Windows that are left stay known, for functions of attributes that free them.
pub(crate) fn keep_all() {
    KNOWN.all().into_iter().for_each(|(win, own)| attributes::keep(win, own));
}

/// Frees a window that was taken over; its part of the library may have ended with that. Collective.
///
/// # Safety
/// The address of the program's handle of the window `own`.
pub(crate) unsafe fn leave(mut own: Handle, at: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let win = handle(read_handle(at, 0));
        let own_before = own;
        if world::is_running() {
            attributes::keep(win, own);
            let place = places::leave(win);
            let code = ours::win_free(&raw mut own);
            // The window may be gone although its freeing has ended in an error: then its handle is null, too.
            place.into_iter().for_each(|place| places::settle(place, win, own != own_before));
            if code != 0 {
                attributes::forget(win, own_before);
                return Failure::of_code(code).raise_at_window(win);
            }
        }
        // The functions of attributes may ask for the window's own, so it is known until the host has freed it; then another thread
        // may have got the handle anew.
        host_window::free(at, || {
            KNOWN.remove_if(win, own_before);
            attributes::forget(win, own_before);
            served::forget(win);
        })
    }
}
