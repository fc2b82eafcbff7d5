/* Infos, keys, handlers, groups, operations and types that are none, were freed or are of another kind, and results without a
 * place: the class of each, and nothing changes.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, they do not look at freed handles */
#include "check.h"

static void takes(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void takes_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    CHECK(!"called");
}

static void infos(void)
{
    MPI_Info info, stale, copy = MPI_INFO_NULL, wrong[3];
    char text[16] = "as it was", long_key[MPI_MAX_INFO_KEY + 8], long_value[MPI_MAX_INFO_VAL + 8];
    int n = 7, flag = 7, room = sizeof text;
    memset(long_key, 'k', sizeof long_key - 1), long_key[sizeof long_key - 1] = 0;
    memset(long_value, 'v', sizeof long_value - 1), long_value[sizeof long_value - 1] = 0;
    OK(MPI_Info_create(&info));
    stale = info;
    OK(MPI_Info_free(&info));
    wrong[0] = MPI_INFO_NULL, wrong[1] = stale, wrong[2] = (MPI_Info)(intptr_t)-9;
    for (int i = 0; i < 3; i++) {
        FAILS(MPI_Info_set(wrong[i], "key", "value"), MPI_ERR_INFO);
        FAILS(MPI_Info_get_string(wrong[i], "key", &room, text, &flag), MPI_ERR_INFO);
        FAILS(MPI_Info_get_nkeys(wrong[i], &n), MPI_ERR_INFO);
        FAILS(MPI_Info_get_nthkey(wrong[i], 0, text), MPI_ERR_INFO);
        FAILS(MPI_Info_delete(wrong[i], "key"), MPI_ERR_INFO);
        FAILS(MPI_Info_dup(wrong[i], &copy), MPI_ERR_INFO);
        info = wrong[i];
        FAILS(MPI_Info_free(&info), MPI_ERR_INFO);
        CHECK(info == wrong[i]);
    }
    CHECK(copy == MPI_INFO_NULL && n == 7 && flag == 7);
    CHECK_TEXT(text, "as it was");
    OK(MPI_Info_create(&info));
    FAILS(MPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, long_key, "value"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Info_set(info, "key", long_value), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY);
    FAILS(MPI_Info_get_nthkey(info, 0, text), MPI_ERR_ARG);
    FAILS(MPI_Info_get_nthkey(info, -1, text), MPI_ERR_ARG);
    FAILS(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG);
    FAILS(MPI_Info_dup(info, NULL), MPI_ERR_ARG);
    FAILS(MPI_Info_create(NULL), MPI_ERR_ARG);
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Info_free(&info));
}

static void keys(void)
{
    int of_win, of_comm, freed, stale, bad, flag = 7, value = 0;
    void *found = &value;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &of_win, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &freed, NULL));
    stale = freed;
    OK(MPI_Comm_free_keyval(&freed));
    int wrong[] = {MPI_KEYVAL_INVALID, stale, of_win, -12345};
    for (int i = 0; i < 4; i++) {
        FAILS(MPI_Comm_set_attr(MPI_COMM_SELF, wrong[i], &value), MPI_ERR_KEYVAL);
        FAILS(MPI_Comm_get_attr(MPI_COMM_SELF, wrong[i], &found, &flag), MPI_ERR_KEYVAL);
        FAILS(MPI_Comm_delete_attr(MPI_COMM_SELF, wrong[i]), MPI_ERR_KEYVAL);
        FAILS(MPI_Type_set_attr(MPI_INT, wrong[i], &value), MPI_ERR_KEYVAL);
        bad = wrong[i];
        FAILS(MPI_Comm_free_keyval(&bad), MPI_ERR_KEYVAL);
        CHECK_EQ(bad, wrong[i]);
    }
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_get_attr(MPI_COMM_NULL, of_comm, &found, &flag), MPI_ERR_COMM);
    FAILS(MPI_Comm_set_attr(MPI_COMM_NULL, of_comm, &value), MPI_ERR_COMM);
    FAILS(MPI_Type_get_attr(MPI_DATATYPE_NULL, of_comm, &found, &flag), MPI_ERR_TYPE);
    CHECK(flag == 7 && found == &value);
    OK(MPI_Win_free_keyval(&of_win));
    OK(MPI_Comm_free_keyval(&of_comm));
}

static void handlers(void)
{
    MPI_Errhandler handler, stale, found = MPI_ERRHANDLER_NULL;
    OK(MPI_Comm_create_errhandler(takes_errors, &handler));
    stale = handler;
    OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL);
    MPI_Errhandler wrong[] = {MPI_ERRHANDLER_NULL, stale, (MPI_Errhandler)(intptr_t)-9};
    for (int i = 0; i < 3; i++) {
        FAILS(MPI_Comm_set_errhandler(MPI_COMM_SELF, wrong[i]), MPI_ERR_ERRHANDLER);
        handler = wrong[i];
        FAILS(MPI_Errhandler_free(&handler), MPI_ERR_ERRHANDLER);
        CHECK(handler == wrong[i]);
    }
    FAILS(MPI_Comm_create_errhandler(takes_errors, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_get_errhandler(MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_get_errhandler(MPI_COMM_NULL, &found), MPI_ERR_COMM);
    FAILS(MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER), MPI_ERR_COMM);
    CHECK(found == MPI_ERRHANDLER_NULL);
}

static void groups(void)
{
    MPI_Group group, stale, made = MPI_GROUP_NULL, freed;
    int ranks[] = {0, 0}, outside[] = {check_size, -1, -77}, n = 7, range[1][3] = {{0, 0, 0}};
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &freed));
    stale = freed;
    OK(MPI_Group_free(&freed));
    MPI_Group wrong[] = {MPI_GROUP_NULL, stale, (MPI_Group)(intptr_t)-9};
    for (int i = 0; i < 3; i++) {
        if (wrong[i] == stale && stale == group)
            continue;
        FAILS(MPI_Group_size(wrong[i], &n), MPI_ERR_GROUP);
        FAILS(MPI_Group_rank(wrong[i], &n), MPI_ERR_GROUP);
        FAILS(MPI_Group_union(group, wrong[i], &made), MPI_ERR_GROUP);
        FAILS(MPI_Group_intersection(wrong[i], group, &made), MPI_ERR_GROUP);
        FAILS(MPI_Group_difference(group, wrong[i], &made), MPI_ERR_GROUP);
        FAILS(MPI_Group_incl(wrong[i], 1, ranks, &made), MPI_ERR_GROUP);
        FAILS(MPI_Group_excl(wrong[i], 1, ranks, &made), MPI_ERR_GROUP);
        FAILS(MPI_Group_compare(group, wrong[i], &n), MPI_ERR_GROUP);
    }
    for (int i = 0; i < 3; i++) {
        FAILS(MPI_Group_incl(group, 1, &outside[i], &made), MPI_ERR_RANK);
        FAILS(MPI_Group_excl(group, 1, &outside[i], &made), MPI_ERR_RANK);
    }
    FAILS(MPI_Group_incl(group, 2, ranks, &made), MPI_ERR_RANK);
    FAILS(MPI_Group_incl(group, -1, ranks, &made), MPI_ERR_ARG);
    FAILS(MPI_Group_incl(group, 1, NULL, &made), MPI_ERR_ARG);
    FAILS(MPI_Group_incl(group, 1, ranks, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_range_excl(group, 1, range, &made), MPI_ERR_ARG);
    FAILS(MPI_Group_size(group, NULL), MPI_ERR_ARG);
    CHECK(made == MPI_GROUP_NULL && n == 7);
    OK(MPI_Group_free(&group));
}

static void types_and_operations(void)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, freed, stale, list[2] = {MPI_INT, MPI_DATATYPE_NULL}, own = MPI_INT;
    MPI_Op op = MPI_OP_NULL, predefined = MPI_SUM, old;
    int lens[] = {1, -1}, good_lens[] = {1, 1}, places[] = {0, 1}, sizes[] = {4, 4}, subs[] = {2, 5}, starts[] = {0, 0}, n = 7;
    MPI_Aint bytes[] = {0, 8}, low = 7, extent = 7;
    long a = 1, b = 2;
    OK(MPI_Type_contiguous(2, MPI_INT, &freed));
    stale = freed;
    OK(MPI_Type_free(&freed));
    MPI_Datatype wrong[] = {MPI_DATATYPE_NULL, stale};
    for (int i = 0; i < 2; i++) {
        FAILS(MPI_Type_dup(wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_indexed(2, good_lens, places, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_hindexed(2, good_lens, bytes, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_hvector(2, 1, 8, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_indexed_block(2, 1, places, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_hindexed_block(2, 1, bytes, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_resized(wrong[i], 0, 8, &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_create_subarray(1, sizes, subs, starts, MPI_ORDER_C, wrong[i], &made), MPI_ERR_TYPE);
        FAILS(MPI_Type_get_true_extent(wrong[i], &low, &extent), MPI_ERR_TYPE);
        FAILS(MPI_Type_set_name(wrong[i], "name"), MPI_ERR_TYPE);
        FAILS(MPI_Pack_size(1, wrong[i], MPI_COMM_WORLD, &n), MPI_ERR_TYPE);
        FAILS(MPI_Reduce_local(&a, &b, 1, wrong[i], MPI_SUM), MPI_ERR_TYPE);
    }
    FAILS(MPI_Type_create_struct(2, good_lens, bytes, list, &made), MPI_ERR_TYPE);
    list[1] = MPI_INT;
    FAILS(MPI_Type_create_struct(2, lens, bytes, list, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_indexed(2, lens, places, MPI_INT, &made), MPI_ERR_COUNT);
    FAILS(MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &made), MPI_ERR_ARG);
    FAILS(MPI_Type_create_subarray(1, sizes, subs, starts, 77, MPI_INT, &made), MPI_ERR_ARG);
    FAILS(MPI_Type_dup(MPI_INT, NULL), MPI_ERR_ARG);
    FAILS(MPI_Type_free(&own), MPI_ERR_TYPE);
    CHECK(made == MPI_DATATYPE_NULL && own == MPI_INT && n == 7 && low == 7 && extent == 7);

    FAILS(MPI_Op_create(takes, 1, NULL), MPI_ERR_ARG);
    FAILS(MPI_Op_free(&op), MPI_ERR_OP);
    FAILS(MPI_Op_free(&predefined), MPI_ERR_OP);
    CHECK(predefined == MPI_SUM);
    OK(MPI_Op_create(takes, 1, &op));
    old = op;
    OK(MPI_Op_free(&op));
    FAILS(MPI_Op_commutative(old, &n), MPI_ERR_OP);
    FAILS(MPI_Op_commutative(MPI_OP_NULL, &n), MPI_ERR_OP);
    FAILS(MPI_Reduce_local(&a, &b, 1, MPI_LONG, old), MPI_ERR_OP);
    FAILS(MPI_Reduce_local(&a, &b, -1, MPI_LONG, MPI_SUM), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_local(NULL, &b, 1, MPI_LONG, MPI_SUM), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_local(&a, NULL, 1, MPI_LONG, MPI_SUM), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_local(&a, &a, 1, MPI_LONG, MPI_SUM), MPI_ERR_BUFFER);
    CHECK(a == 1 && b == 2 && n == 7);
}

static void packing(void)
{
    long a[2] = {1, 2};
    char packed[16] = "untouched";
    int position = 12;
    FAILS(MPI_Pack(a, 1, MPI_LONG, packed, 16, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    FAILS(MPI_Unpack(packed, 16, &position, a, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    position = -1;
    FAILS(MPI_Pack(a, 1, MPI_LONG, packed, 16, &position, MPI_COMM_WORLD), MPI_ERR_ARG);
    FAILS(MPI_Unpack(packed, 16, &position, a, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_ARG);
    position = 0;
    FAILS(MPI_Pack(a, -1, MPI_LONG, packed, 16, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Pack(NULL, 1, MPI_LONG, packed, 16, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Pack(a, 1, MPI_LONG, packed, 16, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Pack(a, 1, MPI_LONG, packed, 16, NULL, MPI_COMM_WORLD), MPI_ERR_ARG);
    FAILS(MPI_Unpack(packed, 16, &position, NULL, 1, MPI_LONG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK(a[0] == 1 && a[1] == 2 && position == 0);
    CHECK_TEXT(packed, "untouched");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_errors_return();
    infos(), keys(), handlers(), groups(), types_and_operations(), packing();
    return check_end();
}
