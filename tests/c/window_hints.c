/* Hints of windows: what is given is told back, defaults are those of the standard, unknown ones are ignored, and a
 * promise that is broken is an error.
 *
 * ranks: 1 2
 * peers: not openmpi-guest, a freed info is no error there
 * peers: not mpich-guest, a freed info is its to crash on
 * nodes: one
 * peers: not mpich, it knows fewer hints
 * peers: not openmpi, it knows fewer hints
 * memcheck: yes */
#include "check.h"

static void expect(MPI_Win win, const char *key, const char *value)
{
    MPI_Info used;
    char text[MPI_MAX_INFO_VAL + 1] = "";
    int flag = -1;
    OK(MPI_Win_get_info(win, &used));
    OK(MPI_Info_get(used, key, MPI_MAX_INFO_VAL, text, &flag));
    if (flag != (value != NULL) || (value != NULL && strcmp(text, value) != 0))
        CHECK_SAY("hint %s is %s, not %s", key, flag ? text : "not there", value == NULL ? "nothing" : value);
    OK(MPI_Info_free(&used));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Info info;
    int *base;
    check_begin(&argc, &argv);
    check_errors_return();
    static const char *const given[][3] = {
        {"no_locks", "true", "true"},
        {"accumulate_ordering", "none", "none"},
        {"accumulate_ops", "same_op", "same_op"},
        {"same_size", "true", "true"},
        {"same_disp_unit", "true", "true"},
        {"alloc_shared_noncontig", "true", "true"},
        {"mpi_minimum_memory_alignment", "256", "256"},
        {"mpi_accumulate_granularity", "64", "64"},
        {"mpi_assert_memory_alloc_kinds", "system,mpi", "system,mpi"},
        {"no_such_hint", "true", NULL},
    };
    static const char *const defaults[][2] = {
        {"no_locks", "false"},
        {"accumulate_ordering", "rar,raw,war,waw"},
        {"accumulate_ops", "same_op_no_op"},
        {"same_size", "false"},
        {"same_disp_unit", "false"},
        {"alloc_shared_noncontig", "false"},
        {"mpi_accumulate_granularity", "0"},
        {"mpi_assert_memory_alloc_kinds", NULL},
    };
    enum { GIVEN = sizeof given / sizeof *given, DEFAULTS = sizeof defaults / sizeof *defaults };

    OK(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int i = 0; i < DEFAULTS; i++)
        expect(win, defaults[i][0], defaults[i][1]);
    OK(MPI_Win_free(&win));

    OK(MPI_Info_create(&info));
    for (int i = 0; i < GIVEN; i++)
        OK(MPI_Info_set(info, given[i][0], given[i][1]));
    OK(MPI_Win_allocate_shared(64, 1, info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < GIVEN; i++)
        expect(win, given[i][0], given[i][2]);
    CHECK((uintptr_t)base % 256 == 0);
    /* A promise that is not kept, and on which nothing depends. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

    /* Changed while the window lives; values that say nothing change nothing. */
    OK(MPI_Info_set(info, "no_locks", "false"));
    OK(MPI_Info_set(info, "accumulate_ordering", "waw,rar"));
    OK(MPI_Info_set(info, "accumulate_ops", "no such choice"));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "false"));
    OK(MPI_Win_set_info(win, info));
    expect(win, "no_locks", "false");
    expect(win, "accumulate_ordering", "rar,waw");
    expect(win, "accumulate_ops", "same_op");
    expect(win, "alloc_shared_noncontig", "true");
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));
    FAILS(MPI_Win_set_info(win, MPI_INFO_NULL), MPI_ERR_INFO);
    FAILS(MPI_Win_get_info(win, NULL), MPI_ERR_ARG);
    OK(MPI_Win_free(&win));

    /* A handle that is no info object is an error of all ranks. */
    MPI_Info stale = info;
    OK(MPI_Info_free(&info));
    FAILS(MPI_Win_allocate(64, 1, stale, MPI_COMM_WORLD, &base, &win), MPI_ERR_INFO);
    return check_end();
}
