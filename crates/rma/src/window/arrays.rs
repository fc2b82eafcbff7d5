//! Arrays of `ndarray` as layouts, and as buffers of calls (feature `ndarray`).
//!
//! A view may be of any shape and strides, also reversed: it is a buffer that is borrowed for the scope, like a slice.

use super::epoch::Epoch;
use super::layout::Layout;
use super::operations::Access;
use super::rank::IntoRank;
use super::target::Target;
use crate::elements::Element;
use ndarray::{ArrayBase, ArrayView, ArrayViewMut, Dimension, RawData};
use rma_core::datatype::{BasicType, Datatype};
use rma_core::ids::Rank;
use rma_core::window::{Destination, Origin};
use rma_core::{Error, ErrorClass, Result};

impl<T: Element> Layout<T> {
    /// The elements of an array, or of a view of one, behind its first element.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when an axis is reversed; as [`Layout::contiguous`].
    pub fn of_array<S: RawData<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Result<Self> {
        let stride = |stride: &isize| {
            let reversed = |_| Error::new(ErrorClass::Arg, "layout", format!("an axis has stride {stride}"));
            usize::try_from(*stride).map_err(reversed)
        };
        let strides = array.strides().iter().map(stride).collect::<Result<Vec<_>>>()?;
        Self::with_strides(array.shape(), &strides)
    }
}

impl<'scope, T: Element> Access<'scope, T> {
    fn put_array<D: Dimension>(
        &self,
        origin: ArrayView<'scope, T, D>,
        target: Rank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        let ty = self.call(|_| datatype::<T>(origin.shape(), origin.strides()))?;
        let origin = Origin { base: origin.as_ptr().cast(), count: 1, ty: &ty };
        // SAFETY: the view's elements are where its strides say, and borrowed for the scope.
        self.call(|window| unsafe { window.put_typed(origin, target, to.area(disp)) })
    }

    fn get_array<D: Dimension>(
        &self,
        mut result: ArrayViewMut<'scope, T, D>,
        target: Rank,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        let ty = self.call(|_| datatype::<T>(result.shape(), result.strides()))?;
        let result = Destination { base: result.as_mut_ptr().cast(), count: 1, ty: &ty };
        // SAFETY: as for `put_array`; the borrow is exclusive, and every bit pattern is an element.
        self.call(|window| unsafe { window.get_typed(result, target, from.area(disp)) })
    }
}

/// The bytes of an array, counted from those of its first element.
fn datatype<T>(shape: &[usize], strides: &[isize]) -> Result<Datatype> {
    let element = Datatype::contiguous(size_of::<T>() as u64, &Datatype::basic(BasicType::Byte))?;
    shape.iter().zip(strides).rev().try_fold(element, |inner, (count, stride)| {
        // An axis of one index may have any stride.
        let bytes = (*stride as i64).saturating_mul(size_of::<T>() as i64);
        Datatype::hvector(*count as u64, 1, bytes, &inner)
    })
}

impl<'scope, T: Element, K> Epoch<'scope, T, K> {
    /// As [`Epoch::put_layout`], of the elements of an array's view.
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use rma::window::Layout;
    ///
    /// rma::World::run_threads(4, |world| {
    ///     // The last inner column goes into the left border of the neighbour.
    ///     let mut grid = Array2::from_elem((4, 6), f64::from(world.rank()));
    ///     let mut window = world.allocate::<f64>(24)?;
    ///     let border = Layout::of_array(&grid.slice(s![.., 0]))?;
    ///     let right = (world.rank() + 1) % 4;
    ///     window.fence_epoch(|epoch| epoch.put_array(grid.slice(s![.., 4]), right, 0, &border))?;
    ///     let all = Layout::of_array(&grid)?;
    ///     window.shared(world.rank(), |mine| mine.get_array(grid.view_mut(), 0, &all))?;
    ///     assert_eq!(grid.column(0).to_vec(), [f64::from((world.rank() + 3) % 4); 4]);
    ///     window.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Epoch::put_layout`].
    pub fn put_array<D: Dimension>(
        &self,
        origin: ArrayView<'scope, T, D>,
        target: impl IntoRank,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access.put_array(origin, self.access.rank(target, "put")?, disp, to)
    }

    /// As [`Epoch::get_layout`], into the elements of an array's view.
    ///
    /// # Errors
    /// As [`Epoch::put_layout`].
    pub fn get_array<D: Dimension>(
        &self,
        result: ArrayViewMut<'scope, T, D>,
        target: impl IntoRank,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.access.get_array(result, self.access.rank(target, "get")?, disp, from)
    }
}

impl<'scope, T: Element, K> Target<'scope, T, K> {
    /// As [`Epoch::put_array`].
    ///
    /// # Errors
    /// As [`Epoch::put_array`].
    pub fn put_array<D: Dimension>(
        &self,
        origin: ArrayView<'scope, T, D>,
        disp: usize,
        to: &Layout<T>,
    ) -> Result<()> {
        self.access().put_array(origin, self.target(), disp, to)
    }

    /// As [`Epoch::get_array`].
    ///
    /// # Errors
    /// As [`Epoch::put_array`].
    pub fn get_array<D: Dimension>(
        &self,
        result: ArrayViewMut<'scope, T, D>,
        disp: usize,
        from: &Layout<T>,
    ) -> Result<()> {
        self.access().get_array(result, self.target(), disp, from)
    }
}
