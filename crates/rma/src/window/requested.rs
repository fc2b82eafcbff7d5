//! The calls that begin operations with requests (MPI 3.1 §11.3.5).

use super::buffer::{Buffer, OriginBuffer, ResultBuffer};
use super::layout::Layout;
use super::lock::Locked;
use super::request::Request;
use crate::elements::{Element, Number, has_size};
use rma_core::datatype::{BasicType, Datatype};
use rma_core::ids::Disp;
use rma_core::kernel::ReduceOp;
use rma_core::notify::Notifying;
use rma_core::window::{Destination, OperationRequest, Origin, TargetArea, Window};
use rma_core::{Error, ErrorClass, Result};
use std::mem::ManuallyDrop;

impl<'scope, T: Element> Locked<'scope, T> {
    /// Begins to store `buffer` at displacement `disp` (`MPI_Rput`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(4)?;
    ///     let me = world.rank();
    ///     window.lock_all(|all| {
    ///         let put = |rank: u32| all.rank(rank)?.rput(vec![u64::from(me)], me as usize);
    ///         let requests = (0..4).map(put).collect::<Result<Vec<_>, _>>()?;
    ///         // The buffers are back.
    ///         assert_eq!(rma::window::Request::wait_all(requests)?, [[u64::from(me)]; 4]);
    ///         Ok(())
    ///     })?;
    ///     world.barrier()?;
    ///     assert_eq!(window.local().to_vec(), [0, 1, 2, 3]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rput`].
    pub fn rput<B: OriginBuffer<'scope, T>>(&self, buffer: B, disp: usize) -> Result<Request<'scope, T, B>> {
        // SAFETY: the request has the buffer until the operation has ended; see `requested`.
        self.of_origin(buffer, disp, |window, origin, area| unsafe {
            window.rput(origin, self.target(), area)
        })
    }

    /// Begins to fill `buffer` from displacement `disp` (`MPI_Rget`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(2)?;
    ///     window.local().set(1, 5 * u64::from(world.rank()));
    ///     world.barrier()?;
    ///     let mut mine = [0];
    ///     window.lock_all(|all| {
    ///         let requests = (0..4).map(|rank| all.rank(rank)?.rget(vec![0], 1)).collect::<Result<Vec<_>, _>>()?;
    ///         let values = rma::window::Request::wait_all(requests)?;
    ///         // The locks are still held.
    ///         assert_eq!(values, [[0], [5], [10], [15]]);
    ///         // A buffer that is borrowed for the epoch can be used when the request has given it back.
    ///         let mine = all.rank(3)?.rget(&mut mine, 1)?.wait()?;
    ///         assert_eq!(*mine, [15]);
    ///         mine[0] += 1;
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(mine, [16]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rget`].
    pub fn rget<B: ResultBuffer<'scope, T>>(&self, buffer: B, disp: usize) -> Result<Request<'scope, T, B>> {
        // SAFETY: as for `rput`; every bit pattern is an element.
        self.of_result(buffer, disp, |window, result, area| unsafe {
            window.rget(result, self.target(), area)
        })
    }

    /// As [`Target::rput`](super::Target::rput), and raises counter `counter` of the rank by one when the data are there
    /// (`MPIX_Rput_notify`). The request ends at this rank, and its buffer may be filled anew:
    ///
    /// ```
    /// rma::World::run_threads(2, |world| {
    ///     let mut window = world.allocate::<u64>(3)?;
    ///     window.set_notifications(1)?;
    ///     let (me, other) = (world.rank(), 1 - world.rank());
    ///     window.shared(other, |locked| {
    ///         let mut buffer = vec![0; 1];
    ///         for step in 0..3 {
    ///             buffer[0] = 10 * step as u64 + u64::from(me);
    ///             buffer = locked.rput_notify(buffer, step, 0)?.wait()?;
    ///         }
    ///         Ok(())
    ///     })?;
    ///     window.notifications().wait(0, 3)?;
    ///     assert_eq!(window.local().to_vec(), [0, 10, 20].map(|tens| tens + u64::from(other)));
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::rput`](super::Target::rput) and [`Target::put_notify`](super::Target::put_notify).
    pub fn rput_notify<B: OriginBuffer<'scope, T>>(
        &self,
        buffer: B,
        disp: usize,
        counter: u32,
    ) -> Result<Request<'scope, T, B>> {
        self.of_origin(buffer, disp, |window, origin, area| {
            // SAFETY: as for `rput`.
            unsafe { Notifying::of(window, counter).rput(origin, self.target(), area) }
        })
    }

    /// As [`Target::rget`](super::Target::rget), and raises counter `counter` of the rank by one when the data have been read there
    /// (`MPIX_Rget_notify`).
    ///
    /// ```
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let me = world.rank();
    ///     window.local().set(0, u64::from(me));
    ///     world.barrier()?;
    ///     let left = (me + 3) % 4;
    ///     let got = window.shared(left, |locked| locked.rget_notify(vec![0], 0, 0)?.wait())?;
    ///     assert_eq!(got, [u64::from(left)]);
    ///     // This rank's own has been read, and may be written anew.
    ///     window.notifications().wait(0, 1)?;
    ///     window.local().set(0, 9);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::rput_notify`](super::Target::rput_notify).
    pub fn rget_notify<B: ResultBuffer<'scope, T>>(
        &self,
        buffer: B,
        disp: usize,
        counter: u32,
    ) -> Result<Request<'scope, T, B>> {
        self.of_result(buffer, disp, |window, result, area| {
            // SAFETY: as for `rget`.
            unsafe { Notifying::of(window, counter).rget(result, self.target(), area) }
        })
    }

    /// As [`Target::rput`](super::Target::rput), with layouts as in [`Epoch::put_layout`](super::Epoch::put_layout).
    ///
    /// # Errors
    /// As both.
    pub fn rput_layout<B: OriginBuffer<'scope, T>>(
        &self,
        buffer: B,
        from: &Layout<T>,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            let (base, len) = B::origin(kept);
            from.check("rput", len)?;
            let origin = Origin { base: base.cast(), count: 1, ty: from.bytes() };
            // SAFETY: as for `rput`; the layout lies within the buffer.
            unsafe { window.rput(origin, self.target(), to.area(disp)) }
        })
    }

    /// As [`Target::rget`](super::Target::rget), with layouts as in [`Epoch::get_layout`](super::Epoch::get_layout).
    ///
    /// # Errors
    /// As both.
    pub fn rget_layout<B: ResultBuffer<'scope, T>>(
        &self,
        buffer: B,
        into: &Layout<T>,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            let (base, len) = B::result(kept);
            into.check("rget", len)?;
            let result = Destination { base: base.cast(), count: 1, ty: into.bytes() };
            // SAFETY: as for `rget`; the layout lies within the buffer.
            unsafe { window.rget(result, self.target(), from.area(disp)) }
        })
    }

    /// Begins an operation that reads the bytes of `buffer`.
    fn of_origin<B: OriginBuffer<'scope, T>>(
        &self,
        buffer: B,
        disp: usize,
        begin: impl FnOnce(&Window, Origin<'_>, TargetArea<'_>) -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            let ((base, count), bytes) = (B::origin(kept), Datatype::basic(BasicType::Byte));
            let count = (count * size_of::<T>()) as u64;
            let area = TargetArea { disp: Disp(disp as u64), count, ty: &bytes };
            begin(window, Origin { base: base.cast(), count, ty: &bytes }, area)
        })
    }

    /// Begins an operation that writes the bytes of `buffer`.
    fn of_result<B: ResultBuffer<'scope, T>>(
        &self,
        buffer: B,
        disp: usize,
        begin: impl FnOnce(&Window, Destination<'_>, TargetArea<'_>) -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            let ((base, count), bytes) = (B::result(kept), Datatype::basic(BasicType::Byte));
            let count = (count * size_of::<T>()) as u64;
            let area = TargetArea { disp: Disp(disp as u64), count, ty: &bytes };
            begin(window, Destination { base: base.cast(), count, ty: &bytes }, area)
        })
    }

    /// Begins an operation on `buffer`.
    fn requested<B: Buffer<T>>(
        &self,
        buffer: B,
        begin: impl FnOnce(&Window, &mut B::Kept) -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T, B>> {
        // Should the call panic, the buffer is not released.
        let mut buffer = ManuallyDrop::new(buffer.keep());
        let started = self.access().call(|window| begin(window, &mut buffer));
        let buffer = ManuallyDrop::into_inner(buffer);
        // An operation that is refused uses nothing of it.
        Ok(Request::new(started?, self.parts(), buffer))
    }
}

impl<'scope, T: Number> Locked<'scope, T> {
    /// Begins to combine `buffer` with the elements from displacement `disp` on, each in one atomic step (`MPI_Raccumulate`).
    ///
    /// ```
    /// use rma::ReduceOp;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<i64>(2)?;
    ///     window.shared(0, |rank0| {
    ///         let buffer = rank0.raccumulate(vec![1, -1], ReduceOp::Sum, 0)?.wait()?;
    ///         rank0.raccumulate(buffer, ReduceOp::Sum, 0)?.wait()
    ///     })?;
    ///     world.barrier()?;
    ///     if world.rank() == 0 {
    ///         assert_eq!(window.local().to_vec(), [8, -8]);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::raccumulate`].
    pub fn raccumulate<B: OriginBuffer<'scope, T>>(
        &self,
        buffer: B,
        op: ReduceOp,
        disp: usize,
    ) -> Result<Request<'scope, T, B>> {
        self.combining("raccumulate", buffer, disp, |window, origin, area| {
            // SAFETY: as for `rput`.
            unsafe { window.raccumulate(origin, op, self.target(), area) }
        })
    }

    /// As [`Target::raccumulate`](super::Target::raccumulate), and raises counter `counter` of the rank by one when the data are combined
    /// there (`MPIX_Raccumulate_notify`).
    ///
    /// ```
    /// use rma::ReduceOp;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     window.shared(0, |rank0| rank0.raccumulate_notify(vec![10], ReduceOp::Sum, 0, 0)?.wait())?;
    ///     if world.rank() == 0 {
    ///         window.notifications().wait(0, 4)?;
    ///         assert_eq!(window.local().get(0), 40);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::raccumulate`](super::Target::raccumulate) and [`Target::put_notify`](super::Target::put_notify).
    pub fn raccumulate_notify<B: OriginBuffer<'scope, T>>(
        &self,
        buffer: B,
        op: ReduceOp,
        disp: usize,
        counter: u32,
    ) -> Result<Request<'scope, T, B>> {
        self.combining("raccumulate_notify", buffer, disp, |window, origin, area| {
            // SAFETY: as for `rput`.
            unsafe { Notifying::of(window, counter).raccumulate(origin, op, self.target(), area) }
        })
    }

    /// As [`Target::raccumulate`](super::Target::raccumulate) with `origin`, and begins to fill `buffer`, which is as long, with what
    /// the elements were before (`MPI_Rget_accumulate`).
    ///
    /// ```
    /// use rma::ReduceOp;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     let one = [1];
    ///     let before = window.shared(0, |rank0| rank0.rget_accumulate(&one, vec![0], ReduceOp::Sum, 0)?.wait())?;
    ///     assert_eq!(world.allreduce(ReduceOp::Sum, &before)?, [1 + 2 + 3]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`rma_core::window::Window::rget_accumulate`]; `MPI_ERR_COUNT` when the lengths differ.
    pub fn rget_accumulate<B: ResultBuffer<'scope, T>>(
        &self,
        origin: &'scope [T],
        buffer: B,
        op: ReduceOp,
        disp: usize,
    ) -> Result<Request<'scope, T, B>> {
        self.exchanging("rget_accumulate", (origin, buffer), disp, |window, origin, result, area| {
            // SAFETY: as for `rget`; the origin is borrowed for the scope.
            unsafe { window.rget_accumulate(origin, result, op, self.target(), area) }
        })
    }

    /// As [`Target::rget_accumulate`](super::Target::rget_accumulate), and raises counter `counter` of the rank by one
    /// (`MPIX_Rget_accumulate_notify`).
    ///
    /// ```
    /// use rma::ReduceOp;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u64>(1)?;
    ///     window.set_notifications(1)?;
    ///     let one = [1];
    ///     let before = window.shared(0, |rank0| {
    ///         rank0.rget_accumulate_notify(&one, vec![0], ReduceOp::Sum, 0, 0)?.wait()
    ///     })?;
    ///     assert!(before[0] < 4);
    ///     if world.rank() == 0 {
    ///         window.notifications().wait(0, 4)?;
    ///         assert_eq!(window.local().get(0), 4);
    ///     }
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Target::rget_accumulate`](super::Target::rget_accumulate) and [`Target::put_notify`](super::Target::put_notify).
    pub fn rget_accumulate_notify<B: ResultBuffer<'scope, T>>(
        &self,
        origin: &'scope [T],
        buffer: B,
        op: ReduceOp,
        disp: usize,
        counter: u32,
    ) -> Result<Request<'scope, T, B>> {
        self.exchanging("rget_accumulate_notify", (origin, buffer), disp, |window, origin, result, area| {
            // SAFETY: as for `rget_accumulate`.
            unsafe { Notifying::of(window, counter).rget_accumulate(origin, result, op, self.target(), area) }
        })
    }

    /// Begins an operation that combines the numbers of `buffer` with others.
    fn combining<B: OriginBuffer<'scope, T>>(
        &self,
        call: &'static str,
        buffer: B,
        disp: usize,
        begin: impl FnOnce(&Window, Origin<'_>, TargetArea<'_>) -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            has_size::<T>(call)?;
            let ((base, count), ty) = (B::origin(kept), Datatype::basic(T::BASIC));
            let count = count as u64;
            let area = TargetArea { disp: Disp(disp as u64), count, ty: &ty };
            begin(window, Origin { base: base.cast(), count, ty: &ty }, area)
        })
    }

    /// Begins an operation that combines numbers with others, and fills a buffer with what those were before.
    fn exchanging<B: ResultBuffer<'scope, T>>(
        &self,
        call: &'static str,
        (origin, buffer): (&'scope [T], B),
        disp: usize,
        begin: impl FnOnce(&Window, Origin<'_>, Destination<'_>, TargetArea<'_>) -> Result<OperationRequest>,
    ) -> Result<Request<'scope, T, B>> {
        self.requested(buffer, |window, kept| {
            has_size::<T>(call)?;
            let ((base, count), ty) = (B::result(kept), Datatype::basic(T::BASIC));
            if origin.len() != count {
                let cause = format!("{} elements to combine and room for {count}", origin.len());
                return Err(Error::new(ErrorClass::Count, call, cause));
            }
            let count = count as u64;
            let origin = Origin { base: origin.as_ptr().cast(), count, ty: &ty };
            let area = TargetArea { disp: Disp(disp as u64), count, ty: &ty };
            begin(window, origin, Destination { base: base.cast(), count, ty: &ty }, area)
        })
    }
}
