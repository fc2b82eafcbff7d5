//! The types of the ABI as Rust has them: handles are pointers that are never followed, so here they are numbers as wide as
//! one; the status is the one struct.

use std::ffi::{c_int, c_void};

/// `MPI_Aint`: an address or a displacement.
pub(crate) type MPI_Aint = isize;
/// `MPI_Offset`.
pub(crate) type MPI_Offset = i64;
/// `MPI_Count`.
pub(crate) type MPI_Count = i64;

macro_rules! handles {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: a predefined handle's number, or what a [`Table`](crate::handle::Table) has given.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) usize);
    )*};
}

handles! {
    MPI_Comm
    MPI_Group
    MPI_Win
    MPI_Datatype
    MPI_Op
    MPI_Info
    MPI_Errhandler
    MPI_Request
    MPI_Message
    MPI_File
    MPI_Session
    MPI_T_enum
    MPI_T_cvar_handle
    MPI_T_pvar_handle
    MPI_T_pvar_session
    MPI_T_event_registration
    MPI_T_event_instance
}

/// `MPI_Status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct MPI_Status {
    pub(crate) MPI_SOURCE: c_int,
    pub(crate) MPI_TAG: c_int,
    pub(crate) MPI_ERROR: c_int,
    /// The bytes received (low word, high word) and whether the request was cancelled.
    pub(crate) MPI_internal: [c_int; 5],
}

/// `MPI_Comm_errhandler_function` and `MPI_Win_errhandler_function`: handle, error code, and nothing more that is defined.
pub(crate) type ErrhandlerFunction = unsafe extern "C-unwind" fn(*mut usize, *mut c_int, ...);

/// `MPI_User_function`: operands, operands and results, their number, their datatype.
pub(crate) type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

/// `MPI_User_function_c`.
pub(crate) type UserFunctionLarge =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);

const _: () = assert!(size_of::<MPI_Status>() == 32 && size_of::<MPI_Comm>() == size_of::<*const c_void>());
