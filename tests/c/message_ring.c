/* A token goes round many times: nothing but progress of one small message at a time.
 *
 * ranks: 2 4 8 */
#include "check.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int token = 0, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int round = 0; round < ROUNDS; round++) {
        if (check_rank == 0) {
            token++;
            OK(MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD));
            OK(MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            token++;
            OK(MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD));
        }
        CHECK_EQ(token, round * check_size + (check_rank == 0 ? check_size : check_rank + 1));
    }
    return check_end();
}
