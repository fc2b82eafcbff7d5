/* Operations of the program's own: one that does not commute keeps the order of ranks; derived types come whole.
 *
 * ranks: 1 2 3 4 7 8 */
#include "check.h"

/* Two by two matrices modulo a prime. */
typedef struct {
    long a, b, c, d;
} matrix;

static matrix times(matrix x, matrix y)
{
    matrix z = {(x.a * y.a + x.b * y.c) % 10007, (x.a * y.b + x.b * y.d) % 10007, (x.c * y.a + x.d * y.c) % 10007,
                (x.c * y.b + x.d * y.d) % 10007};
    return z;
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    matrix *x = in, *y = inout;
    for (int i = 0; i < *count; i++)
        y[i] = times(x[i], y[i]);
}

static matrix of(int rank, int i)
{
    matrix m = {rank + 1, i, 2, rank + i};
    return m;
}

enum { COUNT = 40 };

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Datatype type;
    matrix in[COUNT], out[COUNT];
    check_begin(&argc, &argv);
    OK(MPI_Op_create(multiply, 0, &op));
    OK(MPI_Type_contiguous(4, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < COUNT; i++)
        in[i] = of(check_rank, i);
    for (int kind = 0; kind < 3; kind++) {
        int last = kind == 2 ? check_rank : check_size - 1, root = check_size / 2;
        if (kind == 0)
            OK(MPI_Reduce(in, out, COUNT, type, op, root, MPI_COMM_WORLD));
        else if (kind == 1)
            OK(MPI_Allreduce(in, out, COUNT, type, op, MPI_COMM_WORLD));
        else
            OK(MPI_Scan(in, out, COUNT, type, op, MPI_COMM_WORLD));
        for (int i = 0; (kind > 0 || check_rank == root) && i < COUNT; i++) {
            matrix expected = of(0, i);
            for (int r = 1; r <= last; r++)
                expected = times(expected, of(r, i));
            CHECK(memcmp(&out[i], &expected, sizeof expected) == 0);
        }
    }
    OK(MPI_Type_free(&type));
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    return check_end();
}
