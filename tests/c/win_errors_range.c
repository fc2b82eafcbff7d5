/* Accesses outside the target's window are refused and touch nothing: at the call, or at the synchronization that ends the
 * epoch; the window works afterwards.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, they do not check where a target's window ends */
#include "check.h"

static int is_range(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    /* A negative displacement is no displacement at all. */
    return class == MPI_ERR_RMA_RANGE || class == MPI_ERR_DISP;
}

enum { WORDS = 8 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int allocated = 0; allocated < 2; allocated++) {
        MPI_Win win;
        int own[WORDS + 2], *memory = own + 1, value[WORDS + 1], right = (check_rank + 1) % check_size;
        int left = (check_rank + check_size - 1) % check_size;
        MPI_Datatype wide;
        memset(own, 0x11, sizeof own);
        memset(value, 0, sizeof value);
        if (allocated)
            OK(MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        else
            OK(MPI_Win_create(memory, WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        memset(memory, 0x11, WORDS * sizeof(int));
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        OK(MPI_Type_vector(2, 1, WORDS, MPI_INT, &wide));
        OK(MPI_Type_commit(&wide));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int kind = 0; kind < 7; kind++) {
            int call = MPI_SUCCESS, end;
            OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
            DOING("an access outside the window");
            switch (kind) {
            case 0:
                call = MPI_Put(value, 1, MPI_INT, right, WORDS, 1, MPI_INT, win);
                break;
            case 1:
                call = MPI_Put(value, WORDS + 1, MPI_INT, right, 0, WORDS + 1, MPI_INT, win);
                break;
            case 2:
                call = MPI_Get(value, 1, MPI_INT, right, -1, 1, MPI_INT, win);
                break;
            case 3:
                call = MPI_Accumulate(value, 2, MPI_INT, right, WORDS - 1, 2, MPI_INT, MPI_REPLACE, win);
                break;
            case 4:
                call = MPI_Put(value, 2, MPI_INT, right, 1, 1, wide, win);
                break;
            case 5:
                call = MPI_Fetch_and_op(value, value + 1, MPI_INT, right, (MPI_Aint)1 << 40, MPI_SUM, win);
                break;
            default:
                call = MPI_Put(value, 1, MPI_INT, right, INTPTR_MAX / 2, 1, MPI_INT, win);
            }
            end = MPI_Win_unlock(right, win);
            if (!is_range(call) && !(call == MPI_SUCCESS && is_range(end)))
                CHECK_SAY("kind %d: the call: %s, the end: %s", kind, check_describe(call), check_describe(end));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
        for (int i = 0; i < WORDS; i++)
            CHECK_AT(memory, i, 0x11111111);
        CHECK_EQ(own[0], 0x11111111);
        CHECK_EQ(own[WORDS + 1], 0x11111111);
        OK(MPI_Win_unlock(check_rank, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        /* The last word is inside. */
        value[0] = check_rank;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
        OK(MPI_Put(value, 1, MPI_INT, right, WORDS - 1, 1, MPI_INT, win));
        OK(MPI_Win_unlock(right, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
        CHECK_EQ(memory[WORDS - 1], left);
        OK(MPI_Win_unlock(check_rank, win));
        OK(MPI_Type_free(&wide));
        OK(MPI_Win_free(&win));
    }
    return check_end();
}
