/* A rank that gives a broadcast too little room gets an error, and it alone: the ranks that hear by way of it have what the root
 * gave, and all of them go on.
 *
 * ranks: 2 4 8
 * peers: not openmpi, where later collectives hang
 * peers: not mpich, which makes it an error of other ranks too
 * peers: not mpich-abi, likewise */
#include "check.h"

int main(int argc, char **argv)
{
    int words[10], sum = 0;
    check_begin(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int is_later = 0; is_later < 2; is_later++) {
        for (int root = 0; root < check_size; root++) {
            for (int wrong = 0; wrong < check_size; wrong++) {
                MPI_Request request;
                int count = check_rank == wrong && wrong != root ? 3 : 10, code;
                for (int i = 0; i < 10; i++)
                    words[i] = check_rank == root ? 100 * root + i : -1;
                if (is_later) {
                    OK(MPI_Ibcast(words, count, MPI_INT, root, MPI_COMM_WORLD, &request));
                    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
                } else {
                    code = MPI_Bcast(words, count, MPI_INT, root, MPI_COMM_WORLD);
                }
                if (count == 3) {
                    FAILS(code, MPI_ERR_TRUNCATE);
                } else {
                    OK(code);
                    for (int i = 0; i < 10; i++)
                        CHECK_AT(words, i, 100 * root + i);
                }
                OK(MPI_Allreduce(&count, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
                CHECK_EQ(sum, 10 * check_size - (wrong != root ? 7 : 0));
            }
        }
    }
    return check_end();
}
