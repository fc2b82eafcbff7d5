/* Control variables (MPI 4.1, 15.3.6): every one describes itself, is found by its name and can be read; one that is written
 * before MPI_Init is what MPI starts with; later only what is safe can be written; wrong values are refused.
 *
 * ranks: 1 2
 * nodes: one
 * memcheck: yes
 * peers: none, the variables are those of this library */
#include "tool.h"

static void describe_all(void)
{
    int count = 0, found;
    OK(MPI_T_cvar_get_num(&count));
    CHECK(count > 30);
    for (int index = 0; index < count; index++) {
        char name[64], text[1024];
        int name_len = sizeof name, text_len = sizeof text, verbosity = 0, bind = 0, scope = 0;
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        MPI_T_enum words = MPI_T_ENUM_NULL;
        OK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &datatype, &words, text, &text_len, &bind, &scope));
        CHECK_EQ(name_len, strlen(name) + 1);
        CHECK_EQ(text_len, strlen(text) + 1);
        CHECK(strstr(text, "default ") != NULL);
        CHECK(strncmp(name, "RMA_", 4) == 0);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
        CHECK(scope == MPI_T_SCOPE_LOCAL || scope == MPI_T_SCOPE_ALL_EQ);
        OK(MPI_T_cvar_get_index(name, &found));
        CHECK_EQ(found, index);

        MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
        int elements = 0;
        OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &elements));
        CHECK(handle != MPI_T_CVAR_HANDLE_NULL);
        if (datatype == MPI_UNSIGNED_LONG_LONG) {
            unsigned long long value = ~0ull;
            CHECK_EQ(elements, 1);
            OK(MPI_T_cvar_read(handle, &value));
            CHECK(value < ~0ull);
            CHECK(words == MPI_T_ENUM_NULL);
        } else if (datatype == MPI_INT) {
            int value = -1, number = 0;
            CHECK_EQ(elements, 1);
            OK(MPI_T_cvar_read(handle, &value));
            OK(MPI_T_enum_get_info(words, &number, NULL, NULL));
            CHECK(value >= 0 && value < number);
        } else {
            char value[1024] = "";
            CHECK(datatype == MPI_CHAR);
            CHECK(elements > 1 && elements < (int)sizeof value);
            OK(MPI_T_cvar_read(handle, value));
            CHECK(strlen(value) < (size_t)elements);
        }
        OK(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
}

/* Lengths of texts (15.3.3): none, too short, exact, and no buffer. */
static void texts(void)
{
    char name[16];
    int index, length;
    OK(MPI_T_cvar_get_index("RMA_SLOTS", &index));
    length = 0;
    memset(name, '#', sizeof name);
    OK(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(length, sizeof "RMA_SLOTS");
    CHECK_EQ(name[0], '#');
    length = 5;
    OK(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(length, sizeof "RMA_SLOTS");
    CHECK_TEXT(name, "RMA_");
    CHECK_EQ(name[5], '#');
    OK(MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_TEXT(name, "RMA_SLOTS");
    CHECK_EQ(name[10], '#');
    length = 3;
    OK(MPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(length, sizeof "RMA_SLOTS");
    memset(name, '#', sizeof name);
    OK(MPI_T_cvar_get_info(index, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(name[0], '#');
}

/* The words of a variable that has some. */
static void words(void)
{
    static const char *const expected[] = {"launcher", "continue"};
    int index, count = 0, value = -1, length;
    char name[32];
    MPI_T_enum choice = MPI_T_ENUM_NULL;
    OK(MPI_T_cvar_get_index("RMA_ON_FAILURE", &index));
    OK(MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &choice, NULL, NULL, NULL, NULL));
    length = sizeof name;
    OK(MPI_T_enum_get_info(choice, &count, name, &length));
    CHECK_EQ(count, 2);
    CHECK_TEXT(name, "RMA_ON_FAILURE");
    for (int item = 0; item < count; item++) {
        length = sizeof name;
        OK(MPI_T_enum_get_item(choice, item, &value, name, &length));
        CHECK_EQ(value, item);
        CHECK_TEXT(name, expected[item]);
        CHECK_EQ(length, strlen(expected[item]) + 1);
    }
    ANSWERS(MPI_T_enum_get_item(choice, count, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_enum_get_item(choice, -1, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_enum_get_info((MPI_T_enum)(intptr_t)index, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    int provided = -1, elements, index;
    unsigned long long value;
    check_watch();
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    describe_all();
    texts();
    words();

    /* Before the start: legal values are taken, others leave what there was. */
    MPI_T_cvar_handle poll = tool_cvar("RMA_POLL_PACKETS"), spin = tool_cvar("RMA_SPIN");
    value = 77;
    OK(MPI_T_cvar_write(poll, &value));
    value = 0;
    ANSWERS(MPI_T_cvar_write(poll, &value), MPI_T_ERR_INVALID);
    value = 1ull << 40;
    ANSWERS(MPI_T_cvar_write(poll, &value), MPI_T_ERR_INVALID);
    CHECK_EQ(tool_number("RMA_POLL_PACKETS"), 77);
    MPI_T_cvar_handle report = tool_cvar("RMA_WAIT_REPORT"), listen = tool_cvar("RMA_TCP_LISTEN");
    OK(MPI_T_cvar_write(listen, "127.0.0.1"));
    ANSWERS(MPI_T_cvar_write(listen, "nowhere"), MPI_T_ERR_INVALID);
    char address[1024] = "";
    OK(MPI_T_cvar_read(listen, address));
    CHECK_TEXT(address, "127.0.0.1");
    MPI_T_cvar_handle direct = tool_cvar("RMA_DIRECT");
    int word = 2;
    ANSWERS(MPI_T_cvar_write(direct, &word), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_cvar_write(direct, NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_cvar_read(direct, NULL), MPI_T_ERR_INVALID);

    /* What was written outlives the interface that it was written by. */
    OK(MPI_T_finalize());
    check_begin(&argc, &argv);
    check_errors_return();
    ANSWERS(MPI_T_cvar_read(poll, &value), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    ANSWERS(MPI_T_cvar_read(poll, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(tool_number("RMA_POLL_PACKETS"), 77);
    poll = tool_cvar("RMA_POLL_PACKETS");
    value = 78;
    ANSWERS(MPI_T_cvar_write(poll, &value), MPI_T_ERR_CVAR_SET_NEVER);
    value = 0;
    ANSWERS(MPI_T_cvar_write(poll, &value), MPI_T_ERR_INVALID);
    CHECK_EQ(tool_number("RMA_POLL_PACKETS"), 77);

    /* How long a wait spins may change at any time. */
    spin = tool_cvar("RMA_SPIN");
    report = tool_cvar("RMA_WAIT_REPORT");
    value = 5;
    OK(MPI_T_cvar_write(spin, &value));
    value = 1234;
    OK(MPI_T_cvar_write(report, &value));
    CHECK_EQ(tool_number("RMA_SPIN"), 5);
    CHECK_EQ(tool_number("RMA_WAIT_REPORT"), 1234);
    value = 1ull << 60;
    ANSWERS(MPI_T_cvar_write(spin, &value), MPI_T_ERR_INVALID);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Wrong handles, indices and names. */
    ANSWERS(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_cvar_get_info(9999, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_cvar_get_index("RMA_SLOT", &index), MPI_T_ERR_INVALID_NAME);
    ANSWERS(MPI_T_cvar_get_index(NULL, &index), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_cvar_get_index("RMA_SLOTS", NULL), MPI_T_ERR_INVALID);
    ANSWERS(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    MPI_T_cvar_handle other = spin;
    ANSWERS(MPI_T_cvar_handle_alloc(9999, NULL, &other, &elements), MPI_T_ERR_INVALID_INDEX);
    ANSWERS(MPI_T_cvar_handle_alloc(0, NULL, NULL, &elements), MPI_T_ERR_INVALID);
    OK(MPI_T_cvar_handle_free(&other));
    other = spin;
    ANSWERS(MPI_T_cvar_handle_free(&other), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_cvar_read(spin, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_cvar_read((MPI_T_cvar_handle)MPI_COMM_WORLD, &value), MPI_T_ERR_INVALID_HANDLE);
    ANSWERS(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
    OK(MPI_T_finalize());
    return check_end();
}
