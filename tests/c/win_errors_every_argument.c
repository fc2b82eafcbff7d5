/* Every communication call with each of its arguments wrong: the class, through the window's own handler, once for each
 * call, with no request and without an effect at the target.
 *
 * ranks: 1 2 3
 * memcheck: yes
 * peers: none, which arguments are checked, and in which order, is the library's choice */
#include "check.h"

static int handled;

static void handler(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    handled++;
}

/* The call fails, and the handler of the window has heard of it. */
#define REFUSED(call, class)                                                                   \
    do {                                                                                       \
        int check_before = handled;                                                            \
        FAILS(call, class);                                                                    \
        CHECK_EQ(handled, check_before + 1);                                                   \
    } while (0)

/* A call's arguments, all good until one is made bad. */
struct call {
    void *origin, *result, *compare;
    int count, target_count, result_count, rank;
    MPI_Datatype type, target_type, result_type;
    MPI_Aint disp;
    MPI_Op op;
};

static MPI_Win win;
static long values[4], results[4], compared[4];

static struct call good(void)
{
    struct call call = {values,   results,  compared, 1, 1,          1, check_size - 1,
                        MPI_LONG, MPI_LONG, MPI_LONG, 0, MPI_SUM};
    return call;
}


static void moves(struct call c, int class)
{
    MPI_Request request = MPI_REQUEST_NULL;
    REFUSED(MPI_Put(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, win), class);
    REFUSED(MPI_Get(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, win), class);
    REFUSED(MPI_Rput(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, win, &request), class);
    REFUSED(MPI_Rget(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, win, &request), class);
    CHECK(request == MPI_REQUEST_NULL);
}

static void accumulates(struct call c, int class)
{
    MPI_Request request = MPI_REQUEST_NULL;
    REFUSED(MPI_Accumulate(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, c.op, win), class);
    REFUSED(MPI_Raccumulate(c.origin, c.count, c.type, c.rank, c.disp, c.target_count, c.target_type, c.op, win, &request),
            class);
    CHECK(request == MPI_REQUEST_NULL);
}

static void fetches(struct call c, int class)
{
    MPI_Request request = MPI_REQUEST_NULL;
    REFUSED(MPI_Get_accumulate(c.origin, c.count, c.type, c.result, c.result_count, c.result_type, c.rank, c.disp,
                               c.target_count, c.target_type, c.op, win),
            class);
    REFUSED(MPI_Rget_accumulate(c.origin, c.count, c.type, c.result, c.result_count, c.result_type, c.rank, c.disp,
                                c.target_count, c.target_type, c.op, win, &request),
            class);
    CHECK(request == MPI_REQUEST_NULL);
}

static void fetches_one(struct call c, int class)
{
    REFUSED(MPI_Fetch_and_op(c.origin, c.result, c.type, c.rank, c.disp, c.op, win), class);
}

static void swaps(struct call c, int class)
{
    REFUSED(MPI_Compare_and_swap(c.origin, c.compare, c.result, c.type, c.rank, c.disp, win), class);
}

static void all(struct call c, int class)
{
    moves(c, class), accumulates(c, class), fetches(c, class), fetches_one(c, class), swaps(c, class);
}

int main(int argc, char **argv)
{
    long *memory;
    struct call c;
    MPI_Errhandler counting;
    MPI_Datatype uncommitted, freed, stale, gaps;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Win_create_errhandler(handler, &counting));
    OK(MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, counting));
    OK(MPI_Errhandler_free(&counting));
    for (int i = 0; i < 4; i++)
        memory[i] = 7, values[i] = 1;
    OK(MPI_Type_contiguous(1, MPI_LONG, &uncommitted));
    OK(MPI_Type_contiguous(1, MPI_LONG, &freed));
    OK(MPI_Type_commit(&freed));
    stale = freed;
    OK(MPI_Type_free(&freed));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));

    int ranks[] = {check_size, -1, -33, 1 << 30};
    for (int i = 0; i < 4; i++) {
        c = good(), c.rank = ranks[i];
        all(c, MPI_ERR_RANK);
    }
    MPI_Datatype types[] = {MPI_DATATYPE_NULL, uncommitted, stale};
    for (int i = 0; i < 3; i++) {
        c = good(), c.type = types[i];
        all(c, MPI_ERR_TYPE);
        c = good(), c.type = types[i], c.rank = MPI_PROC_NULL;
        moves(c, MPI_ERR_TYPE), accumulates(c, MPI_ERR_TYPE), fetches_one(c, MPI_ERR_TYPE);
        c = good(), c.target_type = types[i];
        moves(c, MPI_ERR_TYPE), accumulates(c, MPI_ERR_TYPE), fetches(c, MPI_ERR_TYPE);
        c = good(), c.result_type = types[i];
        fetches(c, MPI_ERR_TYPE);
    }
    c = good(), c.type = gaps;
    fetches_one(c, MPI_ERR_TYPE), swaps(c, MPI_ERR_TYPE);
    c = good(), c.type = MPI_DOUBLE;
    swaps(c, MPI_ERR_TYPE);
    c = good(), c.count = -1;
    moves(c, MPI_ERR_COUNT), accumulates(c, MPI_ERR_COUNT), fetches(c, MPI_ERR_COUNT);
    c = good(), c.target_count = -1;
    moves(c, MPI_ERR_COUNT), accumulates(c, MPI_ERR_COUNT), fetches(c, MPI_ERR_COUNT);
    c = good(), c.result_count = -1;
    fetches(c, MPI_ERR_COUNT);
    c = good(), c.disp = -1;
    all(c, MPI_ERR_DISP);
    MPI_Aint far[] = {4, (MPI_Aint)1 << 59, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        c = good(), c.disp = far[i];
        all(c, MPI_ERR_RMA_RANGE);
    }

    /* Both of the standard's numbers for addresses, which name no memory here; with gaps the data takes another way. */
    void *nowhere[] = {MPI_BOTTOM, MPI_IN_PLACE};
    for (int i = 0; i < 2; i++) {
        c = good(), c.origin = nowhere[i];
        all(c, MPI_ERR_BUFFER);
        c.type = c.target_type = gaps;
        moves(c, MPI_ERR_BUFFER);
        c = good(), c.result = nowhere[i];
        fetches(c, MPI_ERR_BUFFER), fetches_one(c, MPI_ERR_BUFFER), swaps(c, MPI_ERR_BUFFER);
        c = good(), c.compare = nowhere[i];
        swaps(c, MPI_ERR_BUFFER);
        /* Nothing is moved, so nothing is needed. */
        OK(MPI_Put(nowhere[i], 0, MPI_LONG, 0, 0, 0, MPI_LONG, win));
        OK(MPI_Get(nowhere[i], 0, MPI_LONG, 0, 0, 0, MPI_LONG, win));
    }

    MPI_Op user = MPI_OP_NULL, ops[] = {MPI_OP_NULL, MPI_OP_NULL, MPI_MAXLOC};
    OK(MPI_Op_create((MPI_User_function *)(void *)handler, 1, &user));
    ops[1] = user;
    for (int i = 0; i < 3; i++) {
        c = good(), c.op = ops[i];
        accumulates(c, MPI_ERR_OP), fetches(c, MPI_ERR_OP), fetches_one(c, MPI_ERR_OP);
    }
    c = good(), c.op = MPI_NO_OP;
    accumulates(c, MPI_ERR_OP);
    c = good(), c.op = MPI_BXOR, c.type = c.target_type = c.result_type = MPI_DOUBLE;
    accumulates(c, MPI_ERR_OP), fetches(c, MPI_ERR_OP), fetches_one(c, MPI_ERR_OP);

    c = good();
    REFUSED(MPI_Rput(c.origin, 1, c.type, c.rank, 0, 1, c.type, win, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Rget(c.origin, 1, c.type, c.rank, 0, 1, c.type, win, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Raccumulate(c.origin, 1, c.type, c.rank, 0, 1, c.type, c.op, win, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Rget_accumulate(c.origin, 1, c.type, c.result, 1, c.type, c.rank, 0, 1, c.type, c.op, win, NULL),
            MPI_ERR_ARG);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++) {
        CHECK_AT(memory, i, 7);
        CHECK_AT(results, i, 0);
    }
    OK(MPI_Op_free(&user));
    OK(MPI_Type_free(&uncommitted));
    OK(MPI_Type_free(&gaps));
    OK(MPI_Win_free(&win));
    return check_end();
}
