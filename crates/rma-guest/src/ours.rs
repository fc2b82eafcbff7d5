//! Functions of this project's library that the guest itself calls.

use crate::abi::{Aint, Count, Handle, STANDARD};
use crate::library::{Symbol, declare};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// The allgather that a start is made of.
pub(crate) type Gather = unsafe extern "C" fn(*const c_void, c_int, *mut c_void, *mut c_void) -> c_int;

/// What raises an error of the library on a window of its own.
pub(crate) type Raise = unsafe extern "C-unwind" fn(Handle, c_int) -> c_int;

/// What the library keeps of a window for calls at once, in the guest's memory.
pub(crate) type WindowContents = MaybeUninit<[usize; 7]>;

/// `MPI_COMM_WORLD` of the standard ABI.
pub(crate) const WORLD: Handle = 0x101;
/// `MPI_COMM_SELF`.
pub(crate) const SELF: Handle = 0x102;
/// `MPI_INFO_NULL`.
pub(crate) const INFO_NULL: Handle = 0x130;
/// `MPI_DATATYPE_NULL`.
pub(crate) const DATATYPE_NULL: Handle = 0x200;
/// `MPI_ERRORS_RETURN`.
const ERRORS_RETURN: Handle = 0x143;
/// `MPI_INT64_T`.
const INT64: Handle = 0x258;
/// `MPI_SUM`.
const SUM: Handle = 0x21;
/// `MPI_PROC_NULL`.
pub(crate) const PROC_NULL: c_int = -3;

declare! { of_own:
    fn start = c"rma_guest_start"(rank: c_int, size: c_int, gather: Gather, state: *mut c_void, raise: Raise);
    fn rma_serve = c"rma_guest_serve"();
    fn init_thread = c"PMPI_Init_thread"(
        argc: *mut c_void, argv: *mut c_void, asked: c_int, provided: *mut c_int,
    );
    fn finalize = c"PMPI_Finalize"();
    fn error_class = c"PMPI_Error_class"(code: c_int, class: *mut c_int);
    fn error_string = c"PMPI_Error_string"(code: c_int, text: *mut c_char, len: *mut c_int);
    fn comm_set_errhandler = c"PMPI_Comm_set_errhandler"(comm: Handle, handler: Handle);
    fn comm_group = c"PMPI_Comm_group"(comm: Handle, group: *mut Handle);
    fn comm_size = c"PMPI_Comm_size"(comm: Handle, size: *mut c_int);
    fn group_translate_ranks = c"PMPI_Group_translate_ranks"(
        from: Handle, n: c_int, ranks: *const c_int, to: Handle, answers: *mut c_int,
    );
    fn allreduce = c"PMPI_Allreduce"(
        mine: *const c_void, all: *mut c_void, n: c_int, kind: Handle, op: Handle, comm: Handle,
    );
    fn comm_create_group = c"PMPI_Comm_create_group"(
        comm: Handle, group: Handle, tag: c_int, new: *mut Handle,
    );
    fn comm_free = c"PMPI_Comm_free"(comm: *mut Handle);
    fn group_incl = c"PMPI_Group_incl"(group: Handle, n: c_int, ranks: *const c_int, new: *mut Handle);
    fn group_free = c"PMPI_Group_free"(group: *mut Handle);
    fn info_create = c"PMPI_Info_create"(info: *mut Handle);
    fn info_free = c"PMPI_Info_free"(info: *mut Handle);
    fn info_set = c"PMPI_Info_set"(info: Handle, key: *const c_char, value: *const c_char);
    fn info_get = c"PMPI_Info_get"(
        info: Handle, key: *const c_char, room: c_int, value: *mut c_char, flag: *mut c_int,
    );
    fn info_get_nkeys = c"PMPI_Info_get_nkeys"(info: Handle, n: *mut c_int);
    fn info_get_nthkey = c"PMPI_Info_get_nthkey"(info: Handle, n: c_int, key: *mut c_char);
    fn win_set_errhandler = c"PMPI_Win_set_errhandler"(win: Handle, handler: Handle);
    fn win_get_attr = c"PMPI_Win_get_attr"(win: Handle, key: c_int, value: *mut c_void, flag: *mut c_int);
    fn win_free = c"PMPI_Win_free"(win: *mut Handle);
    fn shared_query = c"PMPI_Win_shared_query"(
        win: Handle, rank: c_int, size: *mut Aint, unit: *mut c_int, base: *mut c_void,
    );
    fn iprobe = c"PMPI_Iprobe"(from: c_int, tag: c_int, comm: Handle, flag: *mut c_int, status: *mut c_void);
    fn test = c"PMPI_Test"(request: *mut Handle, flag: *mut c_int, status: *mut c_void);
    fn request_free = c"PMPI_Request_free"(request: *mut Handle);
    fn type_commit = c"PMPI_Type_commit"(kind: *mut Handle);
    fn type_free = c"PMPI_Type_free"(kind: *mut Handle);
    fn type_dup = c"PMPI_Type_dup"(old: Handle, new: *mut Handle);
    fn type_contiguous = c"PMPI_Type_contiguous_c"(n: Count, old: Handle, new: *mut Handle);
    fn type_vector = c"PMPI_Type_vector_c"(
        n: Count, len: Count, stride: Count, old: Handle, new: *mut Handle,
    );
    fn type_create_hvector = c"PMPI_Type_create_hvector_c"(
        n: Count, len: Count, stride: Count, old: Handle, new: *mut Handle,
    );
    fn type_indexed = c"PMPI_Type_indexed_c"(
        n: Count, lens: *const Count, at: *const Count, old: Handle, new: *mut Handle,
    );
    fn type_create_hindexed = c"PMPI_Type_create_hindexed_c"(
        n: Count, lens: *const Count, at: *const Count, old: Handle, new: *mut Handle,
    );
    fn type_create_indexed_block = c"PMPI_Type_create_indexed_block_c"(
        n: Count, len: Count, at: *const Count, old: Handle, new: *mut Handle,
    );
    fn type_create_hindexed_block = c"PMPI_Type_create_hindexed_block_c"(
        n: Count, len: Count, at: *const Count, old: Handle, new: *mut Handle,
    );
    fn type_create_struct = c"PMPI_Type_create_struct_c"(
        n: Count, lens: *const Count, at: *const Count, olds: *const Handle, new: *mut Handle,
    );
    fn type_create_subarray = c"PMPI_Type_create_subarray_c"(
        dims: c_int, sizes: *const Count, parts: *const Count, starts: *const Count, order: c_int,
        old: Handle, new: *mut Handle,
    );
    fn type_create_darray = c"PMPI_Type_create_darray_c"(
        size: c_int, rank: c_int, dims: c_int, sizes: *const Count, distributions: *const c_int,
        arguments: *const c_int, processes: *const c_int, order: c_int, old: Handle, new: *mut Handle,
    );
    fn type_create_resized = c"PMPI_Type_create_resized_c"(
        old: Handle, lb: Count, extent: Count, new: *mut Handle,
    );
}

/// Has the library write what it needs of a window in a call at once; says whether it has.
pub(crate) fn place(win: Handle, to: *mut WindowContents) -> bool {
    static SYMBOL: Symbol = Symbol::of_own(c"rma_guest_place");
    type Function = unsafe extern "C" fn(Handle, *mut WindowContents) -> c_int;
    // SAFETY: the library's function of this name has this type, takes any handle, and there is room for what it writes.
    unsafe { std::mem::transmute::<*mut c_void, Function>(SYMBOL.address())(win, to) == 0 }
}

/// What the library knows a predefined datatype by: its codes in the lowest 16 bits; in the upper half the bytes of an element, if elements lie
/// without gaps, else 0.
pub(crate) fn codes_of_datatype(kind: Handle) -> u64 {
    static SYMBOL: Symbol = Symbol::of_own(c"rma_guest_datatype");
    type Function = unsafe extern "C" fn(Handle) -> u64;
    // SAFETY: the library's function of this name has this type, and takes any handle.
    unsafe { std::mem::transmute::<*mut c_void, Function>(SYMBOL.address())(kind) }
}

/// What it knows a predefined operation by: its codes, 16 bits.
pub(crate) fn codes_of_op(op: Handle) -> u64 {
    static SYMBOL: Symbol = Symbol::of_own(c"rma_guest_op");
    type Function = unsafe extern "C" fn(Handle) -> u64;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*mut c_void, Function>(SYMBOL.address())(op) }
}

/// Errors of a communicator are returned to the guest, which raises them at the host.
pub(crate) fn return_errors_of_comm(comm: Handle) {
    // SAFETY: a communicator of this library's.
    let _ = unsafe { comm_set_errhandler(comm, ERRORS_RETURN) };
}

/// Likewise, of a window.
pub(crate) fn return_errors_of_window(win: Handle) {
    // SAFETY: a window of this library's.
    let _ = unsafe { win_set_errhandler(win, ERRORS_RETURN) };
}

/// The ranks of a communicator of the library's in its world, in their order.
///
/// # Errors
/// The library's code.
pub(crate) fn ranks_in_world(comm: Handle) -> Result<Vec<c_int>, c_int> {
    let (mut size, mut group, mut world) = (0, 0, 0);
    // SAFETY: communicators of the library's, room for numbers and handles, and as many ranks as there are.
    unsafe {
        let code = comm_size(comm, &raw mut size);
        if code != 0 {
            return Err(code);
        }
        let own: Vec<c_int> = (0..size).collect();
        let mut ranks = vec![0; own.len()];
        comm_group(comm, &raw mut group);
        comm_group(WORLD, &raw mut world);
        let code = group_translate_ranks(group, size, own.as_ptr(), world, ranks.as_mut_ptr());
        group_free(&raw mut group);
        group_free(&raw mut world);
        if code == 0 { Ok(ranks) } else { Err(code) }
    }
}

/// The sum of a number on all ranks, around the greatest one. Collective.
///
/// # Errors
/// The library's code.
pub(crate) fn sum(comm: Handle, mine: i64) -> Result<i64, c_int> {
    let mut all = 0i64;
    // SAFETY: a number each, and a communicator of the library's.
    match unsafe { allreduce((&raw const mine).cast(), (&raw mut all).cast(), 1, INT64, SUM, comm) } {
        0 => Ok(all),
        code => Err(code),
    }
}

/// The least of each number on all ranks. Collective.
///
/// # Errors
/// The library's code.
pub(crate) fn least(comm: Handle, mine: [i64; 3]) -> Result<[i64; 3], c_int> {
    let mut all = [0; 3];
    let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
    // SAFETY: three numbers each, and a communicator of the library's.
    match unsafe { allreduce(from, to, mine.len() as c_int, INT64, STANDARD.min, comm) } {
        0 => Ok(all),
        code => Err(code),
    }
}

/// Has the library serve others for a moment.
pub(crate) fn serve() {
    // SAFETY: a function without arguments.
    let _ = unsafe { rma_serve() };
}

/// Has the library take what has come, and send what can be sent, and find out what it looks at less often.
pub(crate) fn step() {
    let mut flag = 0;
    // SAFETY: a communicator of the library's, on which there are no messages, and room for a flag.
    let _ = unsafe { iprobe(0, 0, SELF, &raw mut flag, null_mut()) };
}
