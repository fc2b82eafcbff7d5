/* The fields of a status can be set: a program that makes up a status, as a binding of another language does, gets them back.
 *
 * ranks: 1
 * memcheck: yes
 * peers: not openmpi, whose 4.1 has not all of the calls
 * peers: not mpich, likewise
 * peers: not mpich-abi, whose 5.0 takes more elements than a status can count
 * peers: not newest-mpich-guest, whose 5.0 takes more elements than a status can count
 * peers: not mpich-abi-guest, the same */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Datatype mixed;
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype parts[2] = {MPI_SHORT, MPI_DOUBLE};
    MPI_Count large = -1;
    int lens[2] = {2, 1}, number = -1, kind = -1;
    check_begin(&argc, &argv);
    check_errors_return();
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_source(&status, 7));
    OK(MPI_Status_set_tag(&status, 99));
    OK(MPI_Status_set_error(&status, MPI_ERR_TAG));
    CHECK(status.MPI_SOURCE == 7 && status.MPI_TAG == 99 && status.MPI_ERROR == MPI_ERR_TAG);
    for (int flag = 0; flag < 3; flag++) {
        OK(MPI_Status_set_cancelled(&status, flag));
        OK(MPI_Test_cancelled(&status, &number));
        CHECK_EQ(number, flag != 0);
    }

    /* Elements are basic ones: two shorts and a double make one of these. */
    OK(MPI_Type_create_struct(2, lens, places, parts, &mixed));
    OK(MPI_Type_commit(&mixed));
    for (int elements = 0; elements < 10; elements++) {
        OK(MPI_Status_set_elements(&status, mixed, elements));
        OK(MPI_Get_elements(&status, mixed, &number));
        CHECK_EQ(number, elements);
        OK(MPI_Get_count(&status, mixed, &number));
        CHECK_EQ(number, elements % 3 == 0 ? elements / 3 : MPI_UNDEFINED);
    }
    OK(MPI_Status_set_elements_c(&status, MPI_CHAR, (MPI_Count)3 << 32));
    OK(MPI_Get_elements_c(&status, MPI_CHAR, &large));
    CHECK_EQ(large, (MPI_Count)3 << 32);
    CHECK(status.MPI_SOURCE == 7 && status.MPI_TAG == 99 && status.MPI_ERROR == MPI_ERR_TAG);
    FAILS(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
    FAILS(MPI_Status_set_elements_c(&status, MPI_INT, INT64_MAX), MPI_ERR_COUNT);
    FAILS(MPI_Status_set_elements(&status, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE);
    FAILS(MPI_Status_set_elements(MPI_STATUS_IGNORE, MPI_INT, 1), MPI_ERR_ARG);
    OK(MPI_Get_elements_c(&status, MPI_CHAR, &large));
    CHECK_EQ(large, (MPI_Count)3 << 32);
    OK(MPI_Type_free(&mixed));

    /* No communicator has a topology. */
    OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK_EQ(kind, MPI_UNDEFINED);
    FAILS(MPI_Topo_test(MPI_COMM_NULL, &kind), MPI_ERR_COMM);
    return check_end();
}
