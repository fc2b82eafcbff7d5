/* Two windows over the same memory, and one over the middle of it: what went through one is seen through the others once
 * both have synchronized.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

int main(int argc, char **argv)
{
    int memory[8] = {0}, got[4] = {-1, -1, -1, -1}, value = 0;
    MPI_Win whole, again, middle;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &whole));
    OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &again));
    OK(MPI_Win_create(memory + 2, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &middle));
    OK(MPI_Win_fence(0, whole));
    value = 100 + check_rank;
    OK(MPI_Put(&value, 1, MPI_INT, right, 3, 1, MPI_INT, whole));
    OK(MPI_Win_fence(0, whole));
    CHECK_EQ(memory[3], 100 + left);
    OK(MPI_Win_fence(0, middle));
    OK(MPI_Get(&got[0], 1, MPI_INT, right, 1, 1, MPI_INT, middle));
    OK(MPI_Win_fence(0, middle));
    CHECK_EQ(got[0], 100 + check_rank);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, again));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, again));
    value = 200 + check_rank;
    OK(MPI_Put(&value, 1, MPI_INT, right, 4 * sizeof(int), 1, MPI_INT, again));
    OK(MPI_Win_unlock(right, again));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, again));
    CHECK_EQ(memory[4], 200 + left);
    OK(MPI_Win_unlock(check_rank, again));
    OK(MPI_Win_free(&again));
    OK(MPI_Win_free(&middle));
    OK(MPI_Win_free(&whole));
    return check_end();
}
