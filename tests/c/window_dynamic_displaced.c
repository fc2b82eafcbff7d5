/* In a dynamic window the displacement may be any number: what counts is the address that it comes to with the datatype. Where that is no
 * address, the call is refused.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: not openmpi, which refuses such displacements
 * peers: not mpich, whose error for memory that is not attached ends the job
 * peers: not mpich-abi, likewise */
#include "check.h"

int main(int argc, char **argv)
{
    static int memory[8];
    int ones[2] = {1, 1}, values[2], got[2] = {0, 0}, class = -1, next, before, code;
    MPI_Aint base, *bases, at[2];
    MPI_Datatype far, pair;
    MPI_Win win;
    check_begin(&argc, &argv);
    next = (check_rank + 1) % check_size;
    before = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Get_address(memory, &base));
    bases = malloc((size_t)check_size * sizeof *bases);
    OK(MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));

    /* The elements lie 64 bytes behind their displacement, so one of -64 is the address itself. */
    at[0] = bases[next] + 64;
    at[1] = at[0] + 3 * (MPI_Aint)sizeof *memory;
    OK(MPI_Type_create_hindexed(2, ones, at, MPI_INT, &far));
    OK(MPI_Type_commit(&far));
    values[0] = 10 * check_rank;
    values[1] = values[0] + 1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(values, 2, MPI_INT, next, -64, 1, far, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(memory[0], 10 * before);
    CHECK_EQ(memory[3], 10 * before + 1);
    CHECK_EQ(memory[1] + memory[2], 0);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(values, 2, MPI_INT, next, -64, 1, far, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(got, 2, MPI_INT, next, -64, 1, far, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(got[0], 20 * check_rank);
    CHECK_EQ(got[1], 20 * check_rank + 2);

    /* More than one element: the second lies behind the first as it did. */
    at[0] = 64;
    OK(MPI_Type_create_hindexed(1, ones, at, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    code = MPI_Put(values, 2, MPI_INT, next, -68, 2, pair, win);
    OK(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_DISP);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&far));
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_free(&win));
    free(bases);
    return check_end();
}
