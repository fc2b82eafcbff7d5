//! The texts of error classes.

use super::added;
use crate::abi::*;
use std::ffi::c_int;

macro_rules! texts {
    ($($name:ident: $text:literal;)*) => {
        /// The predefined class's name and meaning; `None` for a number that is none.
        pub(super) fn predefined(class: c_int) -> Option<&'static str> {
            match class {
                $($name => Some(concat!(stringify!($name), ": ", $text)),)*
                _ => None,
            }
        }
    };
}

texts! {
    MPI_SUCCESS: "no error";
    MPI_ERR_BUFFER: "invalid buffer pointer";
    MPI_ERR_COUNT: "invalid count argument";
    MPI_ERR_TYPE: "invalid datatype argument";
    MPI_ERR_TAG: "invalid tag argument";
    MPI_ERR_COMM: "invalid communicator";
    MPI_ERR_RANK: "invalid rank";
    MPI_ERR_REQUEST: "invalid request handle";
    MPI_ERR_ROOT: "invalid root";
    MPI_ERR_GROUP: "invalid group";
    MPI_ERR_OP: "invalid operation";
    MPI_ERR_TOPOLOGY: "invalid topology";
    MPI_ERR_DIMS: "invalid dimension argument";
    MPI_ERR_ARG: "invalid argument of some other kind";
    MPI_ERR_UNKNOWN: "unknown error";
    MPI_ERR_TRUNCATE: "message truncated on receive";
    MPI_ERR_OTHER: "known error not in this list";
    MPI_ERR_INTERN: "internal error of the library";
    MPI_ERR_PENDING: "pending request";
    MPI_ERR_IN_STATUS: "error code is in the status";
    MPI_ERR_ACCESS: "permission denied";
    MPI_ERR_AMODE: "invalid access mode";
    MPI_ERR_ASSERT: "invalid assertion";
    MPI_ERR_BAD_FILE: "invalid file name";
    MPI_ERR_BASE: "invalid base address";
    MPI_ERR_CONVERSION: "error in a data conversion function";
    MPI_ERR_DISP: "invalid displacement or displacement unit";
    MPI_ERR_DUP_DATAREP: "data representation is defined already";
    MPI_ERR_FILE_EXISTS: "file exists";
    MPI_ERR_FILE_IN_USE: "file is in use";
    MPI_ERR_FILE: "invalid file handle";
    MPI_ERR_INFO_KEY: "invalid info key";
    MPI_ERR_INFO_NOKEY: "no such info key";
    MPI_ERR_INFO_VALUE: "invalid info value";
    MPI_ERR_INFO: "invalid info object";
    MPI_ERR_IO: "input or output error";
    MPI_ERR_KEYVAL: "invalid attribute key";
    MPI_ERR_LOCKTYPE: "invalid lock type";
    MPI_ERR_NAME: "unknown service name";
    MPI_ERR_NO_MEM: "out of memory";
    MPI_ERR_NOT_SAME: "arguments differ between processes";
    MPI_ERR_NO_SPACE: "not enough space";
    MPI_ERR_NO_SUCH_FILE: "file does not exist";
    MPI_ERR_PORT: "invalid port name";
    MPI_ERR_QUOTA: "quota exceeded";
    MPI_ERR_READ_ONLY: "read-only file";
    MPI_ERR_RMA_ATTACH: "memory cannot be attached";
    MPI_ERR_RMA_CONFLICT: "conflicting accesses to a window";
    MPI_ERR_RMA_RANGE: "target memory is not part of the window";
    MPI_ERR_RMA_SHARED: "memory cannot be shared";
    MPI_ERR_RMA_SYNC: "wrong synchronization of one-sided calls";
    MPI_ERR_SERVICE: "unknown service";
    MPI_ERR_SIZE: "invalid size argument";
    MPI_ERR_SPAWN: "processes cannot be started";
    MPI_ERR_UNSUPPORTED_DATAREP: "unsupported data representation";
    MPI_ERR_UNSUPPORTED_OPERATION: "unsupported operation";
    MPI_ERR_WIN: "invalid window";
    MPI_ERR_RMA_FLAVOR: "wrong flavor of window";
    MPI_ERR_PROC_ABORTED: "a process has ended its part in the job";
    MPI_ERR_VALUE_TOO_LARGE: "value does not fit its type";
    MPI_ERR_SESSION: "invalid session";
    MPI_ERR_ERRHANDLER: "invalid error handler";
    MPI_ERR_ABI: "ABI mismatch";
    MPIX_ERR_PROC_FAILED: "a process has failed";
    MPIX_ERR_PROC_FAILED_PENDING: "a process that may be the source has failed; the request is still pending";
    MPIX_ERR_REVOKED: "the communicator or window was revoked";
    MPIX_ERR_RMA_NOTIFICATION: "invalid notification counter";
    MPI_T_ERR_CANNOT_INIT: "the tool interface is not to be had now";
    MPI_T_ERR_NOT_ACCESSIBLE: "the tool interface cannot be used here";
    MPI_T_ERR_NOT_INITIALIZED: "the tool interface is not initialized";
    MPI_T_ERR_NOT_SUPPORTED: "the tool interface does not support this";
    MPI_T_ERR_MEMORY: "out of memory in the tool interface";
    MPI_T_ERR_INVALID: "invalid argument of the tool interface";
    MPI_T_ERR_INVALID_INDEX: "no variable, category or item with this index";
    MPI_T_ERR_INVALID_ITEM: "no item with this index";
    MPI_T_ERR_INVALID_SESSION: "invalid session of performance variables";
    MPI_T_ERR_INVALID_HANDLE: "invalid handle of a variable or enumeration";
    MPI_T_ERR_INVALID_NAME: "no variable or category with this name";
    MPI_T_ERR_OUT_OF_HANDLES: "no handle of a variable is left";
    MPI_T_ERR_OUT_OF_SESSIONS: "no session of performance variables is left";
    MPI_T_ERR_CVAR_SET_NOT_NOW: "the variable cannot be set now";
    MPI_T_ERR_CVAR_SET_NEVER: "the variable cannot be set any more";
    MPI_T_ERR_PVAR_NO_WRITE: "the variable cannot be written or set back";
    MPI_T_ERR_PVAR_NO_STARTSTOP: "the variable cannot be started or stopped";
    MPI_T_ERR_PVAR_NO_ATOMIC: "the variable cannot be read and set back at once";
}

/// The text of any code.
pub(crate) fn of(code: c_int) -> String {
    let added = || added::text_of(code).map(|text| String::from_utf8_lossy(&text).into_owned());
    match predefined(code) {
        Some(text) => text.to_owned(),
        None => added().unwrap_or_else(|| format!("error code {code}, which is not defined")),
    }
}
