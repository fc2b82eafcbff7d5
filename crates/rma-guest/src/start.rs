//! Start and end: the library joins with an allgather of the host, all ranks of the world or none.

use crate::abi::{Handle, STANDARD};
use crate::attribute::not_copied;
use crate::library::{host, own};
use crate::memory::{read_handle, set_mask, write_handle};
use crate::{
    at_once, communicator, datatype, host_window, meeting, operation, ours, places, report, theirs, window,
    world,
};
use parking_lot::Mutex;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::time::Instant;

/// The host's duplicate of its world, for the allgather.
static WORLD: Mutex<Option<Handle>> = Mutex::new(None);

/// MPI of the host is about to start. The library registers the process for barriers of memory, which costs the system a grace period,
/// some 20 ms, when there are several threads, as there may be when the host has started; a second time it costs nothing.
pub(crate) fn prepare() {
    // SAFETY: numbers.
    let _ =
        unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) };
}

/// MPI of the host has started. Collective over its world.
pub(crate) fn begin() {
    if std::env::var_os("RMA_GUEST").is_some_and(|value| value == "0") || host().is_own {
        return;
    }
    let (began, said) = (Instant::now(), version());
    if !host().is_one_that_says(&said) {
        eprintln!("rma-guest: all windows are the host's, whose ABI is not known here: {said}");
        return;
    }
    let constants = &host().constants;
    set_mask(constants.mask);
    let (mut rank, mut size) = (0, 0);
    // SAFETY: the world of the host, which has started; room for numbers.
    unsafe {
        theirs::comm_rank(constants.comm_world, &raw mut rank);
        theirs::comm_size(constants.comm_world, &raw mut size);
    }
    world::know(rank, size);
    meeting::meet(rank, size);
    report::say(|| format!("the host is {said} ({:?}, {})", host().family, host().file.display()));
    let loaded = own().and_then(|own| {
        if at_once::open(own.object) { Ok(()) } else { Err("libmpi_abi.so.1 is not of the same build") }
    });
    if !all_agree(loaded.is_ok()) {
        let why = loaded.err().unwrap_or("another rank has no library");
        if rank == 0 || loaded.is_err() {
            eprintln!("rma-guest: rank {rank}: all windows are the host's: {why}");
        }
        return;
    }
    // SAFETY: the host has started, and the library not yet.
    let started = unsafe { join(rank, size) };
    let is_started = started.is_ok();
    if let Err(failure) = started {
        eprintln!("rma-guest: rank {rank}: all windows are the host's: {failure}");
    }
    if !all_agree(is_started) {
        return;
    }
    ours::return_errors_of_comm(ours::WORLD);
    ours::return_errors_of_comm(ours::SELF);
    datatype::enter_predefined();
    operation::enter_predefined();
    communicator::enter_predefined();
    world::open();
    end_with_self();
    report::say(|| {
        let file = own().map(|own| own.file.display().to_string()).unwrap_or_default();
        let took = began.elapsed().as_secs_f64() * 1e3;
        format!(
            "windows on communicators of MPI_COMM_WORLD are taken over by {file}, started in {took:.1} ms"
        )
    });
}

/// Has the library end with the attributes of the host's `MPI_COMM_SELF`, which are deleted first of all that ends, the last one first (MPI
/// 5.0 §11.2.4): this one after those of the program, whose functions may use windows.
fn end_with_self() {
    let mut key = 0;
    // SAFETY: functions of this crate, room for a key, and a communicator of the host's.
    unsafe {
        theirs::comm_create_keyval(not_copied, on_end, &raw mut key, null_mut());
        theirs::comm_set_attr(host().constants.comm_self, key, null_mut());
    }
}

unsafe extern "C" fn on_end(_: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    end();
    0
}

/// MPI of the host is about to end. Collective over its world.
fn end() {
    if !world::close() {
        return;
    }
    places::close();
    window::keep_all();
    host_window::free_all();
    // SAFETY: the library has started; the host has not ended yet, and the duplicate is this file's.
    unsafe {
        let code = ours::finalize();
        if code != 0 {
            report::say(|| format!("the library's end failed with {code}"));
        }
        if let Some(world) = WORLD.lock().take() {
            let mut room = [0usize; 1];
            write_handle(room.as_mut_ptr().cast(), world);
            theirs::comm_free(room.as_mut_ptr().cast());
        }
    }
}

/// # Safety
/// The host has started, and the library has not.
unsafe fn join(rank: c_int, size: c_int) -> Result<(), String> {
    let constants = &host().constants;
    let (mut room, mut level, mut provided) = ([0usize; 1], 0, 0);
    // SAFETY: the world of the host, room for a handle and for numbers, and a function of this file.
    unsafe {
        if theirs::comm_dup(constants.comm_world, room.as_mut_ptr().cast()) != 0 {
            return Err("MPI_COMM_WORLD cannot be duplicated".to_owned());
        }
        *WORLD.lock() = Some(read_handle(room.as_ptr().cast(), 0));
        theirs::query_thread(&raw mut level);
        let index = constants.threads.iter().position(|known| *known == level).unwrap_or(3);
        let code = ours::start(rank, size, gather, null_mut(), window::raise);
        if code != 0 {
            return Err(format!("the library's start answers {code}"));
        }
        let code = ours::init_thread(null_mut(), null_mut(), STANDARD.threads[index], &raw mut provided);
        if code == 0 { Ok(()) } else { Err(format!("MPI_Init_thread of the library answers {code}")) }
    }
}

/// The allgather: of the host, on a communicator that only this file uses.
unsafe extern "C" fn gather(mine: *const c_void, len: c_int, all: *mut c_void, _: *mut c_void) -> c_int {
    let (Some(world), byte) = (*WORLD.lock(), host().constants.byte) else { return 1 };
    // SAFETY: the library gives as many bytes, and room for as many of each rank.
    in_turns(|request| unsafe { theirs::iallgather(mine, len, byte, all, len, byte, world, request) })
}

/// Whether it holds on all ranks of the world.
fn all_agree(holds: bool) -> bool {
    let constants = &host().constants;
    let (mine, mut all) = (c_int::from(holds), 0);
    let (from, to) = ((&raw const mine).cast(), (&raw mut all).cast());
    // SAFETY: a number each, which stay until all ranks have come.
    let code = in_turns(|request| unsafe {
        theirs::iallreduce(from, to, 1, constants.int, constants.min, constants.comm_world, request)
    });
    code == 0 && all == 1
}

/// Carries out a collective call of the host, and gives others a turn meanwhile, as the host's own waits do not: they may have no core else.
fn in_turns(begin: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    let (mut room, mut has_ended, mut status) = ([0usize; 1], 0, [0usize; 8]);
    let request: *mut c_void = room.as_mut_ptr().cast();
    let mut code = begin(request);
    while code == 0 && has_ended == 0 {
        // SAFETY: the request that the call has given, a flag, and room for the status of any ABI.
        code = unsafe { theirs::test(request, &raw mut has_ended, status.as_mut_ptr().cast()) };
        std::thread::yield_now();
    }
    code
}

/// The first line of what the host says that it is.
fn version() -> String {
    let (mut text, mut len) = (vec![0; 8193], 0);
    // SAFETY: room for the longest text of any host.
    let text = unsafe {
        theirs::library_version(text.as_mut_ptr(), &raw mut len);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    };
    text.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
