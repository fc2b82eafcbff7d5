//! Making and freeing windows (MPI 5.0 §12.2). Errors of creation belong to the communicator.

use super::attributes;
use crate::abi::*;
use crate::arguments::{Memory, Out, size};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::process::are_events_wanted;
use crate::tool::event;
use crate::window::create::{allocate, create, unit};
use crate::window::{WINDOWS, get, handle_cache};
use rma::Result;
use rma_core::window::{Hints, WindowSpec};
use std::ffi::c_void;

forms! {
    /// `MPI_Win_create` (§12.2.1).
    fn MPI_Win_create | MPI_Win_create_c(
        base: Memory, size: MPI_Aint, disp_unit: Place, info: MPI_Info, comm: MPI_Comm, win: Out<MPI_Win>,
    )
    raises Raiser::Comm(comm); |process| {
        create(process, base, size, disp_unit, info, comm, win).and_then(|()| made(win))
    }

    /// `MPI_Win_allocate` (§12.2.2).
    fn MPI_Win_allocate | MPI_Win_allocate_c(
        size: MPI_Aint, disp_unit: Place, info: MPI_Info, comm: MPI_Comm, baseptr: Out<*mut c_void>,
        win: Out<MPI_Win>,
    )
    raises Raiser::Comm(comm); |process| {
        let spec = |_: &Hints| {
            Ok(WindowSpec::Allocate { len: self::size("size", size)?, unit: unit(disp_unit)? })
        };
        allocate(process, info, comm, baseptr, win, spec).and_then(|()| made(win))
    }
}

entry! {
    /// `MPI_Win_free` (§12.2.5). The window stays, with its attributes, when freeing it is not legal now, and goes also when
    /// what the other ranks do ends in an error.
    fn MPI_Win_free(win: Out<MPI_Win>) raises Raiser::win_at(win); |_| {
        let handle = win.current().one("win")?;
        let window = get(handle)?;
        let ending = window.inner.clone().begin_free().map_err(|(_, error)| error)?;
        window.attributes.delete_all(attributes::owner(handle))?;
        let ended = ending.wait();
        let number = are_events_wanted().then(|| WINDOWS.number(handle)).flatten();
        handle_cache::remove(handle);
        win.set("win", MPI_WIN_NULL)?;
        event::freed(handle, number);
        ended
    }
}

/// Tells tools of a window that was made.
pub(super) fn made(win: Out<MPI_Win>) -> Result<()> {
    event::made(win.current().one("win")?);
    Ok(())
}
