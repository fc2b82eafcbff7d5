/* Example 11.23 of the chapter: a list over dynamic windows, to which all ranks append; every element is in it once, and
 * those of one rank in their order.
 *
 * ranks: 1 2 4 */
#include "check.h"

#include <stddef.h>

enum { EACH = 10, VALUES = 1000 };

typedef struct {
    MPI_Aint disp;
    int rank;
} pointer;

typedef struct {
    pointer next;
    int value;
} element;

static const pointer nil = {0, -1};
static element *elements[EACH + 1];
static int count;
static MPI_Win win;

static pointer make(int value)
{
    pointer made = {0, check_rank};
    element *new;
    OK(MPI_Alloc_mem(sizeof *new, MPI_INFO_NULL, &new));
    new->value = value;
    new->next = nil;
    OK(MPI_Win_attach(win, new, sizeof *new));
    elements[count++] = new;
    OK(MPI_Get_address(new, &made.disp));
    return made;
}

static MPI_Aint field(pointer at, size_t offset)
{
    return MPI_Aint_add(at.disp, (MPI_Aint)offset);
}

/* Appends after `tail` or what has come after it; the new element is the new tail. */
static pointer append(pointer tail, pointer new)
{
    const size_t rank_at = offsetof(element, next) + offsetof(pointer, rank);
    const size_t disp_at = offsetof(element, next) + offsetof(pointer, disp);
    DOING("looking for the end of the list");
    for (;;) {
        pointer next = nil;
        MPI_Compare_and_swap(&new.rank, &nil.rank, &next.rank, MPI_INT, tail.rank, field(tail, rank_at), win);
        MPI_Win_flush(tail.rank, win);
        if (next.rank == nil.rank) {
            MPI_Accumulate(&new.disp, 1, MPI_AINT, tail.rank, field(tail, disp_at), 1, MPI_AINT, MPI_REPLACE, win);
            MPI_Win_flush(tail.rank, win);
            return new;
        }
        do {
            MPI_Get_accumulate(NULL, 0, MPI_AINT, &next.disp, 1, MPI_AINT, tail.rank, field(tail, disp_at), 1, MPI_AINT,
                               MPI_NO_OP, win);
            MPI_Win_flush(tail.rank, win);
        } while (next.disp == nil.disp);
        tail = next;
    }
}

int main(int argc, char **argv)
{
    pointer head = nil, tail;
    int last[8], found = 0;
    check_begin(&argc, &argv);
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    if (check_rank == 0)
        head = make(-1);
    head.rank = 0;
    OK(MPI_Bcast(&head.disp, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    tail = head;
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < EACH; i++)
        tail = append(tail, make(check_rank * VALUES + i));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* Each rank reads the whole list. */
    memset(last, -1, sizeof last);
    OK(MPI_Win_lock_all(0, win));
    for (tail = head; tail.rank != nil.rank; found++) {
        element read;
        OK(MPI_Get(&read, sizeof read, MPI_BYTE, tail.rank, tail.disp, sizeof read, MPI_BYTE, win));
        OK(MPI_Win_flush(tail.rank, win));
        if (found > 0) {
            int from = read.value / VALUES;
            CHECK(from >= 0 && from < check_size && read.value % VALUES == last[from] + 1);
            last[from] = read.value % VALUES;
        }
        tail = read.next;
    }
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(found, 1 + EACH * check_size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < count; i++) {
        OK(MPI_Win_detach(win, elements[i]));
        OK(MPI_Free_mem(elements[i]));
    }
    OK(MPI_Win_free(&win));
    return check_end();
}
