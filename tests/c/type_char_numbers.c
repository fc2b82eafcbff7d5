/* MPI_CHAR in operations is a small integer with the sign of C's char. The standard lists it for none of them; programs that
 * were written for libraries that compute with it rely on that.
 *
 * ranks: 1 2 4
 * peers: not mpich, whose 4.0 applies such an accumulate twice where ranks share memory */
#include "check.h"

static MPI_Win win;
static char *memory;
static int target;

/* The target's element becomes `old`, then what the operation makes of it and `mine`. */
static void change(MPI_Op op, const char *name, char old, char mine, char wanted)
{
    char before[2] = {0, 0}, after = 0;
    for (int way = 0; way < 3; way++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Put(&old, 1, MPI_CHAR, target, 3, 1, MPI_CHAR, win));
        OK(MPI_Win_flush(target, win));
        if (way == 0)
            OK(MPI_Fetch_and_op(&mine, before, MPI_CHAR, target, 3, op, win));
        else if (way == 1)
            OK(MPI_Get_accumulate(&mine, 1, MPI_CHAR, before + 1, 1, MPI_CHAR, target, 3, 1, MPI_CHAR, op, win));
        else
            OK(MPI_Accumulate(&mine, 1, MPI_CHAR, target, 3, 1, MPI_CHAR, op, win));
        OK(MPI_Win_flush(target, win));
        OK(MPI_Get(&after, 1, MPI_CHAR, target, 3, 1, MPI_CHAR, win));
        OK(MPI_Win_unlock(target, win));
        if (after != wanted)
            CHECK_SAY("%s, way %d: %d, not %d", name, way, after, wanted);
    }
    CHECK_EQ(before[0], old);
    CHECK_EQ(before[1], old);
}

#define CHANGE(op, old, mine, wanted) change(op, #op, (char)(old), (char)(mine), (char)(wanted))

int main(int argc, char **argv)
{
    char mine, sum = 0, least = 0, word[4] = {0}, letters[4] = {'a', 'b', 'c', 0}, expected = (char)-1;
    check_begin(&argc, &argv);
    mine = (char)(check_rank + 1);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size * (check_size + 1) / 2);
    /* Whether this is the least or the greatest value depends on the sign of char, as everywhere in C. */
    mine = (char)(check_rank == 0 ? -1 : 5);
    OK(MPI_Allreduce(&mine, &least, 1, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD));
    CHECK_EQ(least, check_size == 1 || expected < 5 ? expected : 5);
    letters[0] = (char)('a' + check_rank);
    OK(MPI_Reduce(letters, word, 4, MPI_CHAR, MPI_MAX, 0, MPI_COMM_WORLD));
    if (check_rank == 0)
        CHECK(word[0] == 'a' + check_size - 1 && strcmp(word + 1, "bc") == 0);
    mine = check_rank == 0;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, MPI_LOR, MPI_COMM_WORLD));
    CHECK_EQ(sum, 1);
    mine = (char)(1 << check_rank);
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD));
    CHECK_EQ(sum, (1 << check_size) - 1);

    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    memset(memory, 0x5a, 8);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    target = (check_rank + 1) % check_size;
    CHANGE(MPI_SUM, 5, -7, -2);
    CHANGE(MPI_PROD, 5, 6, 30);
    CHANGE(MPI_MIN, 'x', 'y', 'x');
    CHANGE(MPI_MAX, 'x', 'y', 'y');
    CHANGE(MPI_BAND, 13, 7, 5);
    CHANGE(MPI_BXOR, 13, 7, 10);
    CHANGE(MPI_LAND, 13, 0, 0);
    CHANGE(MPI_REPLACE, 'x', 'y', 'y');
    char right = 'y', wrong = 'x', put = 'z', got = 0;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Compare_and_swap(&put, &wrong, &got, MPI_CHAR, target, 3, win));
    OK(MPI_Win_flush(target, win));
    CHECK_EQ(got, 'y');
    OK(MPI_Compare_and_swap(&put, &right, &got, MPI_CHAR, target, 3, win));
    OK(MPI_Win_flush(target, win));
    CHECK_EQ(got, 'y');
    OK(MPI_Get(&got, 1, MPI_CHAR, target, 3, 1, MPI_CHAR, win));
    OK(MPI_Win_unlock(target, win));
    CHECK_EQ(got, 'z');
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    for (int i = 0; i < 8; i++)
        CHECK_AT(memory, i, i == 3 ? 'z' : 0x5a);
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Win_free(&win));
    return check_end();
}
