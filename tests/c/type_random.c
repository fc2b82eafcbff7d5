/* Random nested datatypes on both sides of random calls: what comes out in the window, the origin and the result is what a plain
 * list of the elements' places gives, and nothing between the elements changes. SEED and STEPS set where the numbers begin and
 * how many calls each rank makes.
 *
 * ranks: 1 2 3
 * memcheck: yes
 * peers: not openmpi, whose get-accumulates of derived types bring other elements */
#include "check.h"

enum { MOST = 2000, WORDS = 6000, DEPTH = 3 };

/* A datatype of ints with the places of its elements in bytes, in the order of its type map. */
typedef struct {
    MPI_Datatype type;
    long count, low, high;
    int is_resized;
    long at[MOST];
} Shape;

static unsigned long long state;

static unsigned draw(unsigned limit)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % limit;
}

/* Appends one inner element's places, moved by so many bytes; the bounds go by §5.1.7. */
static void append(Shape *to, const Shape *inner, long by)
{
    for (long i = 0; i < inner->count; i++)
        to->at[to->count + i] = inner->at[i] + by;
    if (to->count == 0 || inner->low + by < to->low)
        to->low = inner->low + by;
    if (to->count == 0 || inner->high + by > to->high)
        to->high = inner->high + by;
    to->count += inner->count;
    to->is_resized = inner->is_resized;
}

/* Makes a type, and frees what it was made of. */
static void make(Shape *shape, int depth)
{
    shape->count = 0;
    if (depth == 0) {
        shape->type = MPI_INT;
        shape->count = 1;
        shape->at[0] = shape->low = shape->is_resized = 0;
        shape->high = 4;
        return;
    }
    Shape *inner = malloc(sizeof *inner);
    make(inner, depth - 1);
    long extent = inner->high - inner->low;
    int blocks = 1 + (int)draw(3), length = 1 + (int)draw(3), stride = (int)draw(8) - 2;
    int lengths[3], places[3];
    MPI_Aint bytes[3];
    MPI_Datatype inners[3] = {inner->type, inner->type, inner->type};
    for (int i = 0; i < 3; i++) {
        lengths[i] = 1 + (int)draw(2);
        places[i] = (int)draw(12) - 3;
        bytes[i] = 4 * ((long)draw(40) - 10);
    }
    int sizes[2] = {1 + (int)draw(4), 1 + (int)draw(4)}, parts[2], starts[2];
    switch (inner->count * 9 > MOST / 4 ? 0 : 1 + draw(10)) {
    case 0:
        OK(MPI_Type_dup(inner->type, &shape->type));
        append(shape, inner, 0);
        break;
    case 1:
        OK(MPI_Type_contiguous(length, inner->type, &shape->type));
        for (int i = 0; i < length; i++)
            append(shape, inner, i * extent);
        break;
    case 2:
        OK(MPI_Type_vector(blocks, length, stride, inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                append(shape, inner, (i * stride + j) * extent);
        break;
    case 3:
        OK(MPI_Type_create_hvector(blocks, length, bytes[0], inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                append(shape, inner, i * bytes[0] + j * extent);
        break;
    case 4:
        OK(MPI_Type_indexed(blocks, lengths, places, inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < lengths[i]; j++)
                append(shape, inner, (places[i] + j) * extent);
        break;
    case 5:
        OK(MPI_Type_create_hindexed(blocks, lengths, bytes, inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < lengths[i]; j++)
                append(shape, inner, bytes[i] + j * extent);
        break;
    case 6:
        OK(MPI_Type_create_indexed_block(blocks, length, places, inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                append(shape, inner, (places[i] + j) * extent);
        break;
    case 7:
        OK(MPI_Type_create_hindexed_block(blocks, length, bytes, inner->type, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < length; j++)
                append(shape, inner, bytes[i] + j * extent);
        break;
    case 8:
        OK(MPI_Type_create_struct(blocks, lengths, bytes, inners, &shape->type));
        for (int i = 0; i < blocks; i++)
            for (int j = 0; j < lengths[i]; j++)
                append(shape, inner, bytes[i] + j * extent);
        break;
    case 9: {
        int order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, fast = order == MPI_ORDER_C, slow = !fast;
        for (int i = 0; i < 2; i++) {
            parts[i] = 1 + (int)draw((unsigned)sizes[i]);
            starts[i] = (int)draw((unsigned)(sizes[i] - parts[i] + 1));
        }
        OK(MPI_Type_create_subarray(2, sizes, parts, starts, order, inner->type, &shape->type));
        for (int i = 0; i < parts[slow]; i++)
            for (int j = 0; j < parts[fast]; j++)
                append(shape, inner, ((starts[slow] + i) * sizes[fast] + starts[fast] + j) * extent);
        shape->low = 0;
        shape->high = sizes[0] * sizes[1] * extent;
        shape->is_resized = 1;
        break;
    }
    default:
        shape->low = 4 * ((long)draw(20) - 10);
        OK(MPI_Type_create_resized(inner->type, shape->low, 4 * (1 + (long)draw(30)), &shape->type));
        append(shape, inner, 0);
        OK(MPI_Type_get_extent(shape->type, &bytes[0], &bytes[1]));
        shape->low = bytes[0];
        shape->high = bytes[0] + bytes[1];
        shape->is_resized = 1;
    }
    if (inner->type != MPI_INT)
        OK(MPI_Type_free(&inner->type));
    free(inner);
}

/* The places of so many elements of a type in words; 0 if they do not fit, with the place of the first one. */
static long spread(const Shape *shape, long count, long *words, long *base)
{
    long least = 0, most = 0, total = 0;
    if (count * shape->count > MOST)
        return 0;
    for (long i = 0; i < count; i++)
        for (long j = 0; j < shape->count; j++) {
            long place = (shape->at[j] + i * (shape->high - shape->low)) / 4;
            words[total++] = place;
            least = place < least ? place : least;
            most = place > most ? place : most;
        }
    if (most - least >= WORDS)
        return 0;
    *base = -least + (long)draw((unsigned)(WORDS - (most - least)));
    for (long i = 0; i < total; i++)
        words[i] += *base;
    return total;
}

static int overlaps(const long *words, long total)
{
    static char seen[WORDS];
    memset(seen, 0, sizeof seen);
    for (long i = 0; i < total; i++)
        if (seen[words[i]]++)
            return 1;
    return 0;
}

static int memory[WORDS], mirror[WORDS], origin[WORDS], origin_mirror[WORDS], result[WORDS], result_mirror[WORDS], all[WORDS];
static long here[MOST], there[MOST], back[MOST];
static Shape shapes[3];

static int same(const int *is, const int *expected, const char *what, int step)
{
    for (int i = 0; i < WORDS; i++)
        if (is[i] != expected[i]) {
            CHECK_SAY("step %d: %s: word %d is %d, not %d", step, what, i, is[i], expected[i]);
            return 0;
        }
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Request request;
    check_begin(&argc, &argv);
    int steps = getenv("STEPS") != NULL ? atoi(getenv("STEPS")) : 150, target = (check_rank + 1) % check_size;
    state = (getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) : 1) * 1000 + (unsigned)check_rank;
    for (int i = 0; i < WORDS; i++)
        memory[i] = mirror[i] = i;
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int step = 0; step < steps && check_failures == 0; step++) {
        for (int i = 0; i < 3; i++) {
            make(&shapes[i], (int)draw(DEPTH + 1));
            if (shapes[i].type != MPI_INT)
                OK(MPI_Type_commit(&shapes[i].type));
            MPI_Aint low = -1, extent = -1;
            OK(MPI_Type_get_extent(shapes[i].type, &low, &extent));
            CHECK_EQ(low, shapes[i].low);
            CHECK_EQ(extent, shapes[i].high - shapes[i].low);
        }
        /* As many elements on all sides: the product of the others' counts of each. */
        long n[3] = {shapes[0].count, shapes[1].count, shapes[2].count}, base[3];
        long count[3] = {n[1] * n[2], n[0] * n[2], n[0] * n[1]};
        for (long by = 2; by < MOST; by++)
            while (count[0] % by == 0 && count[1] % by == 0 && count[2] % by == 0)
                count[0] /= by, count[1] /= by, count[2] /= by;
        long total = spread(&shapes[0], count[0], here, &base[0]);
        if (total > 0 && spread(&shapes[1], count[1], there, &base[1]) && spread(&shapes[2], count[2], back, &base[2])) {
            int what = (int)draw(5);
            for (int i = 0; i < WORDS; i++) {
                origin[i] = origin_mirror[i] = 1000 * step + i;
                result[i] = result_mirror[i] = -i;
            }
            int *from = origin + base[0], *to = result + base[2], c0 = (int)count[0], c1 = (int)count[1], c2 = (int)count[2];
            MPI_Datatype t0 = shapes[0].type, t1 = shapes[1].type, t2 = shapes[2].type;
            MPI_Op op = draw(2) ? MPI_SUM : MPI_REPLACE;
            if (what == 1) {
                if (!overlaps(back, total)) {
                    if (draw(2)) {
                        OK(MPI_Get(to, c2, t2, target, base[1], c1, t1, win));
                    } else {
                        OK(MPI_Rget(to, c2, t2, target, base[1], c1, t1, win, &request));
                        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                    }
                    for (long i = 0; i < total; i++)
                        result_mirror[back[i]] = mirror[there[i]];
                }
            } else if (!overlaps(there, total) && !overlaps(back, total)) {
                if (what == 0)
                    OK(MPI_Put(from, c0, t0, target, base[1], c1, t1, win));
                else if (what == 2)
                    OK(MPI_Accumulate(from, c0, t0, target, base[1], c1, t1, op, win));
                else if (what == 3)
                    OK(MPI_Get_accumulate(from, c0, t0, to, c2, t2, target, base[1], c1, t1, op, win));
                else
                    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, to, c2, t2, target, base[1], c1, t1, MPI_NO_OP, win));
                for (long i = 0; i < total; i++) {
                    if (what >= 3)
                        result_mirror[back[i]] = mirror[there[i]];
                    if (what == 0 || (what < 4 && op == MPI_REPLACE))
                        mirror[there[i]] = origin[here[i]];
                    else if (what < 4)
                        mirror[there[i]] += origin[here[i]];
                }
            }
            OK(MPI_Win_flush(target, win));
            OK(MPI_Get(all, WORDS, MPI_INT, target, 0, WORDS, MPI_INT, win));
            OK(MPI_Win_flush(target, win));
            if (!same(all, mirror, "window", step) || !same(origin, origin_mirror, "origin", step)
                || !same(result, result_mirror, "result", step))
                CHECK_SAY("step %d: call %d of %ld elements, types of %ld, %ld and %ld", step, what, total, n[0], n[1], n[2]);
        }
        for (int i = 0; i < 3; i++)
            if (shapes[i].type != MPI_INT)
                OK(MPI_Type_free(&shapes[i].type));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return check_end();
}
