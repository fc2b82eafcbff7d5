/* Calls that may be made at any time, and those about the start: initialized, finalized, versions, names, clocks, threads.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: not openmpi, whose length of the version counts the zero at its end */
#include "check.h"

static void any_time(int initialized, int finalized)
{
    int flag = -1, version = -1, subversion = -1, length = -1;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    CHECK_EQ(MPI_Initialized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag != 0, initialized);
    CHECK_EQ(MPI_Finalized(&flag), MPI_SUCCESS);
    CHECK_EQ(flag != 0, finalized);
    CHECK_EQ(MPI_Get_version(&version, &subversion), MPI_SUCCESS);
    CHECK_EQ(version, MPI_VERSION);
    CHECK_EQ(subversion, MPI_SUBVERSION);
    CHECK_EQ(MPI_Get_library_version(library, &length), MPI_SUCCESS);
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING);
    CHECK_EQ(strlen(library), length);
}

static void names_and_clocks(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = -1;
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK_EQ(strlen(name), length);

    double tick = MPI_Wtick(), before = MPI_Wtime();
    CHECK(tick > 0 && tick < 0.01);
    usleep(20000);
    double passed = MPI_Wtime() - before;
    CHECK(passed >= 0.019 && passed < 10);
    double last = MPI_Wtime();
    for (int i = 0; i < 10000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= last);
        last = now;
    }
}

int main(int argc, char **argv)
{
    int words = argc, provided = -1, is_main = -1;
    char *first = argv[0];
    any_time(0, 0);
    check_begin(&argc, &argv);
    CHECK_EQ(argc, words);
    CHECK(argv[0] == first);
    any_time(1, 0);
    names_and_clocks();
    OK(MPI_Query_thread(&provided));
    CHECK_EQ(provided, MPI_THREAD_SINGLE);
    OK(MPI_Is_thread_main(&is_main));
    CHECK(is_main);
    int status = check_end();
    int before = check_failures;
    any_time(1, 1);
    return check_failures > before ? 1 : status;
}
