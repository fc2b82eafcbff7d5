/* The failed ranks, and receives from any source: these say so until the failure is acknowledged, stay pending, and take what the
 * living send; communicators without the dead know nothing of it. */
#include "faults.h"

int main(int argc, char **argv)
{
    int value = 0, late = 0, acked, flag, count, class, victim, *has;
    MPI_Comm comm, living;
    MPI_Group failed, world;
    MPI_Request request;
    MPI_Status status;
    begin(&argc, &argv);
    victim = size - 1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living));
    OK(MPIX_Comm_get_failed(comm, &failed));
    CHECK(failed == MPI_GROUP_EMPTY);
    OK(MPIX_Comm_ack_failed(comm, size, &acked));
    CHECK(acked == 0);
    OK(MPI_Comm_get_attr(comm, MPIX_FT, &has, &flag));
    CHECK(flag && *has == 1);
    if (rank == 0)
        OK(MPI_Irecv(&late, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request));
    OK(MPI_Barrier(comm));
    if (rank == victim) {
        usleep(drawn(30000));
        die();
    }
    if (rank == 0) {
        CLASS(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING);
        CHECK(request != MPI_REQUEST_NULL);
        CLASS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, comm, &status), MPIX_ERR_PROC_FAILED);
        CLASS(MPI_Probe(MPI_ANY_SOURCE, 4, comm, &status), MPIX_ERR_PROC_FAILED);
        CLASS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
        CHECK(status.MPI_ERROR == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL);
        OK(MPIX_Comm_get_failed(comm, &failed));
        MPI_Group_size(failed, &count);
        CHECK(count == 1);
        OK(MPI_Comm_group(comm, &world));
        MPI_Group_translate_ranks(failed, 1, &(int){0}, world, &value);
        CHECK(value == victim);
        OK(MPI_Group_free(&failed));
        OK(MPIX_Comm_failure_get_acked(comm, &failed));
        CHECK(failed == MPI_GROUP_EMPTY);
        OK(MPIX_Comm_ack_failed(comm, 5, &acked));
        CHECK(acked == 1);
        OK(MPIX_Comm_failure_get_acked(comm, &failed));
        MPI_Group_size(failed, &count);
        CHECK(count == 1);
        OK(MPI_Group_free(&failed));
        OK(MPI_Test(&request, &flag, &status));
        CHECK(!flag);
    } else {
        /* A rank that asks learns of it within a while. */
        do {
            OK(MPIX_Comm_get_failed(comm, &failed));
            MPI_Group_size(failed, &count);
        } while (count == 0);
        OK(MPI_Group_free(&failed));
    }
    OK(MPI_Barrier(living));
    OK(MPIX_Comm_get_failed(living, &failed));
    CHECK(failed == MPI_GROUP_EMPTY);
    if (rank == 1) {
        value = 77;
        OK(MPI_Send(&value, 1, MPI_INT, 0, 3, comm));
        OK(MPI_Send(&value, 1, MPI_INT, 0, 4, comm));
    }
    if (rank == 0) {
        OK(MPI_Wait(&request, &status));
        CHECK(late == 77 && status.MPI_SOURCE == 1 && request == MPI_REQUEST_NULL);
        OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, comm, &status));
    }
    /* A receive from the dead is an error, acknowledged or not; so is a send, at the latest when it has had to be noticed. */
    CLASS(MPI_Recv(&value, 1, MPI_INT, victim, 4, comm, &status), MPIX_ERR_PROC_FAILED);
    class = MPI_Send(&value, 1, MPI_INT, victim, 4, comm);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    CLASS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
    /* Not all have acknowledged; the flags are agreed upon all the same. */
    flag = rank == 0 ? 6 : 3;
    CLASS(MPIX_Comm_agree(comm, &flag), size == 2 ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED);
    CHECK(flag == (size == 2 ? 6 : 2));
    OK(MPIX_Comm_failure_ack(comm));
    flag = 1;
    OK(MPIX_Comm_agree(comm, &flag));
    CHECK(flag == 1);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&living));
    return end();
}
