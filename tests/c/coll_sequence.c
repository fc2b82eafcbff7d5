/* Hundreds of collectives of changing kind and root without anything between, on two communicators in turn: none is taken
 * for its neighbour, also when ranks run ahead.
 *
 * ranks: 2 4 8 */
#include "check.h"

enum { ROUNDS = 150 };

static unsigned state = 12345;

/* The same numbers on all ranks. */
static int draw(int below)
{
    state = state * 1103515245u + 12345u;
    return (int)(state >> 16) % below;
}

int main(int argc, char **argv)
{
    MPI_Comm comms[2];
    int all[16];
    check_begin(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int round = 0; round < ROUNDS; round++) {
        int kind = draw(6), root = draw(check_size);
        MPI_Comm comm = comms[draw(2)];
        int value = round * 100 + check_rank, result = -1;
        switch (kind) {
        case 0:
            OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
            CHECK_EQ(value, round * 100 + root);
            break;
        case 1:
            OK(MPI_Reduce(&value, &result, 1, MPI_INT, MPI_MAX, root, comm));
            CHECK_EQ(result, check_rank == root ? round * 100 + check_size - 1 : -1);
            break;
        case 2:
            OK(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_MIN, comm));
            CHECK_EQ(result, round * 100);
            break;
        case 3:
            OK(MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, comm));
            for (int i = 0; check_rank == root && i < check_size; i++)
                CHECK_AT(all, i, round * 100 + i);
            break;
        case 4:
            OK(MPI_Scan(&value, &result, 1, MPI_INT, MPI_MAX, comm));
            CHECK_EQ(result, value);
            break;
        default:
            OK(MPI_Barrier(comm));
        }
        if (check_rank == round % check_size && round % 10 == 0)
            usleep(2000);
    }
    OK(MPI_Comm_free(&comms[1]));
    return check_end();
}
