/* What the test programs of this folder share: checks that count and say where, a watchdog that says which call does not
 * return, and an end that all ranks agree on.
 *
 * A program is one file. Its first comment says what it shows, and how it is to be run:
 *
 *     ranks: 1 2 4 8              on how many processes, one job each
 *     expect: exit 7              how the job ends; without the line, well: status 0, "no errors" and no complaint
 *     expect: death words         the job fails, and what it prints has these words
 *     peers: not openmpi, why     another library is not run on it, because of a defect or a freedom of that library
 *     nodes: one                  all ranks must share memory
 *     memcheck: yes               one of the programs that run under valgrind
 *
 * A check that fails is printed and counted, and the program goes on: one run shows all there is to see. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_UNUSED __attribute__((unused))

/* Seconds that a program may take; the variable CHECK_LIMIT_S says otherwise. */
enum { CHECK_LIMIT_S = 40, CHECK_SHOWN = 20 };

static int check_rank CHECK_UNUSED = -1;
static int check_size CHECK_UNUSED = 0;
static int check_failures;
static const char *volatile check_doing = "start";
static volatile int check_doing_line;

/* Counts a failure; says whether it is still to be printed. */
CHECK_UNUSED static int check_failed(void)
{
    int count = __atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED);
    return count <= CHECK_SHOWN;
}

#define CHECK_SAY(...)                                                                         \
    do {                                                                                       \
        if (check_failed()) {                                                                  \
            char check_text[2048];                                                             \
            int check_head = snprintf(check_text, sizeof check_text, "rank %d: %s:%d: ",       \
                                      check_rank, __FILE__, __LINE__);                         \
            snprintf(check_text + check_head, sizeof check_text - (size_t)check_head,          \
                     __VA_ARGS__);                                                             \
            fprintf(stderr, "%s\n", check_text);                                               \
        }                                                                                      \
    } while (0)

/* A condition holds. */
#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition))                                                                      \
            CHECK_SAY("not so: %s", #condition);                                               \
    } while (0)

/* Two whole numbers are equal. */
#define CHECK_EQ(actual, expected)                                                             \
    do {                                                                                       \
        long long check_a = (long long)(actual), check_e = (long long)(expected);              \
        if (check_a != check_e)                                                                \
            CHECK_SAY("%s is %lld, not %lld (%s)", #actual, check_a, check_e, #expected);      \
    } while (0)

/* The same for one element of an array, so that the message names it. */
#define CHECK_AT(array, index, expected)                                                       \
    do {                                                                                       \
        long long check_i = (long long)(index);                                                \
        long long check_a = (long long)(array)[index], check_e = (long long)(expected);        \
        if (check_a != check_e)                                                                \
            CHECK_SAY("%s[%lld] is %lld, not %lld (%s)", #array, check_i, check_a, check_e,    \
                      #expected);                                                              \
    } while (0)

/* Two texts are equal. */
#define CHECK_TEXT(actual, expected)                                                           \
    do {                                                                                       \
        const char *check_a = (actual), *check_e = (expected);                                 \
        if (strcmp(check_a, check_e) != 0)                                                     \
            CHECK_SAY("%s is \"%s\", not \"%s\"", #actual, check_a, check_e);                  \
    } while (0)

/* What the watchdog names. */
#define DOING(what)                                                                            \
    do {                                                                                       \
        check_doing = (what);                                                                  \
        check_doing_line = __LINE__;                                                           \
    } while (0)

/* Number, class and text of an error code. */
CHECK_UNUSED static const char *check_describe(int code)
{
    static _Thread_local char texts[2][MPI_MAX_ERROR_STRING + 64];
    static _Thread_local int turn;
    char *text = texts[turn ^= 1];
    char message[MPI_MAX_ERROR_STRING] = "?";
    int length, class = -1;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, message, &length);
    snprintf(text, sizeof texts[0], "class %d (%s)", class, message);
    return text;
}

/* A call succeeds. */
#define OK(call)                                                                               \
    do {                                                                                       \
        DOING(#call);                                                                          \
        int check_code = (call);                                                               \
        if (check_code != MPI_SUCCESS)                                                         \
            CHECK_SAY("%s: %s", #call, check_describe(check_code));                            \
    } while (0)

/* A call returns an error of this class. */
#define FAILS(call, class)                                                                     \
    do {                                                                                       \
        DOING(#call);                                                                          \
        int check_code = (call), check_class = -1;                                             \
        if (check_code != MPI_SUCCESS)                                                         \
            MPI_Error_class(check_code, &check_class);                                         \
        if (check_code == MPI_SUCCESS)                                                         \
            CHECK_SAY("%s succeeded, expected %s", #call, #class);                             \
        else if (check_class != (class))                                                       \
            CHECK_SAY("%s: %s, expected %s", #call, check_describe(check_code), #class);       \
    } while (0)

/* A call that gives a request, or may be asked to, returns an error of this class and leaves `request` as it was. */
#define STARTS_NOTHING(call, class)                                                            \
    do {                                                                                       \
        FAILS(call, class);                                                                    \
        CHECK(request == MPI_REQUEST_NULL);                                                    \
    } while (0)

/* The watchdog: only what a signal handler may do. */
CHECK_UNUSED static void check_bark(int signal)
{
    (void)signal;
    char text[512] = "rank ";
    size_t length = 5;
    int numbers[2] = {check_rank < 0 ? 0 : check_rank, check_doing_line};
    const char *between[2] = {": no end in sight, at line ", ": "};
    for (int part = 0; part < 2; part++) {
        char digits[12];
        int count = 0;
        for (int n = numbers[part]; count == 0 || n > 0; n /= 10)
            digits[count++] = (char)('0' + n % 10);
        while (count > 0)
            text[length++] = digits[--count];
        for (const char *from = between[part]; *from != 0; from++)
            text[length++] = *from;
    }
    for (const char *from = check_doing; *from != 0 && length < sizeof text - 1; from++)
        text[length++] = *from;
    text[length++] = '\n';
    ssize_t written = write(2, text, length);
    _exit(written < 0 ? 98 : 99);
}

/* Starts the watchdog. */
CHECK_UNUSED static void check_watch(void)
{
    const char *limit = getenv("CHECK_LIMIT_S");
    signal(SIGALRM, check_bark);
    alarm(limit != NULL ? (unsigned)atoi(limit) : (unsigned)CHECK_LIMIT_S);
}

/* MPI_Init and what every program wants to know. */
CHECK_UNUSED static void check_begin(int *argc, char ***argv)
{
    check_watch();
    DOING("MPI_Init");
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* The same for programs whose threads all communicate. */
CHECK_UNUSED static void check_begin_threads(int *argc, char ***argv)
{
    int provided;
    check_watch();
    DOING("MPI_Init_thread");
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
}

/* From here on errors on the two predefined communicators are returned. */
CHECK_UNUSED static void check_errors_return(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* All ranks learn how many checks failed anywhere; the first says so; the answer is the program's status. */
CHECK_UNUSED static int check_end(void)
{
    int mine = check_failures, all = -1;
    DOING("the agreement on failures");
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0) {
        if (all == 0)
            printf("no errors\n");
        else
            printf("%d checks failed\n", all);
        fflush(stdout);
    }
    DOING("MPI_Finalize");
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}

#endif
