/* Hints of windows: what is given is told back, defaults are those of the standard, unknown ones are ignored, and a
 * promise that is broken is an error; memory is aligned as asked for, wherever it comes from.
 *
 * ranks: 1 2 4 8
 * peers: not openmpi-guest, a freed info is no error there
 * peers: not newest-openmpi-guest, a freed info is no error there
 * peers: not mpich-guest, a freed info is its to crash on
 * peers: not mpich-abi-guest, likewise
 * peers: not mpich, it knows fewer hints
 * peers: not mpich-abi, likewise
 * peers: not openmpi, it knows fewer hints
 * peers: not newest-mpich-guest, a freed info is its to crash on
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

/* A new part of a window: aligned, and zeros. */
static void fresh(const char *base, MPI_Aint len, uintptr_t align)
{
    if ((uintptr_t)base % align != 0)
        CHECK_SAY("%ld bytes at %p are not aligned to %lu", (long)len, (const void *)base, (unsigned long)align);
    CHECK(base[0] == 0 && base[len - 1] == 0);
}

/* The other ranks write into the end of this one's memory. */
static void use(MPI_Win win, char *base, MPI_Aint len)
{
    char value = (char)(check_rank + 1);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_CHAR, (check_rank + 1) % check_size, len - 1, 1, MPI_CHAR, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(base[len - 1], (check_rank + check_size - 1) % check_size + 1);
}

static void aligned(MPI_Comm node, MPI_Aint len, long align)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Aint size;
    int unit, ranks;
    char text[24], reported[24], *base, *part;
    long expected = align > 2097152 ? 2097152 : align;
    snprintf(text, sizeof text, "%ld", align);
    snprintf(reported, sizeof reported, "%ld", expected);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", text));
    OK(MPI_Alloc_mem(len, info, &base));
    fresh(base, len, (uintptr_t)align);
    memset(base, 1, (size_t)len);
    OK(MPI_Win_create(base, len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    use(win, base, len);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    OK(MPI_Win_allocate(len, 1, info, MPI_COMM_WORLD, &base, &win));
    fresh(base, len, (uintptr_t)expected);
    expect(win, "mpi_minimum_memory_alignment", reported);
    use(win, base, len);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_size(node, &ranks));
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        OK(MPI_Info_set(info, "alloc_shared_noncontig", contiguous ? "false" : "true"));
        OK(MPI_Win_allocate_shared(len, 1, info, node, &base, &win));
        expect(win, "mpi_minimum_memory_alignment", reported);
        for (int rank = 0; rank < ranks; rank++) {
            OK(MPI_Win_shared_query(win, rank, &size, &unit, &part));
            fresh(part, len, rank == 0 || !contiguous ? (uintptr_t)expected : 1);
        }
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Info info;
    MPI_Comm node;
    int *base;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
    static const long alignments[] = {64, 8192, 65536, 2097152, 1 << 30};
    for (unsigned i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        aligned(node, 100, alignments[i]);
        aligned(node, (2 << 20) + 4096 + 9, alignments[i]);
    }
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

    OK(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, node, &base, &win));
    for (int i = 0; i < DEFAULTS; i++)
        expect(win, defaults[i][0], defaults[i][1]);
    OK(MPI_Win_free(&win));

    OK(MPI_Info_create(&info));
    for (int i = 0; i < GIVEN; i++)
        OK(MPI_Info_set(info, given[i][0], given[i][1]));
    OK(MPI_Win_allocate_shared(64, 1, info, node, &base, &win));
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
    OK(MPI_Comm_free(&node));
    return check_end();
}
