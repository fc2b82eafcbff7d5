//! Queuing one communication call: whether it joins others, whether it is legal, and into the table.

use super::Window;
use crate::channel::Channel;
use crate::epoch::Call;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::{Disp, Rank, WindowId};
use crate::mem::ReadSpan;
use crate::origin::fetch::FetchCall;
use crate::origin::issue::Issuer;
use crate::origin::pack::{self, Small};
use crate::origin::post::post;
use crate::origin::{eager, fetch, stream};
use crate::progress::Core;
use crate::state::{OutOfRange, Pools, State, WindowState, gone};
use crate::table::{OpArea, OpKind, Operation};
use crate::wire::Store;

/// Makes a call that stores bytes side by side.
#[inline(never)]
pub(super) fn store(
    handle: &Window,
    target: Rank,
    call: &'static str,
    store: Store,
    disp: Disp,
    origin: ReadSpan,
) -> Result<()> {
    let _call = handle.trace(call, Some(target));
    let small = Small::new(store, disp, origin);
    if small.as_ref().is_some_and(|small| goes_along(handle, target, small)) {
        return Ok(());
    }
    queue(handle, target, call, small, || Operation::store(store, disp, origin))
}

/// [`store`] that answers `false` instead of waiting for an operation element.
pub(super) fn try_store(
    handle: &Window,
    target: Rank,
    call: &'static str,
    store: Store,
    disp: Disp,
    origin: ReadSpan,
) -> Result<bool> {
    let small = Small::new(store, disp, origin);
    if small.is_some_and(|small| goes_along(handle, target, &small)) {
        return Ok(true);
    }
    try_post(handle, target, call, Operation::store(store, disp, origin)).map(|rest| rest.is_none())
}

/// Queues an operation, and waits for an element where there is none.
#[cold]
pub(super) fn post_or_wait(
    handle: &Window,
    target: Rank,
    call: &'static str,
    make: impl FnOnce() -> Operation,
) -> Result<()> {
    queue(handle, target, call, None, make)
}

/// Queues an operation, or has a small store join others.
#[cold]
fn queue(
    handle: &Window,
    target: Rank,
    call: &'static str,
    small: Option<Small>,
    make: impl FnOnce() -> Operation,
) -> Result<()> {
    let mut rest = None;
    let is_pack_full = handle.engine().with(|core| {
        if small.is_some_and(|small| joins_pack(handle, core, target, &small)) {
            return Ok(false);
        }
        rest = Some(make());
        post_once(handle, core, target, call, &mut rest)?;
        Ok(std::mem::take(&mut core.state.is_pack_full))
    })?;
    if is_pack_full {
        // The target can begin on it while the next is being filled.
        handle.engine().poll();
    }
    if rest.is_none() {
        return Ok(());
    }
    post_when_possible(handle, target, call, rest)
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
        let posted =
            window.check_open(call).and_then(|()| post(state, window, &**channel, target, &mut rest, call));
        state.needs_step |= window.needs_issue;
        window.needs_issue |= needed_issue;
        posted?;
        Ok(rest.is_none().then_some(()))
    })
}

/// Queues the operation; hands it back when no element is to be had.
pub(super) fn try_post(
    handle: &Window,
    target: Rank,
    call: &'static str,
    op: Operation,
) -> Result<Option<Operation>> {
    let mut waiting = Some(op);
    handle.engine().with(|core| post_once(handle, core, target, call, &mut waiting))?;
    Ok(waiting)
}

/// Whether the store has joined others that wait: the fast path of a stream of stores, for a call that has not begun for an observer.
#[inline]
pub(super) fn joins(handle: &Window, target: Rank, small: Option<&Small>) -> bool {
    let small = small.filter(|_| handle.has_pack() && !handle.engine().observation().is_on());
    small.is_some_and(|small| handle.engine().with(|core| joins_pack(handle, core, target, small)))
}

/// Whether the store has joined a pack.
#[inline]
fn joins_pack(handle: &Window, core: &mut Core, target: Rank, small: &Small) -> bool {
    operations(handle, core, |_, state, window| {
        pack::join(&mut state.pools, window, handle.shared(), target, small)
    })
}

/// Whether the store joins others, waits for the next flush, or has left ahead of that: a fast path.
#[inline]
fn goes_along(handle: &Window, target: Rank, small: &Small) -> bool {
    let may_join = handle.has_pack();
    with_operations(handle, |channel, state, window| {
        (may_join && pack::join(&mut state.pools, window, handle.shared(), target, small))
            || eager::send_or_hold(channel, state, window, handle.shared(), target, small)
    })
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
        && check_range(handle, target, call, op).is_ok()
    {
        post(state, window, &**channel, target, waiting, call)?;
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
        Ok(()) => post(state, window, &**channel, target, waiting, call),
    }
}

/// Whether a store that a call waits for by itself has left, and so is complete.
pub(super) fn leaves_at_once(handle: &Window, target: Rank, op: &Operation) -> bool {
    Small::of(op).is_some_and(|small| {
        let send = |core: &mut Core| {
            operations(handle, core, |channel, state, window| {
                eager::send_at_once(channel, state, window, handle.shared(), target, &small)
            })
        };
        joins_stream(handle, target, &small, send)
    })
}

/// Whether a store that a call waits for by itself has joined a stream of such stores, or `otherwise` has
/// seen to it, and so is complete.
fn joins_stream(
    handle: &Window,
    target: Rank,
    small: &Small,
    otherwise: impl FnOnce(&mut Core) -> bool,
) -> bool {
    let (has_joined, is_complete, is_pack_full) = handle.engine().with(|core| {
        let has_joined = operations(handle, core, |channel, state, window| {
            stream::take(channel, state, window, handle.shared(), target, small)
        });
        let is_complete = has_joined || otherwise(core);
        (has_joined, is_complete, std::mem::take(&mut core.state.is_pack_full))
    });
    if is_pack_full {
        // The target can begin on it while the next is being filled.
        handle.engine().poll();
    } else if has_joined {
        // Its wait has nothing to write.
        handle.engine().spare_poll();
    }
    is_complete
}

/// [`joins_stream`] while there is a pack: the fast path of such a stream, for a call that has not begun for an observer.
#[inline]
pub(super) fn joins_with_request(handle: &Window, target: Rank, small: Option<&Small>) -> bool {
    handle.has_pack()
        && small
            .filter(|_| !handle.engine().observation().is_on())
            .is_some_and(|small| joins_stream(handle, target, small, |_| false))
}

/// Looks at the window, of which nothing but operations changes; `false` when it is gone.
#[inline]
fn with_operations(
    handle: &Window,
    change: impl FnOnce(&mut dyn Channel, &mut State, &mut WindowState) -> bool,
) -> bool {
    handle.engine().with(|core| operations(handle, core, change))
}

/// Makes a call that fetches: it leaves now, or is queued as soon as there is an element for it.
#[cold]
pub(super) fn post_fetch(handle: &Window, target: Rank, call: &'static str, fetch: FetchCall) -> Result<()> {
    let _call = handle.trace(call, Some(target));
    if fetches_at_once(handle, target, &fetch) {
        return Ok(());
    }
    post_or_wait(handle, target, call, || Operation::from(&fetch))
}

/// [`post_fetch`] that answers `false` instead of waiting for an element.
pub(super) fn try_post_fetch(
    handle: &Window,
    target: Rank,
    call: &'static str,
    fetch: FetchCall,
) -> Result<bool> {
    if fetches_at_once(handle, target, &fetch) {
        return Ok(true);
    }
    try_post(handle, target, call, Operation::from(&fetch)).map(|rest| rest.is_none())
}

fn fetches_at_once(handle: &Window, target: Rank, fetch: &FetchCall) -> bool {
    !handle.shared().node_targets.is_empty()
        && with_operations(handle, |channel, state, window| {
            fetch::send(channel, state, window, handle.shared(), target, fetch)
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
    check_range(handle, target, call, op)
}

/// Whether the operation lies within the window, as far as this process knows.
fn check_range(handle: &Window, target: Rank, call: &'static str, op: &Operation) -> Result<()> {
    if op.kind == OpKind::Unfinished {
        return Ok(());
    }
    let Some((size, unit)) = handle.shared().memory_of(target) else { return Ok(()) };
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

/// Queues an operation whose target waits for it, while the caller may compute for long: it leaves with the call.
pub(super) fn post_at_once(handle: &Window, target: Rank, call: &'static str, op: Operation) -> Result<()> {
    let mut rest = Some(op);
    let has_left = handle.engine().with_sending(|core| {
        post_once(handle, core, target, call, &mut rest)?;
        Ok(rest.is_none() && issue(core, handle.id(), target))
    })?;
    if has_left {
        handle.poll_throttled();
        return Ok(());
    }
    if let Some(op) = rest {
        post_or_wait(handle, target, call, || op)?;
    }
    handle.engine().poll();
    Ok(())
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

/// Changes operations of a window, and what a step has to do for it; `false` when it is gone.
#[inline]
fn operations(
    of: &Window,
    core: &mut Core,
    change: impl FnOnce(&mut dyn Channel, &mut State, &mut WindowState) -> bool,
) -> bool {
    let Core { channel, state, windows, .. } = core;
    windows.operate(of.shared().id, |window| Some(change(&mut **channel, state, window))).unwrap_or(false)
}
