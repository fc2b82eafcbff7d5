/* Sessions: before MPI_Init, beside it and behind MPI_Finalize; process sets, communicators and windows from their groups, between
 * two groups, buffers and error handlers of their own.
 *
 * ranks: 1 2 3 4 8
 * memcheck: yes
 * peers: none, the other libraries here are of MPI 4.0 or have no sessions on this ABI */
#define RMA_MPI_FINT
#include "check.h"

enum { WORDS = 1000 };

static MPI_Session handled_session;
static int handled_code, handled;

static void handler(MPI_Session *session, int *code, ...)
{
    handled_session = *session;
    handled_code = *code;
    handled++;
}

static MPI_Session begin(MPI_Errhandler errhandler)
{
    MPI_Session session = MPI_SESSION_NULL;
    OK(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

static void end(MPI_Session session)
{
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
}

static void process_sets(MPI_Session session)
{
    int count = -1, len = 0, size, flag;
    char name[MPI_MAX_PSET_NAME_LEN], value[64];
    MPI_Info info;
    MPI_Group group;
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK_EQ(count, 2);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, NULL));
    CHECK_EQ(len, 12);
    len = 5;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, name));
    CHECK_TEXT(name, "mpi:");
    CHECK_EQ(len, 12);
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, name));
    CHECK_TEXT(name, "mpi://WORLD");
    len = sizeof name;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &len, name));
    CHECK_TEXT(name, "mpi://SELF");
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_size(group, &check_size));
    OK(MPI_Group_rank(group, &check_rank));
    OK(MPI_Group_free(&group));
    for (int of_self = 0; of_self < 2; of_self++) {
        OK(MPI_Session_get_pset_info(session, of_self ? "mpi://self" : "mpi://WORLD", &info));
        len = sizeof value;
        OK(MPI_Info_get_string(info, "mpi_size", &len, value, &flag));
        CHECK(flag && atoi(value) == (of_self ? 1 : check_size));
        OK(MPI_Info_free(&info));
    }
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    OK(MPI_Group_size(group, &size));
    CHECK_EQ(size, 1);
    OK(MPI_Group_free(&group));
    OK(MPI_Session_get_info(session, &info));
    len = sizeof value;
    OK(MPI_Info_get_string(info, "thread_level", &len, value, &flag));
    CHECK(flag && strncmp(value, "MPI_THREAD_", 11) == 0);
    OK(MPI_Info_free(&info));
    CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
    CHECK(MPI_Session_f2c(MPI_Session_c2f(session)) == session);
    CHECK_EQ(MPI_Session_toint(MPI_SESSION_NULL), 0x120);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

static MPI_Comm from_set(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    OK(MPI_Group_from_session_pset(session, set, &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    CHECK(comm != MPI_COMM_NULL);
    return comm;
}

static void window(MPI_Comm comm)
{
    int rank, size, *base, word;
    MPI_Win win;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_fence(0, win));
    word = 100 + rank;
    OK(MPI_Put(&word, 1, MPI_INT, (rank + 1) % size, WORDS - 1, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(base[WORDS - 1], 100 + (rank + size - 1) % size);
    OK(MPI_Win_free(&win));
}

static void sum(MPI_Comm comm, int expected)
{
    int one = 1, all = -1;
    OK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(all, expected);
}

/* Every second rank, in a communicator of its own, and one between the two. */
static void parts(MPI_Session session)
{
    MPI_Group world, even, odd;
    MPI_Comm part = MPI_COMM_NULL, between = MPI_COMM_NULL, none = MPI_COMM_WORLD;
    int range[1][3] = {{0, check_size - 1, 2}}, is_odd = check_rank % 2;
    int evens = (check_size + 1) / 2, odds = check_size / 2, flag = -1, size = -1;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    OK(MPI_Group_range_incl(world, 1, range, &even));
    OK(MPI_Group_difference(world, even, &odd));
    OK(MPI_Comm_create_from_group(is_odd ? odd : even, "part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part));
    sum(part, is_odd ? odds : evens);
    window(part);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none));
    CHECK(none == MPI_COMM_NULL);
    OK(MPI_Intercomm_create_from_groups(is_odd ? odd : even, is_odd ? odds - 1 : evens - 1, is_odd ? even : odd,
                                        is_odd ? evens - 1 : odds - 1, "x",
                                        MPI_INFO_NULL, MPI_ERRORS_RETURN, &between));
    CHECK((between == MPI_COMM_NULL) == (odds == 0));
    if (odds > 0) {
        OK(MPI_Comm_test_inter(between, &flag));
        CHECK_EQ(flag, 1);
        OK(MPI_Comm_remote_size(between, &size));
        CHECK_EQ(size, is_odd ? evens : odds);
        sum(between, size);
        OK(MPI_Comm_free(&between));
    }
    if (odds > 0)
        FAILS(MPI_Intercomm_create_from_groups(even, 0, world, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &between),
              MPI_ERR_GROUP);
    FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part), MPI_ERR_GROUP);
    FAILS(MPI_Comm_create_from_group(world, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &part), MPI_ERR_ARG);
    if (is_odd)
        FAILS(MPI_Comm_create_from_group(even, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part), MPI_ERR_GROUP);
    OK(MPI_Group_free(&even));
    if (odd != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&odd));
    OK(MPI_Group_free(&world));
}

static void buffers(MPI_Session session)
{
    static char memory[WORDS];
    MPI_Comm comm = from_set(session, "mpi://WORLD", "buffers");
    MPI_Request request;
    void *address = NULL;
    MPI_Count large = -1;
    int size = -1, word = check_rank, got = -1;
    OK(MPI_Session_attach_buffer(session, memory, WORDS));
    FAILS(MPI_Session_attach_buffer(session, memory, WORDS), MPI_ERR_BUFFER);
    OK(MPI_Bsend(&word, 1, MPI_INT, (check_rank + 1) % check_size, 0, comm));
    OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, (check_rank + check_size - 1) % check_size);
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_iflush_buffer(session, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Session_detach_buffer(session, &address, &size));
    CHECK(address == memory && size == WORDS);
    OK(MPI_Session_attach_buffer_c(session, memory, WORDS));
    OK(MPI_Session_detach_buffer_c(session, &address, &large));
    CHECK_EQ(large, WORDS);
    FAILS(MPI_Session_detach_buffer(session, &address, &size), MPI_ERR_BUFFER);
    OK(MPI_Comm_free(&comm));
}

/* Errors of a session go to its handler, and to no other. */
static void handlers(MPI_Session session, MPI_Session other)
{
    MPI_Errhandler mine, got;
    MPI_Group group = MPI_GROUP_NULL;
    int before = handled;
    OK(MPI_Session_create_errhandler(handler, &mine));
    OK(MPI_Session_set_errhandler(session, mine));
    OK(MPI_Session_get_errhandler(session, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    FAILS(MPI_Group_from_session_pset(other, "mpi://NONE", &group), MPI_ERR_ARG);
    CHECK_EQ(handled, before);
    FAILS(MPI_Group_from_session_pset(session, "mpi://NONE", &group), MPI_ERR_ARG);
    CHECK_EQ(handled, before + 1);
    CHECK(handled_session == session);
    CHECK(group == MPI_GROUP_NULL);
    OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK_EQ(handled, before + 2);
    CHECK_EQ(handled_code, MPI_ERR_OTHER);
    FAILS(MPI_Session_set_errhandler(session, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &before, NULL), MPI_ERR_ARG);
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &before, NULL), MPI_ERR_ARG);
}

static void everything(void)
{
    MPI_Session session = begin(MPI_ERRORS_RETURN), other = begin(MPI_ERRORS_RETURN);
    MPI_Comm comm, self;
    process_sets(session);
    comm = from_set(session, "mpi://WORLD", "one");
    self = from_set(other, "mpi://SELF", "one");
    sum(comm, check_size);
    sum(self, 1);
    window(comm);
    parts(session);
    buffers(session);
    handlers(session, other);
    end(other);
    /* What was made of a session that has ended goes on. */
    sum(self, 1);
    OK(MPI_Comm_free(&self));
    OK(MPI_Comm_free(&comm));
    end(session);
}

int main(int argc, char **argv)
{
    int flag = -1;
    MPI_Errhandler early;
    MPI_Session session, left;
    MPI_Comm comm, kept;
    MPI_Group group;
    check_watch();
    OK(MPI_Session_create_errhandler(handler, &early));
    everything();
    OK(MPI_Initialized(&flag));
    CHECK_EQ(flag, 0);
    everything();
    session = begin(early);
    OK(MPI_Errhandler_free(&early));
    comm = from_set(session, "mpi://WORLD", "before");

    check_begin(&argc, &argv);
    check_errors_return();
    everything();
    sum(comm, check_size);
    FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &left), MPI_ERR_ERRHANDLER);
    FAILS(MPI_Session_finalize(&(MPI_Session){MPI_SESSION_NULL}), MPI_ERR_SESSION);
    FAILS(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &flag), MPI_ERR_SESSION);
    FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG);
    left = session;
    end(left);
    FAILS(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &flag), MPI_ERR_SESSION);
    left = begin(MPI_ERRORS_RETURN);
    kept = from_set(left, "mpi://WORLD", "kept");
    OK(MPI_Group_from_session_pset(left, "mpi://WORLD", &group));
    int code = check_end();

    OK(MPI_Finalized(&flag));
    CHECK_EQ(flag, 1);
    sum(kept, check_size);
    window(kept);
    OK(MPI_Comm_free(&kept));
    OK(MPI_Group_free(&group));
    sum(comm, check_size);
    OK(MPI_Comm_free(&comm));
    end(left);
    if (check_failures > 0 && code == 0)
        printf("%d checks failed behind MPI_Finalize\n", check_failures);
    return check_failures > 0 ? 1 : code;
}
