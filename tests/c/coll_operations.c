/* Every predefined operation on the types that the standard lists for it.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes */
#include "check.h"
#include "integers.h"

#include <complex.h>
#include <stdbool.h>

/* The values of rank r are r + 1, small enough for products. */
static long long product(void)
{
    long long p = 1;
    for (int i = 1; i <= check_size; i++)
        p = p * (i % 3 + 1);
    return p;
}

#define ARITHMETIC(c_type, mpi_type)                                                           \
    do {                                                                                       \
        c_type value = (c_type)(check_rank + 1), result = 0;                                   \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_SUM, MPI_COMM_WORLD));              \
        CHECK_EQ(result, check_size * (check_size + 1) / 2);                                   \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_MAX, MPI_COMM_WORLD));              \
        CHECK_EQ(result, check_size);                                                          \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_MIN, MPI_COMM_WORLD));              \
        CHECK_EQ(result, 1);                                                                   \
        value = (c_type)((check_rank + 1) % 3 + 1);                                            \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_PROD, MPI_COMM_WORLD));             \
        CHECK_EQ(result, (c_type)product());                                                   \
    } while (0)

#define LOGICAL(c_type, mpi_type)                                                              \
    do {                                                                                       \
        c_type value = (c_type)(check_rank == 0 ? 0 : 2), result = 9;                          \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_LAND, MPI_COMM_WORLD));             \
        CHECK_EQ(result, 0);                                                                   \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_LOR, MPI_COMM_WORLD));              \
        CHECK_EQ(result, check_size > 1);                                                      \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_LXOR, MPI_COMM_WORLD));             \
        CHECK_EQ(result, (check_size - 1) % 2);                                                \
    } while (0)

#define BITS(c_type, mpi_type)                                                                 \
    do {                                                                                       \
        c_type value = (c_type)(0x30 | 1 << check_rank % 4), result = 0, all = 0x30, some = 0x30, odd = 0; \
        for (int r = 0; r < check_size; r++) {                                                 \
            some = (c_type)(some | 1 << r % 4);                                                \
            odd = (c_type)(odd ^ (0x30 | 1 << r % 4));                                         \
        }                                                                                      \
        if (check_size == 1)                                                                   \
            all = value;                                                                       \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_BAND, MPI_COMM_WORLD));             \
        CHECK_EQ(result, all);                                                                 \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_BOR, MPI_COMM_WORLD));              \
        CHECK_EQ(result, some);                                                                \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_BXOR, MPI_COMM_WORLD));             \
        CHECK_EQ(result, odd);                                                                 \
    } while (0)

#define WHOLE(c_type, mpi_type)                                                                \
    do {                                                                                       \
        ARITHMETIC(c_type, mpi_type);                                                          \
        LOGICAL(c_type, mpi_type);                                                             \
        BITS(c_type, mpi_type);                                                                \
    } while (0)

#define COMPLEX(c_type, mpi_type)                                                              \
    do {                                                                                       \
        c_type value = check_rank + 1 + 2 * I, result = 0;                                     \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_SUM, MPI_COMM_WORLD));              \
        CHECK_EQ(creal(result), check_size * (check_size + 1) / 2);                            \
        CHECK_EQ(cimag(result), 2 * check_size);                                               \
        value = I, result = 0;                                                                 \
        OK(MPI_Allreduce(&value, &result, 1, mpi_type, MPI_PROD, MPI_COMM_WORLD));             \
        c_type expected = 1;                                                                   \
        for (int r = 0; r < check_size; r++)                                                   \
            expected *= I;                                                                     \
        CHECK(creal(result) == creal(expected) && cimag(result) == cimag(expected));           \
    } while (0)

/* The value decides; of equal ones the lower index. */
#define LOCATION(c_type, mpi_type)                                                             \
    do {                                                                                       \
        struct {                                                                               \
            c_type value;                                                                      \
            int index;                                                                         \
        } pairs[2], result[2];                                                                 \
        memset(pairs, 0, sizeof pairs);                                                        \
        memset(result, 0, sizeof result);                                                      \
        pairs[0].value = (c_type)(check_rank / 2);                                             \
        pairs[0].index = 100 - check_rank;                                                     \
        pairs[1].value = 5;                                                                    \
        pairs[1].index = check_rank + 3;                                                       \
        OK(MPI_Allreduce(pairs, result, 2, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD));             \
        CHECK_EQ(result[0].value, (check_size - 1) / 2);                                       \
        CHECK_EQ(result[0].index, 100 - (check_size - 1));                                     \
        CHECK_EQ(result[1].index, 3);                                                          \
        OK(MPI_Allreduce(pairs, result, 2, mpi_type, MPI_MINLOC, MPI_COMM_WORLD));             \
        CHECK_EQ(result[0].value, 0);                                                          \
        CHECK_EQ(result[0].index, check_size > 1 ? 99 : 100);                                  \
        CHECK_EQ(result[1].value, 5);                                                          \
        CHECK_EQ(result[1].index, 3);                                                          \
    } while (0)

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    EACH_INTEGER(WHOLE)
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    ARITHMETIC(long double, MPI_LONG_DOUBLE);
    ARITHMETIC(MPI_Aint, MPI_AINT);
    ARITHMETIC(MPI_Count, MPI_COUNT);
    ARITHMETIC(MPI_Offset, MPI_OFFSET);
    LOGICAL(bool, MPI_C_BOOL);
    BITS(unsigned char, MPI_BYTE);
    COMPLEX(float complex, MPI_C_FLOAT_COMPLEX);
    COMPLEX(double complex, MPI_C_DOUBLE_COMPLEX);
    LOCATION(float, MPI_FLOAT_INT);
    LOCATION(double, MPI_DOUBLE_INT);
    LOCATION(long, MPI_LONG_INT);
    LOCATION(int, MPI_2INT);
    LOCATION(short, MPI_SHORT_INT);
    LOCATION(long double, MPI_LONG_DOUBLE_INT);
    return check_end();
}
