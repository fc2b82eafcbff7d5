//! Attaching memory to a dynamic window and detaching it: local calls (MPI 4.1 §12.2.4).

use super::Window;
use crate::error::{Error, ErrorClass, Result};
use crate::state::{EarlierUses, Regions, gone};

/// Memory that is being detached.
#[derive(Debug)]
#[must_use = "the memory may be used until this is over"]
pub struct Detaching(pub(super) EarlierUses);

impl Detaching {
    /// Whether every transfer that was under way has ended. Moves nothing.
    pub fn is_over(&self) -> bool {
        self.0.are_over()
    }
}

/// The attached memory of a dynamic window that is open to calls.
pub(super) fn regions<'a>(handle: &'a Window, call: &'static str) -> Result<&'a Regions> {
    handle.engine().with(|core| match core.windows.get(handle.id()) {
        Some(window) => window.check_open(call),
        None => Err(gone(call)),
    })?;
    handle.shared().own().regions.as_deref().ok_or_else(|| {
        let cause = format!("the window's flavor is {:?}, but must be Dynamic", handle.flavor());
        Error::new(ErrorClass::RmaFlavor, call, cause)
    })
}
