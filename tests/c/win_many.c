/* Windows made and freed again and again, and many at once, each with its own memory.
 *
 * ranks: 1 2 4 */
#include "check.h"

enum { ROUNDS = 120, AT_ONCE = 80 };

int main(int argc, char **argv)
{
    MPI_Win wins[AT_ONCE];
    int *memory[AT_ONCE], value;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int round = 0; round < ROUNDS; round++) {
        int own = -1;
        if (round % 2)
            OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[0], &wins[0]));
        else
            OK(MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]));
        value = round * 100 + check_rank;
        OK(MPI_Win_fence(0, wins[0]));
        OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, wins[0]));
        OK(MPI_Win_fence(0, wins[0]));
        CHECK_EQ(round % 2 ? *memory[0] : own, round * 100 + left);
        OK(MPI_Win_free(&wins[0]));
    }
    for (int i = 0; i < AT_ONCE; i++) {
        OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]));
        *memory[i] = -1;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int values[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++)
        OK(MPI_Win_lock_all(0, wins[i]));
    for (int i = 0; i < AT_ONCE; i++) {
        values[i] = i * 1000 + check_rank;
        OK(MPI_Put(&values[i], 1, MPI_INT, right, 0, 1, MPI_INT, wins[i]));
    }
    for (int i = AT_ONCE - 1; i >= 0; i--)
        OK(MPI_Win_unlock_all(wins[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < AT_ONCE; i++) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, wins[i]));
        CHECK_EQ(*memory[i], i * 1000 + left);
        OK(MPI_Win_unlock(check_rank, wins[i]));
    }
    for (int i = 0; i < AT_ONCE; i++)
        OK(MPI_Win_free(&wins[(i * 7 + 3) % AT_ONCE]));
    return check_end();
}
