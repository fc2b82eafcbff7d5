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

#endif
