//! Parts of arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI 5.0 §5.1.3 and §5.1.4).
//!
//! Both choose, in each dimension of an array, which indices belong to the type, and are one element as large as the whole
//! array. They are made from the dimension that varies fastest outwards; what is regular becomes a loop each.

use super::layout::Layout;
use super::types::{Datatype, TooLarge};
use crate::error::{Error, ErrorClass, Result};

/// Which dimension varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayOrder {
    /// The last one (`MPI_ORDER_C`).
    C,
    /// The first one (`MPI_ORDER_FORTRAN`).
    Fortran,
}

/// One dimension of [`Datatype::subarray`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubarrayDim {
    /// Elements of the whole array.
    pub size: u64,
    /// Elements of the part.
    pub part: u64,
    /// Index of the part's first element.
    pub start: u64,
}

/// How the indices of one dimension are dealt out to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Not at all: `MPI_DISTRIBUTE_NONE`.
    None,
    /// One block each, of this length or (`MPI_DISTRIBUTE_DFLT_DARG`) as even as can be: `MPI_DISTRIBUTE_BLOCK`.
    Block(Option<u64>),
    /// Blocks of this length (or of one element) in turn: `MPI_DISTRIBUTE_CYCLIC`.
    Cyclic(Option<u64>),
}

/// One dimension of [`Datatype::darray`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DarrayDim {
    /// Elements of the whole array.
    pub size: u64,
    /// How they are dealt out.
    pub distribution: Distribution,
    /// Processes along this dimension.
    pub processes: u64,
}

/// The indices of one dimension that belong to the type: `count` blocks of `len` from `start`, `stride` apart, and behind
/// them one more of `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    size: u64,
    start: u64,
    len: u64,
    count: u64,
    stride: u64,
    rest: u64,
}

impl Datatype {
    /// `MPI_Type_create_subarray`: a part of an array.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` without a dimension, when one is empty, or when the part does not lie within the array;
    /// `MPI_ERR_COUNT` when a size does not fit 63 bits.
    pub fn subarray(dims: &[SubarrayDim], order: ArrayOrder, base: &Self) -> Result<Self> {
        const CALL: &str = "type_create_subarray";
        if dims.is_empty() {
            return Err(Error::new(ErrorClass::Arg, CALL, "an array needs at least one dimension"));
        }
        let mut choices = Vec::with_capacity(dims.len());
        for (at, SubarrayDim { size, part, start }) in dims.iter().copied().enumerate() {
            if size == 0 || part == 0 || part > size || start > size - part {
                let cause = format!("dimension {at}: {part} elements from {start} are not a part of {size}");
                return Err(Error::new(ErrorClass::Arg, CALL, cause));
            }
            choices.push(Choice { size, start, len: part, count: 1, stride: 0, rest: 0 });
        }
        base.choose(choices, order, CALL)
    }

    /// `MPI_Type_create_darray`: what one process of a grid holds of a distributed array. Processes are numbered with the
    /// last dimension of the grid fastest, whatever `order` is.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` without a dimension, for an empty one, for `rank` outside the grid, when blocks of the given length do
    /// not cover the array, or for several processes along a dimension that is not distributed; `MPI_ERR_COUNT` when a size
    /// does not fit 63 bits.
    pub fn darray(rank: u64, dims: &[DarrayDim], order: ArrayOrder, base: &Self) -> Result<Self> {
        const CALL: &str = "type_create_darray";
        let refuse = |cause: String| Err(Error::new(ErrorClass::Arg, CALL, cause));
        if dims.is_empty() {
            return refuse("an array needs at least one dimension".to_owned());
        }
        let grid = dims.iter().try_fold(1_u64, |size, dim| size.checked_mul(dim.processes));
        if grid.is_none_or(|grid| rank >= grid) {
            return refuse(format!("rank {rank} is not in a grid of {grid:?} processes"));
        }
        let mut choices = vec![];
        let mut rest = rank;
        for dim in dims.iter().rev() {
            let place = rest % dim.processes;
            rest /= dim.processes;
            match Choice::of_process(*dim, place) {
                Ok(choice) => choices.push(choice),
                Err(cause) => return refuse(cause),
            }
        }
        choices.reverse();
        base.choose(choices, order, CALL)
    }

    fn choose(&self, mut choices: Vec<Choice>, order: ArrayOrder, call: &'static str) -> Result<Self> {
        if order == ArrayOrder::C {
            choices.reverse();
        }
        let too_large = || TooLarge.into_error(call);
        let mut layout = self.element().clone();
        // Bytes from one index of the dimension at hand to the next.
        let mut step = self.extent();
        for choice in choices {
            layout = choice.apply(&layout, step).ok_or_else(too_large)?;
            step = i64::try_from(choice.size)
                .ok()
                .and_then(|size| step.checked_mul(size))
                .ok_or_else(too_large)?;
        }
        self.with_layout(Some(layout), 0, step, call)
    }
}

impl Choice {
    /// What the process at `place` along the dimension holds, or why that cannot be said.
    fn of_process(dim: DarrayDim, place: u64) -> Result<Self, String> {
        let DarrayDim { size, distribution, processes } = dim;
        if size == 0 {
            return Err("a dimension of an array has no elements".to_owned());
        }
        let (len, is_block) = match distribution {
            Distribution::None if processes == 1 => (size, true),
            Distribution::None => {
                return Err(format!("{processes} processes along a dimension that is not distributed"));
            }
            Distribution::Block(None) => (size.div_ceil(processes), true),
            Distribution::Block(Some(len)) => (len, true),
            Distribution::Cyclic(len) => (len.unwrap_or(1), false),
        };
        if len == 0 || (is_block && u128::from(len) * u128::from(processes) < u128::from(size)) {
            return Err(format!("blocks of {len} elements for {processes} processes do not cover {size}"));
        }
        let empty = Self { size, start: 0, len: 0, count: 0, stride: 0, rest: 0 };
        let Some(start) = len.checked_mul(place).filter(|start| *start < size) else { return Ok(empty) };
        if is_block {
            return Ok(Self { start, len: len.min(size - start), count: 1, ..empty });
        }
        let Some(stride) = len.checked_mul(processes) else {
            return Ok(Self { start, len: len.min(size - start), count: 1, ..empty });
        };
        let left = size - start;
        let (mut count, mut rest) = (left / stride, left % stride);
        if rest >= len {
            (count, rest) = (count + 1, 0);
        }
        Ok(Self { start, len, count, stride, rest, ..empty })
    }

    /// The chosen indices' layouts, when each is `inner` and `step` bytes behind the one before.
    fn apply(self, inner: &Layout, step: i64) -> Option<Layout> {
        let bytes = |index: u64| i64::try_from(index).ok()?.checked_mul(step);
        let start = bytes(self.start)?;
        let whole = match self.count {
            0 => Layout::contiguous(0),
            1 => inner.repeated(self.len, step)?,
            _ => inner.repeated(self.len, step)?.repeated(self.count, bytes(self.stride)?)?,
        };
        if self.rest == 0 {
            return whole.shifted(start);
        }
        let behind = start.checked_add(bytes(self.count.checked_mul(self.stride)?)?)?;
        Layout::sequence(vec![whole.shifted(start)?, inner.repeated(self.rest, step)?.shifted(behind)?])
    }
}
