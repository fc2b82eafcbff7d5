//! Synchronization calls (MPI 5.0 §12.5). Which are legal when, the engine knows.

use super::near::find_near;
use super::{Win, get};
use crate::abi::*;
use crate::arguments::Out;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::group;
use rma::{Error, ErrorClass, Result};
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::Rank;
use smallvec::SmallVec;
use std::ffi::c_int;

entry! {
    /// `MPI_Win_fence` (§12.5.1).
    fn MPI_Win_fence(assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        get(win)?.inner.fence(assertions(assert)?)
    }

    /// `MPI_Win_lock` (§12.5.3).
    fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) raises Raiser::Win(win), first lock_now(lock_type, rank, assert, win).is_some(); |_| {
        let win = get(win)?;
        let kind = match lock_type {
            MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
            MPI_LOCK_SHARED => LockKind::Shared,
            other => {
                let cause = format!("lock_type is {other}, but must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
                return Err(Error::new(ErrorClass::Locktype, "", cause));
            }
        };
        let assert = assertions(assert)?;
        match target(rank)? {
            Some(rank) => win.inner.lock(kind, rank, assert),
            None => Ok(()),
        }
    }

    /// `MPI_Win_unlock` (§12.5.3).
    fn MPI_Win_unlock(rank: c_int, win: MPI_Win) raises Raiser::Win(win), first unlock_now(rank, win).is_some(); |_| {
        let win = get(win)?;
        target(rank)?.map_or(Ok(()), |rank| win.inner.unlock(rank))
    }

    /// `MPI_Win_flush` (§12.5.4).
    fn MPI_Win_flush(rank: c_int, win: MPI_Win) raises Raiser::Win(win), first flush_now(rank, win).is_some(); |_| {
        let win = get(win)?;
        target(rank)?.map_or(Ok(()), |rank| win.inner.flush(rank))
    }

    /// `MPI_Win_flush_local` (§12.5.4).
    fn MPI_Win_flush_local(rank: c_int, win: MPI_Win) raises Raiser::Win(win), first flush_now(rank, win).is_some(); |_| {
        let win = get(win)?;
        target(rank)?.map_or(Ok(()), |rank| win.inner.flush_local(rank))
    }

    /// `MPI_Win_lock_all` (§12.5.3).
    fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        get(win)?.inner.lock_all(assertions(assert)?)
    }

    /// `MPI_Win_unlock_all` (§12.5.3).
    fn MPI_Win_unlock_all(win: MPI_Win) raises Raiser::Win(win); |_| { get(win)?.inner.unlock_all() }

    /// `MPI_Win_flush_all` (§12.5.4).
    fn MPI_Win_flush_all(win: MPI_Win) raises Raiser::Win(win), first flush_all_now(win).is_some(); |_| { get(win)?.inner.flush_all() }

    /// `MPI_Win_flush_local_all` (§12.5.4).
    fn MPI_Win_flush_local_all(win: MPI_Win) raises Raiser::Win(win), first flush_all_now(win).is_some(); |_| { get(win)?.inner.flush_local_all() }

    /// `MPI_Win_sync` (§12.5.4).
    fn MPI_Win_sync(win: MPI_Win) raises Raiser::Win(win), first sync_now(win).is_some(); |_| { get(win)?.inner.sync() }

    /// `MPI_Win_start` (§12.5.2).
    fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        let win = get(win)?;
        win.inner.start(&members(win, group)?, assertions(assert)?)
    }

    /// `MPI_Win_complete` (§12.5.2).
    fn MPI_Win_complete(win: MPI_Win) raises Raiser::Win(win); |_| { get(win)?.inner.complete() }

    /// `MPI_Win_post` (§12.5.2).
    fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        let win = get(win)?;
        win.inner.post_to(&members(win, group)?, assertions(assert)?)
    }

    /// `MPI_Win_wait` (§12.5.2).
    fn MPI_Win_wait(win: MPI_Win) raises Raiser::Win(win); |_| { get(win)?.inner.wait() }

    /// `MPI_Win_test` (§12.5.2).
    fn MPI_Win_test(win: MPI_Win, flag: Out<c_int>) raises Raiser::Win(win); |_| {
        let win = get(win)?;
        flag.check("flag")?;
        flag.set("flag", win.inner.test()?.into())
    }
}

/// A flush, where it can be no more than an order; `None` when the ordinary way has to be taken.
#[inline(always)]
fn flush_now(rank: c_int, win: MPI_Win) -> Option<()> {
    let path = find_near(win)?;
    path.flush_now(Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// A flush of all ranks, likewise.
#[inline(always)]
fn flush_all_now(win: MPI_Win) -> Option<()> {
    find_near(win)?.flush_all_now().then_some(())
}

/// `MPI_Win_sync`, likewise.
#[inline(always)]
fn sync_now(win: MPI_Win) -> Option<()> {
    find_near(win)?.sync_now().then_some(())
}

/// A lock, where it is free and nothing else goes on; `None` when the ordinary way has to be taken.
#[inline(always)]
fn lock_now(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> Option<()> {
    let path = find_near(win).filter(|_| assert == 0)?;
    let kind = match lock_type {
        MPI_LOCK_EXCLUSIVE => LockKind::Exclusive,
        MPI_LOCK_SHARED => LockKind::Shared,
        _ => return None,
    };
    path.lock_now(kind, Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// An unlock, where nobody else holds the lock or waits for it; `None` likewise.
#[inline(always)]
fn unlock_now(rank: c_int, win: MPI_Win) -> Option<()> {
    let path = find_near(win)?;
    path.unlock_now(Rank(u32::try_from(rank).ok()?)).then_some(())
}

/// The ranks of the window that a group names.
fn members(win: &Win, group: MPI_Group) -> Result<SmallVec<[Rank; 8]>> {
    let group = group::get(group)?;
    let rank = |peer| {
        win.members.rank(peer).map(Rank).ok_or_else(|| {
            let cause =
                format!("process {peer} of the group is not in the window's group of {}", win.members.size());
            Error::new(ErrorClass::Group, "", cause)
        })
    };
    group.peers().map(rank).collect()
}

/// The rank of an argument; `None` for `MPI_PROC_NULL`, to which every call is over at once.
#[inline]
pub(super) fn target(rank: c_int) -> Result<Option<Rank>> {
    match u32::try_from(rank) {
        Ok(rank) => Ok(Some(Rank(rank))),
        Err(_) if rank == MPI_PROC_NULL => Ok(None),
        Err(_) => Err(Error::new(ErrorClass::Rank, "", format!("rank is {rank}, which is no rank"))),
    }
}

/// The assertions of a call; which are legal where, the engine knows.
fn assertions(assert: c_int) -> Result<Assert> {
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
