//! A notified put on mapped memory, where every instruction counts: its target waits for it, so all of it is time between the two.
//!
//! As the other calls of a [`DirectPath`] it has done nothing, and says so, when there is more to do: [`super::Notifying`] sees to that.

use crate::ids::{Disp, Rank};
use crate::mem::ReadSpan;
use crate::window::DirectPath;

impl DirectPath<'_> {
    /// [`super::Notifying::put`], where it is a copy and a step on a counter; `None` when it has not been done. Else whether a thread of the
    /// target may sleep until the counter changes: the caller has it look again by [`crate::window::Window::wake_notified`].
    #[inline(always)] // a call to it costs as much as half of it
    pub fn try_put_notify(&self, origin: ReadSpan, target: Rank, disp: Disp, counter: u32) -> Option<bool> {
        let block = self.shared().notification.of(target)?;
        if counter >= block.in_use() || !self.is_locked(target) || !self.try_put(origin, target, disp) {
            return None;
        }
        Some(block.raise(counter))
    }
}
