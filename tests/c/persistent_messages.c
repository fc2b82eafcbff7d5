/* Persistent sends and receives of every mode, started many times, alone and together, in every
 * call that waits or tests; the communicator and the datatype are freed while the requests are
 * there.
 *
 * ranks: 1 2 4 8
 * memcheck: yes */
#include "check.h"

enum { ROUNDS = 5, KINDS = 4, WORDS = 6 };

static int right, left;

/* What a rank sends in a round by one of the requests. */
static int word(int rank, int round, int kind, int at)
{
    return 1000 * rank + 100 * round + 10 * kind + at;
}

/* One pass over all ways to complete: `way` says which. */
static void complete(int way, int count, MPI_Request *requests, MPI_Status *statuses)
{
    int done = 0, index, flag = 0, some, indices[2 * KINDS];
    switch (way) {
    case 0:
        OK(MPI_Waitall(count, requests, statuses));
        return;
    case 1:
        for (; done < count; done++) {
            MPI_Status status;
            OK(MPI_Waitany(count, requests, &index, &status));
            CHECK(index >= 0 && index < count);
            if (index >= 0 && index < count)
                statuses[index] = status;
        }
        OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        CHECK_EQ(index, MPI_UNDEFINED);
        return;
    case 2:
        while (done < count) {
            MPI_Status these[2 * KINDS];
            OK(MPI_Waitsome(count, requests, &some, indices, these));
            CHECK(some > 0);
            for (int i = 0; i < some; i++)
                statuses[indices[i]] = these[i];
            done += some > 0 ? some : count;
        }
        OK(MPI_Testsome(count, requests, &some, indices, statuses));
        CHECK_EQ(some, MPI_UNDEFINED);
        return;
    case 3:
        while (!flag)
            OK(MPI_Testall(count, requests, &flag, statuses));
        return;
    default:
        for (int i = 0; i < count; i++)
            OK(MPI_Wait(&requests[i], &statuses[i]));
    }
}

static void rounds(MPI_Comm comm)
{
    static int out[KINDS][WORDS], in[KINDS][2 * WORDS];
    MPI_Request requests[2 * KINDS];
    MPI_Status statuses[2 * KINDS];
    MPI_Datatype pairs;
    /* Received with gaps. */
    OK(MPI_Type_vector(WORDS, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    for (int kind = 0; kind < KINDS; kind++)
        OK(MPI_Recv_init(in[kind], 1, pairs, kind == 1 ? MPI_ANY_SOURCE : left, kind, comm, &requests[kind]));
    OK(MPI_Type_free(&pairs));
    OK(MPI_Send_init(out[0], WORDS, MPI_INT, right, 0, comm, &requests[KINDS]));
    OK(MPI_Bsend_init(out[1], WORDS, MPI_INT, right, 1, comm, &requests[KINDS + 1]));
    OK(MPI_Ssend_init(out[2], WORDS, MPI_INT, right, 2, comm, &requests[KINDS + 2]));
    OK(MPI_Rsend_init(out[3], WORDS, MPI_INT, right, 3, comm, &requests[KINDS + 3]));
    OK(MPI_Comm_free(&comm));
    for (int round = 0; round < ROUNDS; round++) {
        for (int kind = 0; kind < KINDS; kind++)
            for (int at = 0; at < 2 * WORDS; at++) {
                in[kind][at] = -1;
                out[kind][at / 2] = word(check_rank, round, kind, at / 2);
            }
        /* The ready send's receive is there first. */
        OK(MPI_Startall(KINDS, requests));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (round % 2 == 0)
            OK(MPI_Startall(KINDS, requests + KINDS));
        else
            for (int kind = 0; kind < KINDS; kind++)
                OK(MPI_Start(&requests[KINDS + kind]));
        complete(round, 2 * KINDS, requests, statuses);
        for (int kind = 0; kind < KINDS; kind++) {
            int count = -1;
            CHECK(requests[kind] != MPI_REQUEST_NULL && requests[KINDS + kind] != MPI_REQUEST_NULL);
            CHECK_EQ(statuses[kind].MPI_SOURCE, left);
            CHECK_EQ(statuses[kind].MPI_TAG, kind);
            OK(MPI_Get_count(&statuses[kind], MPI_INT, &count));
            CHECK_EQ(count, WORDS);
            for (int at = 0; at < WORDS; at++) {
                CHECK_EQ(in[kind][2 * at], word(left, round, kind, at));
                CHECK_EQ(in[kind][2 * at + 1], -1);
            }
        }
    }
    for (int i = 0; i < 2 * KINDS; i++) {
        OK(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* Requests that are not started count as null ones. */
static void inactive(void)
{
    int in = -1, out = check_rank, flag = 0, index = 5, count = 0, indices[3];
    MPI_Request requests[3], plain;
    MPI_Status status, statuses[3];
    OK(MPI_Recv_init(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send_init(&out, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Recv_init(&in, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &requests[2]));
    memset(&status, 0x55, sizeof status);
    OK(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    OK(MPI_Test(&requests[1], &flag, &status));
    CHECK(flag);
    OK(MPI_Request_get_status(requests[1], &flag, &status));
    CHECK(flag);
    OK(MPI_Waitall(3, requests, statuses));
    OK(MPI_Waitany(3, requests, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    OK(MPI_Waitsome(3, requests, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    /* One of them is active: it alone is what is found. */
    OK(MPI_Start(&requests[2]));
    OK(MPI_Send(&out, 1, MPI_INT, right, 8, MPI_COMM_WORLD));
    OK(MPI_Waitany(3, requests, &index, &status));
    CHECK_EQ(index, 2);
    CHECK_EQ(status.MPI_SOURCE, left);
    /* A persistent send meets a receive that is not, and the other way round; the first is freed while it is active. */
    OK(MPI_Irecv(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &plain));
    OK(MPI_Start(&requests[1]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Wait(&plain, &status));
    CHECK_EQ(in, left);
    in = -1;
    OK(MPI_Start(&requests[0]));
    OK(MPI_Send(&out, 1, MPI_INT, right, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_EQ(in, left);
    /* A receive is cancelled, and started again. */
    in = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Cancel(&requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && in == -1 && requests[0] != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Send(&out, 1, MPI_INT, right, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag && in == left);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[2]));
}

int main(int argc, char **argv)
{
    static char buffer[KINDS * ROUNDS * (WORDS * sizeof(int) + MPI_BSEND_OVERHEAD + 64)];
    void *detached;
    int size;
    MPI_Comm comm;
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Buffer_attach(buffer, sizeof buffer));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    rounds(comm);
    OK(MPI_Buffer_detach(&detached, &size));
    CHECK(detached == buffer && size == (int)sizeof buffer);
    inactive();
    return check_end();
}
