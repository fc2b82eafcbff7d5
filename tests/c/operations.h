/* Every communication call in epochs of one kind: the program says how an epoch begins and ends, this file what happens
 * inside and what must be in memory afterwards.
 *
 * Every rank works on its right neighbour, so all are origin and target at once; with one rank, both are the same. Each
 * subject fills the window, has one epoch, and looks at the window and at what came back. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "check.h"

enum { WORDS = 96 };

/* How a program synchronizes. */
struct kind {
    const char *name;
    /* The epoch to the target, on every rank. */
    void (*begin)(MPI_Win win, int target);
    void (*end)(MPI_Win win, int target);
    /* Around loads and stores of the own window memory. */
    void (*own_begin)(MPI_Win win);
    void (*own_end)(MPI_Win win);
    /* After the window is made and before it is freed, if there is something to do. */
    void (*life_begin)(MPI_Win win);
    void (*life_end)(MPI_Win win);
};

/* A window and whose memory it has. */
struct place {
    MPI_Win win;
    long *memory;
    int unit, right, left;
    const struct kind *kind;
};

/* Displacement of a word in units of the window. */
static MPI_Aint at(const struct place *p, int word)
{
    return (MPI_Aint)word * (MPI_Aint)sizeof(long) / p->unit;
}

static long pattern(int rank, int word)
{
    return 10000L * (rank + 1) + word;
}

static void open_epoch(const struct place *p)
{
    p->kind->own_begin(p->win);
    for (int i = 0; i < WORDS; i++)
        p->memory[i] = pattern(check_rank, i);
    p->kind->own_end(p->win);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    p->kind->begin(p->win, p->right);
}

/* Ends the epoch; then all words but `count` from `first` are as they were, and those are what `expected` says. */
static void close_epoch(const struct place *p, const char *what, int first, int count, const long *expected)
{
    p->kind->end(p->win, p->right);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    p->kind->own_begin(p->win);
    for (int i = 0; i < WORDS; i++) {
        long wanted = i >= first && i < first + count ? expected[i - first] : pattern(check_rank, i);
        if (p->memory[i] != wanted)
            CHECK_SAY("%s, %s, unit %d: word %d of the window is %ld, not %ld", p->kind->name, what, p->unit, i,
                      p->memory[i], wanted);
    }
    p->kind->own_end(p->win);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* What came back is the target's pattern before the operation. */
static void came_back(const struct place *p, const char *what, const long *result, int first, int count)
{
    for (int i = 0; i < count; i++)
        if (result[i] != pattern(p->right, first + i))
            CHECK_SAY("%s, %s, unit %d: result %d is %ld, not %ld", p->kind->name, what, p->unit, i, result[i],
                      pattern(p->right, first + i));
}

static void put(const struct place *p)
{
    long out[3] = {check_rank + 1, check_rank + 2, check_rank + 3}, wanted[3] = {p->left + 1, p->left + 2, p->left + 3};
    open_epoch(p);
    OK(MPI_Put(out, 3, MPI_LONG, p->right, at(p, 5), 3, MPI_LONG, p->win));
    close_epoch(p, "put", 5, 3, wanted);
}

static void get(const struct place *p)
{
    long in[4] = {-1, -1, -1, -1};
    open_epoch(p);
    OK(MPI_Get(in, 3, MPI_LONG, p->right, at(p, 7), 3, MPI_LONG, p->win));
    close_epoch(p, "get", 0, 0, NULL);
    came_back(p, "get", in, 7, 3);
    CHECK_EQ(in[3], -1);
}

/* As many calls as there are words, each for one, to and fro in one epoch on words that do not meet. */
static void many(const struct place *p)
{
    long out[WORDS / 2], in[WORDS / 2], wanted[WORDS / 2];
    open_epoch(p);
    for (int i = 0; i < WORDS / 2; i++) {
        out[i] = 7L * check_rank + i, wanted[i] = 7L * p->left + i, in[i] = -1;
        OK(MPI_Put(&out[i], 1, MPI_LONG, p->right, at(p, i), 1, MPI_LONG, p->win));
        OK(MPI_Get(&in[i], 1, MPI_LONG, p->right, at(p, WORDS / 2 + i), 1, MPI_LONG, p->win));
    }
    close_epoch(p, "many", 0, WORDS / 2, wanted);
    came_back(p, "many", in, WORDS / 2, WORDS / 2);
}

static void accumulate(const struct place *p)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_MAX, MPI_BXOR, MPI_NO_OP};
    for (int o = 0; o < 5; o++) {
        long out[4], wanted[4];
        open_epoch(p);
        for (int i = 0; i < 4; i++) {
            long old = pattern(check_rank, 20 + i), mine = 20005 + i, other = mine;
            out[i] = mine;
            long results[] = {old + other, other, old > other ? old : other, old ^ other, old};
            wanted[i] = results[o];
        }
        if (ops[o] == MPI_NO_OP)
            OK(MPI_Get_accumulate(NULL, 0, MPI_LONG, out, 4, MPI_LONG, p->right, at(p, 20), 4, MPI_LONG, ops[o], p->win));
        else
            OK(MPI_Accumulate(out, 4, MPI_LONG, p->right, at(p, 20), 4, MPI_LONG, ops[o], p->win));
        close_epoch(p, "accumulate", 20, 4, wanted);
        if (ops[o] == MPI_NO_OP)
            came_back(p, "get_accumulate without an operation", out, 20, 4);
    }
}

/* Accumulates of one origin to one place happen in the order of the calls. */
static void ordered(const struct place *p)
{
    long values[40], result[2] = {-1, -1}, wanted;
    open_epoch(p);
    for (int i = 0; i < 40; i++) {
        values[i] = i;
        OK(MPI_Accumulate(&values[i], 1, MPI_LONG, p->right, at(p, 3), 1, MPI_LONG, i % 2 ? MPI_SUM : MPI_REPLACE, p->win));
    }
    OK(MPI_Get_accumulate(&values[1], 1, MPI_LONG, result, 1, MPI_LONG, p->right, at(p, 3), 1, MPI_LONG, MPI_SUM, p->win));
    OK(MPI_Fetch_and_op(NULL, &result[1], MPI_LONG, p->right, at(p, 3), MPI_NO_OP, p->win));
    wanted = 38 + 39 + 1;
    close_epoch(p, "ordered", 3, 1, &wanted);
    CHECK_EQ(result[0], 38 + 39);
    CHECK_EQ(result[1], 38 + 39 + 1);
}

static void get_accumulate(const struct place *p)
{
    long out[5] = {1, 2, 3, 4, 5}, in[5], wanted[5];
    open_epoch(p);
    for (int i = 0; i < 5; i++)
        wanted[i] = pattern(check_rank, 30 + i) + i + 1;
    OK(MPI_Get_accumulate(out, 5, MPI_LONG, in, 5, MPI_LONG, p->right, at(p, 30), 5, MPI_LONG, MPI_SUM, p->win));
    close_epoch(p, "get_accumulate", 30, 5, wanted);
    came_back(p, "get_accumulate", in, 30, 5);
}

static void single(const struct place *p)
{
    long out = 77, in[3] = {-1, -1, -1}, wanted[3], right = pattern(p->right, 41), wrong = -5, swap = 99;
    open_epoch(p);
    OK(MPI_Fetch_and_op(&out, &in[0], MPI_LONG, p->right, at(p, 40), MPI_SUM, p->win));
    OK(MPI_Compare_and_swap(&swap, &right, &in[1], MPI_LONG, p->right, at(p, 41), p->win));
    OK(MPI_Compare_and_swap(&swap, &wrong, &in[2], MPI_LONG, p->right, at(p, 42), p->win));
    wanted[0] = pattern(check_rank, 40) + 77;
    wanted[1] = 99;
    wanted[2] = pattern(check_rank, 42);
    close_epoch(p, "single elements", 40, 3, wanted);
    came_back(p, "single elements", in, 40, 3);
}

/* Scattered at the origin, or at the target, or at both in different ways. */
static void vectors(const struct place *p)
{
    MPI_Datatype second, third;
    long out[12], in[12], wanted[12];
    OK(MPI_Type_vector(6, 1, 2, MPI_LONG, &second));
    OK(MPI_Type_commit(&second));
    OK(MPI_Type_vector(3, 2, 4, MPI_LONG, &third));
    OK(MPI_Type_commit(&third));
    for (int from = 0; from < 2; from++) {
        open_epoch(p);
        for (int i = 0; i < 12; i++) {
            out[i] = 500L * (check_rank + 1) + i, in[i] = -1;
            wanted[i] = pattern(check_rank, 50 + i);
        }
        if (from == 0)
            OK(MPI_Put(out, 1, second, p->right, at(p, 50), 1, third, p->win));
        else
            OK(MPI_Put(out, 6, MPI_LONG, p->right, at(p, 50), 1, third, p->win));
        OK(MPI_Get(in, 1, second, p->right, at(p, 70), 1, third, p->win));
        for (int i = 0; i < 6; i++)
            wanted[i / 2 * 4 + i % 2] = 500L * (p->left + 1) + (from == 0 ? 2 * i : i);
        close_epoch(p, "vectors", 50, 12, wanted);
        for (int i = 0; i < 12; i++)
            CHECK_AT(in, i, i % 2 == 0 ? pattern(p->right, 70 + i / 4 * 4 + i / 2 % 2) : -1);
    }
    OK(MPI_Type_free(&second));
    OK(MPI_Type_free(&third));
}

/* Nothing to do: no elements, no target. */
static void nothing(const struct place *p)
{
    long value = 5, in = 6;
    open_epoch(p);
    OK(MPI_Put(&value, 0, MPI_LONG, p->right, at(p, 1), 0, MPI_LONG, p->win));
    OK(MPI_Get(&in, 0, MPI_LONG, p->right, at(p, WORDS), 0, MPI_LONG, p->win));
    OK(MPI_Accumulate(&value, 0, MPI_LONG, p->right, at(p, 1), 0, MPI_LONG, MPI_SUM, p->win));
    OK(MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, at(p, 1), 1, MPI_LONG, p->win));
    OK(MPI_Get(&in, 1, MPI_LONG, MPI_PROC_NULL, at(p, 1), 1, MPI_LONG, p->win));
    OK(MPI_Accumulate(&value, 1, MPI_LONG, MPI_PROC_NULL, at(p, 1), 1, MPI_LONG, MPI_SUM, p->win));
    OK(MPI_Fetch_and_op(&value, &in, MPI_LONG, MPI_PROC_NULL, at(p, 1), MPI_SUM, p->win));
    close_epoch(p, "nothing", 0, 0, NULL);
    CHECK_EQ(in, 6);
}

/* All of it, on created and allocated windows, by bytes and by words. */
static void operations(const struct kind *kind)
{
    void (*const subjects[])(const struct place *) = {put,    get,     many,   accumulate, ordered, get_accumulate,
                                                      single, vectors, nothing};
    for (int allocated = 0; allocated < 2; allocated++)
        for (int unit = 1; unit <= (int)sizeof(long); unit += (int)sizeof(long) - 1) {
            struct place p = {.unit = unit, .kind = kind};
            MPI_Aint bytes = WORDS * sizeof(long);
            if (allocated) {
                OK(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &p.memory, &p.win));
            } else {
                p.memory = malloc((size_t)bytes);
                OK(MPI_Win_create(p.memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &p.win));
            }
            MPI_Win_set_errhandler(p.win, MPI_ERRORS_RETURN);
            p.right = (check_rank + 1) % check_size;
            p.left = (check_rank + check_size - 1) % check_size;
            if (kind->life_begin != NULL)
                kind->life_begin(p.win);
            for (size_t s = 0; s < sizeof subjects / sizeof subjects[0]; s++)
                subjects[s](&p);
            if (kind->life_end != NULL)
                kind->life_end(p.win);
            OK(MPI_Win_free(&p.win));
            if (!allocated)
                free(p.memory);
        }
}

CHECK_UNUSED static void own_nothing(MPI_Win win)
{
    (void)win;
}

CHECK_UNUSED static void own_lock(MPI_Win win)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
}

CHECK_UNUSED static void own_unlock(MPI_Win win)
{
    OK(MPI_Win_unlock(check_rank, win));
}

#endif
