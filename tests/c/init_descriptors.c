/* MPI_Finalize closes what MPI_Init and the calls since have opened: sockets above all, on which peers could still be heard.
 * What stays are the three descriptors of a poller that no thread waits in any more, and memory that predefined communicators lie in.
 *
 * ranks: 1 2 4
 * peers: none, they keep others */
#include "check.h"

#include <dirent.h>

enum { MOST = 1024 };

static char before[MOST][128], after[MOST][128];

static void look(char found[MOST][128])
{
    DIR *directory = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(directory));) {
        int number = atoi(entry->d_name);
        char path[64];
        if (entry->d_name[0] == '.' || number == dirfd(directory) || number >= MOST)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
        ssize_t len = readlink(path, found[number], 127);
        found[number][len < 0 ? 0 : len] = 0;
    }
    closedir(directory);
}

int main(int argc, char **argv)
{
    int *memory, pollers = 0, right, value = 1;
    MPI_Win win;
    look(before);
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 0, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    int failures = check_end();
    look(after);
    for (int number = 0; number < MOST; number++) {
        if (!after[number][0] || !strcmp(before[number], after[number]))
            continue;
        int is_poller = strstr(after[number], "anon_inode:[event") != NULL;
        int is_memory = strstr(after[number], "rma") && strstr(after[number], "(deleted)");
        pollers += is_poller;
        if (!is_poller && !is_memory) {
            printf("rank %d: descriptor %d is still open: %s\n", check_rank, number, after[number]);
            failures = 1;
        }
    }
    if (pollers > 3) {
        printf("rank %d: %d descriptors of pollers are still open\n", check_rank, pollers);
        failures = 1;
    }
    return failures;
}
