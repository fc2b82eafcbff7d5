/* Accumulates that are not defined are refused in the program's own words: the operation and the datatypes as it wrote them,
 * also where they are parts of derived ones.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, the texts are this library's */
#include "check.h"

/* A call fails with this class, and its text names both. */
static void names(int code, int class, const char *one, const char *other, int line)
{
    int found = -1;
    MPI_Error_class(code, &found);
    const char *text = check_describe(code);
    if (found != class || strstr(text, one) == NULL || strstr(text, other) == NULL)
        CHECK_SAY("line %d: %s: expected class %d, %s and %s", line, text, class, one, other);
}

#define NAMES(call, class, one, other)                                                         \
    do {                                                                                       \
        DOING(#call);                                                                          \
        names((call), class, one, other, __LINE__);                                            \
    } while (0)

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Request request;
    MPI_Datatype doubles, mixed, parts[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Aint places[2] = {0, 8};
    int lengths[2] = {1, 1};
    double memory[4] = {0, 0, 0, 0}, from[4] = {1, 2, 3, 4}, back[4];
    float number = 1;
    check_begin(&argc, &argv);
    check_errors_return();
    int target = check_size - 1;
    OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &doubles));
    OK(MPI_Type_commit(&doubles));
    OK(MPI_Type_create_struct(2, lengths, places, parts, &mixed));
    OK(MPI_Type_commit(&mixed));
    OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock_all(0, win));

    NAMES(MPI_Accumulate(&number, 1, MPI_FLOAT, target, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP, "MPI_BAND", "MPI_FLOAT");
    NAMES(MPI_Accumulate(from, 1, doubles, target, 0, 1, doubles, MPI_BXOR, win), MPI_ERR_OP, "MPI_BXOR", "MPI_DOUBLE");
    NAMES(MPI_Raccumulate(from, 1, doubles, target, 0, 1, doubles, MPI_LOR, win, &request), MPI_ERR_OP, "MPI_LOR",
          "MPI_DOUBLE");
    NAMES(MPI_Get_accumulate(&number, 1, MPI_FLOAT, back, 1, MPI_FLOAT, target, 0, 1, MPI_FLOAT, MPI_MAXLOC, win),
          MPI_ERR_OP, "MPI_MAXLOC", "MPI_FLOAT");
    NAMES(MPI_Rget_accumulate(from, 1, doubles, back, 1, doubles, target, 0, 1, doubles, MPI_BOR, win, &request),
          MPI_ERR_OP, "MPI_BOR", "MPI_DOUBLE");
    NAMES(MPI_Fetch_and_op(&number, back, MPI_FLOAT, target, 0, MPI_LXOR, win), MPI_ERR_OP, "MPI_LXOR", "MPI_FLOAT");
    NAMES(MPI_Compare_and_swap(from, from + 1, back, MPI_DOUBLE, target, 0, win), MPI_ERR_TYPE, "MPI_DOUBLE", "compared");

    NAMES(MPI_Accumulate(&number, 1, MPI_FLOAT, target, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_TYPE,
          "origin_datatype has elements of MPI_FLOAT", "MPI_INT");
    NAMES(MPI_Accumulate(from, 1, mixed, target, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE, "target_datatype",
          "MPI_INT and MPI_DOUBLE");
    NAMES(MPI_Get_accumulate(NULL, 0, MPI_BYTE, back, 1, MPI_FLOAT, target, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_TYPE,
          "result_datatype has elements of MPI_FLOAT", "MPI_INT");
    NAMES(MPI_Accumulate(from, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_NO_OP, win), MPI_ERR_OP, "MPI_NO_OP",
          "accumulate");

    /* No elements are combined by any operation. */
    OK(MPI_Accumulate(from, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_SUM, win));
    OK(MPI_Accumulate(NULL, 0, MPI_INT, target, 0, 0, MPI_INT, MPI_MINLOC, win));
    OK(MPI_Get_accumulate(from, 0, MPI_BYTE, back, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_SUM, win));
    OK(MPI_Get_accumulate(from, 0, doubles, back, 0, doubles, target, 0, 0, doubles, MPI_BAND, win));
    OK(MPI_Raccumulate(from, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_PROD, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Rget_accumulate(from, 0, MPI_BYTE, back, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_SUM, win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    NAMES(MPI_Accumulate(from, 0, MPI_BYTE, target, 0, 0, MPI_BYTE, MPI_OP_NULL, win), MPI_ERR_OP, "op is", "MPI_OP_NULL");
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < 4; i++)
        CHECK(memory[i] == 0);
    NAMES(MPI_Allreduce(&number, back, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_BAND", "MPI_FLOAT");
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&doubles));
    OK(MPI_Type_free(&mixed));
    return check_end();
}
