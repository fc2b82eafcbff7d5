//! The fast paths as `librma_guest.so` calls them, which puts this library under another MPI. One of the few files with `unsafe`.
//!
//! The guest has looked its window and its predefined handles up already, and hands over what it has found: the window's place
//! ([`GuestPlace`]), the number of bytes, or rank, datatype and operation in one word, so that each call takes registers alone and its last
//! step is a jump here. From there on it is what the calls of programs do: the direct path, else their slow path. Errors go to the
//! guest's function, which answers the code for its program.

use super::communicate::narrow::{MPI_Accumulate, MPI_Get_accumulate};
use super::communicate::{MPI_Compare_and_swap, MPI_Fetch_and_op};
use super::fast_path::{
    accumulate_words, compare_and_swap_on, get_accumulate_words, lock_all_on, try_get, try_put, unlock_all_on,
};
use super::synchronize::{
    MPI_Win_flush, MPI_Win_flush_all, MPI_Win_flush_local, MPI_Win_flush_local_all, MPI_Win_lock,
    MPI_Win_lock_all, MPI_Win_sync, MPI_Win_unlock, MPI_Win_unlock_all,
};
use crate::abi::*;
use crate::arguments::Memory;
use crate::datatype::{basic_type, dense_size};
use crate::entry::{Early, Named};
use crate::op::reduce_op;
use crate::process::running;
use crate::start::{self, GatherFunction, Given, StartState};
use crate::window::handle_cache::find_cached;
use crate::window::synchronize::lock_kind;
use crate::window::transfer::{Origin, Target, spans_apart};
use rma_core::datatype::BasicType;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::ReduceOp;
use rma_core::window::{DirectPath, WordStep};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// Answers the program's code for one of this library's: the handler of its own window has got the error.
type RaiseFunction = unsafe extern "C-unwind" fn(MPI_Win, c_int) -> c_int;

/// A window's place: memory of the guest, where this library writes, when the window is made, what its calls look at.
#[repr(C)]
struct GuestPlace {
    /// The guest's.
    _key: usize,
    contents: Contents,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Contents {
    win: MPI_Win,
    path: DirectPath<'static>,
}

const _: () = assert!(size_of::<Contents>() <= 7 * size_of::<usize>(), "the guest has room for so much");

impl GuestPlace {
    #[inline(always)]
    fn handle(&self) -> MPI_Win {
        self.contents.win
    }
}

/// The lowest handle of a predefined datatype: the others differ in the lowest 8 bits.
const DATATYPES: usize = 0x200;

static RAISE: OnceLock<RaiseFunction> = OnceLock::new();

/// Rank, datatype and operation of a call: 32, 16 and 16 bits from the lowest on; calls whose rank is an argument of its own may have anything
/// in its place. Of datatype and operation there are the lowest 8 bits of the
/// handle, and the engine's code, by which the step is found without another table.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct PackedAim(u64);

impl PackedAim {
    #[inline(always)]
    fn rank(self) -> c_int {
        self.0 as c_int
    }

    #[inline(always)]
    fn datatype(self) -> MPI_Datatype {
        MPI_Datatype(DATATYPES | (self.0 >> 32) as usize & 0xff)
    }

    #[inline(always)]
    fn op(self) -> MPI_Op {
        MPI_Op((self.0 >> 48) as usize & 0xff)
    }

    #[inline(always)]
    fn basic(self) -> Option<BasicType> {
        BasicType::from_code((self.0 >> 40) as u8)
    }

    /// Of a type without gaps; its size is a load, not a choice among all types.
    #[inline(always)]
    fn element(self) -> Option<(BasicType, u64)> {
        self.basic().map(|basic| (basic, dense_size(self.datatype())))
    }

    /// What is done with elements of which type.
    #[inline(always)]
    fn step(self) -> Option<(ReduceOp, BasicType)> {
        Some((ReduceOp::from_code((self.0 >> 56) as u8)?, self.basic()?))
    }

    #[inline(always)]
    fn peer(self) -> Rank {
        Rank(self.0 as u32)
    }

    #[inline(always)]
    fn origin(self, address: Memory, count: c_int) -> Origin<c_int> {
        Origin::new(address, count, self.datatype())
    }

    #[inline(always)]
    fn target(self, rank: c_int, disp: MPI_Aint, count: c_int) -> Target<c_int> {
        Target::new(rank, disp, count, self.datatype())
    }
}

/// The fast path of calls on one element.
#[inline(always)]
fn accumulate_one(
    path: &DirectPath<'_>,
    origin: Memory,
    rank: Rank,
    aim: PackedAim,
    disp: MPI_Aint,
) -> Option<bool> {
    let ((op, basic), disp) = (aim.step()?, at(disp)?);
    let from = |len: usize| origin.readable_at_all(len as u64);
    Some(path.try_accumulate(from, WordStep::accumulate(op, basic), op, rank, disp))
}

/// The same of another number of elements: apart, so that one element needs no room for what these need.
#[inline(never)]
fn accumulate_more(
    path: &DirectPath<'_>,
    origin: Memory,
    count: c_int,
    rank: Rank,
    aim: PackedAim,
    disp: MPI_Aint,
) -> Option<()> {
    let target = aim.target(rank.0 as c_int, disp, count);
    accumulate_words(path, &aim.origin(origin, count), &target, aim.op())
}

/// Of one element.
#[inline(always)]
fn fetch_one(
    path: &DirectPath<'_>,
    origin: Memory,
    result: Memory,
    rank: Rank,
    aim: PackedAim,
    disp: MPI_Aint,
) -> Option<bool> {
    let ((op, basic), disp) = (aim.step()?, at(disp)?);
    let buffers = |len: usize| spans_apart(origin, result, len as u64);
    Some(path.try_fetch_and_op(buffers, WordStep::fetch(op, basic), rank, disp))
}

#[inline(always)]
fn at(disp: MPI_Aint) -> Option<Disp> {
    u64::try_from(disp).ok().map(Disp)
}

#[inline(always)]
fn peer(rank: c_int) -> Option<Rank> {
    u32::try_from(rank).ok().map(Rank)
}

/// A call whose sides are the same bytes: its fast path has a slow path of its own for that.
fn of_bytes(
    address: Memory,
    len: u64,
    rank: u32,
    disp: u64,
    call: impl FnOnce(&Origin<MPI_Count>, &Target<MPI_Count>) -> Option<c_int>,
) -> c_int {
    let (rank, disp, len) = (rank as c_int, disp as MPI_Aint, len as MPI_Count);
    let code = call(&Origin::new(address, len, MPI_BYTE), &Target::new(rank, disp, len, MPI_BYTE));
    code.unwrap_or_else(|| unreachable!("both sides are the same"))
}

#[cold]
#[inline(never)]
fn raise(place: &GuestPlace, code: c_int) -> c_int {
    match RAISE.get() {
        // SAFETY: what the guest has handed over for this.
        Some(raise) => unsafe { raise(place.handle(), code) },
        None => code,
    }
}

// SAFETY: a name of this library's own.
#[unsafe(no_mangle)]
unsafe extern "C" fn rma_guest_start(
    rank: c_int,
    size: c_int,
    allgather: GatherFunction,
    state: *mut c_void,
    raise: RaiseFunction,
) -> c_int {
    let _ = RAISE.set(raise);
    match (u32::try_from(rank), u32::try_from(size)) {
        (Ok(rank), Ok(size)) if rank < size => {
            start::give(Given {
                rank,
                size,
                function: allgather,
                state: StartState(state),
                is_of_guest: true,
            });
            0
        }
        _ => MPI_ERR_ARG,
    }
}

// SAFETY: likewise.
#[unsafe(no_mangle)]
unsafe extern "C" fn rma_guest_place(win: MPI_Win, to: *mut Contents) -> c_int {
    let Some(path) = find_cached(win) else { return MPI_ERR_WIN };
    // SAFETY: room of the guest for so much.
    unsafe { to.write(Contents { win, path: *path }) };
    0
}

// SAFETY: likewise.
#[unsafe(no_mangle)]
unsafe extern "C" fn rma_guest_datatype(datatype: MPI_Datatype) -> u64 {
    let code = basic_type(datatype).map_or(0, BasicType::code);
    dense_size(datatype) << 32 | u64::from(code) << 8 | datatype.0 as u64 & 0xff
}

// SAFETY: likewise.
#[unsafe(no_mangle)]
unsafe extern "C" fn rma_guest_op(op: MPI_Op) -> u64 {
    let code = reduce_op(op).map_or(0, ReduceOp::code);
    u64::from(code) << 8 | op.0 as u64 & 0xff
}

// SAFETY: likewise.
#[unsafe(no_mangle)]
extern "C" fn rma_guest_serve() -> c_int {
    if let Some(process) = running() {
        process.serve();
    }
    0
}

/// Declares functions of the guest: each with the program's call, which errors name, what it tries first, and its slow path.
macro_rules! for_guest {
    ($(
        fn $name:ident($($arg:ident: $ty:ty),*; $place:ident) = $export:literal for $call:ident;
            |$path:ident| $first:expr, else $slow:expr;
    )*) => {$(
        // SAFETY: a name of this library's own.
        #[unsafe(export_name = $export)]
        unsafe extern "C-unwind" fn $name($($arg: $ty,)* $place: &'static GuestPlace) -> c_int {
            #[allow(dead_code)] // most calls have no use for it
            enum EntryPoint {}
            impl Named for EntryPoint {
                const NAME: &'static str = stringify!($call);
            }
            #[cold]
            #[inline(never)]
            extern "C-unwind" fn slow_path($($arg: $ty,)* $place: &'static GuestPlace) -> c_int {
                let code = $slow;
                if code == 0 { 0 } else { raise($place, code) }
            }
            /// The fast path, through which nothing unwinds.
            #[inline(always)]
            #[allow(improper_ctypes_definitions)] // called from here alone
            extern "C" fn first($($arg: $ty,)* $place: &'static GuestPlace) -> Option<c_int> {
                let $path = &$place.contents.path;
                Early::code($first)
            }
            match first($($arg,)* $place) {
                Some(0) => 0,
                Some(code) => raise($place, code),
                None => slow_path($($arg,)* $place),
            }
        }
    )*};
}

for_guest! {
    fn put(origin: Memory, len: u64, rank: u32, disp: u64; place) = "rma_guest_put" for MPI_Put;
        |path| path.try_put(origin.readable_place(len)?, Rank(rank), Disp(disp)),
        else of_bytes(origin, len, rank, disp, |origin, target| {
            try_put::<EntryPoint, _>(origin, target, place.handle())
        });
    fn get(origin: Memory, len: u64, rank: u32, disp: u64; place) = "rma_guest_get" for MPI_Get;
        |path| path.try_get(origin.writable_place(len)?, Rank(rank), Disp(disp)),
        else of_bytes(origin, len, rank, disp, |origin, target| {
            try_get::<EntryPoint, _>(origin, target, place.handle())
        });
    fn accumulate(
        origin: Memory, count: c_int, rank: u32, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_accumulate" for MPI_Accumulate;
        |path| if count == 1 {
            accumulate_one(path, origin, Rank(rank), aim, disp)?
        } else {
            accumulate_more(path, origin, count, Rank(rank), aim, disp).is_some()
        },
        else MPI_Accumulate::body(
            origin,
            count,
            aim.datatype(),
            rank as c_int,
            disp,
            count,
            aim.datatype(),
            aim.op(),
            place.handle(),
        );
    fn get_accumulate(
        origin: Memory, result: Memory, count: c_int, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_get_accumulate" for MPI_Get_accumulate;
        |path| if count == 1 {
            fetch_one(path, origin, result, aim.peer(), aim, disp)?
        } else {
            get_accumulate_words(
                path,
                &aim.origin(origin, count),
                &aim.origin(result, count),
                &aim.target(aim.rank(), disp, count),
                aim.op(),
            )
            .is_some()
        },
        else MPI_Get_accumulate::body(
            origin,
            count,
            aim.datatype(),
            result,
            count,
            aim.datatype(),
            aim.rank(),
            disp,
            count,
            aim.datatype(),
            aim.op(),
            place.handle(),
        );
    fn fetch_and_op(
        origin: Memory, result: Memory, rank: u32, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_fetch_and_op" for MPI_Fetch_and_op;
        |path| fetch_one(path, origin, result, Rank(rank), aim, disp)?,
        else MPI_Fetch_and_op::body(
            origin,
            result,
            aim.datatype(),
            rank as c_int,
            disp,
            aim.op(),
            place.handle(),
        );
    fn compare_and_swap(
        origin: Memory, compare: Memory, result: Memory, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_compare_and_swap" for MPI_Compare_and_swap;
        |path| compare_and_swap_on(
            path,
            origin,
            compare,
            result,
            aim.element()?,
            (aim.peer(), at(disp)?),
        )
        .is_some(),
        else MPI_Compare_and_swap::body(
            origin,
            compare,
            result,
            aim.datatype(),
            aim.rank(),
            disp,
            place.handle(),
        );
    fn lock(kind: c_int, rank: c_int; place) = "rma_guest_lock" for MPI_Win_lock;
        |path| path.try_lock(lock_kind(kind)?, peer(rank)?),
        else MPI_Win_lock::body(kind, rank, 0, place.handle());
    fn unlock(rank: c_int; place) = "rma_guest_unlock" for MPI_Win_unlock;
        |path| path.try_unlock(peer(rank)?),
        else MPI_Win_unlock::body(rank, place.handle());
    fn flush(rank: c_int; place) = "rma_guest_flush" for MPI_Win_flush;
        |path| path.try_flush(peer(rank)?),
        else MPI_Win_flush::body(rank, place.handle());
    fn flush_all(; place) = "rma_guest_flush_all" for MPI_Win_flush_all;
        |path| path.try_flush_all(),
        else MPI_Win_flush_all::body(place.handle());
    fn flush_local(rank: c_int; place) = "rma_guest_flush_local" for MPI_Win_flush_local;
        |path| path.try_flush(peer(rank)?),
        else MPI_Win_flush_local::body(rank, place.handle());
    fn flush_local_all(; place) = "rma_guest_flush_local_all" for MPI_Win_flush_local_all;
        |path| path.try_flush_all(),
        else MPI_Win_flush_local_all::body(place.handle());
    fn lock_all(; place) = "rma_guest_lock_all" for MPI_Win_lock_all;
        |path| lock_all_on::<EntryPoint>(path, place.handle()),
        else MPI_Win_lock_all::body(0, place.handle());
    fn unlock_all(; place) = "rma_guest_unlock_all" for MPI_Win_unlock_all;
        |path| unlock_all_on::<EntryPoint>(path, place.handle()),
        else MPI_Win_unlock_all::body(place.handle());
    fn sync(; place) = "rma_guest_sync" for MPI_Win_sync;
        |path| path.try_sync(),
        else MPI_Win_sync::body(place.handle());
}

/// Declares functions for calls with requests: each does what is complete as it returns, if the epoch allows requests, and answers whether
/// it has; else it has done nothing.
macro_rules! with_ended_request {
    ($(
        fn $name:ident($($arg:ident: $ty:ty),*; $place:ident) = $export:literal;
            |$path:ident| at $rank:expr => $first:expr;
    )*) => {$(
        // SAFETY: a name of this library's own.
        #[unsafe(export_name = $export)]
        unsafe extern "C-unwind" fn $name($($arg: $ty,)* $place: &'static GuestPlace) -> c_int {
            let $path = &$place.contents.path;
            let first = || -> Option<bool> { Some($path.is_locked($rank) && $first) };
            c_int::from(first().unwrap_or(false))
        }
    )*};
}

with_ended_request! {
    fn rput(origin: Memory, len: u64, rank: u32, disp: u64; place) = "rma_guest_rput";
        |path| at Rank(rank) => path.try_put(origin.readable_place(len)?, Rank(rank), Disp(disp));
    fn rget(origin: Memory, len: u64, rank: u32, disp: u64; place) = "rma_guest_rget";
        |path| at Rank(rank) => path.try_get(origin.writable_place(len)?, Rank(rank), Disp(disp));
    fn raccumulate(
        origin: Memory, count: c_int, rank: u32, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_raccumulate";
        |path| at Rank(rank) => accumulate_words(
            path,
            &aim.origin(origin, count),
            &aim.target(rank as c_int, disp, count),
            aim.op(),
        )
        .is_some();
    fn rget_accumulate(
        origin: Memory, result: Memory, count: c_int, aim: PackedAim, disp: MPI_Aint; place
    ) = "rma_guest_rget_accumulate";
        |path| at aim.peer() => get_accumulate_words(
            path,
            &aim.origin(origin, count),
            &aim.origin(result, count),
            &aim.target(aim.rank(), disp, count),
            aim.op(),
        )
        .is_some();
}
