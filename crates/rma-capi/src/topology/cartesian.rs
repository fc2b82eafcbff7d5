//! Grids of ranks (MPI 5.0 §8.5.1): coordinates in row-major order, the last dimension fastest.

use crate::abi::MPI_UNDEFINED;
use rma::{Below, Error, ErrorClass, Result};
use std::ffi::c_int;

/// A grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cartesian {
    dims: Vec<u32>,
    periods: Vec<bool>,
    cells: u32,
}

impl Cartesian {
    /// A grid among `size` ranks.
    ///
    /// # Errors
    /// `MPI_ERR_DIMS` when a dimension is not positive, or the grid has more cells than ranks are there.
    pub(crate) fn new(dims: &[c_int], periods: &[c_int], size: u32) -> Result<Self> {
        let refuse = |cause: String| Err(Error::new(ErrorClass::Dims, "", cause));
        let mut cells: u64 = 1;
        for (place, dim) in dims.iter().enumerate() {
            match u64::try_from(*dim) {
                Ok(dim @ 1..) => cells = cells.saturating_mul(dim),
                _ => return refuse(format!("dims[{place}] is {dim}, but must be positive")),
            }
        }
        if cells > u64::from(size) {
            return refuse(format!("dims make a grid of {cells} cells, but comm has {size} ranks"));
        }
        Ok(Self {
            dims: dims.iter().map(|dim| *dim as u32).collect(),
            periods: periods.iter().map(|period| *period != 0).collect(),
            cells: cells as u32,
        })
    }

    pub(crate) fn dims(&self) -> &[u32] {
        &self.dims
    }

    pub(crate) fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> u32 {
        self.cells
    }

    /// Where a rank is.
    pub(crate) fn coords(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, dim) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % dim;
            rest /= dim;
        }
        coords
    }

    /// The rank at a place, which wraps around in dimensions that are periodic.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when the place is outside of one that is not.
    pub(crate) fn rank(&self, coords: &[c_int]) -> Result<u32> {
        let mut rank = 0;
        for (place, coord) in coords.iter().enumerate() {
            let within = self.wrapped(place, i64::from(*coord)).ok_or_else(|| {
                let among = Below(self.dims[place].into());
                let cause = format!("coords[{place}] is {coord}, which is not in {among}, and not periodic");
                Error::new(ErrorClass::Arg, "", cause)
            })?;
            rank = rank * self.dims[place] + within;
        }
        Ok(rank)
    }

    /// The ranks that one receives from and sends to in a shift; `None` beyond an edge.
    ///
    /// # Errors
    /// `MPI_ERR_DIMS` when there is no such dimension.
    pub(crate) fn shift(&self, rank: u32, direction: c_int, disp: c_int) -> Result<[Option<u32>; 2]> {
        let place = usize::try_from(direction).ok().filter(|place| *place < self.dims.len());
        let place = place.ok_or_else(|| {
            let cause =
                format!("direction is {direction}, which is not in {}", Below(self.dims.len() as u64));
            Error::new(ErrorClass::Dims, "", cause)
        })?;
        let (here, step) = (i64::from(self.coords(rank)[place]), i64::from(disp));
        let weight: u32 = self.dims[place + 1..].iter().product();
        let at = |coord: i64| {
            let coord = self.wrapped(place, coord)?;
            Some((i64::from(rank) + (i64::from(coord) - here) * i64::from(weight)) as u32)
        };
        Ok([at(here - step), at(here + step)])
    }

    /// The grid of the dimensions that remain; the rank of a cell in it, and which of such grids the cell is in.
    pub(crate) fn sub(&self, remain: &[bool], rank: u32) -> (Self, u32, u32) {
        let coords = self.coords(rank);
        let (mut within, mut which) = (0, 0);
        let (mut dims, mut periods) = (Vec::new(), Vec::new());
        for (place, remains) in remain.iter().enumerate() {
            let index = if *remains { &mut within } else { &mut which };
            *index = *index * self.dims[place] + coords[place];
            if *remains {
                dims.push(self.dims[place]);
                periods.push(self.periods[place]);
            }
        }
        let cells = dims.iter().product();
        (Self { dims, periods, cells }, within, which)
    }

    /// The cell of a rank, or `MPI_UNDEFINED` where there is none for it.
    pub(crate) fn map(&self, rank: u32) -> c_int {
        if rank < self.cells { rank as c_int } else { MPI_UNDEFINED }
    }

    /// The coordinate within its dimension, if there is one.
    fn wrapped(&self, place: usize, coord: i64) -> Option<u32> {
        let dim = i64::from(self.dims[place]);
        match self.periods[place] {
            true => Some(coord.rem_euclid(dim) as u32),
            false => (0..dim).contains(&coord).then_some(coord as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = Cartesian::new(&[3, 1, 4], &[0, 1, 1], 13).unwrap();
        assert_eq!(grid.cells(), 12);
        for rank in 0..12 {
            let coords: Vec<_> = grid.coords(rank).into_iter().map(|coord| coord as c_int).collect();
            assert_eq!(grid.rank(&coords).unwrap(), rank);
        }
        assert_eq!(grid.coords(6), [1, 0, 2]);
        assert_eq!(grid.rank(&[1, -5, -2]).unwrap(), 6);
        assert!(grid.rank(&[3, 0, 0]).is_err() && grid.rank(&[-1, 0, 0]).is_err());
    }

    #[test]
    fn shifts_end_at_edges_or_wrap() {
        let grid = Cartesian::new(&[2, 3], &[0, 1], 6).unwrap();
        assert_eq!(grid.shift(1, 0, 1).unwrap(), [None, Some(4)]);
        assert_eq!(grid.shift(5, 1, 1).unwrap(), [Some(4), Some(3)]);
        assert_eq!(grid.shift(5, 1, -4).unwrap(), [Some(3), Some(4)]);
        assert_eq!(grid.shift(0, 1, c_int::MIN).unwrap(), [Some(2), Some(1)]);
        assert!(grid.shift(0, 2, 1).is_err() && grid.shift(0, -1, 1).is_err());
    }

    #[test]
    fn wrong_grids_are_refused() {
        for dims in [&[2, 3][..], &[0], &[-1, -1], &[i32::MAX, i32::MAX, i32::MAX, i32::MAX]] {
            let error = Cartesian::new(dims, &[0; 4][..dims.len()], 5).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Dims);
        }
        assert_eq!(Cartesian::new(&[], &[], 5).unwrap().cells(), 1);
    }

    #[test]
    fn sub_grids_part_the_cells() {
        let grid = Cartesian::new(&[2, 3, 4], &[0, 1, 0], 24).unwrap();
        let (rest, within, which) = grid.sub(&[true, false, true], 17);
        assert_eq!((rest.dims(), rest.periods()), (&[2, 4][..], &[false, false][..]));
        assert_eq!((grid.coords(17), within, which), (vec![1, 1, 1], 5, 1));
        let (none, within, which) = grid.sub(&[false; 3], 17);
        assert_eq!((none.cells(), within, which), (1, 0, 17));
    }
}
