//! The calls that take layouts, on handles of every kind.

use super::epoch::Epoch;
use super::layout::Layout;
use super::operations::Access;
use super::rank::IntoRank;
use super::target::Target;
use crate::elements::{Element, Number};
use rma_core::Result;
use rma_core::ids::Rank;
use rma_core::kernel::ReduceOp;
use rma_core::window::{Destination, Origin, TargetArea};

impl<'scope, T: Element> Access<'scope, T> {
    fn put_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        target: Rank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.call(|_| from.check("put", origin.len()))?;
        let origin = Origin { base: origin.as_ptr().cast(), count: 1, ty: from.bytes() };
        // SAFETY: the layout lies within the buffer, which is borrowed for the scope.
        self.call(|window| unsafe { window.put_typed(origin, target, to.area(disp)) })
    }

    fn get_layout(
        &self,
        result: &'scope mut [T],
        into: &Layout<T>,
        target: Rank,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.call(|_| into.check("get", result.len()))?;
        let result = Destination { base: result.as_mut_ptr().cast(), count: 1, ty: into.bytes() };
        // SAFETY: as for `put_layout`; every bit pattern is an element.
        self.call(|window| unsafe { window.get_typed(result, target, from.area(disp)) })
    }
}

impl<'scope, T: Number> Access<'scope, T> {
    fn accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        op: ReduceOp,
        target: Rank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        const CALL: &str = "accumulate";
        self.call(|window| {
            from.check(CALL, origin.len())?;
            let origin = Origin { base: origin.as_ptr().cast(), count: 1, ty: from.numbers(CALL)? };
            let area = TargetArea { ty: to.numbers(CALL)?, ..to.area(disp) };
            // SAFETY: as for `put_layout`: the numbers lie where the bytes do, as they have their size.
            unsafe { window.accumulate_typed(origin, op, target, area) }
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn get_accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        result: &'scope mut [T],
        into: &Layout<T>,
        op: ReduceOp,
        target: Rank,
        (disp, at): (usize, &Layout<T>),
    ) -> Result<()> {
        const CALL: &str = "get_accumulate";
        self.call(|window| {
            from.check(CALL, origin.len())?;
            into.check(CALL, result.len())?;
            let origin = Origin { base: origin.as_ptr().cast(), count: 1, ty: from.numbers(CALL)? };
            let result = Destination { base: result.as_mut_ptr().cast(), count: 1, ty: into.numbers(CALL)? };
            let area = TargetArea { ty: at.numbers(CALL)?, ..at.area(disp) };
            // SAFETY: as for `accumulate_layout`; a shared borrow and an exclusive one do not overlap.
            unsafe { window.get_accumulate(origin, result, op, target, area) }
        })
    }
}

impl<'scope, T: Element, K> Epoch<'scope, T, K> {
    /// As [`Epoch::put`], of the elements of `origin` that `from` says, into those behind displacement `disp` that `to` says.
    ///
    /// # Errors
    /// As [`Epoch::put`]; `MPI_ERR_ARG` when `from` leaves `origin`; `MPI_ERR_TRUNCATE` or `MPI_ERR_TYPE` when the layouts have
    /// different numbers of elements.
    pub fn put_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        target: impl IntoRank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access.put_layout(origin, from, self.access.rank(target, "put")?, disp, to)
    }

    /// As [`Epoch::get`], of the elements behind displacement `disp` that `from` says, into those of `result` that `into` says.
    ///
    /// # Errors
    /// As [`Epoch::put_layout`].
    pub fn get_layout(
        &self,
        result: &'scope mut [T],
        into: &Layout<T>,
        target: impl IntoRank,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.access.get_layout(result, into, self.access.rank(target, "get")?, disp, from)
    }
}

impl<'scope, T: Number, K> Epoch<'scope, T, K> {
    /// As [`Epoch::accumulate`], with layouts as in [`Epoch::put_layout`].
    ///
    /// # Errors
    /// As [`Epoch::accumulate`] and [`Epoch::put_layout`].
    pub fn accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        op: ReduceOp,
        target: impl IntoRank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access.accumulate_layout(origin, from, op, self.access.rank(target, "accumulate")?, disp, to)
    }

    /// As [`Epoch::get_accumulate`], with a layout of each of the three: `from` of `origin`, `into` of `result`, and that of the
    /// target's elements beside the displacement.
    ///
    /// # Errors
    /// As [`Epoch::get_accumulate`] and [`Epoch::put_layout`].
    #[allow(clippy::too_many_arguments)]
    pub fn get_accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        result: &'scope mut [T],
        into: &Layout<T>,
        op: ReduceOp,
        target: impl IntoRank,
        at: (usize, &Layout<T>),
    ) -> Result<()> {
        let target = self.access.rank(target, "get_accumulate")?;
        self.access.get_accumulate_layout(origin, from, result, into, op, target, at)
    }
}

impl<'scope, T: Element, K> Target<'scope, T, K> {
    /// As [`Epoch::put_layout`].
    ///
    /// ```
    /// use rma::window::Layout;
    ///
    /// let (odd, all) = (Layout::strided(3, 1, 2)?, Layout::contiguous(3)?);
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u32>(8)?;
    ///     let mut back = [0; 3];
    ///     window.exclusive((world.rank() + 1) % 4, |locked| {
    ///         locked.batch(|batch| batch.put_layout(&[1, 2, 3], &all, 1, &odd))?;
    ///         locked.batch(|batch| batch.get_layout(&mut back, &all, 1, &odd))
    ///     })?;
    ///     assert_eq!(back, [1, 2, 3]);
    ///     world.barrier()?;
    ///     assert_eq!(window.local().to_vec(), [0, 1, 0, 2, 0, 3, 0, 0]);
    ///     window.free()
    /// })?;
    /// # Ok::<(), rma::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::put_layout`].
    pub fn put_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access().put_layout(origin, from, self.target(), disp, to)
    }

    /// As [`Epoch::get_layout`].
    ///
    /// # Errors
    /// As [`Epoch::put_layout`].
    pub fn get_layout(
        &self,
        result: &'scope mut [T],
        into: &Layout<T>,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.access().get_layout(result, into, self.target(), disp, from)
    }
}

impl<'scope, T: Number, K> Target<'scope, T, K> {
    /// As [`Epoch::accumulate_layout`].
    ///
    /// # Errors
    /// As [`Epoch::accumulate_layout`].
    pub fn accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        op: ReduceOp,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access().accumulate_layout(origin, from, op, self.target(), disp, to)
    }

    /// As [`Epoch::get_accumulate_layout`].
    ///
    /// # Errors
    /// As [`Epoch::get_accumulate_layout`].
    pub fn get_accumulate_layout(
        &self,
        origin: &'scope [T],
        from: &Layout<T>,
        result: &'scope mut [T],
        into: &Layout<T>,
        op: ReduceOp,
        at: (usize, &Layout<T>),
    ) -> Result<()> {
        self.access().get_accumulate_layout(origin, from, result, into, op, self.target(), at)
    }
}
