/* The tool interface outside MPI_Init and MPI_Finalize, and its own start and end, which are counted (MPI 4.1, 15.3.4).
 *
 * ranks: 1 2
 * peers: not openmpi, its lists grow when MPI is initialized */
#include "tool.h"


int main(int argc, char **argv)
{
    int provided = -1, count = 0, number = -1, later = -2;
    check_watch();
    ANSWERS(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    ANSWERS(MPI_T_pvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    ANSWERS(MPI_T_category_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    ANSWERS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_T_finalize());
    OK(MPI_T_cvar_get_num(&count));
    CHECK(count > 0);
    OK(MPI_T_category_changed(&number));

    check_begin(&argc, &argv);
    OK(MPI_T_cvar_get_num(&later));
    CHECK_EQ(later, count);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int status = check_end();

    /* After the end: the lists are the same, and nothing has changed. */
    OK(MPI_T_cvar_get_num(&later));
    CHECK_EQ(later, count);
    OK(MPI_T_category_changed(&later));
    CHECK_EQ(later, number);
    OK(MPI_T_finalize());
    ANSWERS(MPI_T_category_changed(&later), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_finalize());
    return check_failures == 0 ? status : 1;
}
