/* No descriptor of the library has the number of a standard stream, whether the program has closed those before MPI_Init or later: what
 * it prints then gets neither into a window nor to another rank.
 *
 * ranks: 1 2 4
 * peers: none, their descriptors take these numbers */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { STREAMS = 3, ABOVE = 40, WORDS = 1 << 16 };

static int kept[STREAMS];

static void close_streams(void)
{
    fflush(stdout);
    for (int i = 0; i < STREAMS; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, ABOVE);
        close(i);
    }
}

static void reopen_streams(void)
{
    for (int i = 0; i < STREAMS; i++)
        if (kept[i] >= 0) {
            dup2(kept[i], i);
            close(kept[i]);
        }
}

static void check_closed(void)
{
    char text[64] = "what a program prints";
    for (int i = 0; i < STREAMS; i++) {
        CHECK(fcntl(i, F_GETFD) == -1);
        CHECK(write(i, text, sizeof text) == -1);
    }
}

/* Each rank stores its number at all others, and sends it to the next one. */
static void communicate(MPI_Win win, const long *memory)
{
    long *mine = malloc(WORDS * sizeof *mine), *got = malloc(WORDS * sizeof *got);
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < WORDS; i++)
        mine[i] = 1000L * check_rank + i;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(mine, WORDS, MPI_LONG, next, 0, WORDS, MPI_LONG, win));
    check_closed();
    OK(MPI_Win_fence(0, win));
    OK(MPI_Sendrecv(mine, WORDS, MPI_LONG, next, 1, got, WORDS, MPI_LONG, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_closed();
    int wrong = 0;
    for (int i = 0; i < WORDS; i++)
        wrong += (memory != NULL && memory[i] != 1000L * last + i) + (got[i] != 1000L * last + i);
    CHECK_EQ(wrong, 0);
    free(mine);
    free(got);
}

static void use_windows(void)
{
    const size_t size = WORDS * sizeof(long);
    long *allocated, *created = malloc(size);
    MPI_Win wins[2];
    OK(MPI_Win_allocate(size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &wins[0]));
    OK(MPI_Win_create(created, size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &wins[1]));
    communicate(wins[0], allocated);
    communicate(wins[1], created);
    OK(MPI_Win_free(&wins[0]));
    OK(MPI_Win_free(&wins[1]));
    free(created);
    check_closed();
}

int main(int argc, char **argv)
{
    close_streams();
    check_begin(&argc, &argv);
    use_windows();
    reopen_streams();
    close_streams();
    use_windows();
    reopen_streams();
    return check_end();
}
