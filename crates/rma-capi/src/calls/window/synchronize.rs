//! Synchronization calls (MPI 5.0 §12.5). Which are legal when, the engine knows.

use super::fast_path::{try_lock_all, try_unlock_all};
use crate::abi::*;
use crate::arguments::Out;
use crate::entry::{Named, entry};
use crate::errors::Raiser;
use crate::process::are_events_wanted;
use crate::tool::event;
use crate::window::get;
use crate::window::synchronize::{
    assertions, lock_kind, members, note_lock, target, try_flush, try_flush_all, try_lock, try_sync,
    try_unlock,
};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

entry! {
    /// `MPI_Win_fence` (§12.5.1).
    fn MPI_Win_fence(assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.fence(assertions(assert)?))
    }

    /// `MPI_Win_lock` (§12.5.3).
    fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win)
    raises Raiser::Win(win), first try_lock(lock_type, rank, assert, win).is_some(); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            note_lock(win);
            let kind = lock_kind(lock_type).ok_or_else(|| {
                let cause = format!("lock_type is {lock_type}, but must be MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED");
                Error::new(ErrorClass::Locktype, "", cause)
            })?;
            let assert = assertions(assert)?;
            match target(rank)? {
                Some(rank) => win.inner.lock(kind, rank, assert),
                None => Ok(()),
            }
        })
    }

    /// `MPI_Win_unlock` (§12.5.3).
    fn MPI_Win_unlock(rank: c_int, win: MPI_Win)
    raises Raiser::Win(win), first try_unlock(rank, win).is_some(); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            target(rank)?.map_or(Ok(()), |rank| win.inner.unlock(rank))
        })
    }

    /// `MPI_Win_flush` (§12.5.4).
    fn MPI_Win_flush(rank: c_int, win: MPI_Win)
    raises Raiser::Win(win), first try_flush(rank, win).is_some(); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            target(rank)?.map_or(Ok(()), |rank| win.inner.flush(rank))
        })
    }

    /// `MPI_Win_flush_local` (§12.5.4).
    fn MPI_Win_flush_local(rank: c_int, win: MPI_Win)
    raises Raiser::Win(win), first try_flush(rank, win).is_some(); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            target(rank)?.map_or(Ok(()), |rank| win.inner.flush_local(rank))
        })
    }

    /// `MPI_Win_lock_all` (§12.5.3).
    fn MPI_Win_lock_all(assert: c_int, win: MPI_Win)
    raises Raiser::Win(win), first try_lock_all::<EntryPoint>(assert, win); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            note_lock(win);
            win.inner.lock_all(assertions(assert)?)
        })
    }

    /// `MPI_Win_unlock_all` (§12.5.3).
    fn MPI_Win_unlock_all(win: MPI_Win)
    raises Raiser::Win(win), first try_unlock_all::<EntryPoint>(win); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.unlock_all())
    }

    /// `MPI_Win_flush_all` (§12.5.4).
    fn MPI_Win_flush_all(win: MPI_Win) raises Raiser::Win(win), first try_flush_all(win).is_some(); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.flush_all())
    }

    /// `MPI_Win_flush_local_all` (§12.5.4).
    fn MPI_Win_flush_local_all(win: MPI_Win)
    raises Raiser::Win(win), first try_flush_all(win).is_some(); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.flush_local_all())
    }

    /// `MPI_Win_sync` (§12.5.4).
    fn MPI_Win_sync(win: MPI_Win) raises Raiser::Win(win), first try_sync(win).is_some(); |_| {
        get(win)?.inner.sync()
    }

    /// `MPI_Win_start` (§12.5.2).
    fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            win.inner.start(&members(win, group)?, assertions(assert)?)
        })
    }

    /// `MPI_Win_complete` (§12.5.2).
    fn MPI_Win_complete(win: MPI_Win) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.complete())
    }

    /// `MPI_Win_post` (§12.5.2).
    fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            win.inner.post_to(&members(win, group)?, assertions(assert)?)
        })
    }

    /// `MPI_Win_wait` (§12.5.2).
    fn MPI_Win_wait(win: MPI_Win) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || get(win)?.inner.wait())
    }

    /// `MPI_Win_test` (§12.5.2).
    fn MPI_Win_test(win: MPI_Win, flag: Out<c_int>) raises Raiser::Win(win); |_| {
        observed::<EntryPoint>(win, || {
            let win = get(win)?;
            flag.check("flag")?;
            flag.set("flag", win.inner.test()?.into())
        })
    }
}

/// Runs a call, and tells tools of it if they want to hear.
fn observed<N: Named>(win: MPI_Win, body: impl FnOnce() -> Result<()>) -> Result<()> {
    match are_events_wanted() {
        false => body(),
        true => event::observe(win, N::NAME, body),
    }
}
