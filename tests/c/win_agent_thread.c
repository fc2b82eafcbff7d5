/* The library's thread, where it has one, is there from the first window on at the latest, and a rank that computes is served by it:
 * with COUNT_AGENTS in its environment, the program prints how many threads of the name rma-agent it has before its first window and behind
 * it.
 *
 * ranks: 2 */
#include "check.h"

#include <dirent.h>

/* Threads in all, and those of the name. */
static int agents(int *all)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int count = 0;
    *all = 0;
    while (tasks != NULL && (task = readdir(tasks)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        ++*all;
        if (fgets(name, sizeof name, file) != NULL)
            count += strcmp(name, "rma-agent\n") == 0;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Comm half;
    int before, behind, threads, others, *base;
    check_begin(&argc, &argv);
    before = agents(&threads);
    /* On a communicator of its own first: each process starts with its own first window. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank, 0, &half));
    OK(MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, half, &base, &win));
    /* A thread gets its name soon after it is there. */
    for (int i = 0; i < 100000; i++) {
        behind = agents(&others);
        if (behind > before || others <= threads)
            break;
    }
    CHECK(before <= behind && behind <= 1);
    if (getenv("COUNT_AGENTS") != NULL)
        printf("agents of rank %d: %d %d\n", check_rank, before, behind);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&half));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    /* One that had no name yet may have it now. */
    CHECK(agents(&others) <= 1);
    OK(MPI_Win_free(&win));
    return check_end();
}
