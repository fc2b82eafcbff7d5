/* Ranks die in MPI_Comm_dup, behind an agreement, beside one that goes on, or beside a shrinking: every call of the others ends. So
 * it does on a communicator that one rank has not got, because it has heard of a death before. */
#include "faults.h"

/* Rank 0 dies when it has the communicator, and another one calls for it later. */
static int unequal(void)
{
    MPI_Comm made = MPI_COMM_NULL, left;
    int code, ok = 1, value = 0, late = size / 2;
    if (rank == late)
        await_a_death();
    code = MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (rank == 0)
        die();
    CHECK(rank != late || code != MPI_SUCCESS);
    if (code == MPI_SUCCESS) {
        CLASS(MPIX_Comm_agree(made, &ok), MPIX_ERR_PROC_FAILED);
        CHECK(ok == 1);
        CLASS(MPI_Barrier(made), MPIX_ERR_PROC_FAILED);
        /* It may have ended its part by now, in order. */
        MPI_Error_class(MPI_Recv(&value, 1, MPI_INT, late, 0, made, MPI_STATUS_IGNORE), &code);
        CHECK(code == MPIX_ERR_PROC_FAILED || code == MPI_ERR_PROC_ABORTED);
        OK(MPIX_Comm_shrink(made, &left));
        MPI_Comm_size(left, &value);
        CHECK(value >= 1 && value <= size - 2);
        OK(MPI_Barrier(left));
        OK(MPI_Comm_free(&left));
        OK(MPI_Comm_free(&made));
        printf("rank %d has got it\n", rank);
    }
    return end();
}

int main(int argc, char **argv)
{
    int rounds = 15, dies_in = -1, wait_us = 0, shrinks, beside, members;
    MPI_Comm comm = MPI_COMM_WORLD, next = MPI_COMM_NULL, made;
    begin(&argc, &argv);
    if (!strcmp(argv[1], "unequal"))
        return unequal();
    shrinks = !strcmp(argv[1], "ishrink");
    beside = shrinks || !strcmp(argv[1], "iagree");
    for (int i = 0; i < size - 1; i++) {
        int victim = (int)drawn((unsigned)size), round = (int)drawn((unsigned)rounds), us = (int)drawn(400);
        if (victim == rank && victim != size - 1) {
            dies_in = round;
            wait_us = us;
        }
    }
    for (int round = 0; round < rounds; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int ok = 1, code, class = MPI_SUCCESS;
        if (round == dies_in) {
            if (wait_us < 20)
                die();
            signal(SIGALRM, SIG_DFL);
            ualarm((useconds_t)wait_us, 0);
        }
        if (shrinks)
            OK(MPIX_Comm_ishrink(comm, &next, &request));
        else if (beside)
            OK(MPIX_Comm_iagree(comm, &ok, &request));
        code = MPI_Comm_dup(comm, &made);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED || class == MPI_ERR_PROC_ABORTED);
        code = beside ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPIX_Comm_agree(comm, &ok);
        CHECK(code == MPI_SUCCESS || !shrinks);
        if (class == MPI_SUCCESS)
            OK(MPI_Comm_free(&made));
        if (shrinks) {
            if (comm != MPI_COMM_WORLD)
                OK(MPI_Comm_free(&comm));
            comm = next;
        } else {
            OK(MPIX_Comm_failure_ack(comm));
        }
    }
    MPI_Comm_size(comm, &members);
    CHECK(members >= 1 && members <= size);
    if (comm != MPI_COMM_WORLD)
        OK(MPI_Comm_free(&comm));
    return end();
}
