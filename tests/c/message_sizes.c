/* Every size from nothing to large arrives whole and writes nothing beside it, whether it was expected or not.
 *
 * ranks: 2 4 */
#include "check.h"

enum { LARGEST = 3 << 20, GUARD = 64 };

static unsigned char out[LARGEST], in[LARGEST + GUARD];

static void receive(int bytes, int from, MPI_Request *posted)
{
    MPI_Status status;
    int count = -1;
    if (posted != NULL)
        OK(MPI_Wait(posted, &status));
    else
        OK(MPI_Recv(in, bytes, MPI_BYTE, from, bytes % 1000, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, bytes);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, bytes % 1000);
    for (int i = 0; i < bytes; i++)
        if (in[i] != (unsigned char)(i * 7 + i / 251 + from)) {
            CHECK_SAY("byte %d of %d is %d", i, bytes, in[i]);
            break;
        }
    for (int i = 0; i < GUARD; i++)
        CHECK_AT(in, bytes + i, 0xee);
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 7, 8, 63, 64, 65, 500, 1024, 4095, 4096, 8191, 8192, 8193, 16384, 65535, 65536,
                         65537, 131072, 262144, 1000003, LARGEST};
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < LARGEST; i++)
        out[i] = (unsigned char)(i * 7 + i / 251 + check_rank);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int expected = 0; expected < 2; expected++) {
            int bytes = sizes[s];
            MPI_Request sent, posted;
            memset(in, 0xee, (size_t)bytes + GUARD);
            if (expected) {
                OK(MPI_Irecv(in, bytes, MPI_BYTE, left, bytes % 1000, MPI_COMM_WORLD, &posted));
                OK(MPI_Barrier(MPI_COMM_WORLD));
            }
            OK(MPI_Isend(out, bytes, MPI_BYTE, right, bytes % 1000, MPI_COMM_WORLD, &sent));
            if (!expected)
                OK(MPI_Barrier(MPI_COMM_WORLD));
            receive(bytes, left, expected ? &posted : NULL);
            OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
        }
    }
    return check_end();
}
