//! Windows that other ranks reach by packets. While the program waits in a call of the host, the call itself serves them: it looks at host
//! and library in turn, where otherwise each packet would wake the library's thread, which takes ten times as long.

use crate::abi::{Aint, Handle};
use crate::memory::handle;
use crate::table::Table;
use crate::{ours, theirs};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// By the program's handles; the values mean nothing.
static SERVED: Table<16> = Table::new();

/// Looks in vain after which a wait makes a whole step, which finds what a moment of serving does not, and yields.
const STEP_EVERY: u32 = 64;

/// A window has been made; it is served unless each rank has the others' memory mapped.
///
/// # Safety
/// A window of the library's on the host's communicator.
pub(crate) unsafe fn note(win: Handle, own: Handle, comm: Handle) {
    let mut size = 0;
    // SAFETY: as the caller promises; room for numbers and an address. The first rank of another node ends the search.
    let is_mapped = unsafe {
        theirs::comm_size(comm, &raw mut size);
        (0..size).all(|rank| {
            let (mut len, mut unit, mut base): (Aint, c_int, *mut c_void) = (0, 0, null_mut());
            let code = ours::shared_query(own, rank, &raw mut len, &raw mut unit, (&raw mut base).cast());
            code == 0 && !base.is_null()
        })
    };
    if !is_mapped {
        SERVED.insert(win, own);
    }
}

/// The window is gone.
pub(crate) fn forget(win: Handle) {
    if SERVED.len() != 0 {
        SERVED.remove(handle(win));
    }
}

/// Whether there are such windows.
#[inline(always)]
pub(crate) fn is_any() -> bool {
    SERVED.len() != 0
}

/// Looks until there is an answer, and serves between two looks.
pub(crate) fn until(mut look: impl FnMut() -> Option<c_int>) -> c_int {
    for round in 1u32.. {
        if let Some(code) = look() {
            return code;
        }
        if round % STEP_EVERY == 0 {
            ours::step();
            std::thread::yield_now();
        } else {
            ours::serve();
        }
    }
    unreachable!("there is an answer, or another round")
}
