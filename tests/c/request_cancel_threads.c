/* One thread waits for a receive, another one cancels it, and a message may come in at the same time: the receive ends once,
 * cancelled or with the message, and neither thread meets memory that is gone.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, cancelling what another thread completes is at the program's risk there */
#include "check.h"

#include <pthread.h>

enum { ROUNDS = 300 };

static MPI_Request request;
static pthread_barrier_t meet;

static void *cancels(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&meet);
        MPI_Request copy = request;
        pthread_barrier_wait(&meet);
        int code = MPI_Cancel(&copy), class = MPI_SUCCESS;
        if (code != MPI_SUCCESS)
            MPI_Error_class(code, &class);
        /* It may have been completed before. */
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_REQUEST);
        pthread_barrier_wait(&meet);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    check_begin_threads(&argc, &argv);
    check_errors_return();
    pthread_barrier_init(&meet, NULL, 2);
    pthread_create(&thread, NULL, cancels, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        int value = i, got = -1, is_cancelled = -1;
        MPI_Request sending = MPI_REQUEST_NULL;
        MPI_Status status;
        OK(MPI_Irecv(&got, 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &request));
        pthread_barrier_wait(&meet);
        pthread_barrier_wait(&meet);
        if (i % 2)
            OK(MPI_Isend(&value, 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &sending));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &is_cancelled));
        CHECK_EQ(got, is_cancelled ? -1 : i);
        CHECK(is_cancelled || i % 2);
        if (is_cancelled && i % 2)
            OK(MPI_Recv(&got, 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &status));
        OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
        pthread_barrier_wait(&meet);
    }
    pthread_join(thread, NULL);
    return check_end();
}
