//! What synchronization calls try first, and the arguments that they share (MPI 5.0 §12.5).

use super::handle_cache::find_cached;
use super::object::Win;
use crate::abi::*;
use crate::errors::say;
use crate::group;
use crate::noted;
use rma::{Error, ErrorClass, Result};
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Peer, Rank};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A flush, where it can be no more than an order; `None` when the slow path has to be taken.
#[inline(always)]
pub(crate) fn try_flush(rank: c_int, win: MPI_Win) -> Option<()> {
    let path = find_cached(win)?;
    path.try_flush(Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// A flush of all ranks, likewise.
#[inline(always)]
pub(crate) fn try_flush_all(win: MPI_Win) -> Option<()> {
    find_cached(win)?.try_flush_all().then_some(())
}

/// `MPI_Win_sync`, likewise.
#[inline(always)]
pub(crate) fn try_sync(win: MPI_Win) -> Option<()> {
    find_cached(win)?.try_sync().then_some(())
}

/// Says once, where `RMA_DEBUG` wants it, that a lock breaks a promise: nothing depends on it here, and other libraries may.
pub(crate) fn note_lock(window: &Win) {
    static HAS_SAID: AtomicBool = AtomicBool::new(false);
    if noted::is_noting() && window.inner.has_no_locks() && !HAS_SAID.swap(true, Relaxed) {
        let call = noted::noted().unwrap_or("a lock");
        say(&format!("rma: {call} locks a window whose hint no_locks says that it is never locked"));
    }
}

/// A lock, where it is free and nothing else goes on; `None` when the slow path has to be taken.
#[inline(always)]
pub(crate) fn try_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> Option<()> {
    let path = find_cached(win).filter(|_| assert == 0)?;
    path.try_lock(lock_kind(lock_type)?, Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// The kind of lock that an argument says.
#[inline(always)]
pub(crate) fn lock_kind(lock_type: c_int) -> Option<LockKind> {
    match lock_type {
        MPI_LOCK_EXCLUSIVE => Some(LockKind::Exclusive),
        MPI_LOCK_SHARED => Some(LockKind::Shared),
        _ => None,
    }
}

/// An unlock, where no other rank holds the lock or waits for it; `None` likewise.
#[inline(always)]
pub(crate) fn try_unlock(rank: c_int, win: MPI_Win) -> Option<()> {
    let path = find_cached(win)?;
    path.try_unlock(Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// The ranks of the window that a group names.
pub(crate) fn members(win: &Win, group: MPI_Group) -> Result<SmallVec<[Rank; 8]>> {
    let group = group::get(group)?;
    let mut ranks = SmallVec::new();
    group.peers().try_for_each(|peer| {
        ranks.push(Rank(win.members.rank(peer).ok_or_else(|| outside(win, peer))?));
        Ok(())
    })?;
    Ok(ranks)
}

#[cold]
fn outside(win: &Win, peer: Peer) -> Error {
    let cause = format!("process {peer} of the group is not in the window's group of {}", win.members.size());
    Error::new(ErrorClass::Group, "", cause)
}

/// The rank of an argument; `None` for `MPI_PROC_NULL`, to which every call is over at once.
#[inline]
pub(crate) fn target(rank: c_int) -> Result<Option<Rank>> {
    match u32::try_from(rank) {
        Ok(rank) => Ok(Some(Rank(rank))),
        Err(_) if rank == MPI_PROC_NULL => Ok(None),
        Err(_) => Err(Error::new(ErrorClass::Rank, "", format!("rank is {rank}, which is no rank"))),
    }
}

/// The assertions of a call; which are legal where, the engine knows.
pub(crate) fn assertions(assert: c_int) -> Result<Assert> {
    const TABLE: [(c_int, Assert); 5] = [
        (MPI_MODE_NOCHECK, Assert::NO_CHECK),
        (MPI_MODE_NOSTORE, Assert::NO_STORE),
        (MPI_MODE_NOPUT, Assert::NO_PUT),
        (MPI_MODE_NOPRECEDE, Assert::NO_PRECEDE),
        (MPI_MODE_NOSUCCEED, Assert::NO_SUCCEED),
    ];
    if assert == 0 {
        return Ok(Assert::NONE);
    }
    let known = TABLE.iter().filter(|(bit, _)| assert & bit != 0);
    let rest = TABLE.iter().fold(assert, |rest, (bit, _)| rest & !bit);
    if rest != 0 {
        return Err(Error::new(
            ErrorClass::Assert,
            "",
            format!("assert {assert:#x} has unknown bits {rest:#x}"),
        ));
    }
    Ok(known.fold(Assert::NONE, |all, (_, one)| all.with(*one)))
}
