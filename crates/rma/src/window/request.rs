//! Operations with requests (MPI 3.1 §11.3.5): each can be waited for by itself, before its epoch ends.
//!
//! A request has its buffer, and gives it back when the operation has ended. A borrow could not end there: a request that is
//! forgotten would end it too early. The buffer of a forgotten request is never released, that of a dropped one at the end of the scope.

use super::element::{Element, Number};
use super::lock::Locked;
use super::operations::{Parts, has_size};
use rma_core::datatype::{BasicType, Datatype};
use rma_core::ids::Disp;
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea};
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::mem::ManuallyDrop;

/// An operation under way, with its buffer.
///
/// Dropping it does not wait: the operation ends with its epoch.
#[must_use = "the request has the operation's buffer"]
pub struct Request<'scope, T> {
    operation: OperationRequest,
    parts: &'scope Parts<T>,
    /// There until it is given back.
    buffer: Option<Vec<T>>,
}

impl<T> Request<'_, T> {
    /// Whether the operation has ended; moves the engine a step.
    ///
    /// # Errors
    /// See [`rma_core::window::OperationRequest::is_complete`].
    pub fn test(&self) -> Result<bool> {
        self.operation.test()
    }

    /// Waits for the end of the operation, and gives the buffer back: a result is in it, an origin may be written again.
    ///
    /// # Errors
    /// As [`Request::test`].
    pub fn wait(mut self) -> Result<Vec<T>> {
        self.operation.wait()?;
        Ok(self.buffer.take().unwrap_or_default())
    }

    /// Waits for the end of all operations, and gives the buffers back in the same order.
    ///
    /// # Errors
    /// The first error; the other requests are dropped then.
    pub fn wait_all(requests: impl IntoIterator<Item = Self>) -> Result<Vec<Vec<T>>> {
        requests.into_iter().map(Self::wait).collect()
    }
}

impl<T> Drop for Request<'_, T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take()
            && !matches!(self.operation.is_complete(), Ok(true))
        {
            self.parts.values.keep_buffer(buffer);
        }
    }
}

impl<'scope, T: Element> Locked<'scope, T> {
    /// Begins to store `buffer` at displacement `disp` (`MPI_Rput`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rput`].
    pub fn rput(&self, buffer: Vec<T>, disp: usize) -> Result<Request<'scope, T>> {
        let bytes = Datatype::basic(BasicType::Byte);
        let (count, disp) = (size_of_val(buffer.as_slice()) as u64, Disp(disp as u64));
        let origin = Origin { base: buffer.as_ptr().cast(), count, ty: &bytes };
        let area = TargetArea { disp, count, ty: &bytes };
        // SAFETY: the request has the buffer until the operation has ended; see `requested`.
        self.requested(buffer, || unsafe { self.parts().core.rput(origin, self.target(), area) })
    }

    /// Begins to fill `buffer` from displacement `disp` (`MPI_Rget`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(2)?;
    ///     window.local().set(1, 5 * u64::from(world.rank()));
    ///     world.barrier()?;
    ///     window.lock_all(|all| {
    ///         let requests = (0..4).map(|rank| all.rank(rank)?.rget(vec![0], 1)).collect::<Result<Vec<_>, _>>()?;
    ///         let values = rma::window::Request::wait_all(requests)?;
    ///         // The locks are still held.
    ///         assert_eq!(values, [[0], [5], [10], [15]]);
    ///         Ok(())
    ///     })?;
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rget`].
    pub fn rget(&self, mut buffer: Vec<T>, disp: usize) -> Result<Request<'scope, T>> {
        let bytes = Datatype::basic(BasicType::Byte);
        let (count, disp) = (size_of_val(buffer.as_slice()) as u64, Disp(disp as u64));
        let result = Destination { base: buffer.as_mut_ptr().cast(), count, ty: &bytes };
        let area = TargetArea { disp, count, ty: &bytes };
        // SAFETY: as for `rput`; every bit pattern is an element.
        self.requested(buffer, || unsafe { self.parts().core.rget(result, self.target(), area) })
    }

    /// Begins an operation on `buffer`.
    fn requested(
        &self,
        buffer: Vec<T>,
        begin: impl FnOnce() -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T>> {
        // Should the call panic, the buffer is not released.
        let buffer = ManuallyDrop::new(buffer);
        let started = begin();
        let buffer = ManuallyDrop::into_inner(buffer);
        // An operation that is refused uses nothing of it.
        Ok(Request { operation: started?, parts: self.parts(), buffer: Some(buffer) })
    }
}

impl<'scope, T: Number> Locked<'scope, T> {
    /// Begins to combine `buffer` with the elements from displacement `disp` on, each in one atomic step (`MPI_Raccumulate`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::raccumulate`].
    pub fn raccumulate(&self, buffer: Vec<T>, op: ReduceOp, disp: usize) -> Result<Request<'scope, T>> {
        let ty = Datatype::basic(T::BASIC);
        let (count, disp) = (buffer.len() as u64, Disp(disp as u64));
        let origin = Origin { base: buffer.as_ptr().cast(), count, ty: &ty };
        let area = TargetArea { disp, count, ty: &ty };
        has_size::<T>("raccumulate")?;
        // SAFETY: as for `rput`.
        self.requested(buffer, || unsafe { self.parts().core.raccumulate(origin, op, self.target(), area) })
    }

    /// As [`Target::raccumulate`](super::Target::raccumulate) with `origin`, and begins to fill `buffer`, which is as long, with what
    /// the elements were before (`MPI_Rget_accumulate`).
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rget_accumulate`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn rget_accumulate(
        &self,
        origin: &'scope [T],
        mut buffer: Vec<T>,
        op: ReduceOp,
        disp: usize,
    ) -> Result<Request<'scope, T>> {
        const CALL: &str = "rget_accumulate";
        has_size::<T>(CALL)?;
        if origin.len() != buffer.len() {
            let cause = format!("{} elements to combine and room for {}", origin.len(), buffer.len());
            return Err(Error::new(ErrorClass::Count, CALL, cause));
        }
        let ty = Datatype::basic(T::BASIC);
        let (count, disp) = (buffer.len() as u64, Disp(disp as u64));
        let origin = Origin { base: origin.as_ptr().cast(), count, ty: &ty };
        let result = Destination { base: buffer.as_mut_ptr().cast(), count, ty: &ty };
        let area = TargetArea { disp, count, ty: &ty };
        // SAFETY: as for `rget`; the origin is borrowed for the scope.
        self.requested(buffer, || unsafe {
            self.parts().core.rget_accumulate(origin, result, op, self.target(), area)
        })
    }
}

impl<T> fmt::Debug for Request<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("operation", &self.operation).finish_non_exhaustive()
    }
}
