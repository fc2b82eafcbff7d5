//! `MPIX_Win_*`: what survivors do with a window whose ranks have died.

use super::create::made;
use crate::abi::*;
use crate::arguments::{Out, len};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::group;
use crate::window::create::{WindowWish, make};
use crate::window::synchronize::target;
use crate::window::{Win, get};
use rma::{Error, ErrorClass};
use rma_core::window::{Hints, OperationKind, UnfinishedReport, WindowSpec};
use std::ffi::c_int;

entry! {
    /// `MPIX_Win_revoke`.
    fn MPIX_Win_revoke(win: MPI_Win) raises Raiser::Win(win); |_| {
        get(win)?.inner.revoke();
        Ok(())
    }

    /// `MPIX_Win_is_revoked`.
    fn MPIX_Win_is_revoked(win: MPI_Win, flag: Out<c_int>) raises Raiser::Win(win); |_| {
        flag.set("flag", get(win)?.inner.is_revoked().into())
    }

    /// `MPIX_Win_get_failed`: those of the window's ranks that have failed, as far as this process knows.
    fn MPIX_Win_get_failed(win: MPI_Win, failedgrp: Out<MPI_Group>) raises Raiser::Win(win); |process| {
        failedgrp.check("failedgrp")?;
        let failed = process.world.inner.runtime().failed_of(&get(win)?.members);
        failedgrp.set("failedgrp", group::enter(failed)?)
    }

    /// `MPIX_Win_get_owner_died`: whether a rank had died with the lock of `rank` when this one got it; told once. A lock that is asked
    /// for with the first operation is asked for here.
    fn MPIX_Win_get_owner_died(win: MPI_Win, rank: c_int, flag: Out<c_int>) raises Raiser::Win(win); |_| {
        flag.check("flag")?;
        let win = get(win)?;
        let died = target(rank)?.map_or(Ok(false), |rank| win.inner.take_bequest(rank))?;
        flag.set("flag", died.into())
    }

    /// `MPIX_Win_get_owner_ops`: the operations of dead ranks that may be half done in the memory of `rank`, the first `max` of them, and
    /// how many there are. They stay until they are acknowledged.
    fn MPIX_Win_get_owner_ops(
        win: MPI_Win,
        rank: c_int,
        max: c_int,
        origins: Out<c_int>,
        kinds: Out<c_int>,
        disps: Out<MPI_Aint>,
        lengths: Out<MPI_Aint>,
        count: Out<c_int>,
    ) raises Raiser::Win(win); |_| {
        count.check("count")?;
        let max = len("max", max)?;
        if max > 0 {
            origins.check("origins")?;
            kinds.check("kinds")?;
            disps.check("disps")?;
            lengths.check("lengths")?;
        }
        let win = get(win)?;
        let report =
            target(rank)?.map_or(Ok(UnfinishedReport::default()), |rank| win.inner.unfinished(rank))?;
        for (place, operation) in report.operations.iter().take(max).enumerate() {
            origins.set_at("origins", place, c_int::try_from(operation.origin.0).unwrap_or(MPI_PROC_NULL))?;
            kinds.set_at("kinds", place, kind(operation.kind))?;
            disps.set_at("disps", place, aint(operation.start))?;
            lengths.set_at("lengths", place, aint(operation.len))?;
        }
        count.set("count", c_int::try_from(report.number).unwrap_or(c_int::MAX))
    }

    /// `MPIX_Win_ack_owner_ops`: the first `number` of them have been put right, and are not reported again.
    fn MPIX_Win_ack_owner_ops(win: MPI_Win, rank: c_int, number: c_int) raises Raiser::Win(win); |_| {
        let (win, number) = (get(win)?, crate::arguments::count("number", number)?);
        target(rank)?.map_or(Ok(()), |rank| win.inner.acknowledge_unfinished(rank, number))
    }

    /// `MPIX_Win_remake`: a window over the memory that this rank has in another one, among the ranks of
    /// `comm`, which all call it. Nothing is copied; the old window stays, and the memory as long as either
    /// of them.
    fn MPIX_Win_remake(win: MPI_Win, comm: MPI_Comm, newwin: Out<MPI_Win>)
    raises Raiser::Comm(comm); |process| {
        let wish = || {
            newwin.check("newwin")?;
            let old = get(win)?;
            if old.facts.flavor == MPI_WIN_FLAVOR_DYNAMIC {
                let cause = "a dynamic window has no memory of its own: what is attached can be attached to another one";
                return Err(Error::new(ErrorClass::RmaFlavor, "", cause));
            }
            // SAFETY: the new window keeps the old one's memory, and the program the rest of its promise for that.
            let memory = unsafe { old.inner.local() };
            let unit = u64::try_from(old.facts.disp_unit).unwrap_or(1);
            let spec = WindowSpec::Create { memory, unit };
            Ok(WindowWish { spec, hints: Hints::default(), base: old.facts.base })
        };
        let wish = wish();
        let memory_of = get(win).map(Win::memory).unwrap_or_default();
        let (_, handle) = make(process, comm, wish, memory_of)?;
        newwin.set("newwin", handle)?;
        made(newwin)
    }
}

/// A kind of operation as programs know it.
fn kind(kind: OperationKind) -> c_int {
    match kind {
        OperationKind::Unknown => MPIX_OWNER_OP_UNKNOWN,
        OperationKind::Put => MPIX_OWNER_OP_PUT,
        OperationKind::Accumulate => MPIX_OWNER_OP_ACCUMULATE,
    }
}

/// A number of bytes; the greatest that there is for one that is not known.
fn aint(bytes: u64) -> MPI_Aint {
    MPI_Aint::try_from(bytes).unwrap_or(MPI_Aint::MAX)
}
