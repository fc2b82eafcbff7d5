/* Gather and allgather: every root, in place, nothing, little and much, derived types on one side.
 *
 * ranks: 1 2 3 4 7 8
 * memcheck: yes */
#include "check.h"

enum { MOST = 20000 };

static int in[MOST], out[8 * MOST];

static void gathered(int count)
{
    for (int from = 0; from < check_size; from++)
        for (int i = 0; i < count; i++)
            CHECK_AT(out, from * count + i, from * 100000 + i);
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 300, MOST};
    check_begin(&argc, &argv);
    for (int i = 0; i < MOST; i++)
        in[i] = check_rank * 100000 + i;
    for (int s = 0; s < 4; s++) {
        int count = sizes[s];
        for (int root = 0; root < check_size; root++) {
            memset(out, -1, sizeof out);
            OK(MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, MPI_COMM_WORLD));
            if (check_rank == root)
                gathered(count);
            else
                CHECK_AT(out, 0, -1);
            memset(out, -1, sizeof out);
            memcpy(out + check_rank * count, in, (size_t)count * sizeof *in);
            if (check_rank == root)
                OK(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, root, MPI_COMM_WORLD));
            else
                OK(MPI_Gather(in, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
            if (check_rank == root)
                gathered(count);
        }
        memset(out, -1, sizeof out);
        OK(MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD));
        gathered(count);
        memset(out, -1, sizeof out);
        memcpy(out + check_rank * count, in, (size_t)count * sizeof *in);
        OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, MPI_COMM_WORLD));
        gathered(count);
    }

    /* Every second number is sent, and they arrive in one piece. */
    MPI_Datatype second;
    OK(MPI_Type_vector(100, 1, 2, MPI_INT, &second));
    OK(MPI_Type_commit(&second));
    OK(MPI_Allgather(in, 1, second, out, 100, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 100 * check_size; i++)
        CHECK_AT(out, i, i / 100 * 100000 + i % 100 * 2);
    OK(MPI_Type_free(&second));
    return check_end();
}
