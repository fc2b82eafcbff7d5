//! The communication calls whose arguments have been decoded and for which the direct path was not open: what is next for them.
//!
//! What they get is one value, in the registers of a call: where the bytes are and how many, the target and the displacement, and what is
//! done with the elements. First they try what takes no frame (a run of elements on mapped memory, a pack of stores that waits for
//! more); else they hand the same value to the engine. Handles of operation and datatype come along for the texts of errors alone.

use crate::abi::*;
use crate::arguments::{Memory, Wide};
use crate::entry::{Named, call};
use crate::errors::Raiser;
use crate::op;
use crate::overlap::check_spans_apart;
use crate::window::handle_cache::find_cached;
use crate::window::transfer::{self, ORIGIN_AND_RESULT, Origin, Target, named, spans_apart, swap};
use crate::window::{self, Win, find};
use rma::Result;
use rma_core::datatype::BasicType;
use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::notify;
use rma_core::window::{HeldInVain, Released};
use std::ffi::c_int;

/// The target of a call on elements, and what is done with them: as long as a register.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct DecodedAim {
    rank: u32,
    basic: BasicType,
    op: ReduceOp,
}

const _: () = assert!(size_of::<DecodedAim>() == 8);

impl DecodedAim {
    #[inline(always)]
    pub(super) fn new(rank: Rank, op: ReduceOp, basic: BasicType) -> Self {
        Self { rank: rank.0, basic, op }
    }

    fn rank(self) -> Rank {
        Rank(self.rank)
    }

    /// The kernel; the error that the operation is not one on such elements.
    fn kernel(self, len: usize, op: MPI_Op, datatype: MPI_Datatype) -> Result<Kernel> {
        op::kernel(self.op, self.basic, len as u64).ok_or_else(|| op::refused(op, datatype))
    }
}

/// `MPI_Put`.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // called from here alone, for its registers
pub(super) extern "C-unwind" fn put<N: Named>(from: ReadSpan, rank: Rank, disp: Disp, win: MPI_Win) -> c_int {
    let has_joined = find(win)
        .is_some_and(|window| window.inner.has_pack() && window.inner.put_coalesces(from, rank, disp, false));
    if has_joined {
        return 0;
    }
    call(N::NAME, move || Raiser::Win(win), move |_| window::get(win)?.inner.put(from, rank, disp))
}

/// `MPI_Put` of as many elements of one type on both sides, which are not for the direct path: its arguments without those that the
/// call says twice, in the registers in which it has them.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn put_alike<N: Named, C: Wide>(
    address: Memory,
    count: C,
    datatype: MPI_Datatype,
    rank: c_int,
    disp: MPI_Aint,
    win: MPI_Win,
) -> c_int {
    let (origin, target) = (Origin::new(address, count, datatype), Target::new(rank, disp, count, datatype));
    call(N::NAME, move || Raiser::Win(win), move |_| transfer::put(origin, target, win))
}

/// `MPIX_Put_notify`, which is done but for a thread of its target that may sleep.
#[cold]
#[inline(never)]
pub(super) fn wake_notified<N: Named>(rank: Rank, win: MPI_Win) -> c_int {
    let body = move || {
        notify::wake(&window::get(win)?.inner, N::NAME, rank);
        Ok(())
    };
    call(N::NAME, move || Raiser::Win(win), move |_| body())
}

/// `MPI_Get`.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn get<N: Named>(to: WriteSpan, rank: Rank, disp: Disp, win: MPI_Win) -> c_int {
    call(N::NAME, move || Raiser::Win(win), move |_| window::get(win)?.inner.get(to, rank, disp))
}

/// `MPI_Get`, as [`put_alike`].
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn get_alike<N: Named, C: Wide>(
    address: Memory,
    count: C,
    datatype: MPI_Datatype,
    rank: c_int,
    disp: MPI_Aint,
    win: MPI_Win,
) -> c_int {
    let (origin, target) = (Origin::new(address, count, datatype), Target::new(rank, disp, count, datatype));
    call(N::NAME, move || Raiser::Win(win), move |_| transfer::get(origin, target, win))
}

/// `MPI_Accumulate` of elements without gaps.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn accumulate<N: Named>(
    from: ReadSpan,
    aim: DecodedAim,
    disp: Disp,
    win: MPI_Win,
    op: MPI_Op,
    datatype: MPI_Datatype,
) -> c_int {
    if let Some(kernel) = Kernel::new(aim.op, aim.basic) {
        let joins = |window: &Win| {
            window.inner.has_pack()
                && window.inner.accumulate_coalesces(from, kernel, aim.rank(), disp, false)
        };
        let runs =
            || find_cached(win).is_some_and(|path| path.try_accumulate_run(from, kernel, aim.rank(), disp));
        if find(win).is_some_and(joins) || runs() {
            return 0;
        }
    }
    let body = move || {
        let window = window::get(win)?;
        window.inner.accumulate(from, aim.kernel(from.len(), op, datatype)?, aim.rank(), disp)
    };
    call(N::NAME, move || Raiser::Win(win), move |_| body())
}

/// `MPI_Get_accumulate` of elements without gaps, of `len` bytes in all; the origin is not looked at for `MPI_NO_OP`.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions, clippy::too_many_arguments)] // as above
pub(super) extern "C-unwind" fn get_accumulate<N: Named>(
    from: Memory,
    old: Memory,
    len: u64,
    aim: DecodedAim,
    disp: Disp,
    win: MPI_Win,
    op: MPI_Op,
    datatype: MPI_Datatype,
) -> c_int {
    if aim.op != ReduceOp::NoOp
        && let Some(kernel) = Kernel::new(aim.op, aim.basic)
        && let Some((from, old)) = spans_apart(from, old, len)
        && find_cached(win)
            .is_some_and(|path| path.try_get_accumulate_run(from, old, kernel, aim.rank(), disp))
    {
        return 0;
    }
    let body = move || {
        let window = window::get(win)?;
        let result = old.writable("result_addr", len)?;
        let kernel = aim.kernel(result.len(), op, datatype)?;
        // MPI_NO_OP reads no operand: any address will do that has as many bytes.
        let operand = match aim.op {
            ReduceOp::NoOp => result.as_read(),
            _ => {
                check_spans_apart(ORIGIN_AND_RESULT, from, old, len)?;
                from.readable("origin_addr", len)?
            }
        };
        window.inner.get_accumulate_elements(operand, result, kernel, aim.rank(), disp)
    };
    call(N::NAME, move || Raiser::Win(win), move |_| body())
}

/// `MPI_Fetch_and_op`.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn fetch_and_op<N: Named>(
    from: Memory,
    old: Memory,
    aim: DecodedAim,
    disp: Disp,
    win: MPI_Win,
    op: MPI_Op,
    datatype: MPI_Datatype,
) -> c_int {
    let body = move || {
        let window = window::get(win)?;
        // MPI_NO_OP reads no operand, and its address may be anything (§12.3.4).
        if aim.op != ReduceOp::NoOp {
            from.check("origin_addr")?;
            check_spans_apart(ORIGIN_AND_RESULT, from, old, aim.basic.size() as u64)?;
        }
        old.check("result_addr")?;
        // SAFETY: both buffers are good until the operation is complete, by the contract of `Memory`.
        let done = unsafe {
            let (from, old) = (from.as_ptr(), old.as_mut_ptr());
            window.inner.fetch_and_op_typed(from, old, aim.basic, aim.op, aim.rank(), disp)
        };
        done.map_err(|error| named(error, op, datatype, &[]))
    };
    call(N::NAME, move || Raiser::Win(win), move |_| body())
}

/// `MPI_Compare_and_swap` of elements that can be compared.
#[cold]
#[inline(never)]
#[allow(improper_ctypes_definitions)] // as above
pub(super) extern "C-unwind" fn compare_and_swap<N: Named>(
    origin: Memory,
    compare: Memory,
    result: Memory,
    aim: DecodedAim,
    disp: Disp,
    win: MPI_Win,
) -> c_int {
    let body = move || swap(window::get(win)?, origin, compare, result, aim.basic, aim.rank(), disp);
    call(N::NAME, move || Raiser::Win(win), move |_| body())
}

/// `MPI_Win_lock_all` that has taken some locks in vain.
#[cold]
#[inline(never)]
pub(super) fn lock_all<N: Named>(held: HeldInVain, win: MPI_Win) -> c_int {
    call(
        N::NAME,
        move || Raiser::Win(win),
        move |_| {
            let window = window::get(win)?;
            window.inner.give_back(held);
            window.inner.lock_all(Assert::NONE)
        },
    )
}

/// The rest of `MPI_Win_unlock_all`, when a rank waits for a lock.
#[cold]
#[inline(never)]
pub(super) fn unlock_all<N: Named>(released: Released, win: MPI_Win) -> c_int {
    call(
        N::NAME,
        move || Raiser::Win(win),
        move |_| {
            window::get(win)?.inner.end_unlock_all(released);
            Ok(())
        },
    )
}
