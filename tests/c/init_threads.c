/* MPI_Init_thread grants what it says, and only the thread that called it is the main one.
 *
 * ranks: 1 2
 * memcheck: yes */
#include "check.h"

#include <pthread.h>

static void *other_thread(void *unused)
{
    int flag = -1, provided = -1;
    OK(MPI_Is_thread_main(&flag));
    CHECK_EQ(flag, 0);
    OK(MPI_Query_thread(&provided));
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int flag = -1;
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED);
    CHECK(MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED);
    CHECK(MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
    check_begin_threads(&argc, &argv);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag);
    CHECK_EQ(pthread_create(&thread, NULL, other_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return check_end();
}
