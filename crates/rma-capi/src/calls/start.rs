//! `MPIX_Start_gathered`: how a runtime that has started processes brings this library up in them, with nothing but an allgather.

use crate::entry::{call_any_time, plain};
use crate::process::{is_initialized, of_life};
use crate::start::{self, GatherFunction, Given, StartState};
use rma::{Error, ErrorClass};
use std::ffi::{c_int, c_void};

plain! {
    /// `MPIX_Start_gathered`: MPI_Init joins this rank of so many, whatever the environment says of launchers.
    fn MPIX_Start_gathered(
        rank: c_int,
        size: c_int,
        allgather: Option<GatherFunction>,
        extra_state: *mut c_void,
    ) -> c_int {
        call_any_time("MPIX_Start_gathered", || {
            if is_initialized() || of_life().is_some() {
                return Err(Error::new(ErrorClass::Other, "", "MPI_Init was called before"));
            }
            let bad = |cause: String| Err(Error::new(ErrorClass::Arg, "", cause));
            let Some(allgather) = allgather else { return bad("allgather is null".to_owned()) };
            match (u32::try_from(rank), u32::try_from(size)) {
                (Ok(rank), Ok(size)) if rank < size => {
                    let state = StartState(extra_state);
                    start::give(Given { rank, size, function: allgather, state, is_of_guest: false });
                    Ok(())
                }
                _ => bad(format!("rank is {rank} and size {size}, but 0 to size - 1 are ranks")),
            }
        })
    }
}
