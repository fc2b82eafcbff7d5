/* Partitioned messages: partitions become ready in any order, by any call, from several threads; each start is a
 * message of its own; requests meet in the order in which they were made, whatever order they are started in, and
 * no other receive takes what they send.
 *
 * ranks: 1 2 4
 * peers: not openmpi, whose 4.1 has none
 * memcheck: yes */
#include "check.h"

#include <pthread.h>

enum { PARTS = 4, EACH = 3, WORDS = PARTS * EACH, ROUNDS = 3 };

static int out[2][WORDS], in[2][WORDS];
static MPI_Request sends[2], receives[2];

static int word(int rank, int which, int round, int at)
{
    return 1000 * rank + 500 * which + 100 * round + at;
}

static void *last_two(void *unused)
{
    (void)unused;
    OK(MPI_Pready_range(2, 3, sends[0]));
    return NULL;
}

int main(int argc, char **argv)
{
    int flag, right, left, whole = -1, list[PARTS] = {3, 0, 2, 1};
    MPI_Request plain;
    MPI_Status status;
    MPI_Datatype triple;
    pthread_t thread;
    check_begin_threads(&argc, &argv);
    right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Type_contiguous(EACH, MPI_INT, &triple));
    OK(MPI_Type_commit(&triple));
    for (int which = 0; which < 2; which++) {
        OK(MPI_Psend_init(out[which], PARTS, EACH, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[which]));
        OK(MPI_Precv_init(in[which], PARTS, 1, triple, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[which]));
    }
    OK(MPI_Type_free(&triple));
    /* One that none of these messages may meet. */
    OK(MPI_Irecv(&whole, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &plain));
    OK(MPI_Parrived(receives[0], 0, &flag));
    CHECK(flag);
    for (int round = 0; round < ROUNDS; round++) {
        for (int which = 0; which < 2; which++)
            for (int at = 0; at < WORDS; at++)
                out[which][at] = word(check_rank, which, round, at), in[which][at] = -1;
        /* The second first, on one side only. */
        OK(MPI_Start(&sends[1]));
        OK(MPI_Start(&sends[0]));
        OK(MPI_Startall(2, receives));
        OK(MPI_Pready_list(PARTS, list, sends[1]));
        OK(MPI_Pready(1, sends[0]));
        OK(MPI_Test(&sends[0], &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Parrived(receives[0], 1, &flag));
        CHECK_EQ(pthread_create(&thread, NULL, last_two, NULL), 0);
        OK(MPI_Pready(0, sends[0]));
        OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
        CHECK_EQ(pthread_join(thread, NULL), 0);
        DOING("MPI_Parrived until it says yes");
        for (flag = 0; !flag;)
            MPI_Parrived(receives[0], PARTS - 1, &flag);
        for (int at = 0; at < WORDS; at++)
            CHECK_EQ(in[0][at], word(left, 0, round, at));
        OK(MPI_Wait(&receives[0], &status));
        CHECK_EQ(status.MPI_SOURCE, left);
        CHECK_EQ(status.MPI_TAG, 7);
        OK(MPI_Wait(&receives[1], MPI_STATUS_IGNORE));
        for (int at = 0; at < WORDS; at++)
            CHECK_EQ(in[1][at], word(left, 1, round, at));
        OK(MPI_Wait(&sends[1], MPI_STATUS_IGNORE));
    }
    OK(MPI_Cancel(&plain));
    OK(MPI_Wait(&plain, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && whole == -1);

    check_errors_return();
    FAILS(MPI_Pready(0, sends[0]), MPI_ERR_REQUEST);
    OK(MPI_Start(&receives[0]));
    FAILS(MPI_Pready(0, receives[0]), MPI_ERR_REQUEST);
    OK(MPI_Start(&sends[0]));
    FAILS(MPI_Pready(PARTS, sends[0]), MPI_ERR_ARG);
    OK(MPI_Pready_range(0, 2, sends[0]));
    FAILS(MPI_Pready(2, sends[0]), MPI_ERR_ARG);
    OK(MPI_Pready(3, sends[0]));
    OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receives[0], MPI_STATUS_IGNORE));
    for (int which = 0; which < 2; which++) {
        OK(MPI_Request_free(&sends[which]));
        OK(MPI_Request_free(&receives[which]));
    }
    FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &plain), MPI_ERR_RANK);
    return check_end();
}
