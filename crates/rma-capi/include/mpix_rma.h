/* One-sided stores that tell their target, after the MPI Forum's draft of notified access (section 12.6 of MPI 5.1 to be), and waits
 * for them. docs/notification.md says what a program may rely on.
 *
 * All of it is declared by mpi.h: the calls whose names end in _notify, MPIX_Win_get_notify_value, MPIX_Win_reset_notify_value, the
 * error class MPIX_ERR_RMA_NOTIFICATION, and the attributes MPIX_WIN_NOTIFICATION_... */
#ifndef MPIX_RMA_H_RMA
#define MPIX_RMA_H_RMA

#include <mpi.h>

#define MPIX_HAVE_RMA_NOTIFICATION 1

#endif
