/* Four threads of every rank send and receive at once, each with a tag of its own; blocking calls of one do not hold up
 * the others.
 *
 * ranks: 1 2 4 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50, LARGE = 20000 };

static void *work(void *argument)
{
    int tag = (int)(intptr_t)argument;
    int *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int round = 0; round < ROUNDS; round++) {
        int words = round % 5 == 4 ? LARGE : 1 + round;
        MPI_Request request;
        for (int i = 0; i < words; i++)
            out[i] = tag * 100000 + check_rank * 10000 + round + i, in[i] = -1;
        OK(MPI_Isend(out, words, MPI_INT, right, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Recv(in, words, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < words; i++)
            CHECK_AT(in, i, tag * 100000 + left * 10000 + round + i);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    check_begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return check_end();
}
