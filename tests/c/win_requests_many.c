/* Many requests of several kinds in one list: operations that have ended with the call, operations under way, and messages.
 *
 * ranks: 1 2 3 */
#include "check.h"

enum { MOST = 400 };

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 2, 63, 64, 65, 66, 128, 129, 130, MOST};
    static long sent[MOST], found[MOST];
    static MPI_Request requests[MOST];
    long *memory;
    MPI_Win win;
    check_begin(&argc, &argv);
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_allocate(sizeof sent, sizeof *sent, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int kinds = 1; kinds <= 3; kinds++) {
            int length = lengths[i];
            for (int at = 0; at < length; at++) {
                memory[at] = sent[at] = 1000 * at + 10 * (long)i + check_rank;
                found[at] = -1;
            }
            OK(MPI_Win_sync(win));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Win_sync(win));
            /* The first kind is at odd places, the others come in turns; a message and its receive follow each other. */
            for (int at = 0; at < length; at++) {
                if (at % 2 == 1 || kinds == 1)
                    OK(MPI_Rget(&found[at], 1, MPI_LONG, from, at, 1, MPI_LONG, win, &requests[at]));
                else if (kinds == 2)
                    OK(MPI_Isend(&sent[at], 1, MPI_LONG, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[at]));
                else if (at % 4 == 0 && at + 2 < length)
                    OK(MPI_Irecv(&found[at], 1, MPI_LONG, from, at, MPI_COMM_WORLD, &requests[at]));
                else if (at % 4 == 2)
                    OK(MPI_Isend(&sent[at - 2], 1, MPI_LONG, to, at - 2, MPI_COMM_WORLD, &requests[at]));
                else
                    requests[at] = MPI_REQUEST_NULL;
            }
            OK(MPI_Waitall(length, requests, MPI_STATUSES_IGNORE));
            for (int at = 0; at < length; at++) {
                long expected = 1000 * at + 10 * (long)i + from;
                CHECK(requests[at] == MPI_REQUEST_NULL);
                if (at % 2 == 1 || kinds == 1 || (kinds == 3 && at % 4 == 0 && at + 2 < length))
                    CHECK_AT(found, at, expected);
            }
            OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
