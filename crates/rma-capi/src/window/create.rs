//! How windows are made.
//!
//! A rank whose arguments are wrong takes part all the same, and all ranks get an error.

use super::{Win, handle_cache, hints};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide, size};
use crate::process::Process;
use rma::{Error, ErrorClass, Result};
use rma_core::window::{Hints, Window, WindowSpec};
use std::ffi::c_void;

pub(crate) fn create(
    process: &'static Process,
    base: Memory,
    len: MPI_Aint,
    disp_unit: impl Wide,
    info: MPI_Info,
    comm: MPI_Comm,
    win: Out<MPI_Win>,
) -> Result<()> {
    let wish = || {
        win.check("win")?;
        let memory = base.exposed("base", size("size", len)?)?;
        let spec = WindowSpec::Create { memory, unit: unit(disp_unit)? };
        Ok(WindowWish { spec, hints: hints(info)?, base: base.address() })
    };
    make(process, comm, wish(), Vec::new()).and_then(|made| win.set("win", made.1))
}

/// Creates a window whose memory the library gives.
pub(crate) fn allocate(
    process: &'static Process,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: Out<*mut c_void>,
    win: Out<MPI_Win>,
    spec: impl FnOnce(&Hints) -> Result<WindowSpec>,
) -> Result<()> {
    let wish = || {
        win.check("win")?;
        baseptr.check("baseptr")?;
        let hints = hints(info)?;
        Ok(WindowWish { spec: spec(&hints)?, hints, base: 0 })
    };
    let (base, handle) = make(process, comm, wish(), Vec::new())?;
    baseptr.set("baseptr", base as *mut c_void)?;
    win.set("win", handle)
}

/// What a rank asks for.
pub(crate) struct WindowWish {
    pub(crate) spec: WindowSpec,
    pub(crate) hints: Hints,
    /// The address of memory that the program brings along.
    pub(crate) base: usize,
}

/// Creates the window that is wished for, or takes part with the error that the wish is; it keeps the windows over whose memory
/// it lies. Answers the address of its memory.
pub(crate) fn make(
    process: &'static Process,
    comm: MPI_Comm,
    wish: Result<WindowWish>,
    memory_of: Vec<Window>,
) -> Result<(usize, MPI_Win)> {
    let comm = process.comm(comm)?;
    let (engine, group) = (comm.intra()?.engine(), comm.inner.group());
    let prepared = comm.inner.runtime().prepare_window();
    let WindowWish { spec, hints, base } = match prepared.and(wish) {
        Ok(wish) => wish,
        Err(fault) => return Err(engine.refuse_window(group, fault)),
    };
    let inner = engine.create_window_with(group, spec, hints)?;
    // SAFETY: only the address is taken; the program uses the memory until it frees the window.
    let own = || unsafe { inner.local() }.as_mut_ptr() as usize;
    let (flavor, base, len, disp_unit) = match spec {
        WindowSpec::Create { memory, unit } => (MPI_WIN_FLAVOR_CREATE, base, memory.len(), unit),
        WindowSpec::Allocate { len, unit } => (MPI_WIN_FLAVOR_ALLOCATE, own(), len as usize, unit),
        WindowSpec::AllocateShared { len, unit, .. } => (MPI_WIN_FLAVOR_SHARED, own(), len as usize, unit),
        WindowSpec::Dynamic => (MPI_WIN_FLAVOR_DYNAMIC, 0, 0, 1),
    };
    let made = Win::new(inner, comm.inner.members(), flavor, base, len as MPI_Aint, disp_unit, memory_of);
    let handle = handle_cache::enter(made);
    let full = || Error::new(ErrorClass::NoMem, "", "no handle is left for another window");
    Ok((base, handle.ok_or_else(full)?))
}

pub(crate) fn unit(disp_unit: impl Wide) -> Result<u64> {
    u64::try_from(disp_unit.wide()).ok().filter(|unit| *unit > 0).ok_or_else(|| {
        let cause = format!("disp_unit is {}, but must be positive", disp_unit.wide());
        Error::new(ErrorClass::Disp, "", cause)
    })
}
