/* Rank 1 dies with the lock of rank 0, in the midst of an operation on its memory: the rank that the seed names gets the lock next,
 * finds the operation listed, puts right what is half done, and says so. */
#include "faults.h"

#include <sys/mman.h>

enum { LONGS = 1 << 18, BLOCK = 4, FIRST = 64 };

/* The origin's memory ends in the midst of the operation. */
static void on_fault(int signal)
{
    (void)signal;
    die();
}

static long *half_readable(void)
{
    size_t len = LONGS * sizeof(long);
    long *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (int i = 0; i < LONGS; i++)
        memory[i] = 7;
    CHECK(mprotect((char *)memory + len / 2, len / 2, PROT_NONE) == 0);
    signal(SIGSEGV, on_fault);
    return memory;
}

static void die_in(const char *how, MPI_Win win)
{
    long *half = half_readable(), whole = 7;
    MPI_Datatype spread;
    if (!strcmp(how, "put"))
        MPI_Put(half, LONGS, MPI_LONG, 0, FIRST, LONGS, MPI_LONG, win);
    else if (!strcmp(how, "accumulate"))
        MPI_Accumulate(half, LONGS, MPI_LONG, 0, FIRST, LONGS, MPI_LONG, MPI_SUM, win);
    else if (!strcmp(how, "spread")) {
        MPI_Type_vector(LONGS / BLOCK, BLOCK, 2 * BLOCK, MPI_LONG, &spread);
        MPI_Type_commit(&spread);
        MPI_Put(half, LONGS, MPI_LONG, 0, FIRST, 1, spread, win);
    } else {
        OK(MPI_Put(&whole, 1, MPI_LONG, 0, FIRST, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        die();
    }
    /* Where a fault is no signal, the connection breaks, and this ends with that. */
    MPI_Win_unlock(0, win);
    die();
}

/* What is listed holds what is half done, and is put right. */
static void put_right(const char *how, MPI_Win win)
{
    int count = -1, again = -1, origins[2], kinds[2];
    MPI_Aint disps[2], lengths[2], bytes = LONGS * (MPI_Aint)sizeof(long), reach;
    long *memory = calloc(FIRST + 2 * LONGS, sizeof *memory);
    int total = FIRST + 2 * LONGS, changed = 0, outside = 0;
    OK(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, &count));
    if (!strcmp(how, "whole")) {
        CHECK(count == 0);
        free(memory);
        return;
    }
    CHECK(count == 1);
    for (int i = 0; i < 2; i++) {
        again = -1;
        OK(MPIX_Win_get_owner_ops(win, 0, 2, origins, kinds, disps, lengths, &again));
        CHECK(again == 1 && origins[0] == 1);
        CHECK(kinds[0] == (strcmp(how, "accumulate") ? MPIX_OWNER_OP_PUT : MPIX_OWNER_OP_ACCUMULATE));
        CHECK(disps[0] == FIRST * (MPI_Aint)sizeof(long));
    }
    reach = strcmp(how, "spread") ? bytes : 2 * bytes - BLOCK * (MPI_Aint)sizeof(long);
    CHECK(lengths[0] > 0 && lengths[0] <= reach);
    OK(MPI_Get(memory, total, MPI_LONG, 0, 0, total, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < total; i++) {
        MPI_Aint at = i * (MPI_Aint)sizeof(long);
        changed += memory[i] != 0;
        outside += memory[i] != 0 && (at < disps[0] || at >= disps[0] + lengths[0]);
    }
    CHECK(changed < LONGS && outside == 0);
    /* A single copy may fail before its first store. */
    CHECK(changed > 0 || !strcmp(how, "put"));
    memset(memory, 0, total * sizeof *memory);
    OK(MPI_Put(memory, total, MPI_LONG, 0, 0, total, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    OK(MPIX_Win_ack_owner_ops(win, 0, 0));
    OK(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, &count));
    CHECK(count == 1);
    OK(MPIX_Win_ack_owner_ops(win, 0, 5));
    OK(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, &count));
    CHECK(count == 0);
    printf("rank %d puts right %ld bytes\n", rank, (long)lengths[0]);
    free(memory);
}

int main(int argc, char **argv)
{
    long *memory, first = 0;
    MPI_Win win;
    int held = 0, died = -1, count = -1, all, heir;
    begin(&argc, &argv);
    heir = atoi(argv[2]);
    OK(MPI_Win_allocate((FIRST + 2 * LONGS) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* A rank that is late in the barrier may hear of the death there. */
    if (rank != 1)
        OK(MPI_Send(&rank, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    for (int i = 0; rank == 1 && i < size - 1; i++)
        OK(MPI_Recv(&held, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 1) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        /* A lock of another node is asked for with the first operation. */
        OK(MPI_Get(&first, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        OK(MPI_Ssend(&held, 1, MPI_INT, heir, 0, MPI_COMM_WORLD));
        die_in(argv[1], win);
    }
    if (rank == heir) {
        OK(MPI_Recv(&held, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CLASS(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, &count), MPI_ERR_RMA_SYNC);
        CLASS(MPIX_Win_ack_owner_ops(win, 0, 1), MPI_ERR_RMA_SYNC);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPIX_Win_get_owner_died(win, 0, &died));
        CHECK(died == 1);
        CLASS(MPIX_Win_get_owner_ops(win, 0, -1, NULL, NULL, NULL, NULL, &count), MPI_ERR_COUNT);
        CLASS(MPIX_Win_get_owner_ops(win, 0, 1, NULL, NULL, NULL, NULL, &count), MPI_ERR_ARG);
        CLASS(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, NULL), MPI_ERR_ARG);
        CLASS(MPIX_Win_get_owner_ops(win, size, 0, NULL, NULL, NULL, NULL, &count), MPI_ERR_RANK);
        CLASS(MPIX_Win_ack_owner_ops(win, 0, -1), MPI_ERR_COUNT);
        CLASS(MPIX_Win_ack_owner_ops(win, size, 1), MPI_ERR_RANK);
        OK(MPIX_Win_get_owner_ops(win, MPI_PROC_NULL, 0, NULL, NULL, NULL, NULL, &count));
        CHECK(count == 0);
        put_right(argv[1], win);
        OK(MPI_Win_unlock(0, win));
    }
    all = 1;
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &all), MPIX_ERR_PROC_FAILED);
    /* All others find nothing. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPIX_Win_get_owner_ops(win, 0, 0, NULL, NULL, NULL, NULL, &count));
    CHECK(count == 0);
    OK(MPI_Win_unlock(0, win));
    CLASS(MPIX_Comm_agree(MPI_COMM_WORLD, &all), MPIX_ERR_PROC_FAILED);
    MPI_Win_free(&win);
    return end();
}
