//! The seam over PMIx: Open MPI's `mpirun` and `prterun`, Slurm's `srun --mpi=pmix`.
//!
//! PMIx has no wire protocol of its own: a process talks to its launcher through a library, `libpmix.so.2`, which is loaded when a
//! job needs it. The build knows nothing of it. Order of the search: what `RMA_PMIX_LIB` names, and nothing else then; the one that
//! the launcher has mapped, since a launcher speaks best with a library of its own version; what the system has.

mod client;
mod layout;
mod library;
mod search;

pub(super) use client::Pmix;
