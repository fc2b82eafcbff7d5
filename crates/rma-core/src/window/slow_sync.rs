//! Synchronization on the slow path, under the engine's lock: what the calls of [`super::synchronize`] do where the fast path
//! ([`super::fast_sync`]) does not apply, each with the steps that its `begin_…` form gives (MPI 3.1 §11.5).

use super::dropped::settle_dropped;
use super::sync_call::{CallContext, advance, begin, begin_and_poll, finish};
use super::{Sync, Window};
use crate::control::Wake;
use crate::epoch::{Assert, Call, Caller, LockKind, Reach};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use crate::state::State;
use crate::strategy::{Counted, Next, rest};
use crate::sync::{
    CompleteSync, FenceSync, FlushAllSync, FlushSync, LockAllSync, LockSync, StartSync, SyncStep,
    UnlockAllSync, UnlockSync,
};
use crate::target::locks;
use smallvec::SmallVec;

/// Looks at a lock that another rank has before the call joins the line, and pauses after each: a few
/// microseconds in all. More pauses leave the lock idle, fewer take its cache line from its holder.
const LOCK_LOOKS: Counted = Counted::new(0, 19, 0);
const LOCK_PAUSES: u32 = 3;

pub(super) fn fence(handle: &Window, assert: Assert) -> Result<()> {
    let _call = handle.trace("fence", None);
    settle_dropped(handle, "fence")?;
    let mut sync = begin_fence(handle, assert)?;
    finish_fence(handle, &mut sync)
}

#[cold]
pub(super) fn finish_fence(handle: &Window, sync: &mut Sync) -> Result<()> {
    let outcome = finish(handle, "fence", sync);
    if outcome.is_err() {
        // Others that wait for the same dead rank learn of it now.
        handle.engine().poll();
    }
    outcome
}

pub(super) fn begin_fence(handle: &Window, assert: Assert) -> Result<Sync> {
    let legal = Assert::NO_STORE.with(Assert::NO_PUT).with(Assert::NO_PRECEDE).with(Assert::NO_SUCCEED);
    let assert = assert.checked("fence", legal)?;
    begin(handle, Call::Fence, "fence", |CallContext { channel, state, window, only_uses }| {
        Ok(SyncStep::Fence(FenceSync::begin(assert, channel, state, window, only_uses)))
    })
}

pub(super) fn begin_start(handle: &Window, group: &[Rank], assert: Assert) -> Result<Sync> {
    let assert = assert.checked("start", Assert::NO_CHECK)?;
    let group = sorted(handle, group, "start")?;
    begin(handle, Call::Start, "start", |CallContext { state, window, .. }| {
        window.raise("start")?;
        let mut start = StartSync::begin(state, window, &group, assert.has(Assert::NO_CHECK));
        Ok(if start.poll(state, window)? { SyncStep::Held } else { SyncStep::Start(start) })
    })
}

pub(super) fn begin_complete(handle: &Window) -> Result<Sync> {
    begin(handle, Call::Complete, "complete", |CallContext { state, window, .. }| {
        Ok(SyncStep::Complete(CompleteSync::begin(state, window)))
    })
}

/// The ranks of a group, ascending: groups come in any order, without repetition, also empty or with the caller among them.
pub(super) fn sorted(handle: &Window, group: &[Rank], call: &'static str) -> Result<SmallVec<[Rank; 8]>> {
    for rank in group {
        handle.shared().check_rank(*rank, call)?;
    }
    let mut sorted = SmallVec::from_slice(group);
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(sorted),
        Some(pair) => {
            let cause = format!("rank {} stands in the group more than once", pair[0]);
            Err(Error::new(ErrorClass::Group, call, cause))
        }
    }
}

#[cold]
pub(super) fn lock(handle: &Window, kind: LockKind, target: Rank, assert: Assert) -> Result<()> {
    if assert == Assert::NONE && lock_soon(handle, kind, target) {
        return Ok(());
    }
    let _call = handle.trace("lock", Some(target));
    settle_dropped(handle, "lock")?;
    let mut sync = begin_lock(handle, Caller::thread(), kind, target, assert)?;
    if sync.is_over() {
        return Ok(());
    }
    finish(handle, "lock", &mut sync)
}

/// Looks for the end of another rank's lock, which most programs hold for less than it costs to join the line; `false` when the call has to
/// take the slow path. A request in line goes first, where ranks outnumber cores once it runs and has claimed the lock; and a call that has
/// looked in vain joins the line, so none is passed without end.
fn lock_soon(handle: &Window, kind: LockKind, target: Rank) -> bool {
    let shared = handle.shared();
    let Some(node_rank) = shared.fast_node_rank(target) else { return false };
    // Where ranks outnumber cores, the lock's holder runs on another core, and yielding costs more.
    let is_oversubscribed = handle.engine().patience().0 == 0;
    // Where waits are configured neither to spin nor to yield, this one does neither.
    if is_oversubscribed && handle.engine().config().yields == 0 {
        return false;
    }
    let mut strategy = LOCK_LOOKS;
    loop {
        let state = node_rank.control.lock_state();
        let is_own = state.owner() == Some(shared.holder.peer());
        let has_line = if is_oversubscribed { state.is_claimed() } else { state.waiters() > 0 };
        if has_line || is_own || shared.access.is_owned() {
            return false;
        }
        let has_room = state.is_free() || (kind == LockKind::Shared && state.owner().is_none());
        if has_room && shared.try_lock(node_rank, kind, false) {
            return true;
        }
        match strategy.observe() {
            Next::Sleep => return false,
            next => (0..LOCK_PAUSES).for_each(|_| rest(next)),
        }
    }
}

pub(super) fn begin_lock(
    handle: &Window,
    caller: Caller,
    kind: LockKind,
    target: Rank,
    assert: Assert,
) -> Result<Sync> {
    let assert = assert.checked("lock", Assert::NO_CHECK)?;
    if target == Rank::NULL {
        return Ok(Sync(SyncStep::Held, Call::Lock(target), None));
    }
    handle.shared().check_rank(target, "lock")?;
    begin_and_poll(handle, Call::Lock(target), "lock", |_, window| {
        // What went wrong before is raised before anything is locked: an error of this call means no lock.
        window.raise("lock")?;
        Ok(SyncStep::Lock(LockSync::begin(target, kind, assert, caller)))
    })
}

/// Wakes those whose turn it is to take a lock.
#[cold]
pub(super) fn wake_waiters(handle: &Window, wake: Option<Wake>) {
    handle.engine().with(|core| {
        let State { wake_ups, counters, .. } = &mut core.state;
        locks::wake(wake_ups, counters, handle.shared(), wake);
    });
    // They are woken now: the caller may not come back for long.
    handle.engine().poll();
}

#[cold]
pub(super) fn unlock(handle: &Window, target: Rank) -> Result<()> {
    let _call = handle.trace("unlock", Some(target));
    settle_dropped(handle, "unlock")?;
    let started = begin_unlock(handle, target);
    finish_release(handle, "unlock", started)
}

/// Ends a call that gives locks back; with what it began comes whether another rank has to be notified.
pub(super) fn finish_release(
    handle: &Window,
    name: &'static str,
    (started, owes): (Result<Sync>, bool),
) -> Result<()> {
    if owes {
        // Waiting ranks get the lock now: the caller may not come back for long.
        handle.engine().poll();
    }
    let mut sync = started?;
    if matches!(sync.0, SyncStep::Done) {
        handle.poll_throttled();
        return Ok(());
    }
    // A release without an acknowledgement is over when it has left: no further step for that.
    if owes && handle.engine().with(|core| advance(handle, core, &mut sync, name))? {
        return Ok(());
    }
    finish(handle, name, &mut sync)
}

/// Begins an unlock; says also whether another rank has to be notified of it.
pub(super) fn begin_unlock(handle: &Window, target: Rank) -> (Result<Sync>, bool) {
    if target == Rank::NULL {
        return (Ok(Sync(SyncStep::Done, Call::Unlock(target), None)), false);
    }
    if let Err(error) = handle.shared().check_rank(target, "unlock") {
        return (Err(error), false);
    }
    let mut owes = false;
    let started = begin(handle, Call::Unlock(target), "unlock", |CallContext { state, window, .. }| {
        let sync = UnlockSync::begin(state, window, target);
        owes = !state.wake_ups.is_empty() || window.is_active();
        match sync {
            None => window.raise("unlock").map(|()| SyncStep::Done),
            Some(sync) => Ok(SyncStep::Unlock(sync)),
        }
    });
    (started, owes)
}

#[inline]
pub(super) fn flush(handle: &Window, target: Rank, call: &'static str, reach: Reach) -> Result<()> {
    if let Some(mapped) = handle.shared().fast(target)
        && mapped.gate.is_locked()
    {
        // Direct operations are complete when they return; only their order is left to see to.
        handle.shared().store_fence.order();
        handle.poll_throttled();
        return Ok(());
    }
    if target == Rank::NULL {
        return Ok(());
    }
    let _call = handle.trace(call, Some(target));
    settle_dropped(handle, call)?;
    let mut sync = begin_flush(handle, target, call, reach)?;
    finish(handle, call, &mut sync)
}

pub(super) fn begin_flush(handle: &Window, target: Rank, call: &'static str, reach: Reach) -> Result<Sync> {
    if target == Rank::NULL {
        return Ok(Sync(SyncStep::Done, Call::Flush(target), None));
    }
    handle.shared().check_rank(target, call)?;
    begin(handle, Call::Flush(target), call, |CallContext { channel, state, window, only_uses }| {
        let permits_calls = only_uses || window.permits_calls(target);
        Ok(SyncStep::Flush(FlushSync::begin(channel, state, window, target, reach, permits_calls)))
    })
}

pub(super) fn begin_lock_all(handle: &Window, caller: Caller, assert: Assert) -> Result<Sync> {
    let assert = assert.checked("lock_all", Assert::NO_CHECK)?;
    begin_and_poll(handle, Call::LockAll, "lock_all", |state, window| {
        window.raise("lock_all")?;
        let lock = LockAllSync::begin(state, window, assert.has(Assert::NO_CHECK), caller);
        Ok(SyncStep::LockAll(lock))
    })
}

pub(super) fn begin_unlock_all(handle: &Window) -> (Result<Sync>, bool) {
    let mut owes = false;
    let started = begin(handle, Call::UnlockAll, "unlock_all", |CallContext { state, window, .. }| {
        let mut sync = UnlockAllSync::begin(state, window);
        let is_over = sync.poll(state, window)?;
        owes = !state.wake_ups.is_empty() || window.is_active();
        if is_over {
            return window.raise("unlock_all").map(|()| SyncStep::Done);
        }
        Ok(SyncStep::UnlockAll(sync))
    });
    (started, owes)
}

#[inline]
pub(super) fn flush_all(handle: &Window, call: &'static str, reach: Reach) -> Result<()> {
    let shared = handle.shared();
    // Everything that was done is complete, and its order is all that is left to see to.
    if shared.are_all_locked() {
        shared.store_fence.order();
        handle.poll_throttled();
        return Ok(());
    }
    let _call = handle.trace(call, None);
    settle_dropped(handle, call)?;
    let mut sync = begin_flush_all(handle, call, reach)?;
    finish(handle, call, &mut sync)
}

pub(super) fn begin_flush_all(handle: &Window, call: &'static str, reach: Reach) -> Result<Sync> {
    begin(handle, Call::FlushAll, call, |CallContext { state, window, .. }| {
        Ok(SyncStep::FlushAll(FlushAllSync::begin(state, window, reach)))
    })
}
