//! Revocation: every call on a window fails from then on, on all ranks.

use super::calls::Window;
use crate::state::WindowState;

impl Window {
    /// Makes every call on the window an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait,
    /// and those to come, but for [`Window::free`], which then waits for no rank and succeeds. Returns at
    /// once, and cannot be taken back. The memory stays until the window is freed.
    pub fn revoke(&self) {
        self.engine().with(|core| {
            let Some(mut context) = core.windows.borrow(&mut core.state, self.id()) else { return };
            let (state, window) = context.split();
            if !window.has_left() {
                state.revoke(window);
            }
        });
        // The others are notified now: the caller may not come back for long.
        self.engine().poll();
    }

    /// Whether it was revoked, as far as this process knows.
    pub fn is_revoked(&self) -> bool {
        self.engine().poll();
        self.engine().with(|core| core.windows.get(self.id()).is_some_and(WindowState::is_revoked))
    }
}
