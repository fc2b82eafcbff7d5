//! A request that is complete when a counter has come to a number, for waits of many kinds of requests.

use super::waits::{CounterSleep, Notifications};
use crate::error::Result;
use crate::host::Awaited;
use crate::state::left_error;
use crate::window::Window;

/// That a counter of this rank comes to a number. While it lives, origins wake this process when they raise one.
#[derive(Debug)]
pub struct NotificationRequest {
    window: Window,
    counter: u32,
    number: u64,
}

const CALL: &str = "notification_request";

impl NotificationRequest {
    /// A request that is complete when counter `counter` of this rank is at `number` or more.
    ///
    /// # Errors
    /// `MPIX_ERR_RMA_NOTIFICATION` when there is no such counter.
    pub fn new(window: &Window, counter: u32, number: u64) -> Result<Self> {
        let block = Notifications::of(window).checked(CALL, counter..counter.saturating_add(1))?;
        // It may be asked for when its thread sleeps, which no request knows.
        std::mem::forget(CounterSleep::new(block));
        Ok(Self { window: window.clone(), counter, number })
    }

    /// Whether the counter has come so far. Moves nothing, and takes no lock.
    ///
    /// # Errors
    /// As [`Notifications::wait`].
    pub fn is_complete(&self) -> Result<bool> {
        let (shared, engine) = (self.window.shared(), self.window.engine());
        let block = shared.notification.own();
        let is_there = || block.is_some_and(|block| block.value(self.counter) >= self.number);
        if is_there() {
            return Ok(true);
        }
        let left = Notifications::of(&self.window).have_all_left();
        let checked = match left {
            // In this order: what they have raised is raised then.
            Some(rank) if !is_there() => Err(left_error(engine.host(), shared, rank, CALL)),
            Some(_) => Ok(true),
            None => shared.notification.check(CALL).map(|()| false),
        };
        checked.map_err(|error| error.in_window(self.window.id()))
    }

    /// Moves the engine a step, and looks.
    ///
    /// # Errors
    /// As [`NotificationRequest::is_complete`].
    pub fn test(&self) -> Result<bool> {
        self.window.engine().poll();
        self.is_complete()
    }

    /// Waits until the counter has come so far.
    ///
    /// # Errors
    /// As [`NotificationRequest::is_complete`].
    pub fn wait(&self) -> Result<()> {
        Notifications::of(&self.window).wait(self.counter, self.number).map(drop)
    }

    /// What its end needs, for waits of many kinds of requests.
    pub fn awaited(&self) -> Awaited {
        let Self { counter, number, .. } = self;
        Notifications::of(&self.window).awaited(format!("counter {counter} to come to {number}"))
    }
}

impl Drop for NotificationRequest {
    fn drop(&mut self) {
        if let Some(block) = self.window.shared().notification.own() {
            block.end_sleep();
        }
    }
}
