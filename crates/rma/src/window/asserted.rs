//! Epochs of which the program promises something (the assertions of MPI 3.1 §11.5.5), as types that check what can be checked.
//!
//! Fences in which nothing precedes or follows are the scopes' own business. `MPI_MODE_NOPUT` and `MPI_MODE_NOSTORE` hold of an epoch
//! whose handle can only read. `MPI_MODE_NOCHECK` is the program's word: breaking it is an error or leaves values in disorder, and
//! reaches no memory outside the window.

use super::active::{AccessEpoch, access, expose};
use super::epoch::Epoch;
use super::layout::Layout;
use super::lock::{Locked, with_lock};
use super::lock_all::{LockAll, with_all};
use super::operations::WindowParts;
use super::rank::IntoRank;
use super::typed::Window;
use super::{Exposure, Fence, scope};
use crate::elements::Element;
use rma_core::epoch::{Assert, LockKind};
use rma_core::{Error, Result};
use std::fmt;

/// The handle of an epoch in which all ranks only read ([`Window::read_epoch`]).
pub struct ReadEpoch<'scope, T>(Epoch<'scope, T, Fence>);

/// A window whose next epoch meets no other that it would exclude, as the program says. Made by [`Window::unchecked`].
pub struct Unchecked<'w, 'world, T, E>(&'w mut Window<'world, T, E>);

/// Runs `body` between two fences that say that no rank writes.
pub(super) fn with_reads<'scope, T: Element, R, E: From<Error>>(
    parts: &'scope WindowParts<T>,
    body: impl FnOnce(&ReadEpoch<'scope, T>) -> Result<R, E>,
) -> Result<R, E> {
    parts.core.call(|window| window.fence(Assert::NO_PRECEDE.with(Assert::NO_PUT)))?;
    let epoch = ReadEpoch(Epoch::active(parts));
    let last = Assert::NO_SUCCEED.with(Assert::NO_STORE);
    scope::epoch(parts, || body(&epoch), || parts.core.call(|window| window.fence(last)))
}

impl<'w, 'world, T: Element, E: From<Error>> Unchecked<'w, 'world, T, E> {
    pub(super) fn new(window: &'w mut Window<'world, T, E>) -> Self {
        Self(window)
    }

    /// As [`Window::exclusive`].
    ///
    /// # Errors
    /// As [`Window::exclusive`].
    pub fn exclusive<R>(
        self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'w, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.0.opened("lock")?, LockKind::Exclusive, target, Assert::NO_CHECK, body)
    }

    /// As [`Window::shared`].
    ///
    /// # Errors
    /// As [`Window::shared`].
    pub fn shared<R>(
        self,
        target: impl IntoRank,
        body: impl FnOnce(&Locked<'w, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        with_lock(self.0.opened("lock")?, LockKind::Shared, target, Assert::NO_CHECK, body)
    }

    /// As [`Window::lock_all`].
    ///
    /// # Errors
    /// As [`Window::lock_all`].
    pub fn lock_all<R>(self, body: impl FnOnce(&LockAll<'w, T>) -> Result<R, E>) -> Result<R, E> {
        with_all(self.0.opened("lock_all")?, Assert::NO_CHECK, body)
    }

    /// As [`Window::access`], to targets that have all called [`Unchecked::expose`] before.
    ///
    /// # Errors
    /// As [`Window::access`]; `MPI_ERR_RMA_SYNC` when a target had not exposed its memory.
    pub fn access<R>(
        self,
        targets: &[impl IntoRank],
        body: impl FnOnce(&AccessEpoch<'w, T>) -> Result<R, E>,
    ) -> Result<R, E> {
        access(self.0.opened("start")?, targets, Assert::NO_CHECK, body)
    }

    /// As [`Window::expose`], to origins that call [`Unchecked::access`], or open their epoch within such an exposure.
    ///
    /// # Errors
    /// As [`Window::expose`].
    pub fn expose<R>(
        self,
        origins: &[impl IntoRank],
        body: impl FnOnce(&mut Exposure<'w, T, E>) -> Result<R, E>,
    ) -> Result<R, E> {
        expose(self.0.opened("post")?, origins, Assert::NO_CHECK, body)
    }
}

impl<'scope, T: Element> ReadEpoch<'scope, T> {
    /// As [`Epoch::get`].
    ///
    /// # Errors
    /// As [`Epoch::get`].
    #[inline]
    pub fn get(&self, result: &'scope mut [T], target: impl IntoRank, disp: usize) -> Result<()> {
        self.0.get(result, target, disp)
    }

    /// As [`Epoch::get_layout`].
    ///
    /// # Errors
    /// As [`Epoch::get_layout`].
    pub fn get_layout(
        &self,
        result: &'scope mut [T],
        into: &Layout<T>,
        target: impl IntoRank,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.0.get_layout(result, into, target, disp, from)
    }
}

impl<T> fmt::Debug for ReadEpoch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T, E> fmt::Debug for Unchecked<'_, '_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unchecked {:?}", self.0)
    }
}
