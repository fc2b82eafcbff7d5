//! The target's side: what its counters are at, and waits for them.
//!
//! Counters are words of shared memory that other processes raise, or this one's engine. A wait looks without the engine's lock for
//! as long as an origin needs that is about to raise one, then goes on as every wait does, and says before it sleeps that
//! it will ([`crate::notification`], SYNC POINT N1).

use crate::error::{Error, ErrorClass, Result};
use crate::host::{Awaited, Need};
use crate::ids::Rank;
use crate::notification::CounterBlock;
use crate::progress::Core;
use crate::sync::watch;
use crate::window::Window;
use std::ops::Range;
use std::time::Duration;

/// This rank's counters of a window.
#[derive(Clone, Copy, Debug)]
pub struct Notifications<'a> {
    pub(super) window: &'a Window,
}

impl<'a> Notifications<'a> {
    /// This rank's counters of a window.
    #[inline]
    pub fn of(window: &'a Window) -> Self {
        Self { window }
    }

    /// How many are in use.
    pub fn in_use(&self) -> u32 {
        self.block().map_or(0, CounterBlock::in_use)
    }

    /// What a counter is at: so many operations that name it have ended here since it was at zero, and what they stored is seen.
    ///
    /// # Errors
    /// `MPIX_ERR_RMA_NOTIFICATION` when there is no such counter.
    pub fn value(&self, counter: u32) -> Result<u64> {
        let block = self.checked("notification_value", counter..counter.saturating_add(1))?;
        self.serve();
        Ok(block.value(counter))
    }

    /// What a counter is at, and sets it to zero in the same step.
    ///
    /// # Errors
    /// As [`Notifications::value`].
    pub fn take(&self, counter: u32) -> Result<u64> {
        let block = self.checked("notification_take", counter..counter.saturating_add(1))?;
        self.serve();
        Ok(block.take(counter))
    }

    /// Waits until a counter is at `number` or more; gives what it is at.
    ///
    /// # Errors
    /// As [`Notifications::value`]; `MPIX_ERR_PROC_FAILED` when a rank of the window is lost and the counter has not come so far, for
    /// it may be the one that would raise it; `MPI_ERR_PROC_ABORTED` when all others have ended their part; `MPIX_ERR_REVOKED`.
    #[inline]
    pub fn wait(&self, counter: u32, number: u64) -> Result<u64> {
        const CALL: &str = "notification_wait";
        let block = self.checked(CALL, counter..counter.saturating_add(1))?;
        let look = || Some(block.value(counter)).filter(|value| *value >= number);
        let describe =
            || format!("counter {counter}, which is at {}, to come to {number}", block.value(counter));
        let value = self.wait_for(CALL, block, None, &describe, look)?;
        Ok(value.expect("a wait without a limit ends with a value"))
    }

    /// Waits until any counter of a range is at `number` or more, at most for `limit`; gives the first that is.
    ///
    /// # Errors
    /// As [`Notifications::wait`]; `MPI_ERR_ARG` when the range is empty.
    pub fn wait_any(
        &self,
        counters: Range<u32>,
        number: u64,
        limit: Option<Duration>,
    ) -> Result<Option<u32>> {
        const CALL: &str = "notification_wait_any";
        if counters.is_empty() {
            let error = Error::new(ErrorClass::Arg, CALL, format!("no counter is in {counters:?}"));
            return Err(error.in_window(self.window.id()));
        }
        let block = self.checked(CALL, counters.clone())?;
        let look = || counters.clone().find(|counter| block.value(*counter) >= number);
        let describe = || format!("one of the counters {counters:?} to come to {number}");
        self.wait_for(CALL, block, limit, &describe, look)
    }

    /// The counters, if all of a range are in use.
    #[inline]
    pub(super) fn checked(&self, call: &'static str, counters: Range<u32>) -> Result<CounterBlock<'a>> {
        match self.block() {
            Some(block) if counters.end <= block.in_use() => Ok(block),
            _ => Err(self.no_such(call, counters)),
        }
    }

    #[cold]
    fn no_such(&self, call: &'static str, counters: Range<u32>) -> Error {
        let last = counters.end.saturating_sub(1);
        let cause = format!("counter {last} is not among the {} that this rank has in use", self.in_use());
        let error = Error::new(ErrorClass::RmaNotification, call, cause);
        error.with_limit(self.in_use().into()).in_window(self.window.id())
    }

    fn block(&self) -> Option<CounterBlock<'a>> {
        self.window.shared().notification.own()
    }

    /// A loop of calls that do not wait serves this process's peers.
    fn serve(&self) {
        if self.window.shared().are_all_fast() {
            self.window.poll_throttled();
        } else {
            self.window.engine().poll();
        }
    }

    #[inline]
    fn wait_for<T>(
        &self,
        call: &'static str,
        block: CounterBlock<'_>,
        limit: Option<Duration>,
        describe: &dyn Fn() -> String,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>> {
        let shared = self.window.shared();
        let (mut found, maps_others) = (look(), shared.maps_others());
        if found.is_some() || maps_others {
            // Before the looks that spin: the program waits for what comes behind the last of them.
            self.window.poll_throttled();
        }
        if found.is_none() && maps_others && limit.is_none_or(|limit| !limit.is_zero()) {
            let _ = self.window.engine().look_for(|| {
                found = look();
                found.is_some()
            });
        }
        if found.is_some() {
            return Ok(found);
        }
        self.wait_long(call, block, limit, describe, &mut look)
    }

    #[cold]
    fn wait_long<T>(
        &self,
        call: &'static str,
        block: CounterBlock<'_>,
        limit: Option<Duration>,
        describe: &dyn Fn() -> String,
        look: &mut dyn FnMut() -> Option<T>,
    ) -> Result<Option<T>> {
        let (engine, shared) = (self.window.engine(), self.window.shared());
        let _call = self.window.trace(call, None);
        let deadline = limit.map(|limit| engine.host().now().saturating_add(limit));
        let describe = |_: &Core| self.awaited(describe());
        let mut sleeper = None;
        let found = engine.wait_for(call, !shared.maps_others(), &describe, &mut |core| {
            let Core { state, windows, .. } = core;
            if !state.is_spinning && sleeper.is_none() {
                sleeper = Some(CounterSleep::new(block));
            }
            // In this order: what they have raised is raised then.
            let left = if state.is_spinning { None } else { self.have_all_left() };
            if let Some(value) = look() {
                return Ok(Some(Some(value)));
            }
            let is_late = deadline.is_some_and(|deadline| state.host.now() >= deadline);
            if (is_late || !state.is_spinning) && shared.notification.begin_meeting() {
                let size = shared.group.size();
                // More ranks than fences have packets for are left to the launcher.
                let others = if u64::from(size) <= state.config.fence_packets { size } else { 0 };
                let node = shared.node_ranks().map(|of| of.rank).filter(|rank| rank.0 >= others);
                let all: Vec<_> = (0..others).map(Rank).chain(node).collect();
                if let Some(mut context) = windows.borrow(state, shared.id) {
                    let (state, window) = context.split();
                    watch(state, window, all.into_iter());
                }
            }
            shared.notification.check(call)?;
            if let Some(rank) = left {
                return Err(state.left_error(shared, rank, call));
            }
            if is_late {
                return Ok(Some(None));
            }
            if !state.is_spinning {
                state.look_again_by(deadline);
            }
            Ok(None)
        });
        found.map_err(|error| error.in_window(self.window.id()))
    }

    /// Another rank, if all others have ended their part, so that none of them raises a counter any more.
    pub(super) fn have_all_left(&self) -> Option<Rank> {
        let (shared, host) = (self.window.shared(), self.window.engine().host());
        let mut others = (0..shared.group.size()).map(Rank).filter(|rank| *rank != shared.group.me());
        let first = others.clone().next()?;
        let has_left = |rank| match shared.mapped(rank) {
            Some(mapped) => mapped.control.has_left(),
            None => host.has_left(shared.group.peer(rank)),
        };
        others.all(has_left).then_some(first)
    }

    /// What a wait of this rank needs: any of the others may bring it.
    pub(super) fn awaited(&self, what: String) -> Awaited {
        let group = &self.window.shared().group;
        let name = self.window.engine().observation().describe_window(self.window.id());
        let others = (0..group.size()).map(Rank).filter(|rank| *rank != group.me());
        let others = others.map(|rank| Some(group.peer(rank))).collect();
        Awaited::one(format!("{what} ({name})"), Need::Requests(others))
    }
}

/// A thread that may sleep until a counter changes.
pub(super) struct CounterSleep<'a>(CounterBlock<'a>);

impl<'a> CounterSleep<'a> {
    pub(super) fn new(block: CounterBlock<'a>) -> Self {
        block.begin_sleep();
        Self(block)
    }
}

impl Drop for CounterSleep<'_> {
    fn drop(&mut self) {
        self.0.end_sleep();
    }
}
