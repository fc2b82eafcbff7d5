//! Start, end, and what a program asks of its surroundings (MPI 5.0 §9.1, §9.6, §11.2, §11.6, and §20 on the ABI).

use crate::abi::*;
use crate::arguments::{Out, TextOut};
use crate::entry::{call_any_time, call_for, entry, plain};
use crate::errors::{Raiser, say};
use crate::info::Info;
use crate::life::{begin_world, end_world};
use crate::process::{abort, asked_level, is_finalized, is_initialized, is_main_thread};
use rma::{Error, ErrorClass};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::time::Instant;

/// The level that a program gets: any thread may call at any time if it has asked for that, or there is one alone, which nothing cancels;
/// otherwise one after the other.
pub(super) fn provided_level(asked: c_int) -> c_int {
    match asked {
        MPI_THREAD_SINGLE | MPI_THREAD_MULTIPLE => asked,
        _ => MPI_THREAD_SERIALIZED,
    }
}

plain! {
    /// `MPI_Init` (§11.2.1). The arguments of `main` are not needed.
    fn MPI_Init(_argc: Out<c_int>, _argv: Out<*mut *mut c_char>) -> c_int {
        call_any_time("MPI_Init", || begin_world("MPI_Init", MPI_THREAD_SINGLE))
    }

    /// `MPI_Init_thread` (§11.6.2).
    fn MPI_Init_thread(
        _argc: Out<c_int>, _argv: Out<*mut *mut c_char>, required: c_int, provided: Out<c_int>,
    ) -> c_int {
        call_any_time("MPI_Init_thread", || {
            const LEVELS: [c_int; 4] =
                [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE];
            if !LEVELS.contains(&required) {
                let cause = format!("required is {required}, which is no thread level");
                return Err(Error::new(ErrorClass::Arg, "", cause));
            }
            provided.check("provided")?;
            begin_world("MPI_Init_thread", required)?;
            provided.set("provided", provided_level(required))
        })
    }

    /// `MPI_Initialized` (§11.4).
    fn MPI_Initialized(flag: Out<c_int>) -> c_int {
        call_any_time("MPI_Initialized", || flag.set("flag", is_initialized().into()))
    }

    /// `MPI_Finalized` (§11.4).
    fn MPI_Finalized(flag: Out<c_int>) -> c_int {
        call_any_time("MPI_Finalized", || flag.set("flag", is_finalized().into()))
    }

    /// `MPI_Finalize` (§11.2.2).
    fn MPI_Finalize() -> c_int {
        // Asked for first: afterwards there is no process any more.
        let raiser = Raiser::of_the_process();
        call_for("MPI_Finalize", raiser, end_world)
    }

    /// `MPI_Wtime` (§9.6): seconds since this process first asked.
    fn MPI_Wtime() -> f64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_secs_f64()
    }

    /// `MPI_Wtick` (§9.6).
    fn MPI_Wtick() -> f64 {
        1e-9
    }

    /// `MPI_Get_version` (§9.1.1).
    fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) -> c_int {
        call_any_time("MPI_Get_version", || {
            version.set("version", MPI_VERSION)?;
            subversion.set("subversion", MPI_SUBVERSION)
        })
    }

    /// `MPI_Get_library_version` (§9.1.1).
    fn MPI_Get_library_version(version: TextOut, resultlen: Out<c_int>) -> c_int {
        call_any_time("MPI_Get_library_version", || {
            let text = concat!("rma ", env!("CARGO_PKG_VERSION"));
            let len = version.set("version", text, MPI_MAX_LIBRARY_VERSION_STRING as usize)?;
            resultlen.set("resultlen", len)
        })
    }

    /// `MPI_Pcontrol` (§15.2.4): for tools, which put another one in its place.
    fn MPI_Pcontrol(_level: c_int) -> c_int {
        MPI_SUCCESS
    }

    /// `MPI_Get_hw_resource_info` (§9.1.2): what `MPI_Comm_split_type` knows, the node, to which each process is restricted.
    fn MPI_Get_hw_resource_info(hw_info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Get_hw_resource_info", || {
            hw_info.check("hw_info")?;
            let known = Info::of([("mpi_shared_memory", "true".to_owned())]);
            hw_info.set("hw_info", crate::info::enter(known)?)
        })
    }

    /// `MPI_Abi_get_version` (§20.2).
    fn MPI_Abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) -> c_int {
        call_any_time("MPI_Abi_get_version", || {
            abi_major.set("abi_major", MPI_ABI_VERSION)?;
            abi_minor.set("abi_minor", MPI_ABI_SUBVERSION)
        })
    }

    /// `MPI_Abi_get_info` (§20.2): the sizes of the integer types.
    fn MPI_Abi_get_info(info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Abi_get_info", || {
            info.check("info")?;
            let size = |name, bytes: usize| (name, bytes.to_string());
            let known = Info::of([
                size("mpi_aint_size", size_of::<MPI_Aint>()),
                size("mpi_count_size", size_of::<MPI_Count>()),
                // MPI_Offset is of that type.
                size("mpi_offset_size", size_of::<i64>()),
            ]);
            info.set("info", crate::info::enter(known)?)
        })
    }
}

entry! {
    /// `MPI_Query_thread` (§11.6.2).
    fn MPI_Query_thread(provided: Out<c_int>) raises Raiser::None; |process| {
        provided.set("provided", provided_level(asked_level(process)))
    }

    /// `MPI_Is_thread_main` (§11.6.2).
    fn MPI_Is_thread_main(flag: Out<c_int>) raises Raiser::None; |_| {
        flag.set("flag", is_main_thread().into())
    }

    /// `MPI_Abort` (§9.7): ends all processes of the job, whatever the communicator.
    fn MPI_Abort(_comm: MPI_Comm, errorcode: c_int) raises Raiser::None; |process| {
        say(&format!("rma: rank {}: MPI_Abort with error code {errorcode}", process.world.inner.rank()));
        abort(errorcode)
    }

    /// `MPI_Get_processor_name` (§9.1.2).
    fn MPI_Get_processor_name(name: TextOut, resultlen: Out<c_int>) raises Raiser::None; |_| {
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let len = name.set("name", &node, MPI_MAX_PROCESSOR_NAME as usize)?;
        resultlen.set("resultlen", len)
    }
}
