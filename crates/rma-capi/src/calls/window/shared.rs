//! Windows whose memory every rank maps, and where the memory of a rank is (MPI 5.0 §12.2.3).

use super::create::made;
use crate::abi::*;
use crate::arguments::{Out, Wide, size};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::window::create::{allocate, unit};
use crate::window::{get, synchronize};
use rma::{Error, ErrorClass, Result};
use rma_core::window::{Hints, WindowSpec};
use std::ffi::{c_int, c_void};

forms! {
    /// `MPI_Win_allocate_shared` (§12.2.3).
    fn MPI_Win_allocate_shared | MPI_Win_allocate_shared_c(
        size: MPI_Aint, disp_unit: Place, info: MPI_Info, comm: MPI_Comm, baseptr: Out<*mut c_void>,
        win: Out<MPI_Win>,
    )
    raises Raiser::Comm(comm); |process| {
        let spec = |hints: &Hints| {
            let (len, unit) = (self::size("size", size)?, unit(disp_unit)?);
            Ok(WindowSpec::AllocateShared { len, unit, is_contiguous: !hints.is_noncontiguous() })
        };
        allocate(process, info, comm, baseptr, win, spec).and_then(|()| made(win))
    }

    /// `MPI_Win_shared_query` (§12.2.3).
    fn MPI_Win_shared_query | MPI_Win_shared_query_c(
        win: MPI_Win, rank: c_int, size: Out<MPI_Aint>, disp_unit: Out<Place>, baseptr: Out<*mut c_void>,
    )
    raises Raiser::Win(win); |_| { shared_query(win, rank, size, disp_unit, baseptr) }
}

/// Memory that cannot be reached has no bytes, and a null pointer for an address.
fn shared_query<U: Wide>(
    win: MPI_Win,
    rank: c_int,
    size: Out<MPI_Aint>,
    disp_unit: Out<U>,
    baseptr: Out<*mut c_void>,
) -> Result<()> {
    let window = &get(win)?.inner;
    size.check("size")?;
    disp_unit.check("disp_unit")?;
    baseptr.check("baseptr")?;
    // SAFETY: only the address is taken; the program uses the memory until it frees the window.
    let (memory, unit) = unsafe { window.shared_query(synchronize::target(rank)?) }?;
    let narrow = U::narrow(unit as i64).ok_or_else(|| {
        let cause = format!("the displacement unit of rank {rank} is {unit}, which no int holds");
        Error::new(ErrorClass::ValueTooLarge, "", cause)
    })?;
    size.set("size", memory.len() as MPI_Aint)?;
    disp_unit.set("disp_unit", narrow)?;
    baseptr.set("baseptr", memory.as_mut_ptr().cast())
}
