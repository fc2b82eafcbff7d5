/* What the library has beyond the standard: fault tolerance, with the names and the meaning of the MPI Forum's fault chapter to be
 * and of ULFM. docs/faults.md says what a program may rely on.
 *
 * All of it is declared by mpi.h; programs that know other libraries include this header for it. */
#ifndef MPI_EXT_H_RMA
#define MPI_EXT_H_RMA

#include <mpi.h>

/* The error classes MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING and MPIX_ERR_REVOKED, the attribute MPIX_FT, the kinds
 * MPIX_OWNER_OP_..., and the calls whose names begin with MPIX_Comm_ and MPIX_Win_. */
#define MPIX_HAVE_FT 1

/* int MPIX_Start_gathered(int rank, int size, MPIX_Gather_function *allgather, void *extra_state): before MPI_Init, which then
 * joins rank `rank` of `size` by that allgather, whatever the environment says of launchers. The function gets `length` bytes of
 * this rank, as many as each rank gives, stores those of all in rank order, and answers 0. It is called by all ranks a few times
 * while MPI starts, and at most once at its end. */
#define MPIX_HAVE_START_GATHERED 1

#endif
