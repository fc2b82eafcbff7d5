//! Memory that the library can map into other processes (MPI 5.0 §9.2).

use super::entry;
use crate::abi::{Aint, Handle};
use crate::info::Hints;
use crate::world::is_running;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::c_void;

/// Addresses of memory that is the library's.
static GIVEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

entry! {
    /// `MPI_Alloc_mem`: the library's memory, or, where it has none, the host's, which knows what to say of it.
    fn MPI_Alloc_mem(size: Aint, info: Handle, base: *mut c_void); |host, own| {
        if is_running() && !base.is_null() && own(size, Hints::of(info).handle(), base) == 0 {
            GIVEN.lock().insert(base.cast::<usize>().read());
            return 0;
        }
        host(size, info, base)
    }

    /// `MPI_Free_mem`: what the library has not given is the host's. What is left when the library ends, ends with it.
    fn MPI_Free_mem(base: *mut c_void); |host, own| {
        if !GIVEN.lock().remove(&base.addr()) {
            return host(base);
        }
        if is_running() { own(base) } else { 0 }
    }
}
