//! Windows to which memory is attached later (MPI 5.0 §12.2.4).

use super::create::made;
use crate::abi::*;
use crate::arguments::{Memory, Out, size};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::window::create::{WindowWish, make};
use crate::window::{get, hints};
use rma::{Error, ErrorClass};
use rma_core::window::WindowSpec;

entry! {
    /// `MPI_Win_create_dynamic` (§12.2.4).
    fn MPI_Win_create_dynamic(
        info: MPI_Info,
        comm: MPI_Comm,
        win: Out<MPI_Win>,
    ) raises Raiser::Comm(comm); |process| {
        let wish = || {
            win.check("win")?;
            Ok(WindowWish { spec: WindowSpec::Dynamic, hints: hints(info)?, base: 0 })
        };
        make(process, comm, wish(), Vec::new()).and_then(|new| win.set("win", new.1))?;
        made(win)
    }

    /// `MPI_Win_attach` (§12.2.4).
    fn MPI_Win_attach(win: MPI_Win, base: Memory, size: MPI_Aint) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        let len = self::size("size", size)?;
        let memory = base.writable("base", len).map_err(|_| {
            Error::new(ErrorClass::Base, "", format!("base is a null pointer, and size is {len}"))
        })?;
        // SAFETY: the program keeps the memory until it detaches it or frees the window.
        unsafe { window.inner.attach(memory) }
    }

    /// `MPI_Win_detach` (§12.2.4).
    fn MPI_Win_detach(win: MPI_Win, base: Memory) raises Raiser::Win(win); |_| {
        get(win)?.inner.detach(base.address())
    }
}
