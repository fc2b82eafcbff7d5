/* Datatypes that live for one transfer, by every constructor: the same again, and others by the handle of one that is gone; made of
 * datatypes that are freed before they are used; handles that are given as contents, and freed while the original is used; one that
 * is not committed.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

enum { INTS = 64, ROUNDS = 40, KINDS = 12 };

static int *memory, from[INTS];
static MPI_Win win;

/* A datatype of one kind, and in `places` which integers it has. `shift` makes others of the same constructor. */
static MPI_Datatype made(int kind, int shift, int *places, int *count)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner;
    int lens[3] = {1, 2, 1}, at[3] = {4, 1 + shift, 9}, n = 0;
    MPI_Aint bytes[3] = {16, 4 + 4 * shift, 36};
    int sizes[2] = {5, 7}, parts[2] = {2, 3}, starts[2] = {1, shift};
    int distributions[1] = {MPI_DISTRIBUTE_CYCLIC}, arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {2};
    MPI_Datatype olds[3] = {MPI_INT, MPI_INT, MPI_INT};
    switch (kind) {
    case 0:
        OK(MPI_Type_contiguous(3 + shift, MPI_INT, &type));
        for (int i = 0; i < 3 + shift; i++)
            places[n++] = i;
        break;
    case 1:
    case 2:
        if (kind == 1)
            OK(MPI_Type_vector(3, 2, 4 + shift, MPI_INT, &type));
        else
            OK(MPI_Type_create_hvector(3, 2, 4 * (4 + shift), MPI_INT, &type));
        for (int i = 0; i < 6; i++)
            places[n++] = i / 2 * (4 + shift) + i % 2;
        break;
    case 3:
    case 4:
    case 5:
        if (kind == 3)
            OK(MPI_Type_indexed(3, lens, at, MPI_INT, &type));
        else if (kind == 4)
            OK(MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &type));
        else
            OK(MPI_Type_create_struct(3, lens, bytes, olds, &type));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < lens[i]; j++)
                places[n++] = at[i] + j;
        break;
    case 6:
    case 7:
        at[1] += 10;
        bytes[1] += 40;
        if (kind == 6)
            OK(MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &type));
        else
            OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type));
        for (int i = 0; i < 6; i++)
            places[n++] = at[i / 2] + i % 2;
        break;
    case 8:
        OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
        for (int i = 0; i < 6; i++)
            places[n++] = (1 + i / 3) * 7 + shift + i % 3;
        break;
    case 9:
        OK(MPI_Type_create_darray(2, shift % 2, 1, (int[]){6}, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type));
        for (int i = 0; i < 3; i++)
            places[n++] = 2 * i + shift % 2;
        break;
    case 10:
        OK(MPI_Type_create_resized(MPI_INT, 0, 4 * (2 + shift), &inner));
        OK(MPI_Type_contiguous(3, inner, &type));
        OK(MPI_Type_free(&inner));
        for (int i = 0; i < 3; i++)
            places[n++] = i * (2 + shift);
        break;
    default:
        OK(MPI_Type_vector(2, 1, 3 + shift, MPI_INT, &inner));
        OK(MPI_Type_dup(inner, &type));
        OK(MPI_Type_free(&inner));
        places[n++] = 0;
        places[n++] = 3 + shift;
    }
    *count = n;
    return type;
}

/* Puts the integers of a datatype to the next rank, whose memory gets these and no others. */
static void puts_them(MPI_Datatype type, const int *places, int count, int line)
{
    int next = (check_rank + 1) % check_size, wrong = 0, expected[INTS];
    for (int i = 0; i < INTS; i++)
        memory[i] = expected[i] = -1;
    for (int i = 0; i < count; i++)
        expected[places[i]] = from[places[i]];
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(from, 1, type, next, 0, 1, type, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < INTS; i++)
        wrong += memory[i] != expected[i];
    if (wrong != 0)
        CHECK_SAY("line %d: %d integers are wrong", line, wrong);
}

static void contents_are_freed_while_their_original_is_used(void)
{
    MPI_Datatype original, whole, given;
    int number, places[3] = {0, 5, 10};
    OK(MPI_Type_vector(3, 1, 5, MPI_INT, &original));
    OK(MPI_Type_commit(&original));
    puts_them(original, places, 3, __LINE__);
    OK(MPI_Type_contiguous(1, original, &whole));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Type_get_contents(whole, 1, 0, 1, &number, NULL, &given));
        OK(MPI_Type_commit(&given));
        puts_them(given, places, 3, __LINE__);
        OK(MPI_Type_free(&given));
        puts_them(original, places, 3, __LINE__);
    }
    OK(MPI_Type_free(&original));
    OK(MPI_Type_get_contents(whole, 1, 0, 1, &number, NULL, &given));
    OK(MPI_Type_commit(&given));
    puts_them(given, places, 3, __LINE__);
    OK(MPI_Type_free(&given));
    OK(MPI_Type_commit(&whole));
    puts_them(whole, places, 3, __LINE__);
    OK(MPI_Type_free(&whole));
}

int main(int argc, char **argv)
{
    MPI_Datatype early, late;
    int places[KINDS][INTS], counts[KINDS];
    check_begin(&argc, &argv);
    check_errors_return();
    early = made(3, 0, places[0], &counts[0]);
    OK(MPI_Type_commit(&early));
    OK(MPI_Win_allocate(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < INTS; i++)
        from[i] = 100 + i;
    puts_them(early, places[0], counts[0], __LINE__);
    OK(MPI_Type_free(&early));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KINDS; i++) {
            /* The same three times, then another by a handle that others have had. */
            int kind = (i * 5 + round) % KINDS;
            MPI_Datatype type = made(kind, round / 3 % 4, places[0], &counts[0]);
            OK(MPI_Type_commit(&type));
            puts_them(type, places[0], counts[0], __LINE__);
            OK(MPI_Type_free(&type));
        }
    }
    contents_are_freed_while_their_original_is_used();
    late = made(1, 0, places[0], &counts[0]);
    OK(MPI_Win_fence(0, win));
    FAILS(MPI_Put(from, 1, late, 0, 0, 1, late, win), MPI_ERR_TYPE);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Type_commit(&late));
    puts_them(late, places[0], counts[0], __LINE__);
    OK(MPI_Type_free(&late));
    OK(MPI_Win_free(&win));
    return check_end();
}
