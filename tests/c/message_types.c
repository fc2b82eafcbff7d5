/* Derived types on both sides: a column becomes a row, another layout of the same numbers; the type may be freed while the
 * message is on its way; what lies in the gaps stays.
 *
 * ranks: 2 4
 * memcheck: yes */
#include "check.h"

enum { N = 200 };

static int from[N][N], to[N][N];

int main(int argc, char **argv)
{
    MPI_Datatype column, row, pairs;
    MPI_Request requests[2];
    MPI_Status status;
    int count = -1;
    check_begin(&argc, &argv);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            from[i][k] = check_rank * 1000000 + i * N + k, to[i][k] = -1;

    OK(MPI_Type_vector(N, 1, N, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_contiguous(N, MPI_INT, &row));
    OK(MPI_Type_commit(&row));
    OK(MPI_Irecv(to[3], 1, row, left, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(&from[0][5], 1, column, right, 0, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Type_free(&row));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        CHECK_AT(to[3], i, left * 1000000 + i * N + 5);
        CHECK_AT(to[2], i, -1);
        CHECK_AT(to[4], i, -1);
    }

    /* Scattered at the receiver. */
    OK(MPI_Irecv(&to[0][7], 1, column, left, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Type_free(&column));
    OK(MPI_Send(from[9], N, MPI_INT, right, 0, MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], &status));
    for (int i = 0; i < N; i++) {
        CHECK_AT(to[i], 7, left * 1000000 + 9 * N + i);
        CHECK_AT(to[i], 8, i == 3 ? left * 1000000 + 8 * N + 5 : -1);
    }

    /* Counts: whole elements of the type, or none that is whole. */
    OK(MPI_Type_contiguous(2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    OK(MPI_Sendrecv(from, 6, MPI_INT, right, 1, to, 10, pairs, left, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, pairs, &count));
    CHECK_EQ(count, 3);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 6);
    OK(MPI_Sendrecv(from, 5, MPI_INT, right, 1, to, 10, pairs, left, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, pairs, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    OK(MPI_Type_free(&pairs));
    return check_end();
}
