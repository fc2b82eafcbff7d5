/* Every call that waits on a communicator, and every later one, ends when any rank revokes it, also if that one dies soon;
 * other communicators go on. */
#include "faults.h"

static int dies;

/* The call ends because of the revocation, or because it depends on the rank that has revoked and died. */
#define ENDS(call)                                                                             \
    do {                                                                                       \
        int why = (call);                                                                      \
        if (why != MPIX_ERR_REVOKED && !(dies && why == MPIX_ERR_PROC_FAILED)) {               \
            failures++;                                                                        \
            fprintf(stderr, "rank %d: line %d: %s answers %d\n", rank, __LINE__, #call, why);  \
        }                                                                                      \
    } while (0)

static void wait_for_it(MPI_Comm comm, int how, int first)
{
    enum { LONG = 1 << 20 };
    static int a[LONG], b[LONG];
    MPI_Request requests[2];
    switch (how % 6) {
    case 0: ENDS(MPI_Recv(a, 1, MPI_INT, first, 7, comm, MPI_STATUS_IGNORE)); break;
    case 1: ENDS(MPI_Barrier(comm)); break;
    case 2: ENDS(MPI_Ssend(a, 1, MPI_INT, first, 7, comm)); break;
    case 3: ENDS(MPI_Recv(a, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE)); break;
    case 4: ENDS(MPI_Probe(first, 7, comm, MPI_STATUS_IGNORE)); break;
    default:
        OK(MPI_Isend(a, LONG, MPI_INT, first, 7, comm, &requests[0]));
        OK(MPI_Irecv(b, LONG, MPI_INT, first, 8, comm, &requests[1]));
        ENDS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        ENDS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    int flag, value = 1, first;
    unsigned barriers;
    MPI_Comm comm, other, again;
    MPI_Win win;
    begin(&argc, &argv);
    dies = !strcmp(argv[1], "dies");
    first = (int)drawn((unsigned)size);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    barriers = drawn(40);
    for (unsigned i = 0; i < barriers; i++)
        OK(MPI_Barrier(comm));
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(!flag || rank != first);
    if (rank == first) {
        usleep(drawn(20000));
        OK(MPIX_Comm_revoke(comm));
        /* A rank that dies before its packet has left has not revoked. */
        for (int i = 0; dies && i < 20; i++) {
            usleep(drawn(200));
            OK(MPIX_Comm_is_revoked(comm, &flag));
        }
        if (dies)
            die();
        OK(MPIX_Comm_is_revoked(comm, &flag));
        CHECK(flag);
    } else {
        wait_for_it(comm, rank + (int)drawn(6), first);
        do
            OK(MPIX_Comm_is_revoked(comm, &flag));
        while (!flag);
    }
    CLASS(MPI_Send(&value, 1, MPI_INT, rank, 1, comm), MPIX_ERR_REVOKED);
    CLASS(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm), MPIX_ERR_REVOKED);
    CLASS(MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    CLASS(MPI_Comm_dup(comm, &again), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, comm, &win), MPIX_ERR_REVOKED);
    CHECK(value == 1);
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag);
    OK(MPIX_Comm_is_revoked(other, &flag));
    CHECK(!flag);
    if (!dies) {
        value = rank;
        OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, other));
        CHECK(value == size * (size - 1) / 2);
    }
    /* It still can be made one that works. */
    OK(MPIX_Comm_shrink(comm, &again));
    MPI_Comm_size(again, &flag);
    CHECK(flag == size || (dies && flag == size - 1));
    value = 1;
    if (MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, again) == MPI_SUCCESS)
        CHECK(value == flag);
    OK(MPI_Comm_free(&again));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&other));
    return end();
}
