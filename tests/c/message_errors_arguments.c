/* Every call that sends, receives or looks for a message, with each of its arguments wrong: the class, no request, no message
 * and nothing stored.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, which arguments are checked is the library's choice */
#include "check.h"

static long word = 5, room = 6;
static MPI_Request request = MPI_REQUEST_NULL;

struct call {
    void *address;
    int count, rank, tag;
    MPI_Datatype type;
    MPI_Comm comm;
};

static struct call good(void)
{
    struct call call = {&word, 1, check_rank, 3, MPI_LONG, MPI_COMM_WORLD};
    return call;
}

static void sends(struct call c, int class)
{
    STARTS_NOTHING(MPI_Send(c.address, c.count, c.type, c.rank, c.tag, c.comm), class);
    STARTS_NOTHING(MPI_Ssend(c.address, c.count, c.type, c.rank, c.tag, c.comm), class);
    STARTS_NOTHING(MPI_Rsend(c.address, c.count, c.type, c.rank, c.tag, c.comm), class);
    STARTS_NOTHING(MPI_Bsend(c.address, c.count, c.type, c.rank, c.tag, c.comm), class);
    STARTS_NOTHING(MPI_Isend(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Issend(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Irsend(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Ibsend(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Send_c(c.address, c.count, c.type, c.rank, c.tag, c.comm), class);
    STARTS_NOTHING(MPI_Isend_c(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Sendrecv(c.address, c.count, c.type, c.rank, c.tag, &room, 1, MPI_LONG, check_rank, 4, c.comm, MPI_STATUS_IGNORE),
        class);
    STARTS_NOTHING(MPI_Isendrecv(c.address, c.count, c.type, c.rank, c.tag, &room, 1, MPI_LONG, check_rank, 4, c.comm, &request), class);
    STARTS_NOTHING(MPI_Sendrecv_replace(c.address, c.count, c.type, c.rank, c.tag, check_rank, 4, c.comm, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Isendrecv_replace(c.address, c.count, c.type, c.rank, c.tag, check_rank, 4, c.comm, &request), class);
}

static void receives(struct call c, int class)
{
    STARTS_NOTHING(MPI_Recv(c.address, c.count, c.type, c.rank, c.tag, c.comm, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Irecv(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Recv_c(c.address, c.count, c.type, c.rank, c.tag, c.comm, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Irecv_c(c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
    STARTS_NOTHING(MPI_Sendrecv(&room, 1, MPI_LONG, check_rank, 4, c.address, c.count, c.type, c.rank, c.tag, c.comm, MPI_STATUS_IGNORE),
        class);
    STARTS_NOTHING(MPI_Isendrecv(&room, 1, MPI_LONG, check_rank, 4, c.address, c.count, c.type, c.rank, c.tag, c.comm, &request), class);
}

static void looks(struct call c, int class)
{
    int flag = 7;
    MPI_Message message = MPI_MESSAGE_NULL;
    STARTS_NOTHING(MPI_Probe(c.rank, c.tag, c.comm, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Iprobe(c.rank, c.tag, c.comm, &flag, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Mprobe(c.rank, c.tag, c.comm, &message, MPI_STATUS_IGNORE), class);
    STARTS_NOTHING(MPI_Improbe(c.rank, c.tag, c.comm, &flag, &message, MPI_STATUS_IGNORE), class);
    CHECK(flag == 7 && message == MPI_MESSAGE_NULL);
}

/* Messages that were taken out of matching, or never were. */
static void matched(void)
{
    MPI_Message message = MPI_MESSAGE_NULL, used;
    FAILS(MPI_Mrecv(&room, 1, MPI_LONG, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Imrecv(&room, 1, MPI_LONG, &message, &request), MPI_ERR_REQUEST);
    OK(MPI_Isend(&word, 1, MPI_LONG, check_rank, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(check_rank, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    used = message;
    /* The message is still there after a wrong receive. */
    FAILS(MPI_Mrecv(&room, -1, MPI_LONG, &message, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Mrecv(NULL, 1, MPI_LONG, &message, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    FAILS(MPI_Mrecv(&room, 1, MPI_DATATYPE_NULL, &message, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    FAILS(MPI_Mrecv(&room, 1, MPI_LONG, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Imrecv(&room, 1, MPI_LONG, &message, NULL), MPI_ERR_ARG);
    CHECK(message == used && room == 6);
    OK(MPI_Mrecv(&room, 1, MPI_LONG, &message, MPI_STATUS_IGNORE));
    CHECK(message == MPI_MESSAGE_NULL && room == 5);
    room = 6;
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPI_Mrecv(&room, 1, MPI_LONG, &used, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
}

/* Requests that are none, or not any more. */
static void requests(void)
{
    MPI_Request old, list[2];
    MPI_Status status;
    int flag = 7, index = 7, count = 7, indices[2];
    OK(MPI_Irecv(&room, 1, MPI_LONG, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &old));
    MPI_Request copy = old;
    OK(MPI_Wait(&old, MPI_STATUS_IGNORE));
    MPI_Request wrong[] = {copy, (MPI_Request)MPI_COMM_WORLD, (MPI_Request)(intptr_t)-3};
    for (int i = 0; i < 3; i++) {
        MPI_Request one = wrong[i];
        FAILS(MPI_Wait(&one, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Test(&one, &flag, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Request_free(&one), MPI_ERR_REQUEST);
        FAILS(MPI_Cancel(&one), MPI_ERR_REQUEST);
        FAILS(MPI_Request_get_status(one, &flag, &status), MPI_ERR_REQUEST);
        list[0] = MPI_REQUEST_NULL, list[1] = one;
        FAILS(MPI_Waitany(2, list, &index, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Testany(2, list, &index, &flag, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Waitsome(2, list, &count, indices, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        FAILS(MPI_Testsome(2, list, &count, indices, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        CHECK(MPI_Waitall(2, list, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(one == wrong[i] && list[1] == one);
    }
    FAILS(MPI_Wait(NULL, &status), MPI_ERR_ARG);
    FAILS(MPI_Test(NULL, &flag, &status), MPI_ERR_ARG);
    FAILS(MPI_Waitall(-1, list, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Waitany(-1, list, &index, &status), MPI_ERR_COUNT);
    FAILS(MPI_Testall(-1, list, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_Waitany(2, NULL, &index, &status), MPI_ERR_ARG);
    /* The same request twice: it stays. */
    OK(MPI_Irecv(&room, 1, MPI_LONG, check_rank, 3, MPI_COMM_WORLD, &old));
    MPI_Request twice[] = {MPI_REQUEST_NULL, old, MPI_REQUEST_NULL, old};
    for (int has_come = 0; has_come < 2; has_come++) {
        FAILS(MPI_Waitall(4, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        FAILS(MPI_Waitany(4, twice, &index, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Waitsome(4, twice, &count, indices, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        FAILS(MPI_Testall(4, twice, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        FAILS(MPI_Testany(4, twice, &index, &flag, &status), MPI_ERR_REQUEST);
        FAILS(MPI_Testsome(4, twice, &count, indices, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        CHECK(twice[1] == old && twice[3] == old);
        if (!has_come)
            OK(MPI_Send(&word, 1, MPI_LONG, check_rank, 3, MPI_COMM_WORLD));
    }
    OK(MPI_Waitall(3, twice, MPI_STATUSES_IGNORE));
    CHECK_EQ(room, 5);
    room = 6;
}

int main(int argc, char **argv)
{
    MPI_Datatype uncommitted, freed, stale;
    MPI_Comm gone, old;
    struct call c;
    int flag, value;
    MPI_Status status;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &gone));
    old = gone;
    OK(MPI_Comm_free(&gone));
    OK(MPI_Type_contiguous(1, MPI_LONG, &uncommitted));
    OK(MPI_Type_contiguous(1, MPI_LONG, &freed));
    OK(MPI_Type_commit(&freed));
    stale = freed;
    OK(MPI_Type_free(&freed));

    MPI_Comm comms[] = {MPI_COMM_NULL, old};
    for (int i = 0; i < 2; i++) {
        c = good(), c.comm = comms[i];
        sends(c, MPI_ERR_COMM), receives(c, MPI_ERR_COMM), looks(c, MPI_ERR_COMM);
    }
    int ranks[] = {check_size, -77, 1 << 30};
    for (int i = 0; i < 3; i++) {
        c = good(), c.rank = ranks[i];
        sends(c, MPI_ERR_RANK), receives(c, MPI_ERR_RANK), looks(c, MPI_ERR_RANK);
    }
    c = good(), c.rank = MPI_ANY_SOURCE;
    sends(c, MPI_ERR_RANK);
    c = good(), c.tag = MPI_ANY_TAG;
    sends(c, MPI_ERR_TAG);
    c = good(), c.tag = -1000;
    sends(c, MPI_ERR_TAG), receives(c, MPI_ERR_TAG), looks(c, MPI_ERR_TAG);
    MPI_Datatype types[] = {MPI_DATATYPE_NULL, uncommitted, stale};
    for (int i = 0; i < 3; i++) {
        c = good(), c.type = types[i];
        sends(c, MPI_ERR_TYPE), receives(c, MPI_ERR_TYPE);
        c.rank = MPI_PROC_NULL;
        sends(c, MPI_ERR_TYPE), receives(c, MPI_ERR_TYPE);
    }
    c = good(), c.count = -1;
    sends(c, MPI_ERR_COUNT), receives(c, MPI_ERR_COUNT);
    c.rank = MPI_PROC_NULL;
    sends(c, MPI_ERR_COUNT), receives(c, MPI_ERR_COUNT);
    c = good(), c.address = NULL;
    sends(c, MPI_ERR_BUFFER), receives(c, MPI_ERR_BUFFER);
    c = good();
    FAILS(MPI_Isend(&word, 1, MPI_LONG, check_rank, 3, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Irecv(&word, 1, MPI_LONG, check_rank, 3, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Iprobe(check_rank, 3, MPI_COMM_WORLD, NULL, &status), MPI_ERR_ARG);
    FAILS(MPI_Send_c(&word, (MPI_Count)1 << 61, MPI_LONG, check_rank, 3, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK(word == 5 && room == 6);
    matched();
    requests();

    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    OK(MPI_Sendrecv(&word, 1, MPI_LONG, check_rank, 3, &room, 1, MPI_LONG, check_rank, 3, MPI_COMM_WORLD, &status));
    FAILS(MPI_Get_count(&status, MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE);
    FAILS(MPI_Get_count(&status, MPI_LONG, NULL), MPI_ERR_ARG);
    FAILS(MPI_Get_count(NULL, MPI_LONG, &value), MPI_ERR_ARG);
    CHECK_EQ(room, 5);
    OK(MPI_Type_free(&uncommitted));
    return check_end();
}
