/* MPI_Comm_idup: the duplicate is there when the request is complete, other calls go on meanwhile, and attributes come
 * along.
 *
 * ranks: 1 2 4 */
#include "check.h"

int main(int argc, char **argv)
{
    int key, flag, here = 3, relation = -1, sum = 0, one = 1;
    void *value = NULL;
    MPI_Comm made[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request requests[3];
    check_begin(&argc, &argv);
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &here));
    for (int i = 0; i < 3; i++)
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &requests[i]));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_compare(MPI_COMM_WORLD, made[i], &relation));
        CHECK_EQ(relation, MPI_CONGRUENT);
        OK(MPI_Comm_get_attr(made[i], key, &value, &flag));
        CHECK(flag && value == &here);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[i]));
        CHECK_EQ(sum, check_size);
        OK(MPI_Comm_free(&made[i]));
    }
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    OK(MPI_Comm_free_keyval(&key));
    return check_end();
}
