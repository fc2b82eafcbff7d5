/* Names that the standard has deprecated or removed, for programs that ask for them.
 *
 * ranks: 1
 * peers: none, newer libraries have not all of them */
#define RMA_MPI_1
#include "check.h"

static int deleted, handled;

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

int main(int argc, char **argv)
{
    int keyval, seven = 7, flag = 0, *found = NULL, size, lengths[2] = {1, 1}, words[4] = {1, 2, 3, 4}, out[2] = {0, 0};
    MPI_Aint places[2] = {4, 12}, address, extent, low, high;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, vector, indexed, record, pair;
    MPI_Count wide, wide_low, elements = -1;
    MPI_Errhandler handler, got;
    MPI_Status status;
    check_begin(&argc, &argv);
    OK(MPI_Keyval_create(MPI_NULL_COPY_FN, forget, &keyval, NULL));
    OK(MPI_Attr_put(MPI_COMM_WORLD, keyval, &seven));
    OK(MPI_Attr_get(MPI_COMM_WORLD, keyval, &found, &flag));
    CHECK(flag && found == &seven);
    OK(MPI_Attr_delete(MPI_COMM_WORLD, keyval));
    CHECK_EQ(deleted, 7);
    OK(MPI_Keyval_free(&keyval));

    OK(MPI_Address(words, &address));
    CHECK_EQ(address, (MPI_Aint)words);
    OK(MPI_Type_hvector(2, 1, 8, MPI_INT, &vector));
    OK(MPI_Type_extent(vector, &extent));
    CHECK_EQ(extent, 12);
    OK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &indexed));
    OK(MPI_Type_lb(indexed, &low));
    OK(MPI_Type_ub(indexed, &high));
    CHECK(low == 4 && high == 16);
    OK(MPI_Type_struct(2, lengths, places, types, &record));
    OK(MPI_Type_commit(&record));
    OK(MPI_Sendrecv(words, 1, record, 0, 0, out, 2, MPI_INT, 0, 0, MPI_COMM_SELF, &status));
    CHECK(out[0] == 2 && out[1] == 4);

    OK(MPI_Type_size_x(record, &wide));
    CHECK_EQ(wide, 8);
    OK(MPI_Type_get_extent_x(record, &wide_low, &wide));
    CHECK(wide_low == 4 && wide == 12);
    OK(MPI_Type_get_true_extent_x(record, &wide_low, &wide));
    CHECK(wide_low == 4 && wide == 12);
    OK(MPI_Get_elements_x(&status, MPI_INT, &elements));
    CHECK_EQ(elements, 2);
    OK(MPI_Status_set_elements_x(&status, MPI_INT, 5));
    OK(MPI_Get_count(&status, MPI_INT, &size));
    CHECK_EQ(size, 5);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);

    OK(MPI_Errhandler_create(handle, &handler));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, handler));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &got));
    CHECK(got == handler);
    MPI_Send(words, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK_EQ(handled, 1);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_free(&indexed));
    OK(MPI_Type_free(&record));
    return check_end();
}
