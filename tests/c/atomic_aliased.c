/* Calls that fetch, into memory that they also read from: refused with nothing changed, on every path and in every form,
 * whether all of the two buffers is shared or a part; and taken where nothing is read, or nothing is moved.
 *
 * ranks: 1 2 4
 * memcheck: yes
 * peers: none, they do not look */
#include "check.h"

enum { WORDS = 600 };

static long a[WORDS + 1], compared = 7;
static MPI_Win win;
static int right;

static void refused(void *in, void *out, int count, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;
    FAILS(MPI_Get_accumulate(in, count, type, out, count, type, right, 0, count, type, MPI_SUM, win), MPI_ERR_BUFFER);
    FAILS(MPI_Get_accumulate_c(in, count, type, out, count, type, right, 0, count, type, MPI_REPLACE, win), MPI_ERR_BUFFER);
    FAILS(MPI_Rget_accumulate(in, count, type, out, count, type, right, 0, count, type, MPI_MAX, win, &request),
          MPI_ERR_BUFFER);
    CHECK(request == MPI_REQUEST_NULL);
    if (count == 1 && type == MPI_LONG) {
        FAILS(MPI_Fetch_and_op(in, out, type, right, 0, MPI_SUM, win), MPI_ERR_BUFFER);
        FAILS(MPI_Compare_and_swap(in, &compared, out, type, right, 0, win), MPI_ERR_BUFFER);
    }
}

static void subjects(long *memory)
{
    MPI_Datatype second;
    OK(MPI_Type_vector(4, 1, 2, MPI_LONG, &second));
    OK(MPI_Type_commit(&second));
    for (int i = 0; i <= WORDS; i++)
        a[i] = 1000 + i;
    for (int i = 0; i < WORDS; i++)
        memory[i] = 7;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    int counts[] = {1, 2, 90, WORDS};
    for (int i = 0; i < 4; i++) {
        refused(a, a, counts[i], MPI_LONG);
        refused(a, (char *)a + 4, counts[i], MPI_LONG);
        refused((char *)a + 4, a, counts[i], MPI_LONG);
        refused(a, (char *)a + 8 * counts[i] - 1, counts[i], MPI_LONG);
    }
    refused(a, a, 1, second);
    OK(MPI_Win_flush(right, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < WORDS; i++) {
        CHECK_AT(memory, i, 7);
        CHECK_AT(a, i, 1000 + i);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Fetch_and_op(a, a, MPI_LONG, right, 0, MPI_NO_OP, win));
    OK(MPI_Get_accumulate(a, 1, MPI_LONG, a, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_NO_OP, win));
    OK(MPI_Get_accumulate(a, 0, MPI_LONG, a, 0, MPI_LONG, right, 0, 0, MPI_LONG, MPI_SUM, win));
    OK(MPI_Fetch_and_op(a + 5, a + 5, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, win));
    OK(MPI_Fetch_and_op(a + 1, a + 2, MPI_LONG, right, 8, MPI_SUM, win));
    OK(MPI_Get_accumulate(a + 10, 1, second, a + 11, 1, second, right, 80, 4, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(a[0], 7);
    CHECK_EQ(a[2], 7);
    for (int i = 0; i < 4; i++)
        CHECK_AT(a, 11 + 2 * i, 7);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Type_free(&second));
}

int main(int argc, char **argv)
{
    long *memory;
    check_begin(&argc, &argv);
    check_errors_return();
    right = (check_rank + 1) % check_size;
    OK(MPI_Win_allocate(WORDS * sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    subjects(memory);
    OK(MPI_Win_free(&win));
    memory = malloc(WORDS * sizeof *memory);
    OK(MPI_Win_create(memory, WORDS * sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    subjects(memory);
    OK(MPI_Win_free(&win));
    free(memory);
    return check_end();
}
