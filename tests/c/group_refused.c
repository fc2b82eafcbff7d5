/* Lists and ranges that are no subgroup: a rank twice, a range that goes nowhere or out of the group, a negative count.
 *
 * ranks: 1 2 4
 * peers: none, they let a rank be given twice, and disagree on classes */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Group all, group;
    int list[1] = {0}, twice[2] = {0, 0}, last, class;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    last = check_size - 1;
    if (check_size > 1) {
        FAILS(MPI_Group_incl(all, 2, twice, &group), MPI_ERR_RANK);
        FAILS(MPI_Group_excl(all, 2, twice, &group), MPI_ERR_RANK);
    }
    FAILS(MPI_Group_incl(all, -1, list, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_excl(all, -1, list, &group), MPI_ERR_ARG);
    int stuck[1][3] = {{0, last, 0}}, away[1][3] = {{0, check_size, 1}}, again[2][3] = {{0, last, 1}, {last, last, 1}};
    FAILS(MPI_Group_range_incl(all, 1, stuck, &group), MPI_ERR_ARG);
    int code = MPI_Group_range_incl(all, 1, away, &group);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_RANK || class == MPI_ERR_ARG);
    CHECK(MPI_Group_range_incl(all, 2, again, &group) != MPI_SUCCESS);
    OK(MPI_Group_free(&all));
    return check_end();
}
