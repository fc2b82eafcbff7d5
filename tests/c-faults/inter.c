/* Two groups, of which ranks die at any time, or all of one group, or the first of both: the living agree, each group on what the
 * other one gives, and go on between the groups that are left, until one of them is gone or enough have died. */
#include "faults.h"

#include <sys/time.h>

int main(int argc, char **argv)
{
    int in_background, rounds = 12, dies_in = -1, wait_us = 0, is_one, code, class;
    MPI_Comm local, comm, next;
    begin(&argc, &argv);
    in_background = !strcmp(argv[1], "background");
    for (int i = 0; i < size / 2; i++) {
        int victim = (int)drawn((unsigned)size), round = (int)drawn((unsigned)rounds), us = (int)drawn(600);
        if (!strcmp(argv[1], "whole"))
            victim = i;
        if (!strcmp(argv[1], "leaders"))
            victim = i % 2 * (size / 2);
        if (victim == rank && victim != size - 1) {
            dies_in = round;
            wait_us = us;
        }
    }
    is_one = rank < size / 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_one, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_one ? size / 2 : 0, 3, &comm));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request;
        /* A flag of each group is taken away by all of it, and one of each round by the first group. */
        int flags = ~(is_one ? 1 << 30 | 1 << round : 1 << 29), all = ~0, back = 0, remote = 0;
        if (round == dies_in) {
            struct itimerval at = {.it_value.tv_usec = wait_us};
            if (wait_us < 60)
                die();
            signal(SIGALRM, SIG_DFL);
            setitimer(ITIMER_REAL, &at, NULL);
        }
        MPI_Comm_remote_size(comm, &remote);
        code = MPI_Allreduce(&round, &back, 1, MPI_INT, MPI_SUM, comm);
        CHECK(code != MPI_SUCCESS || back == remote * round);
        if (in_background) {
            OK(MPIX_Comm_iagree(comm, &flags, &request));
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            code = MPIX_Comm_agree(comm, &flags);
        }
        MPI_Error_class(code, &class);
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
        /* A rank of the other group had voted, or none of it lives. */
        CHECK(flags == ~(is_one ? 1 << 29 : 1 << 30 | 1 << round) || flags == ~0);
        code = MPIX_Comm_agree(comm, &all);
        CHECK(all == ~0);
        printf("agreed %d-%d %d\n", 2 * round + is_one, 0, flags);
        fflush(stdout);
        if (class == MPI_SUCCESS)
            continue;
        OK(MPIX_Comm_revoke(comm));
        if (in_background) {
            OK(MPIX_Comm_ishrink(comm, &next, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPIX_Comm_shrink(comm, &next));
        }
        OK(MPI_Comm_free(&comm));
        if (next == MPI_COMM_NULL)
            return end();
        comm = next;
    }
    OK(MPI_Comm_free(&comm));
    return end();
}
