/* A forked child is no rank: each call ends it, with a line that names the call, and neither that nor the end of the child
 * concerns the parent, whose epoch goes on. What may be called at any time may be called there too.
 *
 * ranks: 1 2 4
 * peers: none, they leave a child alone with its parent's connections */
#include "check.h"

#include <sys/wait.h>

enum { NONE, PUT, LOCK, BARRIER, SEND, FINALIZE, RANK, ABORT, INIT, FREE, CALLS };

static const char *const NAMES[CALLS] = {
    "nothing", "MPI_Put", "MPI_Win_lock", "MPI_Barrier", "MPI_Send", "MPI_Finalize", "MPI_Comm_rank", "MPI_Abort", "MPI_Init",
    "MPI_Win_free"};

static MPI_Win win;

static void call(int which)
{
    int value = 99, rank, initialized = 0, finalized = 0;
    switch (which) {
    case NONE:
        MPI_Initialized(&initialized);
        MPI_Finalized(&finalized);
        MPI_Get_version(&value, &rank);
        MPI_Wtime();
        exit(initialized && finalized && value == MPI_VERSION ? 7 : 8);
    case PUT: MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win); break;
    case LOCK: MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); break;
    case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
    case SEND: MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF); break;
    case FINALIZE: MPI_Finalize(); break;
    case RANK: MPI_Comm_rank(MPI_COMM_WORLD, &rank); break;
    case ABORT: MPI_Abort(MPI_COMM_WORLD, 5); break;
    case INIT: MPI_Init(NULL, NULL); break;
    case FREE: MPI_Win_free(&win); break;
    default: break;
    }
    _exit(9);
}

static void in_child(int which)
{
    int ends[2], status = 0;
    char said[1024] = "", expected[64];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        call(which);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t count;
    while (len < sizeof said - 1 && (count = read(ends[0], said + len, sizeof said - 1 - len)) > 0)
        len += (size_t)count;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    if (which == NONE) {
        CHECK(WEXITSTATUS(status) == 7);
        CHECK(said[0] == 0);
        return;
    }
    snprintf(expected, sizeof expected, "%s called in a forked child of rank %d", NAMES[which], check_rank);
    if (WEXITSTATUS(status) != 1 || !strstr(said, expected))
        CHECK_SAY("%s: status %d, \"%s\"", NAMES[which], WEXITSTATUS(status), said);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int *memory, right = (check_rank + 1) % check_size;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = -1;
    MPI_Win_fence(0, win);
    for (int which = 0; which < CALLS; which++)
        in_child(which);
    CHECK(*memory == -1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Put(&check_rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(*memory == (check_rank + check_size - 1) % check_size);
    MPI_Win_free(&win);
    return check_end();
}
