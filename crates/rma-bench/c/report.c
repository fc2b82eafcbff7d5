/* What leaves the program: lines of JSON, by rank 0. The format is in bench.h. */

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < ' ')
            putchar(' ');
        else
            putchar(*text);
    }
    putchar('"');
}

/* A line leaves at once: when the job dies later, it must be there. */
static void end_line(void)
{
    puts("}");
    fflush(stdout);
}

void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "unknown";
    int length;

    if (my_rank != 0)
        return;
    if (MPI_Get_library_version)
        MPI_Get_library_version(text, &length);
    printf("{\"library\": ");
    print_string(text);
    end_line();
}

static void print_mark(const char *name, const char *mark)
{
    if (my_rank != 0)
        return;
    printf("{\"case\": \"%s\", \"%s\": true", name, mark);
    end_line();
}

void print_begin(const char *name)
{
    print_mark(name, "begin");
}

void print_end(const char *name)
{
    print_mark(name, "end");
}

void print_missing(const char *name, const char *calls)
{
    if (my_rank != 0)
        return;
    printf("{\"case\": \"%s\", \"missing\": ", name);
    print_string(calls);
    end_line();
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void print_result(const struct result *result)
{
    double sorted[MAX_SAMPLES];
    int count = result->count;

    for (int i = 0; i < count; i++)
        sorted[i] = result->samples[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    printf("{\"case\": \"%s\", \"size\": %zu, \"ranks\": %d, \"operations\": %ld, \"iterations\": %ld, ", result->name,
           result->size, result->ranks, result->operations, result->iterations);
    printf("\"median\": %.3f, \"min\": %.3f, \"max\": %.3f, \"samples\": [",
           count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2, sorted[0],
           sorted[count - 1]);
    for (int i = 0; i < count; i++)
        printf("%s%.3f", i ? ", " : "", result->samples[i]);
    putchar(']');
    end_line();
}

void settle(const struct result *result, int is_right)
{
    int are_right;

    MPI_Allreduce(&is_right, &are_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (my_rank != 0)
        return;
    if (are_right) {
        print_result(result);
        return;
    }
    printf("{\"case\": \"%s\", \"size\": %zu, \"ranks\": %d, \"error\": \"wrong value\"", result->name, result->size,
           result->ranks);
    end_line();
}
