/* A window that one rank spoils: the others learn which rank and the class of its error; ranks that make windows of different
 * kinds learn of which.
 *
 * ranks: 2 3 4
 * nodes: one
 * peers: none, their words are their own */
#include "check.h"

static long memory[8];

/* A call fails with an error of this class, and its text has these words. */
static void told(int code, int class, const char *what, const char *words)
{
    int found = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &found);
    if (found != class || strstr(check_describe(code), words) == NULL)
        CHECK_SAY("%s: %s, not of class %d with \"%s\"", what, check_describe(code), class, words);
}

#define TOLD(call, class, words)                                                               \
    do {                                                                                       \
        DOING(#call);                                                                          \
        told((call), class, #call, words);                                                     \
    } while (0)

int main(int argc, char **argv)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    int last, is_last;
    char words[64];
    void *base;
    MPI_Win win;
    check_begin(&argc, &argv);
    check_errors_return();
    last = check_size - 1, is_last = check_rank == last;

    snprintf(words, sizeof words, is_last ? "disp_unit is -1" : "rank %d gave a bad argument (MPI_ERR_DISP)", last);
    TOLD(MPI_Win_create(memory, 64, is_last ? -1 : 1, MPI_INFO_NULL, world, &win), is_last ? MPI_ERR_DISP : MPI_ERR_OTHER, words);
    snprintf(words, sizeof words, is_last ? "size is 64" : "rank %d gave a bad argument (MPI_ERR_BASE)", last);
    TOLD(MPI_Win_create(is_last ? NULL : memory, 64, 1, MPI_INFO_NULL, world, &win), is_last ? MPI_ERR_BASE : MPI_ERR_OTHER, words);

    if (is_last)
        TOLD(MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_OTHER,
             "this rank calls win_allocate, and rank 0 win_create:");
    else
        TOLD(MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, world, &win), MPI_ERR_OTHER,
             "this rank calls win_create, as does rank 0, and another one win_allocate:");
    if (is_last)
        TOLD(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_OTHER,
             "this rank calls win_allocate_shared, as does rank");
    else
        TOLD(MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win), MPI_ERR_OTHER,
             "this rank calls win_create_dynamic, and rank");

    snprintf(words, sizeof words, "%s", check_rank == 0 ? "mapping" : "process 0 cannot map");
    TOLD(MPI_Win_allocate_shared((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_RMA_SHARED, words);

    /* And the communicator still makes windows. */
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &base, &win));
    OK(MPI_Win_free(&win));
    return check_end();
}
