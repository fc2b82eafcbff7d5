/* Buffered sends end at once, and buffers: the one that is attached is given back, a second one is refused, what is automatic
 * stays so, and detaching or flushing a buffer waits until the messages have left.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, buffers of communicators are new in MPI 4.1, and what is refused is the library's choice */
#include "check.h"

enum { MESSAGES = 20 };

static void exchange(MPI_Comm comm, int with_requests)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < MESSAGES; i++) {
        int value = 100 * check_rank + i;
        if (with_requests) {
            MPI_Request request = MPI_REQUEST_NULL;
            OK(MPI_Ibsend(&value, 1, MPI_INT, to, i, comm, &request));
            CHECK(request != MPI_REQUEST_NULL);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Bsend(&value, 1, MPI_INT, to, i, comm));
        }
        value = -1; /* the memory is the program's again */
    }
    for (int i = MESSAGES; i-- > 0;) {
        int value = -1;
        OK(MPI_Recv(&value, 1, MPI_INT, from, i, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(value, 100 * from + i);
    }
}

int main(int argc, char **argv)
{
    char buffer[MESSAGES * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    void *back = NULL;
    int size = -1;
    MPI_Count long_size = -1;
    MPI_Comm comm;
    MPI_Request request;
    check_begin(&argc, &argv);
    check_errors_return();
    FAILS(MPI_Buffer_detach(&back, &size), MPI_ERR_BUFFER);
    FAILS(MPI_Buffer_attach(NULL, 100), MPI_ERR_BUFFER);
    FAILS(MPI_Buffer_attach(buffer, -1), MPI_ERR_COUNT);
    exchange(MPI_COMM_WORLD, 0);
    OK(MPI_Buffer_attach(buffer, sizeof buffer));
    FAILS(MPI_Buffer_attach(buffer, sizeof buffer), MPI_ERR_BUFFER);
    exchange(MPI_COMM_WORLD, 0);
    exchange(MPI_COMM_WORLD, 1);
    OK(MPI_Buffer_flush());
    FAILS(MPI_Buffer_detach(NULL, &size), MPI_ERR_ARG);
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == buffer);
    CHECK_EQ(size, sizeof buffer);
    FAILS(MPI_Buffer_detach(&back, &size), MPI_ERR_BUFFER);

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    exchange(comm, 1);
    OK(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    OK(MPI_Comm_attach_buffer_c(comm, buffer, (MPI_Count)sizeof buffer));
    OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    exchange(comm, 0);
    OK(MPI_Comm_flush_buffer(comm));
    OK(MPI_Comm_iflush_buffer(comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_iflush(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_detach_buffer_c(comm, &back, &long_size));
    CHECK(back == buffer);
    CHECK_EQ(long_size, sizeof buffer);
    OK(MPI_Buffer_detach(&back, &size));
    FAILS(MPI_Comm_attach_buffer(MPI_COMM_NULL, buffer, 8), MPI_ERR_COMM);

    /* A synchronous receiver: the flush of one buffer does not wait for messages of the other. */
    if (check_size > 1 && check_rank < 2) {
        static char large[1 << 20];
        if (check_rank == 0) {
            OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
            OK(MPI_Bsend(large, sizeof large, MPI_CHAR, 1, 1, comm));
            OK(MPI_Buffer_flush());
            OK(MPI_Send(NULL, 0, MPI_CHAR, 1, 2, comm));
            OK(MPI_Comm_detach_buffer(comm, &back, &size));
        } else {
            OK(MPI_Recv(NULL, 0, MPI_CHAR, 0, 2, comm, MPI_STATUS_IGNORE));
            OK(MPI_Recv(large, sizeof large, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Comm_free(&comm));
    return check_end();
}
