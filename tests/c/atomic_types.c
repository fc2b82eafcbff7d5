/* Fetch-and-op and compare-and-swap on every predefined type they are for, with every operation; accumulate the same.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"
#include "integers.h"

#include <stdbool.h>

static MPI_Win win;
static void *memory;
static int target;

/* The target's element is set to `old`, changed by `mine`, and read again; neighbouring bytes stay. */
static void change(MPI_Datatype type, size_t bytes, const void *old, const void *mine, MPI_Op op, const void *wanted,
                   const char *what)
{
    unsigned char before[32] = {0}, after[32] = {0}, around[64], guard[64];
    MPI_Aint disp = 16;
    memset(guard, 0x5c, sizeof guard);
    for (int way = 0; way < 3; way++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Put(guard, 64, MPI_BYTE, target, 0, 64, MPI_BYTE, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Put(old, 1, type, target, disp, 1, type, win));
        OK(MPI_Win_unlock(target, win));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        if (way == 0)
            OK(MPI_Fetch_and_op(mine, before, type, target, disp, op, win));
        else if (way == 1)
            OK(MPI_Get_accumulate(mine, 1, type, before, 1, type, target, disp, 1, type, op, win));
        else if (op != MPI_NO_OP)
            OK(MPI_Accumulate(mine, 1, type, target, disp, 1, type, op, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Get(around, 64, MPI_BYTE, target, 0, 64, MPI_BYTE, win));
        OK(MPI_Win_unlock(target, win));
        memcpy(after, around + 16, bytes);
        if (way < 2 && memcmp(before, old, bytes) != 0)
            CHECK_SAY("%s, way %d: the old value did not come back", what, way);
        if (memcmp(after, wanted, bytes) != 0 && !(way == 2 && op == MPI_NO_OP))
            CHECK_SAY("%s, way %d: not the new value", what, way);
        if (memcmp(around, guard, 16) != 0 || memcmp(around + 16 + bytes, guard, 48 - bytes) != 0)
            CHECK_SAY("%s, way %d: bytes beside the element changed", what, way);
    }
}

#define OP(c_type, mpi_type, op, old_value, mine_value, wanted_value)                          \
    do {                                                                                       \
        c_type old = (c_type)(old_value), mine = (c_type)(mine_value), wanted = (c_type)(wanted_value); \
        change(mpi_type, sizeof(c_type), &old, &mine, op, &wanted, #mpi_type " " #op);         \
    } while (0)

#define ARITHMETIC(c_type, mpi_type)                                                           \
    do {                                                                                       \
        OP(c_type, mpi_type, MPI_SUM, 5, 6, 11);                                               \
        OP(c_type, mpi_type, MPI_PROD, 5, 6, 30);                                              \
        OP(c_type, mpi_type, MPI_MIN, 5, 6, 5);                                                \
        OP(c_type, mpi_type, MPI_MAX, 5, 6, 6);                                                \
        OP(c_type, mpi_type, MPI_REPLACE, 5, 6, 6);                                            \
        OP(c_type, mpi_type, MPI_NO_OP, 5, 6, 5);                                              \
    } while (0)

#define SWAP(c_type, mpi_type)                                                                 \
    do {                                                                                       \
        c_type old = 5, mine = 9, right = 5, wrong = 6, got = 0, after = 0;                    \
        for (int matches = 0; matches < 2; matches++) {                                        \
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));                              \
            OK(MPI_Put(&old, 1, mpi_type, target, 16, 1, mpi_type, win));                      \
            OK(MPI_Win_flush(target, win));                                                    \
            OK(MPI_Compare_and_swap(&mine, matches ? &right : &wrong, &got, mpi_type, target, 16, win)); \
            OK(MPI_Win_flush(target, win));                                                    \
            OK(MPI_Get(&after, 1, mpi_type, target, 16, 1, mpi_type, win));                    \
            OK(MPI_Win_unlock(target, win));                                                   \
            CHECK_EQ(got, 5);                                                                  \
            CHECK_EQ(after, matches ? 9 : 5);                                                  \
        }                                                                                      \
    } while (0)

#define WHOLE(c_type, mpi_type)                                                                \
    do {                                                                                       \
        ARITHMETIC(c_type, mpi_type);                                                          \
        OP(c_type, mpi_type, MPI_BAND, 13, 7, 5);                                              \
        OP(c_type, mpi_type, MPI_BOR, 12, 7, 15);                                              \
        OP(c_type, mpi_type, MPI_BXOR, 13, 7, 10);                                             \
        OP(c_type, mpi_type, MPI_LAND, 13, 0, 0);                                              \
        OP(c_type, mpi_type, MPI_LOR, 0, 7, 1);                                                \
        OP(c_type, mpi_type, MPI_LXOR, 13, 7, 0);                                              \
        SWAP(c_type, mpi_type);                                                                \
    } while (0)

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    target = (check_rank + 1) % check_size;
    EACH_INTEGER(WHOLE)
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    SWAP(MPI_Aint, MPI_AINT);
    OP(bool, MPI_C_BOOL, MPI_LAND, true, false, false);
    OP(bool, MPI_C_BOOL, MPI_LOR, false, true, true);
    OK(MPI_Win_free(&win));
    return check_end();
}
