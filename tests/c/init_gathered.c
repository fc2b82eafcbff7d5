/* Shows: another runtime, here a fork and memory that its children share, brings the library up with nothing but an allgather:
 * MPIX_Start_gathered before MPI_Init; behind that it is an error.
 *
 * ranks: 1
 * peers: none, it is an extension
 */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RANKS = 3, MOST = 4096 };

struct meeting {
    pthread_barrier_t barrier;
    char bytes[RANKS][MOST];
};

struct seat {
    int rank;
    struct meeting *meeting;
};

static int gather(const void *mine, int length, void *all, void *state)
{
    struct seat *seat = state;

    if (length > MOST)
        return 1;
    memcpy(seat->meeting->bytes[seat->rank], mine, (size_t)length);
    pthread_barrier_wait(&seat->meeting->barrier);
    for (int rank = 0; rank < RANKS; rank++)
        memcpy((char *)all + rank * length, seat->meeting->bytes[rank], (size_t)length);
    pthread_barrier_wait(&seat->meeting->barrier);
    return 0;
}

static int play(struct seat *seat)
{
    int rank, size, wrong;
    long *base, sum;
    MPI_Win win;

    wrong = MPIX_Start_gathered(seat->rank, RANKS, gather, seat) != MPI_SUCCESS;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong |= rank != seat->rank || size != RANKS;
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = 0;
    MPI_Win_fence(0, win);
    sum = rank + 1;
    MPI_Accumulate(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    wrong |= rank == 0 && *base != RANKS * (RANKS + 1) / 2;
    /* Too late. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    wrong |= MPIX_Start_gathered(seat->rank, RANKS, gather, seat) == MPI_SUCCESS;
    MPI_Win_free(&win);
    MPI_Finalize();
    return wrong;
}

int main(void)
{
    struct meeting *meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t shared;
    int wrong = 0, status;

    alarm(CHECK_LIMIT_S);
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&meeting->barrier, &shared, RANKS);
    for (int rank = 0; rank < RANKS; rank++) {
        struct seat seat = { rank, meeting };

        if (fork() == 0) {
            alarm(CHECK_LIMIT_S);
            _exit(play(&seat));
        }
    }
    while (wait(&status) > 0)
        wrong += status != 0;
    printf("%s\n", wrong ? "errors" : "no errors");
    return wrong;
}
