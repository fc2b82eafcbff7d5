//! Queuing one communication call: whether it joins others, whether it is legal, and into the table.

use super::calls::Window;
use crate::channel::Channel;
use crate::epoch::Call;
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use crate::origin::fetch::FetchCall;
use crate::origin::pack::{self, Small};
use crate::origin::post::post;
use crate::origin::{eager, fetch, stream};
use crate::progress::Core;
use crate::state::{OutOfRange, Pools, State, WindowState, gone};
use crate::table::{OpArea, OpKind, Operation};

impl Window {
    /// Whether the store has joined others that wait: the fast path of a stream of stores, for a call that has not begun for an observer.
    #[inline]
    pub(super) fn joins(&self, target: Rank, small: Option<&Small>) -> bool {
        let small = small.filter(|_| self.has_pack() && !self.engine().observation().is_on());
        small.is_some_and(|small| self.engine().with(|core| self.joins_pack(core, target, small)))
    }

    /// Whether the store has joined a pack.
    #[inline]
    pub(super) fn joins_pack(&self, core: &mut Core, target: Rank, small: &Small) -> bool {
        operations(self, core, |_, state, window| {
            pack::join(&mut state.pools, window, self.shared(), target, small)
        })
    }

    /// Whether the store joins others, waits for the next flush, or has left ahead of that: a fast path.
    #[inline]
    pub(super) fn goes_along(&self, target: Rank, small: &Small) -> bool {
        let may_join = self.has_pack();
        self.with_operations(|channel, state, window| {
            (may_join && pack::join(&mut state.pools, window, self.shared(), target, small))
                || eager::send_or_hold(channel, state, window, self.shared(), target, small)
        })
    }

    /// Checks that a communication call is legal and inside the window, and takes and queues it; leaves it when no element is
    /// to be had. One to [`Rank::NULL`] has ended.
    pub(crate) fn post_once(
        &self,
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
        self.shared().check_rank(target, call)?;
        let Core { channel, state, windows, .. } = core;
        // The fast path: an epoch is open in which the operation is legal, and nothing else changes.
        if !op.is_void()
            && state.lost.is_empty()
            && let Some(window) = windows.get_mut(self.shared().id)
            && window.only_uses(Call::Operation(target))
            && self.check_range(target, call, op).is_ok()
        {
            post(state, window, &**channel, target, waiting, call)?;
            if window.is_active() {
                windows.note_active(self.shared().id);
            }
            return Ok(());
        }
        let Some(mut context) = windows.borrow(state, self.shared().id) else { return Err(gone(call)) };
        let (state, window) = context.split();
        state.needs_step = true;
        let legal = window
            .check_open(call)
            .and_then(|()| self.check_operation(&state.pools, window, target, call, op));
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
    pub(super) fn leaves_at_once(&self, target: Rank, op: &Operation) -> bool {
        Small::of(op).is_some_and(|small| {
            let send = |core: &mut Core| {
                operations(self, core, |channel, state, window| {
                    eager::send_at_once(channel, state, window, self.shared(), target, &small)
                })
            };
            self.joins_stream(target, &small, send)
        })
    }

    /// Whether a store that a call waits for by itself has joined a stream of such stores, or `otherwise` has
    /// seen to it, and so is complete.
    fn joins_stream(&self, target: Rank, small: &Small, otherwise: impl FnOnce(&mut Core) -> bool) -> bool {
        let (has_joined, is_complete, is_pack_full) = self.engine().with(|core| {
            let has_joined = operations(self, core, |channel, state, window| {
                stream::take(channel, state, window, self.shared(), target, small)
            });
            let is_complete = has_joined || otherwise(core);
            (has_joined, is_complete, std::mem::take(&mut core.state.is_pack_full))
        });
        if is_pack_full {
            // The target can begin on it while the next is being filled.
            self.engine().poll();
        } else if has_joined {
            // Its wait has nothing to write.
            self.engine().spare_poll();
        }
        is_complete
    }

    /// [`Window::joins_stream`] while there is a pack: the fast path of such a stream, for a call that has not begun for an observer.
    #[inline]
    pub(super) fn joins_with_request(&self, target: Rank, small: Option<&Small>) -> bool {
        self.has_pack()
            && small
                .filter(|_| !self.engine().observation().is_on())
                .is_some_and(|small| self.joins_stream(target, small, |_| false))
    }

    /// Looks at the window, of which nothing but operations changes; `false` when it is gone.
    #[inline]
    fn with_operations(
        &self,
        change: impl FnOnce(&mut dyn Channel, &mut State, &mut WindowState) -> bool,
    ) -> bool {
        self.engine().with(|core| operations(self, core, change))
    }

    /// Makes a call that fetches: it leaves now, or is queued as soon as there is an element for it.
    #[cold]
    pub(super) fn post_fetch(&self, target: Rank, call: &'static str, fetch: FetchCall) -> Result<()> {
        let _call = self.trace(call, Some(target));
        if self.fetches_at_once(target, &fetch) {
            return Ok(());
        }
        self.post(target, call, || Operation::from(&fetch))
    }

    /// [`Window::post_fetch`] that answers `false` instead of waiting for an element.
    pub(super) fn try_post_fetch(&self, target: Rank, call: &'static str, fetch: FetchCall) -> Result<bool> {
        if self.fetches_at_once(target, &fetch) {
            return Ok(true);
        }
        self.try_post(target, call, Operation::from(&fetch)).map(|rest| rest.is_none())
    }

    fn fetches_at_once(&self, target: Rank, fetch: &FetchCall) -> bool {
        !self.shared().node_targets.is_empty()
            && self.with_operations(|channel, state, window| {
                fetch::send(channel, state, window, self.shared(), target, fetch)
            })
    }

    fn check_operation(
        &self,
        pools: &Pools,
        window: &WindowState,
        target: Rank,
        call: &'static str,
        op: &Operation,
    ) -> Result<()> {
        window.check(pools, Call::Operation(target), call)?;
        if self.shared().mapped(target).is_some() {
            // The table of legal calls has an epoch open, but the direct path was closed: the lock is still waited for.
            let cause = format!("the epoch to rank {target} is being opened by another thread");
            return Err(Error::new(ErrorClass::RmaSync, call, cause));
        }
        self.check_range(target, call, op)
    }

    /// Whether the operation lies within the window, as far as this process knows.
    fn check_range(&self, target: Rank, call: &'static str, op: &Operation) -> Result<()> {
        if op.kind == OpKind::Unfinished {
            return Ok(());
        }
        let Some((size, unit)) = self.shared().memory_of(target) else { return Ok(()) };
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
