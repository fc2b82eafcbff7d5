//! Calls that the library may do at once: what they need is found without a call, and is all in registers, so that the last step is a
//! jump there.
//!
//! The window is looked up last, which takes the fewest registers: none has to be saved then. The rank goes apart where there is a register for
//! it, so that it waits for no table. An argument on the stack may have anything above a handle of 32 bits.
//!
//! Each condition is said so that what holds goes on: equal, or above. Where one says what does not hold, LLVM 22 takes the jump to the
//! library before the one to the way of all, takes arguments on the stack for overwritten after that, and makes the latter a
//! call; then the entry saves registers for it.
//!
//! Calls with requests are done so where they are complete as they return.
//!
//! Each answers `None`, and has done nothing, for a window or an argument that is not found so: then the call goes the way of all
//! ([`crate::calls`]). What the library cannot do at once it does as if it had been called by that way.

use crate::abi::{Aint, Handle, STANDARD};
use crate::arguments::{LockType, Op, Rank, Type};
use crate::library::{Object, host};
use crate::memory::handle;
use crate::places::{self, Place};
use crate::{datatype, operation};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

/// Numbers of the host's exclusive and shared locks.
static LOCKS: [AtomicI32; 2] = [const { AtomicI32::new(c_int::MIN) }; 2];

/// Declares functions of the library, whose addresses are all looked up at the start.
macro_rules! of_library {
    ($(fn $name:ident = $text:literal($($arg:ident: $ty:ty),* $(,)?);)*) => {
        mod address {
            use super::*;
            $(#[allow(non_upper_case_globals)] // the function's name
            pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(null_mut());)*
        }

        static ALL: &[(&CStr, &AtomicPtr<c_void>)] = &[$(($text, &address::$name)),*];

        /// The functions themselves.
        mod library {
            use super::*;
            $(
                /// # Safety
                /// A place of a window that is taken over, and what the standard has for the call.
                #[inline(always)]
                pub(super) unsafe fn $name($($arg: $ty),*) -> c_int {
                    type Function = unsafe extern "C-unwind" fn($($ty),*) -> c_int;
                    // SAFETY: no window has a place before `open` has found all functions, each of which has this type.
                    unsafe {
                        let function =
                            std::mem::transmute::<*mut c_void, Function>(address::$name.load(Relaxed));
                        function($($arg),*)
                    }
                }
            )*
        }
    };
}

of_library! {
    fn put = c"rma_guest_put"(
        origin: *const c_void, len: u64, rank: c_int, disp: Aint, place: &'static Place,
    );
    fn get = c"rma_guest_get"(origin: *mut c_void, len: u64, rank: c_int, disp: Aint, place: &'static Place);
    fn accumulate = c"rma_guest_accumulate"(
        origin: *const c_void, count: c_int, rank: c_int, step: u64, disp: Aint, place: &'static Place,
    );
    fn get_accumulate = c"rma_guest_get_accumulate"(
        origin: *const c_void, result: *mut c_void, count: c_int, aim: u64, disp: Aint, place: &'static Place,
    );
    fn fetch_and_op = c"rma_guest_fetch_and_op"(
        origin: *const c_void, result: *mut c_void, rank: c_int, step: u64, disp: Aint, place: &'static Place,
    );
    fn compare_and_swap = c"rma_guest_compare_and_swap"(
        origin: *const c_void, compare: *const c_void, result: *mut c_void, aim: u64, disp: Aint,
        place: &'static Place,
    );
    fn lock = c"rma_guest_lock"(kind: c_int, rank: c_int, place: &'static Place);
    fn unlock = c"rma_guest_unlock"(rank: c_int, place: &'static Place);
    fn flush = c"rma_guest_flush"(rank: c_int, place: &'static Place);
    fn flush_all = c"rma_guest_flush_all"(place: &'static Place);
    fn flush_local = c"rma_guest_flush_local"(rank: c_int, place: &'static Place);
    fn flush_local_all = c"rma_guest_flush_local_all"(place: &'static Place);
    fn lock_all = c"rma_guest_lock_all"(place: &'static Place);
    fn unlock_all = c"rma_guest_unlock_all"(place: &'static Place);
    fn sync = c"rma_guest_sync"(place: &'static Place);
    fn rput = c"rma_guest_rput"(
        origin: *const c_void, len: u64, rank: c_int, disp: Aint, place: &'static Place,
    );
    fn rget = c"rma_guest_rget"(
        origin: *mut c_void, len: u64, rank: c_int, disp: Aint, place: &'static Place,
    );
    fn raccumulate = c"rma_guest_raccumulate"(
        origin: *const c_void, count: c_int, rank: c_int, step: u64, disp: Aint, place: &'static Place,
    );
    fn rget_accumulate = c"rma_guest_rget_accumulate"(
        origin: *const c_void, result: *mut c_void, count: c_int, aim: u64, disp: Aint, place: &'static Place,
    );
}

/// Looks all functions up; says whether they are there, as they are in a library of the same build.
pub(crate) fn open(library: Object) -> bool {
    for (place, lock) in LOCKS.iter().zip(host().constants.locks) {
        place.store(lock, Relaxed);
    }
    ALL.iter().all(|(name, place)| {
        let address = library.find(name);
        place.store(address, Relaxed);
        !address.is_null()
    })
}

/// One side of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side(pub(crate) c_int, pub(crate) Type);

impl Side {
    #[inline(always)]
    fn is(self, other: Self) -> bool {
        self.1.0 == other.1.0 && self.0 == other.0
    }
}

/// The bytes of a call on as many elements of one type on both sides. The last half of all addresses is no program's, but
/// `MPI_IN_PLACE` may be there.
#[inline(always)]
fn bytes(origin: *const c_void, here: Side, there: Side, rank: Rank, disp: Aint) -> Option<u64> {
    // One look at all signs.
    let signs = i64::from(rank.0 | here.0) | (disp as i64) | (origin.addr() as i64);
    if here.is(there) && signs > -1 {
        let size = datatype::find_predefined(there.1.0)?.dense_size()?;
        // An `int` times the size of an element is no more.
        Some(here.0 as u64 * size)
    } else {
        None
    }
}

/// Datatype and operation in a word, as the library takes them apart, with its own codes, for a call that has its rank apart.
#[inline(always)]
fn step(buffers: usize, rank: Rank, kind: Type, op: Option<Op>) -> Option<u64> {
    // As in `bytes`, for all addresses together.
    if i64::from(rank.0) | (buffers as i64) > -1 {
        let kind = datatype::find_predefined(kind.0)?.codes();
        let op = match op {
            Some(op) => operation::find_predefined(op.0)?,
            None => 0,
        };
        Some(kind | op)
    } else {
        None
    }
}

/// The same with the rank in its lower half.
#[inline(always)]
fn aim(buffers: usize, rank: Rank, kind: Type, op: Option<Op>) -> Option<u64> {
    // Not the rank's own sign again, which would be kept for this.
    step(buffers, rank, kind, op).map(|step| step >> u32::BITS << u32::BITS | u64::from(rank.0 as u32))
}

/// Calls on as many elements of one type on both sides: the library gets bytes. With a request, it answers 1 for one that has ended.
macro_rules! on_bytes {
    ($(fn $name:ident($origin:ty);)*) => {$(
        /// # Safety
        /// The arguments are as the standard has them.
        #[inline(always)]
        pub(crate) unsafe fn $name(
            origin: $origin,
            here: Side,
            rank: Rank,
            disp: Aint,
            there: Side,
            win: Handle,
        ) -> Option<c_int> {
            let len = bytes(origin, here, there, rank, disp)?;
            let place = places::find(win)?;
            // SAFETY: the window is taken over, and the program's arguments are as the standard has them. So below.
            Some(unsafe { library::$name(origin, len, rank.0, disp, place) })
        }
    )*};
}

on_bytes! {
    fn put(*const c_void);
    fn get(*mut c_void);
    fn rput(*const c_void);
    fn rget(*mut c_void);
}

/// Accumulates, on one type on all sides; answers as [`on_bytes`].
macro_rules! on_elements {
    ($(fn $name:ident, $with_result:ident;)*) => {$(
        /// # Safety
        /// The arguments are as the standard has them.
        #[inline(always)]
        pub(crate) unsafe fn $name(
            origin: *const c_void,
            here: Side,
            rank: Rank,
            disp: Aint,
            there: Side,
            op: Op,
            win: Handle,
        ) -> Option<c_int> {
            if !here.is(there) {
                return None;
            }
            let step = step(origin.addr(), rank, there.1, Some(Op(handle(op.0))))?;
            let place = places::find(win)?;
            // SAFETY: as for `put`.
            Some(unsafe { library::$name(origin, here.0, rank.0, step, disp, place) })
        }

        /// # Safety
        /// The arguments are as the standard has them.
        #[inline(always)]
        #[allow(clippy::too_many_arguments)] // as many as the standard has
        pub(crate) unsafe fn $with_result(
            origin: *const c_void,
            here: Side,
            result: *mut c_void,
            back: Side,
            rank: Rank,
            disp: Aint,
            there: Side,
            op: Op,
            win: Handle,
        ) -> Option<c_int> {
            if !(here.is(there) && back.is(there)) {
                return None;
            }
            let aim = aim(origin.addr() | result.addr(), rank, there.1, Some(Op(handle(op.0))))?;
            let place = places::find(win)?;
            // SAFETY: as for `put`.
            Some(unsafe { library::$with_result(origin, result, here.0, aim, disp, place) })
        }
    )*};
}

on_elements! {
    fn accumulate, get_accumulate;
    fn raccumulate, rget_accumulate;
}

/// # Safety
/// The arguments are as the standard has them.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // as many as the standard has
pub(crate) unsafe fn fetch_and_op(
    origin: *const c_void,
    result: *mut c_void,
    kind: Type,
    rank: Rank,
    disp: Aint,
    op: Op,
    win: Handle,
) -> Option<c_int> {
    let step = step(origin.addr() | result.addr(), rank, kind, Some(op))?;
    let place = places::find(win)?;
    // SAFETY: as for `put`.
    Some(unsafe { library::fetch_and_op(origin, result, rank.0, step, disp, place) })
}

/// # Safety
/// The arguments are as the standard has them.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // as many as the standard has
pub(crate) unsafe fn compare_and_swap(
    origin: *const c_void,
    compare: *const c_void,
    result: *mut c_void,
    kind: Type,
    rank: Rank,
    disp: Aint,
    win: Handle,
) -> Option<c_int> {
    let aim = aim(origin.addr() | compare.addr() | result.addr(), rank, kind, None)?;
    let place = places::find(win)?;
    // SAFETY: as for `put`.
    Some(unsafe { library::compare_and_swap(origin, compare, result, aim, disp, place) })
}

/// # Safety
/// The arguments are as the standard has them.
#[inline(always)]
pub(crate) unsafe fn lock(kind: LockType, rank: Rank, assert: c_int, win: Handle) -> Option<c_int> {
    let place = places::find(win)?;
    if assert != 0 || rank.0 < 0 {
        return None;
    }
    let [exclusive, shared] = &LOCKS;
    let own = match kind.0 {
        kind if kind == exclusive.load(Relaxed) => STANDARD.locks[0],
        kind if kind == shared.load(Relaxed) => STANDARD.locks[1],
        _ => return None,
    };
    // SAFETY: as for `put`.
    Some(unsafe { library::lock(own, rank.0, place) })
}

/// Calls for one rank, and for all, which have no other argument.
macro_rules! for_ranks {
    (rank: $($name:ident),*; all: $($of_all:ident),*) => {
        $(
            /// # Safety
            /// The arguments are as the standard has them.
            #[inline(always)]
            pub(crate) unsafe fn $name(rank: Rank, win: Handle) -> Option<c_int> {
                let place = places::find(win)?;
                if rank.0 < 0 {
                    return None;
                }
                // SAFETY: as for `put`.
                Some(unsafe { library::$name(rank.0, place) })
            }
        )*
        $(
            /// # Safety
            /// The arguments are as the standard has them.
            #[inline(always)]
            pub(crate) unsafe fn $of_all(win: Handle) -> Option<c_int> {
                // SAFETY: as for `put`.
                places::find(win).map(|place| unsafe { library::$of_all(place) })
            }
        )*
    };
}

for_ranks!(rank: unlock, flush, flush_local; all: flush_all, flush_local_all, unlock_all, sync);

/// # Safety
/// The arguments are as the standard has them.
#[inline(always)]
pub(crate) unsafe fn lock_all(assert: c_int, win: Handle) -> Option<c_int> {
    let place = places::find(win)?;
    if assert != 0 {
        return None;
    }
    // SAFETY: as for `put`.
    Some(unsafe { library::lock_all(place) })
}
