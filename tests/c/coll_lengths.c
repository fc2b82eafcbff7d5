/* Collectives to which one rank gives another length than the others: a rank that can see it gets an error, another one a
 * result or an error, none waits for ever, memory of a rank with an error is as before, and the communicator works on.
 *
 * ranks: 2 3 4 5 8
 * peers: none, most of these hang there */
#include "check.h"

enum { MOST = 70000, MARK = -9 };

static int in[MOST + 8], out[8 * 2200 + MOST], counts[8], used;
static MPI_Comm comm;
static MPI_Request request;

static void fill(void)
{
    for (int i = 0; i < used; i++)
        in[i] = 1, out[i] = MARK;
}

static void untouched(const char *what)
{
    for (int i = 0; i < used; i++)
        if (out[i] != MARK) {
            CHECK_SAY("%s has stored %d at %d in spite of its error", what, out[i], i);
            return;
        }
}

/* How a call may end. */
enum { GOOD = 1, BAD = 2 };

static int ended(int code, const char *what, int len, int may)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class == MPI_SUCCESS && !(may & GOOD))
        CHECK_SAY("%s of %d succeeded", what, len);
    if (class != MPI_SUCCESS && (class != MPI_ERR_TRUNCATE || !(may & BAD)))
        CHECK_SAY("%s of %d: %s", what, len, check_describe(code));
    if (class != MPI_SUCCESS)
        untouched(what);
    return class != MPI_SUCCESS;
}

/* A call, and then that the communicator works on; answers on how many ranks there was an error. */
#define TRY(call, len, may)                                                                    \
    do {                                                                                       \
        int try_sum = -1, try_bad;                                                             \
        DOING(#call);                                                                          \
        fill();                                                                                \
        try_bad = ended((call), #call, len, may);                                              \
        OK(MPI_Allreduce(&try_bad, &try_sum, 1, MPI_INT, MPI_SUM, comm));                      \
        if (try_sum < 1)                                                                       \
            CHECK_SAY("%s: no rank had an error", #call);                                       \
    } while (0)

/* The nonblocking form, waited for. */
#define LATER(call) ((call) == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_ERR_INTERN)

/* `odd` gives `more` ints, the others `len`. */
static void lengths(int odd, int len, int more)
{
    int mine = check_rank == odd ? more : len, root = check_size - 1, is_root = check_rank == root;
    int half = check_rank % 2 ? more : len;
    int of_root = root == odd ? more : len;
    /* Equal to the root's, to all others', or not. */
    int of_two = mine == of_root ? GOOD : BAD;
    /* A rank that reduces nothing may not learn that others wanted more. */
    int any = GOOD | BAD, bad = mine == 0 ? any : BAD;

    used = (len > more ? len : more) * (more > 2000 || len > 2000 ? 1 : check_size);
    TRY(MPI_Allreduce(in, out, mine, MPI_INT, MPI_SUM, comm), mine, bad);
    TRY(LATER(MPI_Iallreduce(in, out, mine, MPI_INT, MPI_SUM, comm, &request)), mine, bad);
    TRY(MPI_Bcast(is_root ? in : out, mine, MPI_INT, root, comm), mine, of_two);
    TRY(LATER(MPI_Ibcast(is_root ? in : out, mine, MPI_INT, root, comm, &request)), mine, of_two);
    TRY(MPI_Reduce(in, out, mine, MPI_INT, MPI_SUM, root, comm), mine, is_root ? bad : any);
    TRY(LATER(MPI_Ireduce(in, out, mine, MPI_INT, MPI_SUM, root, comm, &request)), mine, is_root ? bad : any);
    TRY(MPI_Reduce(in, out, mine, MPI_INT, MPI_SUM, 0, comm), mine, check_rank == 0 ? bad : any);
    if (odd < check_size - 1) {
        TRY(MPI_Scan(in, out, mine, MPI_INT, MPI_SUM, comm), mine, check_rank == check_size - 1 ? bad : any);
        TRY(LATER(MPI_Iexscan(in, out, mine, MPI_INT, MPI_SUM, comm, &request)), mine,
            check_rank == check_size - 1 ? bad : any);
    }
    if (len > 2000 || more > 2000)
        return;
    TRY(MPI_Gather(in, mine, MPI_INT, out, len, MPI_INT, root, comm), mine, is_root ? BAD : GOOD);
    TRY(LATER(MPI_Igather(in, mine, MPI_INT, out, len, MPI_INT, root, comm, &request)), mine, is_root ? BAD : GOOD);
    TRY(MPI_Allgather(in, mine, MPI_INT, out, len, MPI_INT, comm), mine, BAD);
    TRY(LATER(MPI_Iallgather(in, mine, MPI_INT, out, len, MPI_INT, comm, &request)), mine, BAD);
    TRY(MPI_Scatter(in, len, MPI_INT, out, mine, MPI_INT, root, comm), mine, mine == len ? GOOD : BAD);
    TRY(MPI_Alltoall(in, len, MPI_INT, out, mine, MPI_INT, comm), mine, mine == len ? GOOD : BAD);
    TRY(LATER(MPI_Ialltoall(in, len, MPI_INT, out, mine, MPI_INT, comm, &request)), mine, mine == len ? GOOD : BAD);
    /* By packets, five or more ranks choose their way by the length of what they give: one of them, or half of them, another. */
    TRY(MPI_Alltoall(in, mine, MPI_INT, out, mine, MPI_INT, comm), mine, BAD);
    TRY(LATER(MPI_Ialltoall(in, mine, MPI_INT, out, mine, MPI_INT, comm, &request)), mine, BAD);
    TRY(MPI_Alltoall(in, half, MPI_INT, out, half, MPI_INT, comm), half, BAD);
    TRY(LATER(MPI_Ialltoall(in, half, MPI_INT, out, half, MPI_INT, comm, &request)), half, BAD);
    for (int i = 0; i < check_size; i++)
        counts[i] = mine;
    TRY(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), mine, any);
    TRY(LATER(MPI_Ireduce_scatter_block(in, out, mine, MPI_INT, MPI_SUM, comm, &request)), mine, any);
}

int main(int argc, char **argv)
{
    static const int pairs[][2] = {{1, 2}, {2, 1}, {0, 3}, {1, 90}, {90, 1}, {100, 101}, {200, 40}, {64, 132}, {64, 264}, {64, 288}, {69000, 69999}, {69999, 5}};
    check_begin(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int odd = 0; odd < check_size; odd += 1 + (check_size > 4))
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            lengths(odd, pairs[i][0], pairs[i][1]);
    OK(MPI_Comm_free(&comm));
    return check_end();
}
