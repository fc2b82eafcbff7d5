/* A list through the windows of all ranks, to whose head all push by compare-and-swap: every element is there once.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { EACH = 25 };

/* Word 0 is the head (on rank 0); element i of a rank is its word i + 1 and holds the name of the next. A name is never 0. */
static long name(int rank, int element)
{
    return 1 + (long)rank * EACH + element;
}

int main(int argc, char **argv)
{
    long *memory;
    int seen[8 * EACH] = {0}, length = 0;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate((1 + EACH) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock_all(0, win));
    memset(memory, 0, (1 + EACH) * sizeof *memory);
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < EACH; i++) {
        long head = 0, mine = name(check_rank, i), found = -1;
        DOING("pushing to the head until it did not change meanwhile");
        while (found != head) {
            if (found != -1)
                head = found;
            MPI_Accumulate(&head, 1, MPI_LONG, check_rank, 1 + i, 1, MPI_LONG, MPI_REPLACE, win);
            MPI_Win_flush(check_rank, win);
            MPI_Compare_and_swap(&mine, &head, &found, MPI_LONG, 0, 0, win);
            MPI_Win_flush(0, win);
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long at;
    OK(MPI_Fetch_and_op(NULL, &at, MPI_LONG, 0, 0, MPI_NO_OP, win));
    OK(MPI_Win_flush(0, win));
    while (at != 0 && length <= 8 * EACH) {
        int rank = (int)((at - 1) / EACH), element = (int)((at - 1) % EACH);
        CHECK(rank >= 0 && rank < check_size);
        if (rank < 0 || rank >= check_size)
            break;
        seen[at - 1]++;
        length++;
        OK(MPI_Fetch_and_op(NULL, &at, MPI_LONG, rank, 1 + element, MPI_NO_OP, win));
        OK(MPI_Win_flush(rank, win));
    }
    CHECK_EQ(length, check_size * EACH);
    for (int i = 0; i < check_size * EACH; i++)
        CHECK_AT(seen, i, 1);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
