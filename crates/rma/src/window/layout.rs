//! Elements that do not lie side by side: rows, columns, faces and blocks of arrays, on both sides of an operation.
//!
//! A layout says which elements of a memory are meant, in which order. It knows no memory: the buffer of a call is checked against it here,
//! the target's by the target. What a layout comes to is a datatype of the engine: of bytes for stores and loads, of the basic type
//! for accumulates, which compute.

use crate::elements::{Element, Number, has_size};
use rma_core::datatype::{ArrayOrder, BasicType, Datatype, SubarrayDim};
use rma_core::ids::Disp;
use rma_core::window::TargetArea;
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

/// Which elements of a memory an operation moves, and in which order.
///
/// ```
/// use rma::window::Layout;
///
/// // A grid of 4 rows and 6 columns on each rank; its rightmost column goes into the leftmost one of the next rank.
/// let (rows, cols) = (4, 6);
/// let last = Layout::block(&[rows, cols], &[0..rows, cols - 1..cols])?;
/// let first = Layout::strided(rows, 1, cols)?;
/// rma::World::run_threads(4, |world| {
///     let mut window = world.allocate::<f64>(rows * cols)?;
///     let rank = world.rank();
///     let grid: Vec<f64> = (0..rows * cols).map(|at| f64::from(rank) + at as f64 / 100.0).collect();
///     window.fence_epoch(|epoch| epoch.put_layout(&grid, &last, (rank + 1) % 4, 0, &first))?;
///     let left = f64::from((rank + 3) % 4);
///     assert_eq!(window.local().get(0), left + 0.05);
///     assert_eq!(window.local().get(3 * cols), left + 0.23);
///     assert_eq!(window.local().get(1), 0.0);
///     window.free()
/// })?;
/// # Ok::<(), rma::Error>(())
/// ```
pub struct Layout<T> {
    shape: Shape,
    bytes: Datatype,
    /// From the first byte to behind the last.
    bounds: Range<u64>,
    numbers: OnceLock<Datatype>,
    element: PhantomData<fn() -> T>,
}

/// What a layout was made from, in elements.
#[derive(Debug)]
enum Shape {
    Strided {
        count: u64,
        block: u64,
        stride: u64,
    },
    Part(Vec<SubarrayDim>),
    Blocks(Vec<(u64, i64)>),
    /// Indices and stride of each dimension, of which the last one varies fastest.
    Strides(Vec<(u64, u64)>),
}

const CALL: &str = "layout";

impl<T: Element> Layout<T> {
    /// So many elements side by side.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when their size does not fit 63 bits; so do all layouts.
    pub fn contiguous(len: usize) -> Result<Self> {
        Self::strided(1, len, len)
    }

    /// `count` blocks of `block` elements, `stride` elements from the beginning of one to that of the next: a column of an array with
    /// rows of `stride` elements, if `block` is 1.
    ///
    /// # Errors
    /// As [`Layout::contiguous`].
    pub fn strided(count: usize, block: usize, stride: usize) -> Result<Self> {
        Self::of(Shape::Strided { count: count as u64, block: block as u64, stride: stride as u64 })
    }

    /// A part of an array of any number of dimensions, of which the last one varies fastest: of `shape[i]` indices of dimension `i`
    /// those in `part[i]`. A row, a column, a face, a block.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when `shape` and `part` have different lengths or none, or a range is empty or leaves the array; as
    /// [`Layout::contiguous`].
    pub fn block(shape: &[usize], part: &[Range<usize>]) -> Result<Self> {
        if shape.len() != part.len() {
            let cause = format!("an array of {} dimensions and a part of {}", shape.len(), part.len());
            return Err(Error::new(ErrorClass::Arg, CALL, cause));
        }
        let dim = |(size, part): (&usize, &Range<usize>)| SubarrayDim {
            size: *size as u64,
            part: part.end.saturating_sub(part.start) as u64,
            start: part.start as u64,
        };
        Self::of(Shape::Part(shape.iter().zip(part).map(dim).collect()))
    }

    /// Blocks of any lengths at any displacements, in this order.
    ///
    /// # Errors
    /// As [`Layout::contiguous`].
    pub fn blocks(blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let block = |range: Range<usize>| (range.len() as u64, range.start as i64);
        Self::of(Shape::Blocks(blocks.into_iter().map(block).collect()))
    }

    /// A face of an array, or several that lie side by side: of `shape[i]` indices of dimension `i` all, but of dimension `dim` those
    /// `at`.
    ///
    /// ```
    /// use rma::window::Layout;
    ///
    /// // Cubes of 4 x 4 x 4 elements with a border of one on each side; the inner face goes into the border of the neighbour.
    /// let shape = [4; 3];
    /// for ranks in [4, 8] {
    ///     rma::World::run_threads(ranks, |world| {
    ///         let mut cubes = world.allocate::<u32>(64)?;
    ///         let cube = [world.rank(); 64];
    ///         for dim in 0..3 {
    ///             let (last, border) = (Layout::face(&shape, dim, 2..3)?, Layout::face(&shape, dim, 0..1)?);
    ///             let right = (world.rank() + 1) % ranks;
    ///             cubes.fence_epoch(|epoch| epoch.put_layout(&cube, &last, right, 0, &border))?;
    ///         }
    ///         let left = (world.rank() + ranks - 1) % ranks;
    ///         let at = |x: usize, y: usize, z: usize| cubes.local().get((x * 4 + y) * 4 + z);
    ///         assert_eq!([at(0, 2, 3), at(3, 0, 1), at(2, 3, 0), at(2, 2, 2)], [left, left, left, 0]);
    ///         cubes.free()
    ///     })?;
    /// }
    /// # Ok::<(), rma::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Layout::block`]; `MPI_ERR_ARG` when there is no dimension `dim`.
    pub fn face(shape: &[usize], dim: usize, at: Range<usize>) -> Result<Self> {
        let mut part: Vec<Range<usize>> = shape.iter().map(|size| 0..*size).collect();
        let dimensions = part.len();
        let Some(range) = part.get_mut(dim) else {
            let cause = format!("dimension {dim} of an array of {dimensions}");
            return Err(Error::new(ErrorClass::Arg, CALL, cause));
        };
        *range = at;
        Self::block(shape, &part)
    }

    /// An array of `shape`, whose next element in dimension `i` is `strides[i]` elements on: an array by columns, a diagonal, every
    /// other element. Elements are in the order in which the last dimension varies fastest.
    ///
    /// ```
    /// use rma::window::Layout;
    ///
    /// // A matrix of 2 rows and 3 columns arrives transposed.
    /// let transposed = Layout::with_strides(&[3, 2], &[1, 3])?;
    /// rma::World::run_threads(4, |world| {
    ///     let mut window = world.allocate::<u8>(6)?;
    ///     let right = (world.rank() + 1) % 4;
    ///     window.fence_epoch(|epoch| {
    ///         epoch.put_layout(&[1, 2, 3, 4, 5, 6], &transposed, right, 0, &Layout::contiguous(6)?)
    ///     })?;
    ///     assert_eq!(window.local().to_vec(), [1, 4, 2, 5, 3, 6]);
    ///     window.free()
    /// })?;
    /// # Ok::<(), rma::Error>(())
    /// ```
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when `shape` and `strides` have different lengths; as [`Layout::contiguous`].
    pub fn with_strides(shape: &[usize], strides: &[usize]) -> Result<Self> {
        if shape.len() != strides.len() {
            let cause = format!("an array of {} dimensions and strides of {}", shape.len(), strides.len());
            return Err(Error::new(ErrorClass::Arg, CALL, cause));
        }
        let dims = shape.iter().zip(strides).map(|(size, stride)| (*size as u64, *stride as u64));
        Self::of(Shape::Strides(dims.collect()))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.size() as usize / size_of::<T>().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of(shape: Shape) -> Result<Self> {
        let element = Datatype::contiguous(size_of::<T>() as u64, &Datatype::basic(BasicType::Byte))?;
        let bytes = shape.datatype(&element).map_err(|error| error.in_call(CALL))?;
        let (first, end) = bytes.layout(1)?.bounds();
        let place = |at: i64| {
            u64::try_from(at)
                .map_err(|_| Error::new(ErrorClass::Arg, CALL, format!("byte {at} is before the first")))
        };
        let bounds = place(first)?..place(end)?;
        Ok(Self { shape, bytes, bounds, numbers: OnceLock::new(), element: PhantomData })
    }

    /// That a buffer of `len` elements has all the elements.
    pub(super) fn check(&self, call: &'static str, len: usize) -> Result<()> {
        if self.bounds.end <= (len * size_of::<T>()) as u64 {
            return Ok(());
        }
        let end = self.bounds.end.div_ceil(size_of::<T>() as u64);
        let cause = format!("the layout ends at element {end}, and the buffer has {len}");
        Err(Error::new(ErrorClass::Arg, call, cause))
    }

    pub(super) fn bytes(&self) -> &Datatype {
        &self.bytes
    }

    pub(super) fn area(&self, disp: usize) -> TargetArea<'_> {
        TargetArea { disp: Disp(disp as u64), count: 1, ty: &self.bytes }
    }
}

impl<T: Number> Layout<T> {
    /// The layout as one of numbers to compute on.
    pub(super) fn numbers(&self, call: &'static str) -> Result<&Datatype> {
        has_size::<T>(call)?;
        if let Some(numbers) = self.numbers.get() {
            return Ok(numbers);
        }
        let numbers = self.shape.datatype(&Datatype::basic(T::BASIC)).map_err(|error| error.in_call(call))?;
        Ok(self.numbers.get_or_init(|| numbers))
    }
}

impl Shape {
    fn datatype(&self, element: &Datatype) -> Result<Datatype> {
        match self {
            Self::Strided { count, block, stride } => {
                let stride = i64::try_from(*stride).unwrap_or(i64::MAX);
                Datatype::vector(*count, *block, stride, element)
            }
            Self::Part(dims) => Datatype::subarray(dims, ArrayOrder::C, element),
            Self::Blocks(blocks) => Datatype::indexed(blocks.iter().copied(), element),
            Self::Strides(dims) => dims.iter().rev().try_fold(element.clone(), |inner, (count, stride)| {
                let bytes = stride.saturating_mul(element.size());
                Datatype::hvector(*count, 1, i64::try_from(bytes).unwrap_or(i64::MAX), &inner)
            }),
        }
    }
}

impl<T> fmt::Debug for Layout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &self.shape)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}
