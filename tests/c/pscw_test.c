/* MPI_Win_test says no as long as an origin has not completed, and then once yes, after which a new epoch may begin.
 *
 * ranks: 2 4 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group all, others, centre;
    MPI_Win win;
    int *memory, zero = 0;
    check_begin(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, 1, &zero, &centre));
    OK(MPI_Group_excl(all, 1, &zero, &others));
    OK(MPI_Win_allocate(8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int round = 0; round < 5; round++) {
        if (check_rank == 0) {
            int flag = 1;
            OK(MPI_Win_post(others, 0, win));
            for (int i = 0; i < 10; i++) {
                OK(MPI_Win_test(win, &flag));
                CHECK(!flag);
                if (flag)
                    break;
            }
            /* Only now may the others complete. */
            for (int to = 1; to < check_size; to++)
                OK(MPI_Send(NULL, 0, MPI_INT, to, 0, MPI_COMM_WORLD));
            DOING("MPI_Win_test until it says yes");
            while (!flag)
                MPI_Win_test(win, &flag);
            for (int from = 1; from < check_size; from++)
                CHECK_AT(memory, from, round * 10 + from);
        } else {
            int value = round * 10 + check_rank;
            OK(MPI_Win_start(centre, 0, win));
            OK(MPI_Put(&value, 1, MPI_INT, 0, check_rank, 1, MPI_INT, win));
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Win_complete(win));
        }
    }
    OK(MPI_Win_free(&win));
    OK(MPI_Group_free(&others));
    OK(MPI_Group_free(&centre));
    OK(MPI_Group_free(&all));
    return check_end();
}
