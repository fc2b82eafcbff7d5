//! Error classes of the three ABIs.

use super::constants::Family;
use std::ffi::c_int;

/// The host's class for one of the standard ABI; its class of other errors where it has no such class.
pub(crate) fn class_for(family: Family, standard: c_int) -> c_int {
    let column = match family {
        Family::Standard => return standard,
        Family::Mpich => 1,
        Family::OpenMpi => 2,
    };
    let row = CLASSES.iter().find(|row| row[0] == standard);
    row.unwrap_or(&OTHER)[column]
}

const OTHER: [c_int; 3] = [16, 15, 16];

/// Error classes: of the standard ABI, of MPICH, of Open MPI.
pub(crate) const CLASSES: &[[c_int; 3]] = &[
    [1, 1, 1],    // MPI_ERR_BUFFER
    [2, 2, 2],    // MPI_ERR_COUNT
    [3, 3, 3],    // MPI_ERR_TYPE
    [4, 4, 4],    // MPI_ERR_TAG
    [5, 5, 5],    // MPI_ERR_COMM
    [6, 6, 6],    // MPI_ERR_RANK
    [7, 19, 7],   // MPI_ERR_REQUEST
    [8, 7, 8],    // MPI_ERR_ROOT
    [9, 8, 9],    // MPI_ERR_GROUP
    [10, 9, 10],  // MPI_ERR_OP
    [11, 10, 11], // MPI_ERR_TOPOLOGY
    [12, 11, 12], // MPI_ERR_DIMS
    [13, 12, 13], // MPI_ERR_ARG
    [14, 13, 14], // MPI_ERR_UNKNOWN
    [15, 14, 15], // MPI_ERR_TRUNCATE
    [16, 15, 16], // MPI_ERR_OTHER
    [17, 16, 17], // MPI_ERR_INTERN
    [18, 18, 19], // MPI_ERR_PENDING
    [19, 17, 18], // MPI_ERR_IN_STATUS
    [20, 20, 20], // MPI_ERR_ACCESS
    [21, 21, 21], // MPI_ERR_AMODE
    [22, 53, 22], // MPI_ERR_ASSERT
    [23, 22, 23], // MPI_ERR_BAD_FILE
    [24, 46, 24], // MPI_ERR_BASE
    [25, 23, 25], // MPI_ERR_CONVERSION
    [26, 52, 26], // MPI_ERR_DISP
    [27, 24, 27], // MPI_ERR_DUP_DATAREP
    [28, 25, 28], // MPI_ERR_FILE_EXISTS
    [29, 26, 29], // MPI_ERR_FILE_IN_USE
    [30, 27, 30], // MPI_ERR_FILE
    [31, 29, 31], // MPI_ERR_INFO_KEY
    [32, 31, 32], // MPI_ERR_INFO_NOKEY
    [33, 30, 33], // MPI_ERR_INFO_VALUE
    [34, 28, 34], // MPI_ERR_INFO
    [35, 32, 35], // MPI_ERR_IO
    [36, 48, 36], // MPI_ERR_KEYVAL
    [37, 47, 37], // MPI_ERR_LOCKTYPE
    [38, 33, 38], // MPI_ERR_NAME
    [39, 34, 39], // MPI_ERR_NO_MEM
    [40, 35, 40], // MPI_ERR_NOT_SAME
    [41, 36, 41], // MPI_ERR_NO_SPACE
    [42, 37, 42], // MPI_ERR_NO_SUCH_FILE
    [43, 38, 43], // MPI_ERR_PORT
    [44, 39, 44], // MPI_ERR_QUOTA
    [45, 40, 45], // MPI_ERR_READ_ONLY
    [46, 56, 69], // MPI_ERR_RMA_ATTACH
    [47, 49, 46], // MPI_ERR_RMA_CONFLICT
    [48, 55, 68], // MPI_ERR_RMA_RANGE
    [49, 57, 71], // MPI_ERR_RMA_SHARED
    [50, 50, 47], // MPI_ERR_RMA_SYNC
    [51, 41, 48], // MPI_ERR_SERVICE
    [52, 51, 49], // MPI_ERR_SIZE
    [53, 42, 50], // MPI_ERR_SPAWN
    [54, 43, 51], // MPI_ERR_UNSUPPORTED_DATAREP
    [55, 44, 52], // MPI_ERR_UNSUPPORTED_OPERATION
    [56, 45, 53], // MPI_ERR_WIN
    [57, 58, 70], // MPI_ERR_RMA_FLAVOR
    [58, 76, 16], // MPI_ERR_PROC_ABORTED
    [59, 77, 16], // MPI_ERR_VALUE_TOO_LARGE
    [60, 75, 16], // MPI_ERR_SESSION
    [61, 15, 16], // MPI_ERR_ERRHANDLER
    [62, 15, 16], // MPI_ERR_ABI
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_the_host_lacks_is_an_error_of_another_kind() {
        assert_eq!(class_for(Family::Mpich, 48), 55);
        assert_eq!(class_for(Family::OpenMpi, 48), 68);
        assert_eq!(class_for(Family::Standard, 48), 48);
        assert_eq!(class_for(Family::OpenMpi, 62), 16);
        assert_eq!(class_for(Family::Mpich, 12345), 15);
    }
}
