/* Sends are cancelled: one that no receive has taken ends, cancelled if it was not over before; one that a receive has taken is
 * delivered; a message is received if and only if its send was not cancelled. Persistent ones can be started again.
 *
 * ranks: 1 2 3 4
 * memcheck: yes
 * peers: none, sends that cannot be cancelled are waited for there for ever */
#include "check.h"

enum { LONG = 1000000, KINDS = 4, TAG = 7, WORD = 8 };

static char *out, *in;

static void begin(int kind, int len, int dest, MPI_Request *request)
{
    switch (kind) {
    case 0:
        OK(MPI_Isend(out, len, MPI_CHAR, dest, TAG, MPI_COMM_WORLD, request));
        return;
    case 1:
        OK(MPI_Issend(out, len, MPI_CHAR, dest, TAG, MPI_COMM_WORLD, request));
        return;
    case 2:
        OK(MPI_Send_init(out, len, MPI_CHAR, dest, TAG, MPI_COMM_WORLD, request));
        OK(MPI_Start(request));
        return;
    default:
        OK(MPI_Ssend_init(out, len, MPI_CHAR, dest, TAG, MPI_COMM_WORLD, request));
        OK(MPI_Start(request));
    }
}

/* Rank 0 cancels and says whether that came in time; the last rank receives what there is. */
static void unmatched(int kind, int len, int to)
{
    int is_cancelled = -1, told = -1, count = -1, is_synchronous = kind % 2;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    if (check_rank == 0) {
        begin(kind, len, to, &request);
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &is_cancelled));
        CHECK(!is_synchronous || is_cancelled);
        if (kind >= 2)
            OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
        MPI_Request word;
        OK(MPI_Isend(&is_cancelled, 1, MPI_INT, to, WORD, MPI_COMM_WORLD, &word));
        if (to == 0)
            OK(MPI_Recv(&told, 1, MPI_INT, 0, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&word, MPI_STATUS_IGNORE));
        CHECK(to != 0 || told == is_cancelled);
    }
    if (check_rank == to) {
        int flag = -1;
        if (to != 0)
            OK(MPI_Recv(&is_cancelled, 1, MPI_INT, 0, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (is_cancelled)
            OK(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        else
            OK(MPI_Recv(in, len, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &status));
        CHECK(flag != 1);
        if (!is_cancelled) {
            OK(MPI_Get_count(&status, MPI_CHAR, &count));
            CHECK_EQ(count, len);
            CHECK(memcmp(in, out, (size_t)len) == 0);
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A receive is posted for the first of two: the second one goes, the first one comes, in whatever order. */
static void matched(int kind, int len, int to)
{
    MPI_Request sends[2], receive;
    MPI_Status statuses[2];
    int is_cancelled = -1;
    if (check_rank == to)
        OK(MPI_Irecv(in, len, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &receive));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        begin(kind, len, to, &sends[0]);
        begin(1, len, to, &sends[1]);
        OK(MPI_Cancel(&sends[1]));
        OK(MPI_Cancel(&sends[1]));
        if (to != 0)
            OK(MPI_Waitall(2, sends, statuses));
        else
            OK(MPI_Wait(&sends[1], &statuses[1]));
        OK(MPI_Test_cancelled(&statuses[1], &is_cancelled));
        CHECK_EQ(is_cancelled, 1);
    }
    if (check_rank == to) {
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        CHECK(memcmp(in, out, (size_t)len) == 0);
    }
    if (check_rank == 0) {
        if (to == 0)
            OK(MPI_Wait(&sends[0], &statuses[0]));
        OK(MPI_Test_cancelled(&statuses[0], &is_cancelled));
        CHECK_EQ(is_cancelled, 0);
        if (kind >= 2) {
            /* Again, and freed while the answer is under way. */
            OK(MPI_Start(&sends[0]));
            OK(MPI_Cancel(&sends[0]));
            OK(MPI_Wait(&sends[0], &statuses[0]));
            OK(MPI_Test_cancelled(&statuses[0], &is_cancelled));
            CHECK(is_cancelled || kind == 2);
            OK(MPI_Request_free(&sends[0]));
        }
    }
    OK(MPI_Bcast(&is_cancelled, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (check_rank == to && kind == 2 && !is_cancelled)
        OK(MPI_Recv(in, len, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 10000, LONG};
    check_begin(&argc, &argv);
    out = malloc(LONG);
    in = malloc(LONG);
    for (int i = 0; i < LONG; i++)
        out[i] = (char)(i * 7 + 3);
    for (int kind = 0; kind < KINDS; kind++)
        for (int s = 0; s < 4; s++) {
            memset(in, 0, LONG);
            unmatched(kind, sizes[s], check_size - 1);
            memset(in, 0, LONG);
            matched(kind, sizes[s], check_size - 1);
        }
    free(out);
    free(in);
    return check_end();
}
