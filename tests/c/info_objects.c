/* Info objects: set, replace, get, cut off, delete, count, order, copies; what is refused.
 *
 * ranks: 1
 * memcheck: yes
 * peers: not mpich, whose 4.0 refuses to cut a value off
 * peers: not mpich-abi, as mpich */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info, copy;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1], long_text[MPI_MAX_INFO_VAL + 2];
    int flag, length, keys;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Info_create(&info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK_EQ(keys, 0);
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Info_set(info, "second", "2"));
    OK(MPI_Info_set(info, "third", "a value of some length"));
    OK(MPI_Info_set(info, "second", "two"));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK_EQ(keys, 3);
    const char *order[] = {"no_locks", "second", "third"};
    for (int i = 0; i < 3; i++) {
        OK(MPI_Info_get_nthkey(info, i, key));
        int found = 0;
        for (int k = 0; k < 3; k++)
            found += strcmp(key, order[k]) == 0;
        CHECK_EQ(found, 1);
    }

    OK(MPI_Info_get(info, "second", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag);
    CHECK_TEXT(value, "two");
    OK(MPI_Info_get_valuelen(info, "third", &length, &flag));
    CHECK(flag);
    CHECK_EQ(length, strlen("a value of some length"));
    memset(value, 'x', sizeof value);
    OK(MPI_Info_get(info, "third", 7, value, &flag));
    CHECK(flag);
    value[MPI_MAX_INFO_VAL] = 0;
    CHECK_TEXT(value, "a value");
    CHECK(value[8] == 'x');
    strcpy(value, "left alone");
    OK(MPI_Info_get(info, "fourth", 7, value, &flag));
    CHECK(!flag);
    CHECK_TEXT(value, "left alone");
    OK(MPI_Info_get_valuelen(info, "fourth", &length, &flag));
    CHECK(!flag);

    /* A copy is another object. */
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "second"));
    OK(MPI_Info_get(info, "second", 9, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK_EQ(keys, 2);
    OK(MPI_Info_get_nkeys(copy, &keys));
    CHECK_EQ(keys, 3);
    OK(MPI_Info_get(copy, "second", 9, value, &flag));
    CHECK(flag);
    CHECK_TEXT(value, "two");

    FAILS(MPI_Info_delete(info, "second"), MPI_ERR_INFO_NOKEY);
    FAILS(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
    memset(long_text, 'k', sizeof long_text - 1);
    long_text[MPI_MAX_INFO_KEY + 1] = 0;
    FAILS(MPI_Info_set(info, long_text, "x"), MPI_ERR_INFO_KEY);
    memset(long_text, 'v', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    FAILS(MPI_Info_set(info, "x", long_text), MPI_ERR_INFO_VALUE);
    CHECK(MPI_Info_get_nthkey(info, 2, key) != MPI_SUCCESS);
    CHECK(MPI_Info_get_nthkey(info, -1, key) != MPI_SUCCESS);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
    CHECK(copy == MPI_INFO_NULL);
    return check_end();
}
