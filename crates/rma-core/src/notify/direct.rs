//! A notified put on mapped memory and the wait for it, where every instruction counts: what lies between the origin's call and the
//! return of the target's is all time that a program waits.
//!
//! As the other calls of a [`DirectPath`] they have done nothing, and say so, when there is more to do: [`super::Notifying`] and
//! [`super::Notifications`] see to that.

use crate::ids::{Disp, Rank};
use crate::mem::ReadSpan;
use crate::window::DirectPath;

impl DirectPath<'_> {
    /// [`super::Notifying::put`], where it is a copy and a step on a counter; `None` when it has not been done. Else whether a thread of the
    /// target may sleep until the counter changes: the caller has it look again by [`super::wake`].
    #[inline(always)] // a call to it costs as much as half of it
    pub fn try_put_notify(&self, origin: ReadSpan, target: Rank, disp: Disp, counter: u32) -> Option<bool> {
        let mapped = self.mapped(target).filter(|mapped| mapped.gate.is_locked())?;
        let place = mapped.place(disp, origin.len())?;
        let block = self.shared().notification.of(target)?;
        if counter >= block.in_use() {
            return None;
        }
        // No store is noted as still to be ordered: the step on the counter orders it.
        self.shared().domain(mapped).put(place, origin);
        Some(block.raise(counter))
    }

    /// [`super::Notifications::wait`], where the counter is there, or comes there while an origin needs that is about to raise it; `None` when
    /// it takes longer, or channels are to be served first.
    #[inline(always)] // as above
    pub fn try_wait_notify(&self, counter: u32, number: u64) -> Option<u64> {
        let block = self.shared().notification.own()?;
        if counter >= block.in_use() || !self.pass() {
            return None;
        }
        let mut found = None;
        let mut look = || {
            found = Some(block.value(counter)).filter(|value| *value >= number);
            found.is_some()
        };
        if !look() && self.shared().maps_others() {
            self.engine.look_spinning(look);
        }
        found
    }
}
