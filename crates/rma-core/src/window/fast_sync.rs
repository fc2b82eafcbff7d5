//! Synchronization of ranks that all map each other, without the engine's lock: fence, post, start, complete and wait of any
//! group without the own rank, lock_all and unlock_all. The latter two also where only the lock words of all ranks are mapped; then unlock_all asks the engine
//! whether operations are complete.
//!
//! Such a call signals other ranks in shared memory and looks there for their signals; while nothing else goes on, the engine has no part
//! in it. Whether that is so is decided when the borrow of a window ends under the engine's lock
//! ([`WindowState::fast_calls`](crate::state::WindowState::fast_calls)) and noted in [`FastCalls`](crate::state::FastCalls). Each call
//! first looks for what it waits for, about as long as a rank needs that is in its own call already, and changes nothing before. If that
//! does not come, it takes the slow path: under the lock, where deaths are noticed and a process may sleep.

use super::direct_path::DirectPath;
use super::slow_sync::{finish_fence, wake_waiters};
use super::{Sync, Window};
use crate::control::{Sleep, Wake};
use crate::epoch::{Assert, Call, FastEpoch};
use crate::error::Result;
use crate::ids::{LockKind, Rank};
use crate::progress::Core;
use crate::state::{FENCE, LOCK_ALL, MappedTarget, NodeRank, POST, START, Shared, State};
use crate::sync::{FenceSync, SyncStep};
use crate::table::Target;
use crate::target::locks;

/// A fence without the engine's lock; `None` when the call has to take the slow path, as if this one had not been made.
#[inline]
pub(super) fn fence(handle: &Window, assert: Assert) -> Option<Result<()>> {
    let shared = &**handle.shared();
    let known = Assert::NO_STORE.with(Assert::NO_PUT).with(Assert::NO_PRECEDE);
    if !shared.active.has(FENCE) || shared.active.exposure.is_open() || !known.has(assert) {
        return None;
    }
    // SYNC POINT F1, F2: arriving and seeing that others have is the order that the picture in `sync/fence.rs` asks for.
    let number = shared.own().control.meeting().arrive();
    let mut absent = shared.absent(number, 0);
    if absent.is_none() {
        if shared.mapped.iter().any(|mapped| mapped.control.is_asleep(Sleep::Fence)) {
            wake_sleepers(handle, |_| true, Sleep::Fence);
            // They are woken before this call returns, since no later step does it.
            let describe = |_: &Core| "room to wake the ranks that sleep in a fence".into();
            let are_woken = &mut |core: &mut Core| Ok(core.state.wake_ups.is_empty().then_some(()));
            if let Err(error) = handle.engine().wait("fence", &describe, are_woken) {
                return Some(Err(error));
            }
        }
    } else if !handle.engine().look_spinning(|| {
        absent = shared.absent(number, absent.unwrap_or(0));
        absent.is_none()
    }) {
        let mut sync = Sync(SyncStep::Fence(FenceSync::arrived(assert, number)), Call::Fence, None);
        return Some(finish_fence(handle, &mut sync));
    }
    shared.fence_gate.renew();
    handle.poll_throttled();
    Some(Ok(()))
}

/// A start call without the engine's lock; `false` when it has to take the slow path.
#[inline]
pub(super) fn start(handle: &Window, group: &[Rank], assert: Assert) -> bool {
    let shared = &**handle.shared();
    let fast = &shared.active;
    if !fast.has(START) || assert != Assert::NONE || !shared.access.may_open() {
        return false;
    }
    let Some(targets) = shared.places_of(group) else { return false };
    let posts = shared.own().control.posts();
    if !handle.engine().look_spinning(|| posts.are_set(&targets, &fast.posts)) {
        return false;
    }
    // SYNC POINT P2: the posts were seen.
    if !shared.access.try_open() {
        return false;
    }
    fast.started.set(&targets);
    posts.take_all(&targets, &fast.posts);
    for place in targets.iter() {
        shared.access.open_started(&shared.mapped[place].gate);
    }
    shared.access.end_opening(Some(FastEpoch::Started));
    handle.poll_throttled();
    true
}

/// A complete call without the engine's lock; `false` when it has to take the slow path.
#[inline]
pub(super) fn complete(handle: &Window) -> bool {
    let shared = &**handle.shared();
    if !shared.active.has(START) || !shared.access.try_close(FastEpoch::Started) {
        return false;
    }
    let targets = shared.active.started.get();
    let mut sleeps = false;
    for place in targets.iter() {
        let mapped = &shared.mapped[place];
        shared.access.close(&mapped.gate);
        // SYNC POINT P3: setting the mark is the order.
        mapped.control.dones().set(shared.own);
        sleeps |= mapped.control.is_asleep(Sleep::Wait);
    }
    shared.access.end_closing();
    if sleeps {
        wake_sleepers(handle, |place| targets.contains(place), Sleep::Wait);
    }
    handle.poll_throttled();
    true
}

/// A lock_all call without the engine's lock; `false` when it has to take the slow path: that waits for locks, in rank order too.
#[inline]
pub(super) fn lock_all(handle: &Window, assert: Assert) -> bool {
    if assert != Assert::NONE {
        return false;
    }
    let Some(locked) = handle.shared().try_lock_all() else { return false };
    if let Err(held) = locked {
        release_all(handle, 0, held);
    }
    handle.poll_throttled();
    locked.is_ok()
}

/// An unlock_all call with at most a look at the operations on node targets; `false` when it takes the slow path.
#[inline]
pub(super) fn unlock_all(handle: &Window) -> bool {
    let shared = &**handle.shared();
    if !shared.active.has(LOCK_ALL) {
        return false;
    }
    let is_closed = if shared.node_targets.is_empty() {
        shared.close_all_locked()
    } else {
        handle.engine().with(|core| are_node_targets_done(core, shared) && shared.close_all_locked())
    };
    if is_closed {
        // No wake-up before: that takes the engine's lock, whose holder may wait for the end of the change.
        release_all(handle, 0, usize::MAX);
        handle.poll_throttled();
    }
    is_closed
}

/// Gives shared locks back, those of the ranks of the node from one to before another, and wakes those whose turn it is.
#[inline]
pub(super) fn release_all(handle: &Window, from: usize, to: usize) {
    for node_rank in handle.shared().node_ranks().take(to).skip(from) {
        if let Ok(Some(wake)) = node_rank.release(LockKind::Shared, handle.shared().holder) {
            wake_waiters(handle, Some(wake));
        }
    }
}

/// A post call without the engine's lock; `false` when it has to take the slow path.
#[inline]
pub(super) fn post(handle: &Window, group: &[Rank], assert: Assert) -> bool {
    let shared = &**handle.shared();
    if !shared.active.has(POST) || !Assert::NO_STORE.with(Assert::NO_PUT).has(assert) {
        return false;
    }
    let Some(origins) = shared.places_of(group) else { return false };
    if !shared.active.exposure.try_open(&origins) {
        return false;
    }
    let mut sleeps = false;
    for place in origins.iter() {
        let control = &shared.mapped[place].control;
        // SYNC POINT P1: setting the mark is the order.
        control.posts().set(shared.own);
        sleeps |= control.is_asleep(Sleep::Start);
    }
    if sleeps {
        wake_sleepers(handle, |place| origins.contains(place), Sleep::Start);
    }
    handle.poll_throttled();
    true
}

/// A wait call without the engine's lock, or a test, which looks once; `false` when it has to take the slow path.
#[inline]
pub(super) fn wait(handle: &Window, is_test: bool) -> bool {
    let shared = &**handle.shared();
    let fast = &shared.active;
    let Some(open) = fast.exposure.fast().filter(|_| fast.has(POST)) else { return false };
    let dones = shared.own().control.dones();
    let are_done = || dones.are_set(&open.origins, &fast.dones);
    // SYNC POINT P4: all are seen to be done.
    let is_over = if is_test { are_done() } else { handle.engine().look_spinning(are_done) };
    if !is_over || !fast.exposure.try_close(&open) {
        return false;
    }
    dones.take_all(&open.origins, &fast.dones);
    handle.poll_throttled();
    true
}

/// Makes mapped targets look again that sleep in a call.
#[cold]
fn wake_sleepers(handle: &Window, mut concerns: impl FnMut(usize) -> bool, call: Sleep) {
    let shared = handle.shared();
    handle.engine().with(|core| {
        let State { wake_ups, counters, .. } = &mut core.state;
        let sleeps = |mapped: &MappedTarget| mapped.control.is_asleep(call);
        for (place, mapped) in shared.mapped.iter().enumerate() {
            if concerns(place) && sleeps(mapped) {
                locks::wake_peer(wake_ups, counters, shared, shared.group.peer(mapped.rank));
            }
        }
    });
    // They are woken now: the caller may compute for long.
    handle.engine().poll();
}

/// Locks that a lock_all call has taken in vain: of the first so many ranks of the node.
#[derive(Debug)]
#[must_use = "others wait for the locks"]
pub struct HeldInVain(pub(super) usize);

/// How far an unlock_all call has come when a rank has to be woken.
#[derive(Debug)]
#[must_use = "others wait for the locks"]
pub struct Released {
    /// The first so many ranks of the node have their locks back.
    pub(super) ranks: usize,
    pub(super) wake: Wake,
}

impl DirectPath<'_> {
    /// [`Window::lock_all`] without assertions, where all locks are free or shared; otherwise `None`, nothing done.
    ///
    /// # Errors
    /// With locks that [`Window::give_back`] has to give back before the ordinary call is made.
    #[inline]
    pub fn try_lock_all(&self) -> Option<std::result::Result<(), HeldInVain>> {
        if !self.pass() {
            return None;
        }
        self.shared().try_lock_all().map(|locked| locked.map_err(HeldInVain))
    }

    /// [`Window::unlock_all`] where all ranks of the window are mapped, likewise.
    ///
    /// # Errors
    /// With what [`Window::end_unlock_all`] has to do yet: then the call is over.
    #[inline]
    pub fn try_unlock_all(&self) -> Option<std::result::Result<(), Released>> {
        let shared = self.shared();
        if !shared.active.has(LOCK_ALL)
            || !shared.node_targets.is_empty()
            || !self.pass()
            || !shared.close_all_locked()
        {
            return None;
        }
        for (at, node_rank) in shared.node_ranks().enumerate() {
            if let Ok(Some(wake)) = node_rank.release(LockKind::Shared, shared.holder) {
                return Some(Err(Released { ranks: at + 1, wake }));
            }
        }
        Some(Ok(()))
    }
}

/// Whether all operations on node targets are complete at their targets, and nothing is to be reported of them: an error has closed the fast
/// path already, a death that is noticed only now has not.
fn are_node_targets_done(core: &Core, shared: &Shared) -> bool {
    let (windows, pools) = (&core.windows, &core.state.pools);
    let Some(window) = windows.get(shared.id).filter(|window| !window.has_lost) else { return false };
    let is_idle = |node_rank: &NodeRank| {
        let element =
            window.table.find(&pools.targets, node_rank.rank).and_then(|key| pools.targets.get(key));
        element.is_none_or(Target::is_idle)
    };
    shared.node_targets.iter().all(is_idle)
}
