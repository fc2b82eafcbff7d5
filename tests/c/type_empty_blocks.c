/* Accumulates with datatypes of one predefined type beside blocks of no elements of another: those are no entry of the type map.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: not mpich, which takes such a block for an element
 * peers: not mpich-abi, likewise
 * peers: not openmpi, likewise */
#include "check.h"

#define KINDS 5

/* A float, and nothing of a byte. */
static MPI_Datatype with_nothing(int kind)
{
    MPI_Datatype whole, nothing = MPI_BYTE, types[2];
    MPI_Aint places[] = {0, 4}, place = 8;
    int lens[] = {1, 1}, none = 0;

    switch (kind) {
    case 0:
        lens[1] = 0;
        break;
    case 1:
        OK(MPI_Type_contiguous(0, MPI_BYTE, &nothing));
        break;
    case 2:
        OK(MPI_Type_vector(3, 0, 5, MPI_BYTE, &nothing));
        break;
    case 3:
        OK(MPI_Type_create_hindexed(1, &none, &place, MPI_BYTE, &nothing));
        break;
    default:
        OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &nothing));
    }
    types[0] = MPI_FLOAT;
    types[1] = nothing;
    OK(MPI_Type_create_struct(2, lens, places, types, &whole));
    OK(MPI_Type_commit(&whole));
    if (nothing != MPI_BYTE)
        OK(MPI_Type_free(&nothing));
    return whole;
}

int main(int argc, char **argv)
{
    float *memory, one = 1, old;
    MPI_Win win;
    int target;

    check_begin(&argc, &argv);
    target = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(2 * sizeof(float), sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    memory[0] = memory[1] = 0;
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Datatype type = with_nothing(kind);

        OK(MPI_Accumulate(&one, 1, type, target, 0, 1, MPI_FLOAT, MPI_SUM, win));
        OK(MPI_Accumulate(&one, 1, MPI_FLOAT, target, 0, 1, type, MPI_SUM, win));
        OK(MPI_Get_accumulate(&one, 1, type, &old, 1, type, target, 0, 1, type, MPI_SUM, win));
        OK(MPI_Win_flush(target, win));
        CHECK_EQ(old, 3 * kind + 2);
        OK(MPI_Type_free(&type));
    }
    OK(MPI_Win_unlock(target, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    CHECK_AT(memory, 0, 3 * KINDS);
    CHECK_AT(memory, 1, 0);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
