//! What windows tell: memory of other ranks, hints, predefined attributes. Names, groups and other attributes are the host's; that they are
//! attached is noted.

use super::entry;
use crate::abi::{Aint, Handle};
use crate::arguments::{Argument, Rank};
use crate::attributes::predefined;
use crate::errors::{Failure, settle};
use crate::host_window;
use crate::info::Hints;
use crate::library::host as the_host;
use crate::memory::{flag as as_flag, handle, store, write_handle};
use crate::window::find;
use std::ffi::{c_int, c_void};

entry! {
    /// `MPI_Win_shared_query`.
    fn MPI_Win_shared_query(
        win: Handle, rank: Rank, size: *mut Aint, unit: *mut c_int, base: *mut c_void,
    ); |host, own| {
        match find(win) {
            None => host(win, rank, size, unit, base),
            Some(window) => match rank.own(window) {
                Ok(rank) => settle(win, own(window, rank, size, unit, base)),
                Err(failure) => failure.raise_at_window(win),
            },
        }
    }

    /// `MPI_Win_shared_query_c`.
    fn MPI_Win_shared_query_c(
        win: Handle, rank: Rank, size: *mut Aint, unit: *mut Aint, base: *mut c_void,
    ); |host, own| {
        match find(win) {
            None => host(win, rank, size, unit, base),
            Some(window) => match rank.own(window) {
                Ok(rank) => settle(win, own(window, rank, size, unit, base)),
                Err(failure) => failure.raise_at_window(win),
            },
        }
    }

    /// `MPI_Win_set_info`.
    fn MPI_Win_set_info(win: Handle, info: Handle); |host, own| {
        match find(win) {
            None => host(win, info),
            Some(window) => {
                let hints = Hints::of(info);
                settle(win, own(window, hints.handle()))
            }
        }
    }

    /// `MPI_Win_get_info`.
    fn MPI_Win_get_info(win: Handle, info: *mut c_void); |host, own| {
        let Some(window) = find(win) else { return host(win, info) };
        let mut new: Handle = 0;
        let room: *mut c_void = if info.is_null() { info } else { (&raw mut new).cast() };
        let code = own(window, room);
        if code != 0 {
            return settle(win, code);
        }
        match Hints::taken(new).for_host() {
            Ok(hints) => {
                write_handle(info, hints);
                0
            }
            Err(code) => code,
        }
    }

    /// `MPI_Win_get_attr`.
    fn MPI_Win_get_attr(win: Handle, key: c_int, value: *mut c_void, flag: *mut c_int); |host, own| {
        let keys = &the_host().constants.window_keys;
        match (find(win), keys.iter().position(|known| *known == key)) {
            (Some(window), Some(index)) => {
                let found = match predefined(win, window, index, flag) {
                    Ok(found) => found,
                    Err(code) => return settle(win, code),
                };
                if value.is_null() {
                    return Failure::new(crate::errors::ERR_ARG, "attribute_val is null")
                        .raise_at_window(handle(win));
                }
                store(value, found);
                store(flag.cast(), as_flag(true));
                0
            }
            _ => host(win, key, value, flag),
        }
    }

    /// `MPI_Win_set_attr`.
    fn MPI_Win_set_attr(win: Handle, key: c_int, value: *mut c_void); |host, own| {
        let code = host(win, key, value);
        if code == 0 {
            host_window::note_attribute(win, key);
        }
        code
    }

    /// `MPI_Win_delete_attr`.
    fn MPI_Win_delete_attr(win: Handle, key: c_int); |host, own| {
        let code = host(win, key);
        if code == 0 {
            host_window::forget_attribute(win, key);
        }
        code
    }
}
