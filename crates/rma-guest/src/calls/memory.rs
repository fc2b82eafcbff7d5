//! Memory that the library can map into other processes (MPI 5.0 §9.2).

use super::entry;
use crate::abi::{Aint, Handle};
use crate::info::Hints;
use crate::world::is_running;
use std::ffi::c_void;

entry! {
    /// `MPI_Alloc_mem`: the library's memory, or, where it has none, the host's, which knows what to say of it.
    fn MPI_Alloc_mem(size: Aint, info: Handle, base: *mut c_void); |host, own| {
        if is_running() && !base.is_null() && own(size, Hints::of(info).handle(), base) == 0 {
            return 0;
        }
        host(size, info, base)
    }

    /// `MPI_Free_mem`: what the library does not know is the host's.
    fn MPI_Free_mem(base: *mut c_void); |host, own| {
        if is_running() && own(base) == 0 { 0 } else { host(base) }
    }
}
