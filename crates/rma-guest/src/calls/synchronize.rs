//! Synchronization calls (MPI 5.0 §12.5).

use super::{entry, first_at_once, on_window};
use crate::abi::Handle;
use crate::arguments::{Argument, Assert, LockType, Rank, Window};
use crate::at_once;
use crate::errors::{ERR_GROUP, Failure, settle};
use crate::group;
use crate::memory::{handle, read_handle};
use crate::window::find;
use std::ffi::{c_int, c_void};

on_window! {
    fn MPI_Win_fence(assert: Assert; win);
    fn MPI_Win_complete(; win);
    fn MPI_Win_wait(; win);
}

first_at_once! {
    fn MPI_Win_lock(
        kind: LockType, rank: Rank, assert: Assert; win
    ) at_once::lock(kind, rank, assert.0, win.0);
    fn MPI_Win_unlock(rank: Rank; win) at_once::unlock(rank, win.0);
    fn MPI_Win_lock_all(assert: Assert; win) at_once::lock_all(assert.0, win.0);
    fn MPI_Win_unlock_all(; win) at_once::unlock_all(win.0);
    fn MPI_Win_flush(rank: Rank; win) at_once::flush(rank, win.0);
    fn MPI_Win_flush_all(; win) at_once::flush_all(win.0);
    fn MPI_Win_flush_local(rank: Rank; win) at_once::flush_local(rank, win.0);
    fn MPI_Win_flush_local_all(; win) at_once::flush_local_all(win.0);
    fn MPI_Win_sync(; win) at_once::sync(win.0);
}

entry! {
    /// `MPI_Win_test`, whose window stands in front.
    fn MPI_Win_test(win: Handle, flag: *mut c_int); |host, own| {
        match find(win) {
            None => host(win, flag),
            Some(window) => settle(win, own(window, flag)),
        }
    }

    /// `MPI_Group_free`.
    fn MPI_Group_free(group: *mut c_void); |host, own| {
        if !group.is_null() {
            group::forget(read_handle(group, 0));
        }
        host(group)
    }

    /// `MPI_Win_start`.
    fn MPI_Win_start(group: Handle, assert: Assert, win: Window); |host, own| {
        match find(win.0) {
            None => host(group, assert, win),
            Some(window) => with_group(group, assert, win.0, window, own),
        }
    }

    /// `MPI_Win_post`.
    fn MPI_Win_post(group: Handle, assert: Assert, win: Window); |host, own| {
        match find(win.0) {
            None => host(group, assert, win),
            Some(window) => with_group(group, assert, win.0, window, own),
        }
    }
}

/// # Safety
/// A call on a window of the library with a group of the host.
unsafe fn with_group(
    group: Handle,
    assert: Assert,
    win: Handle,
    window: Handle,
    call: unsafe fn(Handle, Assert, Window) -> c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    let group = match unsafe { group::find(handle(group)) } {
        Ok(Some(group)) => group,
        Ok(None) => {
            return Failure::new(ERR_GROUP, "a member of group is not of the window").raise_at_window(win);
        }
        Err(failure) => return failure.raise_at_window(win),
    };
    match assert.own(window) {
        // SAFETY: group and window are the library's.
        Ok(assert) => settle(win, unsafe { call(group, assert, Window(window)) }),
        Err(failure) => failure.raise_at_window(win),
    }
}
