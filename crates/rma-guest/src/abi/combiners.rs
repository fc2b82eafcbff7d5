//! How a datatype was made.

use super::constants::Family;
use std::ffi::c_int;

/// The constructors of MPI 5.0 §5.1.13.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combiner {
    Named,
    Dup,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    /// `MPI_Type_create_f90_real` and its kin: predefined, but found by their size.
    F90Real,
    F90Complex,
    F90Integer,
    Resized,
}

use Combiner::{
    Contiguous, Darray, Dup, F90Complex, F90Integer, F90Real, Hindexed, HindexedBlock, Hvector, Indexed,
    IndexedBlock, Named, Resized, Struct, Subarray, Vector,
};

/// A number that no ABI has.
const NONE: c_int = -1;

/// Number in the standard ABI, in MPICH's and in Open MPI's. Those of Fortran's first constructors, which have integers where there are
/// addresses now, tell the same.
pub(super) const COMBINERS: [([c_int; 3], Combiner); 19] = [
    ([101, 1, 0], Named),
    ([102, 2, 1], Dup),
    ([103, 3, 2], Contiguous),
    ([104, 4, 3], Vector),
    ([105, 6, 5], Hvector),
    ([106, 7, 6], Indexed),
    ([107, 9, 8], Hindexed),
    ([108, 10, 9], IndexedBlock),
    ([109, 19, 18], HindexedBlock),
    ([110, 12, 11], Struct),
    ([111, 13, 12], Subarray),
    ([112, 14, 13], Darray),
    ([113, 15, 14], F90Real),
    ([114, 16, 15], F90Complex),
    ([115, 17, 16], F90Integer),
    ([116, 18, 17], Resized),
    ([NONE, 5, 4], Hvector),
    ([NONE, 8, 7], Hindexed),
    ([NONE, 11, 10], Struct),
];

impl Combiner {
    /// What the host's number means.
    pub(crate) fn of(family: Family, number: c_int) -> Option<Self> {
        let column = family as usize;
        COMBINERS.iter().find(|(numbers, _)| numbers[column] == number).map(|(_, combiner)| *combiner)
    }
}
