/* Ranks die while communicators are made of groups, between groups and of both groups: what is made on some ranks and not on others
 * keeps no rank waiting. Cases: a kind of making, in which rank 0 dies when it has ended its part, and a rank calls for it later; "random",
 * in which any may die at any time; or "attribute", in which none does, and one rank gets no handle. */
#include "faults.h"

static MPI_Comm local, between;
static MPI_Group most;

static int is_inter(MPI_Comm comm)
{
    int flag = 0;
    MPI_Comm_test_inter(comm, &flag);
    return flag;
}

static int leader_of_others(int is_first)
{
    return is_first ? size / 2 : 0;
}

static int make(const char *kind, MPI_Comm *made)
{
    int is_first = rank < size / 2;
    if (!strcmp(kind, "group"))
        return rank == size - 1 ? MPI_SUCCESS : MPI_Comm_create_group(MPI_COMM_WORLD, most, 4, made);
    if (!strcmp(kind, "inter"))
        return MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leader_of_others(is_first), 3, made);
    if (!strcmp(kind, "merge"))
        return MPI_Intercomm_merge(between, is_first, made);
    if (!strcmp(kind, "dup"))
        return MPI_Comm_dup(between, made);
    MPI_Request request;
    int code = MPI_Comm_idup(between, made, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/* On a communicator that rank 0, which is dead, and another one have not got. */
static void go_on(MPI_Comm made)
{
    MPI_Comm left, again;
    MPI_Group group;
    int ok = 1, members, class;
    CLASS(MPIX_Comm_agree(made, &ok), MPIX_ERR_PROC_FAILED);
    /* The other one may have ended its part by now, in order. */
    MPI_Error_class(MPI_Barrier(made), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED || class == MPI_ERR_PROC_ABORTED);
    OK(MPIX_Comm_shrink(made, &left));
    if (left != MPI_COMM_NULL) {
        MPI_Comm_size(left, &members);
        CHECK(members <= size - 2);
        OK(MPI_Barrier(left));
        if (!is_inter(made)) {
            /* Those who have it can still make of it what concerns no other rank. */
            OK(MPI_Comm_group(left, &group));
            OK(MPI_Comm_create_group(made, group, 9, &again));
            OK(MPI_Barrier(again));
            OK(MPI_Comm_free(&again));
            MPI_Group_free(&group);
        }
        OK(MPI_Comm_free(&left));
    }
    OK(MPI_Comm_free(&made));
    printf("rank %d has got it\n", rank);
}

static void unequal(const char *kind, int late)
{
    MPI_Comm made = MPI_COMM_NULL;
    int code;
    if (rank == late)
        await_a_death();
    code = make(kind, &made);
    if (rank == 0)
        die();
    if (rank == late && strcmp(kind, "inter"))
        CHECK(code != MPI_SUCCESS);
    if (code == MPI_SUCCESS && made != MPI_COMM_NULL)
        go_on(made);
}

static int refuse(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 0;
    return rank == size - 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* No rank dies, but the last one gets no handle, because a function of an attribute fails. */
static void without_a_handle(int in_background)
{
    MPI_Comm base, made = MPI_COMM_NULL, left;
    MPI_Request request;
    int keyval, code, ok = 1, members;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Comm_set_attr(base, keyval, NULL));
    code = in_background ? MPI_Comm_idup(base, &made, &request) : MPI_Comm_dup(base, &made);
    if (rank == size - 1) {
        CLASS(code, MPI_ERR_OTHER);
    } else {
        OK(code);
        if (in_background)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CLASS(MPIX_Comm_agree(made, &ok), MPIX_ERR_PROC_FAILED);
        CLASS(MPI_Barrier(made), MPIX_ERR_PROC_FAILED);
        OK(MPIX_Comm_shrink(made, &left));
        MPI_Comm_size(left, &members);
        CHECK(members == size - 1);
        OK(MPI_Comm_free(&left));
        OK(MPI_Comm_free(&made));
    }
    /* The communicator that it was made of is whole. */
    OK(MPIX_Comm_agree(base, &ok));
    OK(MPI_Barrier(base));
    OK(MPI_Comm_free(&base));
}

static int all_say(MPI_Comm comm, int ok)
{
    return MPIX_Comm_agree(comm, &ok) == MPI_SUCCESS && ok;
}

/* Every call ends, whatever it answers. */
static int try_all(MPI_Comm base, int me, int members)
{
    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL, whole = MPI_COMM_NULL, some = MPI_COMM_NULL;
    MPI_Group group, part;
    int is_first = me < members / 2, ok, out = 0;
    ok = MPI_Comm_split(base, is_first, 0, &half) == MPI_SUCCESS;
    if (!all_say(base, ok)) {
        if (half != MPI_COMM_NULL)
            OK(MPI_Comm_free(&half));
        return 0;
    }
    ok = MPI_Intercomm_create(half, 0, base, is_first ? members / 2 : 0, 3, &inter) == MPI_SUCCESS;
    if (ok) {
        MPIX_Comm_agree(inter, &out);
        ok = MPI_Intercomm_merge(inter, is_first, &whole) == MPI_SUCCESS;
        if (ok) {
            MPIX_Comm_agree(whole, &out);
            ok = MPI_Barrier(whole) == MPI_SUCCESS;
            OK(MPI_Comm_free(&whole));
        }
        OK(MPI_Comm_free(&inter));
    }
    MPI_Comm_group(base, &group);
    MPI_Group_excl(group, 1, (int[]){members - 1}, &part);
    if (me < members - 1 && MPI_Comm_create_group(base, part, 5, &some) == MPI_SUCCESS) {
        MPIX_Comm_agree(some, &out);
        OK(MPI_Comm_free(&some));
    }
    MPI_Group_free(&group);
    MPI_Group_free(&part);
    OK(MPI_Comm_free(&half));
    return all_say(base, ok);
}

static void at_random(void)
{
    MPI_Comm base, next;
    int rounds = 8, dies_in = -1, wait_us = 0, me, members;
    for (int i = 0; i < size / 2; i++) {
        int victim = (int)drawn((unsigned)size), round = (int)drawn((unsigned)rounds), us = (int)drawn(900);
        if (victim == rank && victim != size - 1) {
            dies_in = round;
            wait_us = us;
        }
    }
    OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &base));
    for (int round = 0; round < rounds; round++) {
        MPI_Comm_rank(base, &me);
        MPI_Comm_size(base, &members);
        if (members == 1)
            break;
        if (round == dies_in) {
            signal(SIGALRM, SIG_DFL);
            ualarm((useconds_t)wait_us + 1, 0);
        }
        if (!try_all(base, me, members)) {
            OK(MPIX_Comm_shrink(base, &next));
            OK(MPI_Comm_free(&base));
            base = next;
        }
    }
    OK(MPI_Comm_free(&base));
}

int main(int argc, char **argv)
{
    MPI_Group all;
    int is_first, late;
    begin(&argc, &argv);
    if (!strcmp(argv[1], "random")) {
        at_random();
        return end();
    }
    if (!strcmp(argv[1], "attribute")) {
        without_a_handle(atoi(argv[2]) % 2);
        return end();
    }
    is_first = rank < size / 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_first, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leader_of_others(is_first), 3, &between));
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, (int[]){size - 1}, &most);
    MPI_Group_free(&all);
    /* Rank 0 may have died before the others are out of it. */
    MPI_Barrier(MPI_COMM_WORLD);
    late = atoi(argv[2]) % 2 && strcmp(argv[1], "group") ? size - 1 : size / 2 - 1;
    unequal(argv[1], late);
    MPI_Group_free(&most);
    OK(MPI_Comm_free(&between));
    OK(MPI_Comm_free(&local));
    return end();
}
