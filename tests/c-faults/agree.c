/* Agreements among ranks that die meanwhile: all the living get the same flags, those of all voters or fewer, and the same class,
 * in each of them; so do those that go on in the background. What each gets is printed, for the test to compare. */
#include "faults.h"

int main(int argc, char **argv)
{
    int deaths, dies_in = -1, wait_us = 0, rounds = 12;
    MPI_Comm comm;
    begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    /* A rank that leaves it knows that all have the communicator; the others may hear of a death before. */
    MPI_Barrier(comm);
    deaths = atoi(argv[1]);
    for (int i = 0; i < deaths; i++) {
        int victim = (int)drawn((unsigned)size), round = (int)drawn((unsigned)rounds), us = (int)drawn(600);
        /* One at least lives. */
        if (victim == rank && victim != size - 1) {
            dies_in = round;
            wait_us = us;
        }
    }
    for (int round = 0; round < rounds; round++) {
        int flags = ~(1 << rank), class, code, back = ~(1 << (rank + 8));
        MPI_Request request = MPI_REQUEST_NULL;
        if (round == dies_in) {
            /* By an alarm, so that it is wherever it is then. */
            if (wait_us < 100)
                die();
            signal(SIGALRM, SIG_DFL);
            ualarm((useconds_t)wait_us, 0);
        }
        if (round % 3 == 1)
            OK(MPIX_Comm_iagree(comm, &back, &request));
        code = MPIX_Comm_agree(comm, &flags);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED);
        CHECK((flags & 1 << rank) == 0);
        printf("agreed %d %d %d\n", round, flags, class);
        if (request != MPI_REQUEST_NULL) {
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Error_class(code, &class);
            CHECK((back & 1 << (rank + 8)) == 0);
            printf("agreed %d %d %d\n", 1000 + round, back, class);
        }
        fflush(stdout);
        if (round % 2 == 1)
            OK(MPIX_Comm_failure_ack(comm));
    }
    OK(MPI_Comm_free(&comm));
    return end();
}
