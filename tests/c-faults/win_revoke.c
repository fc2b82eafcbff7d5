/* Every call that waits on a window, and every later one, ends when any rank revokes it, also if that one dies soon; freeing it
 * does not wait. Other windows go on. */
#include "faults.h"

static int dies;

/* Waits in the window for a rank that holds its own lock and calls nothing; gives the error that ends it. */
static int wait_for_it(MPI_Win win, int how, int first)
{
    static long value = 7;
    MPI_Group all, one;
    int why;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &first, &one);
    switch (how % 5) {
    case 0:
        if ((why = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win)) == MPI_SUCCESS
            && (why = MPI_Put(&value, 1, MPI_LONG, first, 1, 1, MPI_LONG, win)) == MPI_SUCCESS)
            why = MPI_Win_unlock(first, win);
        break;
    case 1:
        if ((why = MPI_Win_lock_all(0, win)) == MPI_SUCCESS
            && (why = MPI_Put(&value, 1, MPI_LONG, first, 1, 1, MPI_LONG, win)) == MPI_SUCCESS)
            why = MPI_Win_flush(first, win);
        break;
    case 2:
        if ((why = MPI_Win_start(one, 0, win)) == MPI_SUCCESS
            && (why = MPI_Put(&value, 1, MPI_LONG, first, 1, 1, MPI_LONG, win)) == MPI_SUCCESS)
            why = MPI_Win_complete(win);
        break;
    case 3:
        if ((why = MPI_Win_post(one, 0, win)) == MPI_SUCCESS)
            why = MPI_Win_wait(win);
        break;
    default: why = MPI_Win_fence(0, win);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&one);
    return why;
}

/* A window of these ranks works: each stores at the next one. */
static void use(MPI_Comm comm)
{
    int me, ranks, before;
    long *place, value;
    MPI_Win win;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    before = (me + ranks - 1) % ranks;
    value = me;
    OK(MPI_Win_allocate(sizeof *place, sizeof *place, MPI_INFO_NULL, comm, &place, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, (me + 1) % ranks, 0, 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(*place == before);
    OK(MPI_Win_free(&win));
}

/* Memory of a dynamic window that was revoked is neither attached nor detached any more but by freeing it. */
static void revoke_dynamic(void)
{
    static long pieces[2];
    MPI_Win win;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    OK(MPI_Win_attach(win, &pieces[0], sizeof *pieces));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_sync(win));
    OK(MPIX_Win_revoke(win));
    CLASS(MPI_Win_sync(win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_attach(win, &pieces[1], sizeof *pieces), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_detach(win, &pieces[0]), MPIX_ERR_REVOKED);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static long memory[2], *place;
    int flag, first, made, why;
    MPI_Comm living;
    MPI_Group dead;
    MPI_Win win, other;
    begin(&argc, &argv);
    dies = !strcmp(argv[1], "dies");
    first = (int)drawn((unsigned)size);
    made = (int)drawn(2);
    if (made)
        OK(MPI_Win_create(place = memory, sizeof memory, sizeof *place, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
        OK(MPI_Win_allocate(sizeof memory, sizeof *place, MPI_INFO_NULL, MPI_COMM_WORLD, &place, &win));
    OK(MPI_Win_allocate(sizeof memory, sizeof *place, MPI_INFO_NULL, MPI_COMM_WORLD, &(long *){0}, &other));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    OK(MPIX_Win_is_revoked(win, &flag));
    CHECK(!flag);
    place[0] = rank;
    if (rank == first) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        usleep(drawn(20000));
        OK(MPIX_Win_revoke(win));
        /* A rank that dies before its packet has left has not revoked. */
        for (int i = 0; dies && i < 20; i++) {
            usleep(drawn(200));
            OK(MPIX_Win_is_revoked(win, &flag));
        }
        if (dies)
            die();
    } else {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        why = wait_for_it(win, rank + (int)drawn(5), first);
        if (!(dies && why == MPIX_ERR_PROC_FAILED))
            CLASS(why, MPIX_ERR_REVOKED);
        do
            OK(MPIX_Win_is_revoked(win, &flag));
        while (!flag);
    }
    CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPIX_ERR_REVOKED);
    CLASS(MPI_Put(&why, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_unlock(first, win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_flush_all(win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_fence(0, win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_sync(win), MPIX_ERR_REVOKED);
    CLASS(MPI_Win_attach(win, memory, sizeof memory), MPIX_ERR_REVOKED);
    OK(MPIX_Win_is_revoked(other, &flag));
    CHECK(!flag && place[0] == rank);
    revoke_dynamic();
    /* No rank is waited for: some free it long before others. */
    usleep(drawn(3) * (unsigned)rank * 500);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    if (!dies) {
        OK(MPI_Win_fence(0, other));
        OK(MPI_Win_free(&other));
        use(MPI_COMM_WORLD);
    } else {
        MPI_Win_free(&other);
        do {
            OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &dead));
            MPI_Group_size(dead, &made);
            MPI_Group_free(&dead);
        } while (!made);
        OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living));
        use(living);
        OK(MPI_Comm_free(&living));
    }
    return end();
}
