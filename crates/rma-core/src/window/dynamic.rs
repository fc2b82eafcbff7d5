//! Attaching memory to a dynamic window and detaching it: local calls (MPI 4.1 §12.2.4).

use super::calls::Window;
use crate::error::{Error, ErrorClass, Result};
use crate::mem::WriteSpan;
use crate::state::{EarlierUses, Regions, gone};

/// Memory that is being detached.
#[derive(Debug)]
#[must_use = "the memory may be used until this is over"]
pub struct Detaching(EarlierUses);

impl Detaching {
    /// Whether every transfer that was under way has ended. Moves nothing.
    pub fn is_over(&self) -> bool {
        self.0.are_over()
    }
}

impl Window {
    /// `MPI_Win_attach`: the memory becomes accessible at the displacements that are its addresses.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_FLAVOR` when the window is not dynamic, `MPI_ERR_RMA_ATTACH` when part of the memory is attached,
    /// `MPIX_ERR_REVOKED`.
    ///
    /// # Safety
    /// The memory must stay mapped, readable and writable until [`Window::detach`] has returned or the window is freed.
    pub unsafe fn attach(&self, memory: WriteSpan) -> Result<()> {
        self.regions("win_attach")?.attach(memory, "win_attach")
    }

    /// `MPI_Win_detach`: the memory attached at address `base` is no part of the window any more. When the call returns,
    /// the library touches it no longer: transfers under way are waited for, and later ones are `MPI_ERR_RMA_RANGE` at their origins.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_FLAVOR` when the window is not dynamic, `MPI_ERR_BASE` when no attached memory begins at `base`,
    /// `MPIX_ERR_REVOKED`: then freeing the window detaches.
    pub fn detach(&self, base: usize) -> Result<()> {
        const CALL: &str = "win_detach";
        let detaching = self.begin_detach(base)?;
        let window = self.engine().observation().describe_window(self.id());
        let describe = |_: &_| format!("transfers into the memory at {base:#x} of {window} to end").into();
        self.engine().wait(CALL, &describe, &mut |_| Ok(detaching.is_over().then_some(())))
    }

    /// The steps of [`Window::detach`]: the memory is no part of the window any more, and [`Detaching::is_over`] says when
    /// the library touches it no longer.
    ///
    /// # Errors
    /// As [`Window::detach`].
    pub fn begin_detach(&self, base: usize) -> Result<Detaching> {
        const CALL: &str = "win_detach";
        let regions = self.regions(CALL)?;
        // Under the engine's lock no handler is between finding memory and noting its use.
        let earlier = self.engine().with(|_| regions.detach(base, CALL))?;
        // A direct access by another thread ends without a step of the engine.
        earlier.wake(self.engine().wake_handle());
        Ok(Detaching(earlier))
    }

    fn regions(&self, call: &'static str) -> Result<&Regions> {
        self.engine().with(|core| match core.windows.get(self.id()) {
            Some(window) => window.check_open(call),
            None => Err(gone(call)),
        })?;
        self.shared().own().regions.as_deref().ok_or_else(|| {
            let cause = format!("the window's flavor is {:?}, but must be Dynamic", self.flavor());
            Error::new(ErrorClass::RmaFlavor, call, cause)
        })
    }
}
