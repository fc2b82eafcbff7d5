//! Start and end of the tool interface (MPI 5.0 §15.3.4).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::plain;
use crate::tool::answer::Fault;
use crate::tool::event;
use crate::tool::state::{call, frame};
use std::ffi::c_int;

plain! {
    /// `MPI_T_init_thread` (§15.3.4): may be called several times, and needs as many `MPI_T_finalize`.
    fn MPI_T_init_thread(required: c_int, provided: Out<c_int>) -> c_int {
        frame(|tool| {
            const LEVELS: [c_int; 4] =
                [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE];
            if !LEVELS.contains(&required) {
                return Err(Fault(MPI_T_ERR_INVALID));
            }
            provided.set("", MPI_THREAD_MULTIPLE)?;
            tool.users += 1;
            Ok(())
        })
    }

    /// `MPI_T_finalize` (§15.3.4). The last one takes all handles back; values that were written stay.
    fn MPI_T_finalize() -> c_int {
        call(|tool| {
            tool.users -= 1;
            if tool.users == 0 {
                tool.cvars.clear();
                tool.sessions.clear();
                event::clear();
            }
            Ok(())
        })
    }
}
