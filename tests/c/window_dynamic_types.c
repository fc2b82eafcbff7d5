/* Dynamic windows: datatypes at the target whose bytes lie in regions far from each other, by address and by displacement;
 * the gaps between the bytes need not be attached.
 *
 * ranks: 1 2 4
 * peers: not mpich, it does not look whether memory is attached
 * memcheck: yes */
#include "check.h"

enum { PIECES = 5, INTS = 4 };

int main(int argc, char **argv)
{
    static int memory[1000], from[PIECES * INTS], back[PIECES * INTS];
    MPI_Win win;
    MPI_Aint mine, *bases, places[PIECES];
    MPI_Datatype type, relative;
    check_begin(&argc, &argv);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    /* Pieces at ints 0, 100, 200, ...: only they are attached. */
    for (int i = 0; i < PIECES; i++)
        OK(MPI_Win_attach(win, memory + 100 * i, INTS * sizeof(int)));
    bases = malloc((size_t)check_size * sizeof *bases);
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Allgather(&mine, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < PIECES * INTS; i++)
        from[i] = 1000 * check_rank + i;
    for (int i = 0; i < PIECES; i++)
        places[i] = MPI_Aint_add(bases[right], (MPI_Aint)sizeof(int) * 100 * i);
    OK(MPI_Type_create_hindexed_block(PIECES, INTS, places, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_vector(PIECES, INTS, 100, MPI_INT, &relative));
    OK(MPI_Type_commit(&relative));

    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Put(from, PIECES * INTS, MPI_INT, right, 0, 1, type, win));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Get(back, PIECES * INTS, MPI_INT, right, bases[right], 1, relative, win));
    OK(MPI_Win_flush(right, win));
    for (int i = 0; i < PIECES * INTS; i++)
        CHECK_AT(back, i, 1000 * check_rank + i);
    OK(MPI_Accumulate(from, PIECES * INTS, MPI_INT, right, bases[right], 1, relative, MPI_SUM, win));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 1000; i++) {
        int piece = i / 100, within = i % 100, inside = piece < PIECES && within < INTS;
        CHECK_AT(memory, i, inside ? 2 * (1000 * left + piece * INTS + within) : 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));

    /* A piece is gone: nothing of the operation is carried out. */
    OK(MPI_Win_detach(win, memory + 200));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int code = MPI_Put(back, PIECES * INTS, MPI_INT, right, 0, 1, type, win), class = MPI_SUCCESS;
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(right, win);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_RMA_RANGE);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[400], 2 * (1000 * left + 16));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&relative));
    OK(MPI_Win_free(&win));
    free(bases);
    return check_end();
}
