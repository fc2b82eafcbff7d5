/* The tool interface from several threads at once, while one of them communicates.
 *
 * ranks: 2 */
#include "tool.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 200 };

static void *use(void *nothing)
{
    for (int round = 0; round < ROUNDS; round++) {
        int provided, count, steps = -1;
        unsigned long long value = 0;
        char name[64];
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
        OK(MPI_T_pvar_get_num(&count));
        for (int index = 0; index < count && steps < 0; index++) {
            int length = sizeof name, bind = -1, continuous = 1, var_class = -1;
            OK(MPI_T_pvar_get_info(index, name, &length, NULL, &var_class, NULL, NULL, NULL, NULL, &bind, NULL,
                                   &continuous, NULL));
            if (bind == MPI_T_BIND_NO_OBJECT && !continuous && var_class == MPI_T_PVAR_CLASS_COUNTER)
                steps = index;
        }
        if (steps >= 0) {
            OK(MPI_T_pvar_session_create(&session));
            OK(MPI_T_pvar_handle_alloc(session, steps, NULL, &handle, &count));
            OK(MPI_T_pvar_start(session, handle));
            OK(MPI_T_pvar_read(session, handle, &value));
            OK(MPI_T_pvar_stop(session, handle));
            OK(MPI_T_pvar_handle_free(session, &handle));
            OK(MPI_T_pvar_session_free(&session));
        }
        OK(MPI_T_finalize());
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    check_begin_threads(&argc, &argv);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int round = 0; round < ROUNDS; round++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return check_end();
}
