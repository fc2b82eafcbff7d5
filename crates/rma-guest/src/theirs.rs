//! Functions of the host that the guest itself calls, by the names that no tool wraps.

use crate::abi::{Aint, Count, Handle};
use crate::library::{Symbol, declare, host};
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

/// A function that copies an attribute.
pub(crate) type Copy =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// A function that deletes an attribute.
pub(crate) type Delete = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;
/// A function of a generalized request.
pub(crate) type OfRequest = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
/// Its end, and what it is told when it is cancelled.
pub(crate) type EndOfRequest = unsafe extern "C" fn(*mut c_void) -> c_int;
/// As above.
pub(crate) type CancelOfRequest = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

declare! { of_host:
    fn abort = c"PMPI_Abort"(comm: Handle, code: c_int);
    fn query_thread = c"PMPI_Query_thread"(provided: *mut c_int);
    fn library_version = c"PMPI_Get_library_version"(text: *mut c_char, len: *mut c_int);
    fn comm_rank = c"PMPI_Comm_rank"(comm: Handle, rank: *mut c_int);
    fn comm_size = c"PMPI_Comm_size"(comm: Handle, size: *mut c_int);
    fn comm_test_inter = c"PMPI_Comm_test_inter"(comm: Handle, flag: *mut c_int);
    fn comm_dup = c"PMPI_Comm_dup"(comm: Handle, new: *mut c_void);
    fn comm_free = c"PMPI_Comm_free"(comm: *mut c_void);
    fn comm_group = c"PMPI_Comm_group"(comm: Handle, group: *mut c_void);
    fn comm_create_keyval = c"PMPI_Comm_create_keyval"(
        copy: Copy, delete: Delete, key: *mut c_int, state: *mut c_void,
    );
    fn comm_set_attr = c"PMPI_Comm_set_attr"(comm: Handle, key: c_int, value: *mut c_void);
    fn comm_call_errhandler = c"PMPI_Comm_call_errhandler"(comm: Handle, code: c_int);
    fn group_size = c"PMPI_Group_size"(group: Handle, size: *mut c_int);
    fn group_translate_ranks = c"PMPI_Group_translate_ranks"(
        from: Handle, n: c_int, ranks: *const c_int, to: Handle, answers: *mut c_int,
    );
    fn group_free = c"PMPI_Group_free"(group: *mut c_void);
    fn iallgather = c"PMPI_Iallgather"(
        mine: *const c_void, n: c_int, kind: Handle, all: *mut c_void, each: c_int, kinds: Handle,
        comm: Handle, request: *mut c_void,
    );
    fn allreduce = c"PMPI_Allreduce"(
        mine: *const c_void, all: *mut c_void, n: c_int, kind: Handle, op: Handle, comm: Handle,
    );
    fn iallreduce = c"PMPI_Iallreduce"(
        mine: *const c_void, all: *mut c_void, n: c_int, kind: Handle, op: Handle, comm: Handle,
        request: *mut c_void,
    );
    fn irecv = c"PMPI_Irecv"(
        to: *mut c_void, n: c_int, kind: Handle, from: c_int, tag: c_int, comm: Handle, request: *mut c_void,
    );
    fn iprobe = c"PMPI_Iprobe"(from: c_int, tag: c_int, comm: Handle, flag: *mut c_int, status: *mut c_void);
    fn improbe = c"PMPI_Improbe"(
        from: c_int, tag: c_int, comm: Handle, flag: *mut c_int, message: *mut c_void, status: *mut c_void,
    );
    fn ibarrier = c"PMPI_Ibarrier"(comm: Handle, request: *mut c_void);
    fn test = c"PMPI_Test"(request: *mut c_void, flag: *mut c_int, status: *mut c_void);
    fn errhandler_free = c"PMPI_Errhandler_free"(handler: *mut c_void);
    fn comm_set_errhandler = c"PMPI_Comm_set_errhandler"(comm: Handle, handler: Handle);
    fn comm_get_errhandler = c"PMPI_Comm_get_errhandler"(comm: Handle, handler: *mut c_void);
    fn win_get_name = c"PMPI_Win_get_name"(win: Handle, name: *mut c_char, len: *mut c_int);
    fn win_set_name = c"PMPI_Win_set_name"(win: Handle, name: *const c_char);
    fn win_delete_attr = c"PMPI_Win_delete_attr"(win: Handle, key: c_int);
    fn win_set_errhandler = c"PMPI_Win_set_errhandler"(win: Handle, handler: Handle);
    fn win_get_errhandler = c"PMPI_Win_get_errhandler"(win: Handle, handler: *mut c_void);
    fn info_create = c"PMPI_Info_create"(info: *mut c_void);
    fn info_set = c"PMPI_Info_set"(info: Handle, key: *const c_char, value: *const c_char);
    fn info_get = c"PMPI_Info_get"(
        info: Handle, key: *const c_char, room: c_int, value: *mut c_char, flag: *mut c_int,
    );
    fn info_get_nkeys = c"PMPI_Info_get_nkeys"(info: Handle, n: *mut c_int);
    fn info_get_nthkey = c"PMPI_Info_get_nthkey"(info: Handle, n: c_int, key: *mut c_char);
    fn type_free = c"PMPI_Type_free"(kind: *mut c_void);
    fn type_size = c"PMPI_Type_size"(kind: Handle, size: *mut c_int);
    fn type_get_envelope = c"PMPI_Type_get_envelope"(
        kind: Handle, numbers: *mut c_int, addresses: *mut c_int, kinds: *mut c_int, combiner: *mut c_int,
    );
    fn type_get_contents = c"PMPI_Type_get_contents"(
        kind: Handle, numbers: c_int, addresses: c_int, kinds: c_int, n: *mut c_int, a: *mut Aint,
        k: *mut c_void,
    );
    fn type_get_envelope_c = c"PMPI_Type_get_envelope_c"(
        kind: Handle, numbers: *mut Count, addresses: *mut Count, counts: *mut Count, kinds: *mut Count,
        combiner: *mut c_int,
    );
    fn type_get_contents_c = c"PMPI_Type_get_contents_c"(
        kind: Handle, numbers: Count, addresses: Count, counts: Count, kinds: Count, n: *mut c_int,
        a: *mut Aint, c: *mut Count, k: *mut c_void,
    );
    fn win_create_dynamic = c"PMPI_Win_create_dynamic"(info: Handle, comm: Handle, win: *mut c_void);
    fn win_allocate = c"PMPI_Win_allocate"(
        size: Aint, unit: c_int, info: Handle, comm: Handle, base: *mut c_void, win: *mut c_void,
    );
    fn win_free = c"PMPI_Win_free"(win: *mut c_void);
    fn win_call_errhandler = c"PMPI_Win_call_errhandler"(win: Handle, code: c_int);
    fn isend = c"PMPI_Isend"(
        from: *const c_void, n: c_int, kind: Handle, to: c_int, tag: c_int, comm: Handle,
        request: *mut c_void,
    );
    fn grequest_start = c"PMPI_Grequest_start"(
        query: OfRequest, free: EndOfRequest, cancel: CancelOfRequest, state: *mut c_void,
        request: *mut c_void,
    );
    fn grequest_complete = c"PMPI_Grequest_complete"(request: Handle);
    fn status_set_elements = c"PMPI_Status_set_elements"(status: *mut c_void, kind: Handle, n: c_int);
    fn status_set_cancelled = c"PMPI_Status_set_cancelled"(status: *mut c_void, flag: c_int);
}

/// Whether it tells contents with large counts.
pub(crate) fn has_large_counts() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| host().object.has(c"PMPI_Type_get_contents_c"))
}

/// Open MPI's window of a number of Fortran's.
///
/// # Safety
/// A number of the host, which is Open MPI.
pub(crate) unsafe fn win_f2c(number: c_int) -> Handle {
    static SYMBOL: Symbol = Symbol::of_host(c"PMPI_Win_f2c");
    type Function = unsafe extern "C" fn(c_int) -> Handle;
    // SAFETY: the host's function of this name has this type.
    unsafe { std::mem::transmute::<*mut c_void, Function>(SYMBOL.address())(number) }
}
