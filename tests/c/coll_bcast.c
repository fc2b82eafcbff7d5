/* Broadcast from every root, of nothing, little and much, of plain and of derived types.
 *
 * ranks: 1 2 3 4 7 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 100000 };

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 17, 5000, MOST};
    static int buffer[MOST + 1];
    check_begin(&argc, &argv);
    for (int root = 0; root < check_size; root++)
        for (int s = 0; s < 5; s++) {
            for (int i = 0; i <= sizes[s]; i++)
                buffer[i] = check_rank == root && i < sizes[s] ? root * 1000 + i : -1;
            OK(MPI_Bcast(buffer, sizes[s], MPI_INT, root, MPI_COMM_WORLD));
            for (int i = 0; i < sizes[s]; i++)
                CHECK_AT(buffer, i, root * 1000 + i);
            CHECK_AT(buffer, sizes[s], -1);
        }

    /* Scattered at the root, in one piece elsewhere. */
    MPI_Datatype spread;
    OK(MPI_Type_vector(500, 2, 4, MPI_INT, &spread));
    OK(MPI_Type_commit(&spread));
    for (int root = 0; root < check_size; root++) {
        for (int i = 0; i < 2000; i++)
            buffer[i] = check_rank == root ? i : -1;
        if (check_rank == root)
            OK(MPI_Bcast(buffer, 1, spread, root, MPI_COMM_WORLD));
        else
            OK(MPI_Bcast(buffer, 1000, MPI_INT, root, MPI_COMM_WORLD));
        for (int i = 0; i < 1000; i++)
            CHECK_AT(buffer, i, check_rank == root ? i : i / 2 * 4 + i % 2);
    }
    OK(MPI_Type_free(&spread));
    return check_end();
}
