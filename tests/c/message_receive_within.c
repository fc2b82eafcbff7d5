/* Blocking receives of short messages, which need no request in this library: among receives that have one, before and behind
 * the message, by any source and tag, too long, too short, empty, synchronous and long; and by several threads at once.
 *
 * ranks: 2 3
 * memcheck: yes */
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, MESSAGES = 200, LARGE = 60000 };

static int to, from;

static void *receive_own(void *context)
{
    int tag = *(int *)context, in = -1;
    MPI_Status status;
    for (int i = 0; i < MESSAGES; i++) {
        OK(MPI_Recv(&in, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status));
        CHECK_EQ(in, 1000 * tag + i);
        CHECK_EQ(status.MPI_TAG, tag);
        CHECK_EQ(status.MPI_SOURCE, from);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int out[4] = {1, 2, 3, 4}, in[4], count = -1, *large = calloc(LARGE, sizeof *large);
    MPI_Status status;
    MPI_Request before, behind, sent, all[4];
    check_begin_threads(&argc, &argv);
    check_errors_return();
    to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;

    for (int late = 0; late < 2; late++) {
        /* Receives take messages in the order of the calls, whatever their kind. */
        int first = -1, last = -1;
        OK(MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &before));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < 3; i++)
            OK(MPI_Isend(&out[i], 1, MPI_INT, to, 1, MPI_COMM_WORLD, &all[i]));
        if (late)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Recv(in, 1, MPI_INT, late ? MPI_ANY_SOURCE : from, late ? MPI_ANY_TAG : 1, MPI_COMM_WORLD, &status));
        CHECK_EQ(in[0], 2);
        CHECK_EQ(status.MPI_SOURCE, from);
        CHECK_EQ(status.MPI_TAG, 1);
        OK(MPI_Irecv(&last, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &behind));
        OK(MPI_Wait(&before, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&behind, MPI_STATUS_IGNORE));
        CHECK_EQ(first, 1);
        CHECK_EQ(last, 3);
        OK(MPI_Waitall(3, all, MPI_STATUSES_IGNORE));

        /* Shorter, empty, and too long, which harms no later one. */
        OK(MPI_Barrier(MPI_COMM_WORLD));
        const int counts[] = {2, 0, 4, 1};
        for (int i = 0; i < 4; i++)
            OK(MPI_Isend(out, counts[i], MPI_INT, to, 2, MPI_COMM_WORLD, &all[i]));
        if (late)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < 4; i++) {
            in[0] = in[1] = in[2] = in[3] = -1;
            if (counts[i] > 3) {
                FAILS(MPI_Recv(in, 3, MPI_INT, from, 2, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
            } else {
                OK(MPI_Recv(in, 3, MPI_INT, from, 2, MPI_COMM_WORLD, &status));
                OK(MPI_Get_count(&status, MPI_INT, &count));
                CHECK_EQ(count, counts[i]);
                for (int k = 0; k < 3; k++)
                    CHECK_EQ(in[k], k < counts[i] ? k + 1 : -1);
            }
            CHECK_EQ(in[3], -1);
        }
        OK(MPI_Waitall(4, all, MPI_STATUSES_IGNORE));

        /* Messages that come in two steps. */
        OK(MPI_Issend(out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &sent));
        if (late)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Recv(in, 4, MPI_INT, from, 3, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQ(count, 1);
        OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        int *longest = malloc(LARGE * sizeof *longest);
        for (int i = 0; i < LARGE; i++)
            large[i] = i + check_rank;
        OK(MPI_Isend(large, LARGE, MPI_INT, to, 4, MPI_COMM_WORLD, &sent));
        OK(MPI_Recv(longest, LARGE, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_EQ(status.MPI_TAG, 4);
        CHECK_EQ(longest[LARGE - 1], LARGE - 1 + from);
        OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        free(longest);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }

    pthread_t threads[THREADS];
    int tags[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tags[i] = 10 + i;
        CHECK_EQ(pthread_create(&threads[i], NULL, receive_own, &tags[i]), 0);
    }
    for (int i = 0; i < MESSAGES; i++) {
        for (int k = 0; k < THREADS; k++) {
            int value = 1000 * (10 + k) + i;
            OK(MPI_Send(&value, 1, MPI_INT, to, 10 + k, MPI_COMM_WORLD));
        }
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    free(large);
    return check_end();
}
