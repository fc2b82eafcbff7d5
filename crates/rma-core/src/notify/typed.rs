//! The same calls with datatypes on both sides, with and without requests.
//!
//! Memory is given as raw addresses, so the calls are `unsafe`, as those of [`crate::window`] of the same names.

use super::operations::Notifying;
use crate::error::Result;
use crate::ids::Rank;
use crate::kernel::ReduceOp;
use crate::mem::{ReadSpan, WriteSpan};
use crate::window::requests::{requested, try_requested};
use crate::window::scattered::{self, Mode};
use crate::window::{Destination, OperationRequest, Origin, TargetArea};

macro_rules! forms {
    ($(
        $text:literal, $form:path, $name:literal, $named_request:literal,
        $plain:ident, $try_plain:ident, $request:ident, $try_request:ident($($argument:ident: $ty:ty),*);
    )*) => {
        impl Notifying<'_> {
            $(
                #[doc = $text]
                ///
                /// # Errors
                /// As the call without a notice, and as [`Notifying::put`].
                ///
                /// # Safety
                /// As the call without a notice.
                pub unsafe fn $plain(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<()> {
                    // SAFETY: the caller's promise.
                    let begin = |mode| unsafe { $form(self.window, $($argument,)* target, area, mode) };
                    self.carry_out($name, target, (area.count, area.ty), Mode::WAIT, begin).map(drop)
                }

                /// The same, but answers `false` instead of waiting for an operation element.
                ///
                /// # Errors
                /// As the call that waits.
                ///
                /// # Safety
                /// As the call that waits.
                pub unsafe fn $try_plain(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<bool> {
                    // SAFETY: the caller's promise.
                    let begin = |mode| unsafe { $form(self.window, $($argument,)* target, area, mode) };
                    let outcome = self.carry_out($name, target, (area.count, area.ty), Mode::TRY, begin)?;
                    Ok(outcome.is_accepted())
                }

                /// The same with a request.
                ///
                /// # Errors
                /// As the call without one.
                ///
                /// # Safety
                /// As the call without a notice.
                pub unsafe fn $request(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<OperationRequest> {
                    // SAFETY: the caller's promise.
                    let begin = |mode| unsafe { $form(self.window, $($argument,)* target, area, mode) };
                    let elements = (area.count, area.ty);
                    let begin = || self.carry_out($named_request, target, elements, Mode::REQUEST, begin);
                    requested(self.window, $named_request, target, begin)
                }

                /// The same with a request, but answers `None` instead of waiting for an operation element.
                ///
                /// # Errors
                /// As the call that waits.
                ///
                /// # Safety
                /// As the call that waits.
                pub unsafe fn $try_request(
                    &self,
                    $($argument: $ty,)*
                    target: Rank,
                    area: TargetArea<'_>,
                ) -> Result<Option<OperationRequest>> {
                    // SAFETY: the caller's promise.
                    let begin = |mode| unsafe { $form(self.window, $($argument,)* target, area, mode) };
                    let elements = (area.count, area.ty);
                    let begin = || self.carry_out($named_request, target, elements, Mode::TRY_REQUEST, begin);
                    try_requested(self.window, $named_request, target, begin)
                }
            )*
        }
    };
}

forms! {
    "[`Window::put_typed`](crate::window::Window::put_typed) with a notice, whatever the layouts.",
    scattered::put, "put_notify", "rput_notify",
    put_blocks, try_put_typed, rput, try_rput(origin: Origin<'_>);
    "[`Window::get_typed`](crate::window::Window::get_typed) with a notice, whatever the layouts.",
    scattered::get, "get_notify", "rget_notify",
    get_blocks, try_get_typed, rget, try_rget(result: Destination<'_>);
    "[`Window::accumulate_typed`](crate::window::Window::accumulate_typed) with a notice.",
    scattered::accumulate, "accumulate_notify", "raccumulate_notify",
    accumulate, try_accumulate, raccumulate, try_raccumulate(origin: Origin<'_>, op: ReduceOp);
    "[`Window::get_accumulate`](crate::window::Window::get_accumulate) with a notice.",
    scattered::get_accumulate, "get_accumulate_notify", "rget_accumulate_notify",
    get_accumulate, try_get_accumulate, rget_accumulate, try_rget_accumulate(
        origin: Origin<'_>,
        result: Destination<'_>,
        op: ReduceOp
    );
}

impl Notifying<'_> {
    /// [`Window::put_typed`](crate::window::Window::put_typed) with a notice.
    ///
    /// # Errors
    /// As the call without a notice, and as [`Notifying::put`].
    ///
    /// # Safety
    /// As the call without a notice.
    pub unsafe fn put_typed(&self, origin: Origin<'_>, target: Rank, area: TargetArea<'_>) -> Result<()> {
        let len = origin.ty.dense_len(origin.count).filter(|len| area.ty.dense_len(area.count) == Some(*len));
        match len.and_then(|len| usize::try_from(len).ok()) {
            // SAFETY: the caller's promise, for bytes that lie side by side.
            Some(len) => self.put(unsafe { ReadSpan::new(origin.base, len) }, target, area.disp),
            // SAFETY: the caller's promise.
            None => unsafe { self.put_blocks(origin, target, area) },
        }
    }

    /// [`Window::get_typed`](crate::window::Window::get_typed) with a notice.
    ///
    /// # Errors
    /// As the call without a notice, and as [`Notifying::put`].
    ///
    /// # Safety
    /// As the call without a notice.
    pub unsafe fn get_typed(
        &self,
        result: Destination<'_>,
        target: Rank,
        area: TargetArea<'_>,
    ) -> Result<()> {
        let len = result.ty.dense_len(result.count).filter(|len| area.ty.dense_len(area.count) == Some(*len));
        match len.and_then(|len| usize::try_from(len).ok()) {
            // SAFETY: the caller's promise, for bytes that lie side by side.
            Some(len) => self.get(unsafe { WriteSpan::new(result.base, len) }, target, area.disp),
            // SAFETY: the caller's promise.
            None => unsafe { self.get_blocks(result, target, area) },
        }
    }
}
