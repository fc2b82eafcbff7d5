//! Handing an operation over to the engine: on its fast path, or past the table of legal calls into the operation table.

use super::Window;
use super::scattered::{CallOutcome, Mode};
use crate::epoch::Call;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank, WindowId};
use crate::mem::ReadSpan;
use crate::origin::decide::Decision;
use crate::origin::issue::Issuer;
use crate::origin::post::post;
use crate::origin::submit::FastPath;
use crate::progress::Core;
use crate::state::{OutOfRange, Pools, State, WindowState, gone};
use crate::table::{FetchCall, OpArea, OpKind, Operation, Outline, Signal, SmallStore};
use crate::wire::Store;
use std::sync::Arc;

/// Makes a call that stores bytes side by side.
#[inline(never)]
pub(super) fn store(
    handle: &Window,
    target: Rank,
    call: &'static str,
    store: Store,
    (disp, origin): (Disp, ReadSpan),
    mode: Mode,
) -> Result<CallOutcome> {
    let small = SmallStore::new(store, disp, origin);
    let make = || Operation::store(store, disp, origin);
    submit(handle, target, call, Outline::of(small.as_ref()), mode, make)
}

/// Makes a call that fetches bytes side by side.
#[cold]
pub(super) fn fetch(
    handle: &Window,
    target: Rank,
    call: &'static str,
    fetch: &FetchCall,
    mode: Mode,
) -> Result<CallOutcome> {
    submit(handle, target, call, Outline::Fetch(fetch), mode, || Operation::from(fetch))
}

/// Makes a call whose operation there is.
#[inline(never)]
pub(crate) fn operation(
    handle: &Window,
    target: Rank,
    call: &'static str,
    op: Operation,
    mode: Mode,
) -> Result<CallOutcome> {
    let op = if let Some(notice) = mode.notice() { op.notifying(notice) } else { op };
    let small = SmallStore::of(&op);
    submit(handle, target, call, Outline::of(small.as_ref()), mode, || op)
}

/// Makes a call that the direct path has not taken: the one way of operations into the engine. `make` makes the operation of the
/// outline, where it needs more than the fast path.
#[inline(always)] // each caller has one kind of outline
fn submit(
    handle: &Window,
    target: Rank,
    call: &'static str,
    outline: Outline<'_>,
    mode: Mode,
    make: impl FnOnce() -> Operation,
) -> Result<CallOutcome> {
    let is_requested = mode.is_requested();
    let engine = handle.engine();
    let _call = engine.observation().call_if(mode.waits(), call, Some(handle.id()), Some(target));
    let (decision, is_pack_full) = engine.with(|core| {
        let decision = on_fast_path(handle, core, target, |mut path| path.submit(outline, is_requested));
        let may_be_full = mode.waits() && decision == Some(Decision::Coalesce);
        (decision, may_be_full && std::mem::take(&mut core.state.is_pack_full))
    });
    if decision.is_none() {
        return queue(handle, target, call, mode, make());
    }
    if is_pack_full {
        // The target can begin on it while the next is being filled.
        engine.poll();
    } else if is_requested && decision == Some(Decision::Coalesce) {
        // Its wait has nothing to write.
        engine.spare_poll();
    }
    Ok(CallOutcome::Done)
}

/// Queues an operation that the fast path has not taken.
#[cold]
#[inline(never)]
fn queue(
    handle: &Window,
    target: Rank,
    call: &'static str,
    mode: Mode,
    mut op: Operation,
) -> Result<CallOutcome> {
    let signal = mode.is_requested().then(Arc::<Signal>::default);
    if let Some(signal) = &signal {
        op = op.signalling(Arc::clone(signal));
    }
    let mut rest = Some(op);
    let work = |core: &mut Core| {
        post_once(handle, core, target, call, &mut rest)?;
        let has_left = mode.leaves() && rest.is_none() && issue(core, handle.id(), target);
        Ok((has_left, mode.waits() && std::mem::take(&mut core.state.is_pack_full)))
    };
    let engine = handle.engine();
    let (has_left, is_pack_full) = if mode.leaves() { engine.with_sending(work) } else { engine.with(work) }?;
    if rest.is_some() {
        if !mode.waits() {
            return Ok(CallOutcome::Full);
        }
        post_when_possible(handle, target, call, rest)?;
    }
    if has_left {
        handle.poll_throttled();
    } else if is_pack_full || mode.leaves() {
        engine.poll();
    }
    Ok(CallOutcome::Posted(signal))
}

/// [`submit`] of a store, where it joins others that wait.
#[inline]
pub(super) fn coalesces(
    handle: &Window,
    target: Rank,
    call: &'static str,
    small: Option<SmallStore>,
    is_requested: bool,
) -> bool {
    let Some(small) = small else { return false };
    let joined = handle.engine().with(|core| {
        on_fast_path(handle, core, target, |mut path| path.joins(&small, is_requested).then_some(()))
    });
    if joined.is_some() {
        drop(handle.trace(call, Some(target)));
        if is_requested {
            // Its wait has nothing to write.
            handle.engine().spare_poll();
        }
    }
    joined.is_some()
}

/// Checks that a communication call is legal and inside the window, and takes and queues it; leaves it when no element is
/// to be had. One to [`Rank::NULL`] has ended.
fn post_once(
    handle: &Window,
    core: &mut Core,
    target: Rank,
    call: &'static str,
    waiting: &mut Option<Operation>,
) -> Result<()> {
    let Some(op) = waiting else { return Ok(()) };
    if target == Rank::NULL {
        op.signal_end(Ok(()));
        *waiting = None;
        return Ok(());
    }
    handle.shared().check_rank(target, call)?;
    let Core { channel, state, windows, .. } = core;
    // The fast path: an epoch is open in which the operation is legal, and nothing else changes.
    if !op.is_void()
        && state.lost.is_empty()
        && let Some(window) = windows.get_mut(handle.shared().id)
        && window.only_uses(Call::Operation(target))
        && check_range(window, target, call, op).is_ok()
    {
        post(state, window, &mut **channel, target, waiting, call)?;
        if window.is_active() {
            windows.note_active(handle.shared().id);
        }
        return Ok(());
    }
    let Some(mut context) = windows.borrow(state, handle.shared().id) else { return Err(gone(call)) };
    let (state, window) = context.split();
    state.needs_step = true;
    let legal = window
        .check_open(call)
        .and_then(|()| check_operation(handle, &state.pools, window, target, call, op));
    match legal {
        Err(error) => Err(error),
        // Nothing moves, and the target need not know (MPI 3.1 §11.3: zero-size operations are legal).
        Ok(()) if op.is_void() => {
            op.signal_end(Ok(()));
            *waiting = None;
            Ok(())
        }
        Ok(()) => post(state, window, &mut **channel, target, waiting, call),
    }
}

/// Queues the operation as soon as there is an element for it.
#[cold]
fn post_when_possible(
    handle: &Window,
    target: Rank,
    call: &'static str,
    mut rest: Option<Operation>,
) -> Result<()> {
    let describe = |_: &_| {
        let window = handle.engine().observation().describe_window(handle.shared().id);
        format!("earlier operations to end, to make room for one on rank {target} ({window})").into()
    };
    handle.engine().wait(call, &describe, &mut |core| {
        let Core { channel, state, windows, .. } = core;
        let Some(mut context) = windows.borrow(state, handle.shared().id) else { return Err(gone(call)) };
        let (state, window) = context.split();
        // Only what this attempt gave the engine to do keeps the caller from sleeping.
        let needed_issue = std::mem::replace(&mut window.needs_issue, false);
        let posted = window
            .check_open(call)
            .and_then(|()| post(state, window, &mut **channel, target, &mut rest, call));
        state.needs_step |= window.needs_issue;
        window.needs_issue |= needed_issue;
        posted?;
        Ok(rest.is_none().then_some(()))
    })
}

fn check_operation(
    handle: &Window,
    pools: &Pools,
    window: &WindowState,
    target: Rank,
    call: &'static str,
    op: &Operation,
) -> Result<()> {
    window.check(pools, Call::Operation(target), call)?;
    if handle.shared().mapped(target).is_some() {
        // The table of legal calls has an epoch open, but the direct path was closed: the lock is still waited for.
        let cause = format!("the epoch to rank {target} is being opened by another thread");
        return Err(Error::new(ErrorClass::RmaSync, call, cause));
    }
    check_range(window, target, call, op)
}

/// Whether the operation lies within the window, as far as this process knows.
fn check_range(window: &WindowState, target: Rank, call: &'static str, op: &Operation) -> Result<()> {
    if op.kind == OpKind::Unfinished {
        return Ok(());
    }
    let Some((size, unit)) = window.shared.memory_of(target, &window.learnt) else { return Ok(()) };
    let start = op.disp.0.checked_mul(unit);
    let outside = match op.area() {
        OpArea::Run(offset) => {
            let start = start.and_then(|start| start.checked_add(offset));
            let end = start.and_then(|start| start.checked_add(op.len));
            let range = OutOfRange { start: start.unwrap_or(u64::MAX), len: op.len, size };
            end.is_none_or(|end| end > size).then_some(range)
        }
        OpArea::Shape(layout) => {
            let (low, high) = layout.bounds();
            let at = |offset: i64| start.map(|start| i128::from(start) + i128::from(offset));
            let is_inside =
                at(low).is_some_and(|low| low >= 0) && at(high).is_some_and(|high| high <= size.into());
            (!is_inside).then(|| OutOfRange::of_layout(start, layout, size))
        }
    };
    outside.map_or(Ok(()), |range| Err(range.into_error(call, target)))
}

/// Issues what may leave of a window; says whether nothing is left for a target. What is left may need a packet that has come already.
fn issue(core: &mut Core, id: WindowId, target: Rank) -> bool {
    let Core { channel, state, windows, .. } = core;
    let Some(mut context) = windows.borrow(state, id) else { return false };
    let (state, window) = context.split();
    let State { pools, bulks, by_channel, config, .. } = state;
    let channel = &mut **channel;
    if window.needs_issue {
        Issuer { window, pools, bulks, channel, by_channel, config }.issue_window();
    }
    let target = window.table.find(&pools.targets, target);
    !window.needs_issue && target.is_none_or(|key| pools.targets[key].pending.is_empty())
}

/// Changes operations of a window, and what a step has to do for it; nothing when it is gone.
#[inline]
fn on_fast_path<T>(
    of: &Window,
    core: &mut Core,
    rank: Rank,
    change: impl FnOnce(FastPath<'_>) -> Option<T>,
) -> Option<T> {
    let (Core { channel, state, windows, .. }, shared) = (core, &**of.shared());
    windows.operate(shared.id, |window| {
        change(FastPath { channel: &mut **channel, state, window, shared, rank })
    })
}
