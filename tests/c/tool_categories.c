/* Categories (MPI 4.1, 15.3.9): every variable is in one, every category but the first is in the first, and lists are cut to
 * the room there is for them.
 *
 * ranks: 1
 * peers: none, the categories are those of this library */
#include "tool.h"

enum { MOST = 256 };

int main(int argc, char **argv)
{
    int provided, categories, cvars, pvars, seen[MOST] = {0}, list[MOST];
    int seen_cvars[MOST] = {0}, seen_pvars[MOST] = {0};
    check_begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_category_get_num(&categories));
    OK(MPI_T_cvar_get_num(&cvars));
    OK(MPI_T_pvar_get_num(&pvars));
    CHECK(categories > 5 && categories < MOST && cvars < MOST && pvars < MOST);
    for (int category = 0; category < categories; category++) {
        char name[64], text[256];
        int name_len = sizeof name, text_len = sizeof text, with_cvars, with_pvars, with_categories, found = -1;
        OK(MPI_T_category_get_info(category, name, &name_len, text, &text_len, &with_cvars, &with_pvars,
                                   &with_categories));
        CHECK_EQ(name_len, strlen(name) + 1);
        CHECK(text_len > 1);
        OK(MPI_T_category_get_index(name, &found));
        CHECK_EQ(found, category);
        OK(MPI_T_category_get_cvars(category, MOST, list));
        for (int i = 0; i < with_cvars; i++)
            seen_cvars[list[i]]++;
        OK(MPI_T_category_get_pvars(category, MOST, list));
        for (int i = 0; i < with_pvars; i++)
            seen_pvars[list[i]]++;
        OK(MPI_T_category_get_categories(category, MOST, list));
        for (int i = 0; i < with_categories; i++)
            seen[list[i]]++;
    }
    for (int i = 0; i < cvars; i++)
        CHECK_AT(seen_cvars, i, 1);
    for (int i = 0; i < pvars; i++)
        CHECK_AT(seen_pvars, i, 1);
    for (int i = 1; i < categories; i++)
        CHECK_AT(seen, i, 1);
    CHECK_AT(seen, 0, 0);

    list[2] = -7;
    OK(MPI_T_category_get_categories(0, 2, list));
    CHECK_AT(list, 2, -7);
    OK(MPI_T_category_get_cvars(0, 0, NULL));
    OK(MPI_T_finalize());
    return check_end();
}
