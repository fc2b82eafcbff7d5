/* Arguments that make no communicator: a negative colour, an unknown kind of split, a predefined one to free. When only one
 * rank gives them, the others hear of it and do not wait.
 *
 * ranks: 1 2 4
 * peers: none, they take more than the standard allows */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL, world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &comm), MPI_ERR_ARG);
    FAILS(MPI_Comm_free(&world), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&self), MPI_ERR_COMM);
    CHECK(comm == MPI_COMM_NULL && world == MPI_COMM_WORLD && self == MPI_COMM_SELF);
    int is_wrong = check_rank == check_size - 1, class = is_wrong ? MPI_ERR_ARG : MPI_ERR_OTHER;
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, is_wrong ? -5 : 0, 0, &comm), class);
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, is_wrong ? NULL : &comm), class);
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, is_wrong ? 12345 : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm), class);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info freed;
    OK(MPI_Info_create(&freed));
    MPI_Info stale = freed;
    OK(MPI_Info_free(&freed));
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, is_wrong ? stale : MPI_INFO_NULL, &comm),
          is_wrong ? MPI_ERR_INFO : MPI_ERR_OTHER);
    /* A duplicate is made without asking, so the others have theirs. */
    MPI_Request request = MPI_REQUEST_NULL;
    if (is_wrong) {
        FAILS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, stale, &comm), MPI_ERR_INFO);
        FAILS(MPI_Comm_idup_with_info(MPI_COMM_WORLD, stale, &comm, &request), MPI_ERR_INFO);
        CHECK(comm == MPI_COMM_NULL && request == MPI_REQUEST_NULL);
    } else {
        OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm));
        /* Messages with the rank that has none fail, short ones too. */
        int word = 0;
        FAILS(MPI_Recv(&word, 1, MPI_INT, check_size - 1, 0, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        FAILS(MPI_Probe(check_size - 1, 0, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        FAILS(MPI_Send(&word, 1, MPI_INT, check_size - 1, 0, comm), MPIX_ERR_PROC_FAILED);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&comm));
    }
    if (check_size > 1) {
        comm = MPI_COMM_NULL;
        /* The leader of all but the last rank knows no other leader. */
        MPI_Comm half;
        OK(MPI_Comm_split(MPI_COMM_WORLD, is_wrong, 0, &half));
        MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
        if (!is_wrong)
            FAILS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, -4, 1, &comm),
                  check_rank == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER);
        CHECK(comm == MPI_COMM_NULL);
        /* And where it is only the result that has no place, the other group hears of it, and nothing stays behind. */
        for (int round = 0; round < 2; round++)
            FAILS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_wrong ? 0 : check_size - 1, 7, is_wrong ? NULL : &comm),
                  is_wrong ? MPI_ERR_ARG : MPI_ERR_OTHER);
        CHECK(comm == MPI_COMM_NULL);
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_wrong ? 0 : check_size - 1, 7, &comm));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_free(&half));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return check_end();
}
