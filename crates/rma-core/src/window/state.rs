//! A window's part of the engine: everything that is used under the engine's lock.
//!
//! Two roles stand side by side and share no field: the origin's (epoch, table, errors to raise) and the target's (lock
//! queue, bodies being received).

use super::shared::Shared;
use crate::epoch::{Call, WindowEpoch, check};
use crate::error::{Error, Result};
use crate::host::HostRequest;
use crate::pool::LocalShare;
use crate::progress::Pools;
use crate::table::Table;
use crate::target::TargetRole;
use std::sync::Arc;

/// One window under the engine's lock.
pub(crate) struct WindowState {
    pub(crate) shared: Arc<Shared>,
    pub(crate) epoch: WindowEpoch,
    pub(crate) table: Table,
    /// The window's reserved operation elements.
    pub(crate) op_share: LocalShare,
    /// The window's reserved target elements.
    pub(crate) target_share: LocalShare,
    /// The barrier of a fence that did not wait for it.
    pub(crate) opening: Option<HostRequest>,
    /// Something may be issued: look at the table.
    pub(crate) dirty: bool,
    /// An element was wanted and not to be had: hold nothing back until one was taken.
    pub(crate) pressure: bool,
    /// An error that arrived, to be raised by the next synchronization call.
    pub(crate) error: Option<Error>,
    pub(crate) target: TargetRole,
}

impl WindowState {
    pub(crate) fn new(
        shared: Arc<Shared>,
        slots: usize,
        op_share: LocalShare,
        target_share: LocalShare,
    ) -> Self {
        Self {
            shared,
            epoch: WindowEpoch::new(),
            table: Table::new(slots),
            op_share,
            target_share,
            opening: None,
            dirty: false,
            pressure: false,
            error: None,
            target: TargetRole::default(),
        }
    }

    /// Whether the call is legal now; see [`check`].
    pub(crate) fn check(&self, pools: &Pools, call: Call, name: &'static str) -> Result<()> {
        let is_pending = matches!(call, Call::Lock(_) | Call::Free) && self.table.is_busy(&pools.targets);
        check(&self.epoch, call, name, is_pending).map_err(|error| match &self.error {
            // An epoch that has ended with a failure: the failure is what the user must know.
            Some(cause) => cause.clone().in_call(name),
            None => error,
        })
    }

    /// Keeps the first error until a synchronization call raises it.
    pub(crate) fn note_error(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    /// Ends a synchronization call: raises what went wrong since the last one.
    pub(crate) fn raise(&mut self, call: &'static str) -> Result<()> {
        match self.error.take() {
            None => Ok(()),
            Some(error) => Err(error.in_call(call)),
        }
    }

    /// Whether a step of the engine has anything to do here.
    pub(crate) fn is_active(&self) -> bool {
        self.dirty || self.opening.is_some() || self.target.has_waiters()
    }
}
