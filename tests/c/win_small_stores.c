/* Long rows of small puts and accumulates, of every size that may join others in a packet and some that may not, mixed over
 * several targets and with gets in between: each store arrives once, at its place, and in order where the standard orders
 * accumulates; buffers may be reused after a local flush.
 *
 * ranks: 1 2 4
 * memcheck: yes */
#include "check.h"

#include <stddef.h>

enum { ROUNDS = 3, ROW = 700, SIZES = 6 };

static const int lens[SIZES] = {1, 4, 8, 16, 60, 200};

/* A rank's part of every rank's window: ROW places for bytes, then sums and the last of ordered replacements. */
struct part {
    unsigned char bytes[ROW][200];
    int32_t sums[ROW];
    int64_t last;
};

static unsigned char value(int origin, int place, int round)
{
    return (unsigned char)(1 + (origin * 31 + place * 7 + round * 3) % 251);
}

static void store(MPI_Win win, int target, int round)
{
    static unsigned char buffers[ROW][200];
    static int32_t addends[ROW];
    static int64_t turns[ROW];
    MPI_Aint base = check_rank * (MPI_Aint)sizeof(struct part);
    for (int i = 0; i < ROW; i++) {
        int len = lens[i % SIZES];
        memset(buffers[i], value(check_rank, i, round), (size_t)len);
        OK(MPI_Put(buffers[i], len, MPI_BYTE, target, base + i * 200, len, MPI_BYTE, win));
        addends[i] = i + round;
        OK(MPI_Accumulate(&addends[i], 1, MPI_INT32_T, target,
                          base + (MPI_Aint)offsetof(struct part, sums) + i * 4, 1, MPI_INT32_T, MPI_SUM, win));
        turns[i] = round * ROW + i;
        OK(MPI_Accumulate(&turns[i], 1, MPI_INT64_T, target, base + (MPI_Aint)offsetof(struct part, last), 1,
                          MPI_INT64_T, MPI_REPLACE, win));
        if (i % 97 == 96)
            OK(MPI_Win_flush_local(target, win));
    }
}

int main(int argc, char **argv)
{
    struct part *parts;
    MPI_Win win;
    check_begin(&argc, &argv);
    OK(MPI_Win_allocate(check_size * (MPI_Aint)sizeof *parts, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &parts, &win));
    memset(parts, 0, (size_t)check_size * sizeof *parts);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; round++) {
        for (int distance = 0; distance < check_size; distance++) {
            store(win, (check_rank + distance) % check_size, round);
            /* The buffers are used again for the next target. */
            OK(MPI_Win_flush_local_all(win));
        }
        OK(MPI_Win_flush_all(win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_sync(win));
        for (int origin = 0; origin < check_size; origin++) {
            const struct part *part = &parts[origin];
            CHECK_EQ(part->last, round * ROW + ROW - 1);
            for (int i = 0; i < ROW; i++) {
                int len = lens[i % SIZES], wrong = 0;
                for (int at = 0; at < 200; at++)
                    wrong += part->bytes[i][at] != (at < len ? value(origin, i, round) : 0);
                CHECK_EQ(wrong, 0);
                CHECK_EQ(part->sums[i], (round + 1) * i + round * (round + 1) / 2);
            }
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
