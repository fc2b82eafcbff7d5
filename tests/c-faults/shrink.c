/* Ranks die one after the other, at any time; the living make a communicator of themselves each time, and go on with exact
 * data, until one is left or enough have died. */
#include "faults.h"

/* A round on a communicator in which no rank need have died: what each gives comes to all. */
static int goes_well(MPI_Comm comm, int round)
{
    int me, members, code;
    long sum = 0, mine, expected = 0, all[16];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    mine = (me + 1) * 1000 + round;
    for (int i = 0; i < members; i++)
        expected += (i + 1) * 1000 + round;
    code = MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    if (code == MPI_SUCCESS)
        CHECK(sum == expected);
    if (code == MPI_SUCCESS)
        code = MPI_Allgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, comm);
    if (code == MPI_SUCCESS)
        for (int i = 0; i < members; i++)
            CHECK(all[i] == (i + 1) * 1000 + round);
    return code;
}

int main(int argc, char **argv)
{
    int members, in_background, rounds = 30, dies_in = -1, wait_us = 0;
    MPI_Comm comm, next;
    begin(&argc, &argv);
    in_background = !strcmp(argv[1], "ishrink");
    for (int i = 0; i < size - 1; i++) {
        int victim = (int)drawn((unsigned)size), round = (int)drawn((unsigned)rounds), us = (int)drawn(3000);
        if (victim == rank && victim != size - 1) {
            dies_in = round;
            wait_us = us;
        }
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    /* A rank that leaves it knows that all have the communicator; the others may hear of a death before. */
    MPI_Barrier(comm);
    for (int round = 0; round < rounds; round++) {
        int class, ok;
        if (round == dies_in) {
            if (wait_us < 100)
                die();
            signal(SIGALRM, SIG_DFL);
            ualarm((useconds_t)wait_us, 0);
        }
        class = goes_well(comm, round);
        MPI_Error_class(class, &class);
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED || class == MPI_ERR_OTHER);
        /* All learn whether it went well everywhere; a rank that has left a collective keeps others waiting without this. */
        if (class != MPI_SUCCESS)
            OK(MPIX_Comm_revoke(comm));
        ok = class == MPI_SUCCESS;
        class = MPIX_Comm_agree(comm, &ok);
        if (ok && class == MPI_SUCCESS)
            continue;
        OK(MPIX_Comm_revoke(comm));
        if (in_background) {
            MPI_Request request;
            OK(MPIX_Comm_ishrink(comm, &next, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPIX_Comm_shrink(comm, &next));
        }
        OK(MPI_Comm_free(&comm));
        comm = next;
    }
    MPI_Comm_size(comm, &members);
    CHECK(members >= 1 && members <= size);
    OK(MPI_Comm_free(&comm));
    return end();
}
