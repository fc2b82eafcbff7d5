//! Communicators that windows are made on: whether the library has one of the same ranks, which all of them agree on once.
//!
//! Invariant: an answer is the same on all ranks of the communicator, so that a window is the library's or the host's on all.

use crate::abi::Handle;
use crate::attribute::not_copied;
use crate::group::Group;
use crate::library::host;
use crate::memory::handle;
use crate::table::Table;
use crate::{ours, report, theirs, world};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Once, OnceLock};

static KNOWN: Table<16> = Table::new();

/// Of one whose windows are the host's.
const LEFT: usize = usize::MAX;

/// Number of communicators that this rank has been the first of.
static TAKEN: AtomicI32 = AtomicI32::new(0);

/// Enters the communicators that are there from the start.
pub(crate) fn enter_predefined() {
    KNOWN.insert(host().constants.comm_world, ours::WORLD);
    KNOWN.insert(host().constants.comm_self, ours::SELF);
}

/// The library's communicator of the same ranks; `None` when windows on this one are the host's. Collective when it was not seen before.
///
/// # Safety
/// A communicator of the host.
pub(crate) unsafe fn find(comm: Handle) -> Option<Handle> {
    let comm = handle(comm);
    if comm == host().constants.comm_null {
        // An error of the program is the host's to tell.
        return None;
    }
    if !world::is_running() {
        say_why_none();
        return None;
    }
    let known = KNOWN.find(comm).unwrap_or_else(|| {
        // SAFETY: as the caller promises.
        unsafe { meet(comm) }.unwrap_or(LEFT)
    });
    (known != LEFT).then_some(known)
}

/// Sessions alone, and `RMA_GUEST=0`, start no library: said once.
#[cold]
fn say_why_none() {
    static SAYS: Once = Once::new();
    SAYS.call_once(|| {
        report::say(|| "windows are the host's: the library has not been started by MPI_Init".to_owned());
    });
}

/// All ranks find out together; `None` when there is nothing to find out.
///
/// # Safety
/// A communicator of the host, or what a program takes for one.
unsafe fn meet(comm: Handle) -> Option<usize> {
    let (mut is_inter, mut rank) = (0, 0);
    // SAFETY: as the caller promises; room for numbers.
    unsafe {
        // An error of the program is the host's to tell.
        if theirs::comm_test_inter(comm, &raw mut is_inter) != 0 || is_inter != 0 {
            return None;
        }
        theirs::comm_rank(comm, &raw mut rank);
    }
    // SAFETY: a communicator of one group.
    let (group, why) = match unsafe { group_of(comm) } {
        Ok(Some(group)) => (Some(group), String::new()),
        // Each of its ranks has found so: none has all others in its world, and some may have no guest to agree with.
        Ok(None) => {
            // SAFETY: as the caller promises.
            unsafe { enter(comm, LEFT, "a rank is not of the world that MPI_Init has made") };
            return Some(LEFT);
        }
        Err(why) => (None, why),
    };
    let constants = &host().constants;
    // Only the first rank's tag counts, which is another for each communicator that it is the first of.
    let tag = if rank == 0 { world::unique(TAKEN.fetch_add(1, Relaxed)) } else { c_int::MAX };
    let (mine, mut all) = ([c_int::from(group.is_some()), tag], [0; 2]);
    // SAFETY: two numbers each; all ranks are here.
    let code = unsafe {
        theirs::allreduce(
            mine.as_ptr().cast(),
            all.as_mut_ptr().cast(),
            2,
            constants.int,
            constants.min,
            comm,
        )
    };
    let mut new = LEFT;
    if let (0, [1, tag], Some(group)) = (code, all, &group) {
        // SAFETY: a group of the library, all of whose members are here with the same tag.
        let code = unsafe { ours::comm_create_group(ours::WORLD, group.handle(), tag, &raw mut new) };
        if code != 0 {
            report::say(|| "a communicator cannot be made: its windows are the host's".to_owned());
            new = LEFT;
        }
    }
    let why = if why.is_empty() { "another rank cannot take part" } else { why.as_str() };
    // SAFETY: as the caller promises.
    unsafe { enter(comm, new, why) };
    Some(new)
}

/// From now on it is known which one this communicator has, or, for this reason, that it has none.
///
/// # Safety
/// A communicator of the host.
unsafe fn enter(comm: usize, own: usize, why: &str) {
    if own == LEFT {
        report::say(|| format!("windows on a communicator are the host's: {why}"));
    }
    KNOWN.insert(comm, own);
    // SAFETY: as the caller promises.
    unsafe { theirs::comm_set_attr(comm, *key(), null_mut()) };
}

/// The library's group of a communicator's ranks; `None` when one of them is not of this world.
///
/// # Safety
/// A communicator of the host with one group.
unsafe fn group_of(comm: Handle) -> Result<Option<Group>, String> {
    let mut room = [0usize; 1];
    // SAFETY: as the caller promises; room for a handle of either width.
    unsafe {
        theirs::comm_group(comm, room.as_mut_ptr().cast());
        let group = Group::of(crate::memory::read_handle(room.as_ptr().cast(), 0));
        theirs::group_free(room.as_mut_ptr().cast());
        group.map_err(|failure| format!("{failure:?}"))
    }
}

/// The key of the attribute that tells when the host frees one.
fn key() -> &'static c_int {
    static KEY: OnceLock<c_int> = OnceLock::new();
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: functions of this crate, and room for a key.
        unsafe { theirs::comm_create_keyval(not_copied, on_free, &raw mut key, null_mut()) };
        key
    })
}

unsafe extern "C" fn on_free(comm: Handle, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    if let Some(mut own) = KNOWN.remove(handle(comm))
        && own != LEFT
        && world::is_running()
    {
        // SAFETY: the communicator that was made for it; windows on it keep what they need.
        unsafe { ours::comm_free(&raw mut own) };
    }
    0
}
