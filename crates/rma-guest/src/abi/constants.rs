//! Constants of the three ABIs that are no handles of datatypes and operations.

use std::ffi::c_int;

/// Whose handles and constants a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Standard,
    Mpich,
    OpenMpi,
}

/// The constants of one ABI. Handles of Open MPI are addresses of variables, which are filled in when it is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(crate) comm_world: usize,
    pub(crate) comm_self: usize,
    pub(crate) comm_null: usize,
    pub(crate) request_null: usize,
    pub(crate) info_null: usize,
    pub(crate) win_null: usize,
    pub(crate) byte: usize,
    pub(crate) int: usize,
    pub(crate) min: usize,
    /// Handlers that end the job.
    pub(crate) fatal: [usize; 2],
    /// The handler that lets calls answer their errors.
    pub(crate) errors_return: usize,
    pub(crate) proc_null: c_int,
    pub(crate) undefined: c_int,
    /// nocheck, noprecede, noput, nostore, nosucceed.
    pub(crate) asserts: [c_int; 5],
    /// exclusive, shared.
    pub(crate) locks: [c_int; 2],
    /// base, size, unit, flavor, model.
    pub(crate) window_keys: [c_int; 5],
    /// created, allocated, dynamic, shared.
    pub(crate) flavors: [c_int; 4],
    /// unified, separate.
    pub(crate) models: [c_int; 2],
    /// single, funneled, serialized, multiple.
    pub(crate) threads: [c_int; 4],
    /// C's, Fortran's.
    pub(crate) orders: [c_int; 2],
    /// none, block, cyclic, the default argument.
    pub(crate) distributions: [c_int; 4],
    pub(crate) error_text: usize,
    pub(crate) info_value: usize,
    /// Where a handle is an `int`, what of a register belongs to it.
    pub(crate) mask: usize,
}

/// The standard ABI of MPI 5.0: that of this project's own library, too.
pub(crate) const STANDARD: Constants = Constants {
    comm_world: 0x101,
    comm_self: 0x102,
    comm_null: 0x100,
    request_null: 0x180,
    info_null: 0x130,
    win_null: 0x110,
    byte: 0x247,
    int: 0x209,
    min: 0x22,
    fatal: [0x141, 0x142],
    errors_return: 0x143,
    proc_null: -3,
    undefined: -32766,
    asserts: [1024, 2048, 4096, 8192, 16384],
    locks: [301, 302],
    window_keys: [601, 603, 602, 604, 605],
    flavors: [311, 312, 313, 314],
    models: [321, 322],
    threads: [0, 1024, 2048, 4096],
    orders: [0xC, 0xF],
    distributions: [16, 17, 18, 19],
    error_text: 512,
    info_value: 1024,
    mask: usize::MAX,
};

/// MPICH's own ABI, which MVAPICH and others share.
pub(super) const MPICH: Constants = Constants {
    comm_world: 0x4400_0000,
    comm_self: 0x4400_0001,
    comm_null: 0x0400_0000,
    request_null: 0x2c00_0000,
    info_null: 0x1c00_0000,
    win_null: 0x2000_0000,
    byte: 0x4c00_010d,
    int: 0x4c00_0405,
    min: 0x5800_0002,
    fatal: [0x5400_0000, 0x5400_0003],
    errors_return: 0x5400_0001,
    proc_null: -1,
    undefined: -32766,
    asserts: [1024, 8192, 4096, 2048, 16384],
    locks: [234, 235],
    window_keys: [0x6600_0001, 0x6600_0003, 0x6600_0005, 0x6600_0007, 0x6600_0009],
    flavors: [1, 2, 3, 4],
    models: [2, 1],
    threads: [0, 1, 2, 3],
    orders: [56, 57],
    distributions: [123, 121, 122, -49767],
    error_text: 512,
    info_value: 1024,
    mask: u32::MAX as usize,
};

/// Open MPI's ABI, without its handles.
pub(super) const OPEN_MPI: Constants = Constants {
    comm_world: 0,
    comm_self: 0,
    comm_null: 0,
    request_null: 0,
    info_null: 0,
    win_null: 0,
    byte: 0,
    int: 0,
    min: 0,
    fatal: [0; 2],
    errors_return: 0,
    proc_null: -2,
    undefined: -32766,
    asserts: [1, 2, 4, 8, 16],
    locks: [1, 2],
    window_keys: [7, 8, 9, 10, 11],
    flavors: [1, 2, 3, 4],
    models: [0, 1],
    threads: [0, 1, 2, 3],
    orders: [0, 1],
    distributions: [2, 0, 1, -1],
    error_text: 256,
    info_value: 256,
    mask: usize::MAX,
};

impl Constants {
    /// Those of a host; `variable` answers the address of a variable of Open MPI.
    pub(crate) fn of(family: Family, variable: impl Fn(&str) -> usize) -> Self {
        match family {
            Family::Standard => STANDARD,
            Family::Mpich => MPICH,
            Family::OpenMpi => Self {
                comm_world: variable("ompi_mpi_comm_world"),
                comm_self: variable("ompi_mpi_comm_self"),
                comm_null: variable("ompi_mpi_comm_null"),
                request_null: variable("ompi_request_null"),
                info_null: variable("ompi_mpi_info_null"),
                win_null: variable("ompi_mpi_win_null"),
                byte: variable("ompi_mpi_byte"),
                int: variable("ompi_mpi_int"),
                min: variable("ompi_mpi_op_min"),
                fatal: [variable("ompi_mpi_errors_are_fatal"), variable("ompi_mpi_errors_abort")],
                errors_return: variable("ompi_mpi_errors_return"),
                ..OPEN_MPI
            },
        }
    }
}
