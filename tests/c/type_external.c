/* Data in the form that all machines share: sizes, bytes and the way back; and types by what they have to hold.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, as to F90 types without a Fortran compiler, and numbers that do not fit */
#include "check.h"

#include <stddef.h>

struct mixed {
    short s;
    int i;
    double d;
    char c;
    long l;
};

static void sizes(void)
{
    const struct {
        MPI_Datatype type;
        int bytes;
    } known[] = {{MPI_BYTE, 1},  {MPI_CHAR, 1},   {MPI_SHORT, 2},         {MPI_INT, 4},       {MPI_LONG, 4},
                 {MPI_FLOAT, 4}, {MPI_DOUBLE, 8}, {MPI_LONG_LONG, 8},     {MPI_WCHAR, 2},     {MPI_LONG_DOUBLE, 16},
                 {MPI_AINT, 8},  {MPI_2INT, 8},   {MPI_DOUBLE_INT, 12},   {MPI_LONG_INT, 8},  {MPI_UNSIGNED_LONG, 4},
                 {MPI_COUNT, 8}, {MPI_C_BOOL, 1}, {MPI_C_DOUBLE_COMPLEX, 16}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        MPI_Aint size = -1;
        MPI_Count large = -1;
        OK(MPI_Pack_external_size("external32", 3, known[k].type, &size));
        OK(MPI_Pack_external_size_c("external32", 3, known[k].type, &large));
        CHECK_EQ(size, 3 * known[k].bytes);
        CHECK_EQ(large, 3 * known[k].bytes);
    }
    MPI_Aint size;
    FAILS(MPI_Pack_external_size("native", 1, MPI_INT, &size), MPI_ERR_ARG);
    FAILS(MPI_Pack_external_size("external32", -1, MPI_INT, &size), MPI_ERR_COUNT);
    FAILS(MPI_Pack_external_size("external32", 1, MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
}

static void structures(void)
{
    enum { COUNT = 7 };
    int blocks[5] = {1, 1, 1, 1, 1};
    MPI_Aint places[5] = {offsetof(struct mixed, s), offsetof(struct mixed, i), offsetof(struct mixed, d),
                          offsetof(struct mixed, c), offsetof(struct mixed, l)};
    MPI_Datatype types[5] = {MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_LONG}, structure, resized, every;
    struct mixed out[2 * COUNT], in[2 * COUNT];
    unsigned char bytes[1000];
    MPI_Aint position = 3, size = -1;
    MPI_Count large = 3;
    OK(MPI_Type_create_struct(5, blocks, places, types, &structure));
    OK(MPI_Type_create_resized(structure, 0, sizeof(struct mixed), &resized));
    OK(MPI_Type_vector(COUNT, 1, 2, resized, &every));
    OK(MPI_Type_commit(&every));
    memset(out, 0, sizeof out);
    memset(in, 0xee, sizeof in);
    for (int i = 0; i < 2 * COUNT; i++)
        out[i] = (struct mixed){(short)(i - 3), 100000 * i, 0.5 * i, (char)('a' + i), -1000000L * i};
    OK(MPI_Pack_external_size("external32", 1, every, &size));
    CHECK_EQ(size, COUNT * 19);
    OK(MPI_Pack_external("external32", out, 1, every, bytes, sizeof bytes, &position));
    CHECK_EQ(position, 3 + COUNT * 19);
    CHECK(bytes[3] == 0xff && bytes[4] == 0xfd);
    CHECK(bytes[3 + 19 + 2] == 0 && bytes[3 + 19 + 3] == 3 && bytes[3 + 19 + 4] == 0x0d && bytes[3 + 19 + 5] == 0x40);
    position = 3;
    OK(MPI_Unpack_external("external32", bytes, sizeof bytes, &position, in, 1, every));
    CHECK_EQ(position, 3 + COUNT * 19);
    for (int i = 0; i < 2 * COUNT; i += 2)
        CHECK(in[i].s == out[i].s && in[i].i == out[i].i && in[i].d == out[i].d && in[i].c == out[i].c &&
              in[i].l == out[i].l);
    CHECK_EQ(((unsigned char *)&in[1])[0], 0xee);
    OK(MPI_Pack_external_c("external32", out, 1, every, bytes, sizeof bytes, &large));
    OK(MPI_Unpack_external_c("external32", bytes, sizeof bytes, (large = 3, &large), in, 1, every));
    CHECK_EQ(large, 3 + COUNT * 19);
    position = 0;
    FAILS(MPI_Pack_external("external32", out, 1, every, bytes, COUNT * 19 - 1, &position), MPI_ERR_TRUNCATE);
    long wide[2] = {1, 1L << 40};
    FAILS(MPI_Pack_external("external32", wide, 2, MPI_LONG, bytes, sizeof bytes, &position), MPI_ERR_CONVERSION);
    CHECK_EQ(position, 0);
    long double numbers[3] = {1.0L / 3, -2.5L, 0}, got[3];
    OK(MPI_Pack_external("external32", numbers, 3, MPI_LONG_DOUBLE, bytes, sizeof bytes, &position));
    CHECK_EQ(position, 48);
    position = 0;
    OK(MPI_Unpack_external("external32", bytes, 48, &position, got, 3, MPI_LONG_DOUBLE));
    CHECK(got[0] == numbers[0] && got[1] == numbers[1] && got[2] == 0);
    OK(MPI_Type_free(&structure));
    OK(MPI_Type_free(&resized));
    OK(MPI_Type_free(&every));
}

/* Fortran's types: one for the same arguments, used as predefined ones, described by their arguments. */
static void parametrized(void)
{
    MPI_Datatype type, again, freed, types[1];
    MPI_Win win;
    int integers[2], size, n[3], combiner, one = 1, sum = -1, *base;
    MPI_Aint addresses[1];
    double number = 1.5, all = -1;
    OK(MPI_Type_create_f90_integer(9, &type));
    OK(MPI_Type_create_f90_integer(9, &again));
    CHECK(type == again);
    OK(MPI_Type_size(type, &size));
    CHECK_EQ(size, 4);
    OK(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner));
    CHECK(n[0] == 1 && n[1] == 0 && n[2] == 0 && combiner == MPI_COMBINER_F90_INTEGER);
    OK(MPI_Type_get_contents(type, 1, 0, 0, integers, addresses, types));
    CHECK_EQ(integers[0], 9);
    freed = type;
    FAILS(MPI_Type_free(&freed), MPI_ERR_TYPE);
    OK(MPI_Allreduce(&one, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size);
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    *base = 0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&one, 1, type, 0, 0, 1, type, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Fetch_and_op(&one, &sum, type, 0, 0, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(check_rank > 0 || *base == 2 * check_size);
    OK(MPI_Win_free(&win));
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type));
    OK(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner));
    CHECK(n[0] == 2 && combiner == MPI_COMBINER_F90_REAL);
    OK(MPI_Allreduce(&number, &all, 1, type, MPI_MAX, MPI_COMM_WORLD));
    CHECK(all == 1.5);
    OK(MPI_Get_elements(&(MPI_Status){0}, type, &size));
    const int digits[] = {2, 4, 18}, bytes[] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Type_create_f90_integer(digits[i], &type));
        OK(MPI_Type_size(type, &size));
        CHECK_EQ(size, bytes[i]);
    }
    OK(MPI_Type_create_f90_complex(6, 37, &type));
    OK(MPI_Type_size(type, &size));
    CHECK_EQ(size, 8);
    OK(MPI_Type_create_f90_real(MPI_UNDEFINED, 4000, &type));
    OK(MPI_Type_size(type, &size));
    CHECK_EQ(size, sizeof(long double));
    FAILS(MPI_Type_create_f90_integer(19, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    FAILS(MPI_Type_create_f90_complex(40, 10, &type), MPI_ERR_ARG);
}

static void surroundings(void)
{
    int len = 16, flag = 0, is_set = 0;
    char value[16];
    short yes = -1, no = -1, other = -1;
    MPI_Info info;
    OK(MPI_Pcontrol(1));
    OK(MPI_Pcontrol(2, "more", 3.5));
    OK(MPI_Get_hw_resource_info(&info));
    OK(MPI_Info_get_string(info, "mpi_shared_memory", &len, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_info(&info));
    OK(MPI_Info_get_string(info, "mpi_logical_size", (len = 16, &len), value, &flag));
    CHECK(flag && strcmp(value, "4") == 0);
    OK(MPI_Abi_set_fortran_info(info));
    OK(MPI_Info_set(info, "mpi_integer_size", "8"));
    FAILS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_booleans(2, &yes, &no, &is_set));
    CHECK(yes == 1 && no == 0 && is_set);
    OK(MPI_Abi_set_fortran_booleans(2, &yes, &no));
    FAILS(MPI_Abi_set_fortran_booleans(2, &other, &no), MPI_ERR_ABI);
    FAILS(MPI_Abi_get_fortran_booleans(3, &yes, &no, &is_set), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_errors_return();
    sizes();
    structures();
    parametrized();
    surroundings();
    return check_end();
}
