/* A library of PMIx for tests: the functions that a rank calls, over files of the folder RMA_TEST_PMIX, as the headers of PMIx declare
 * them. RMA_TEST_PMIX_SIZE is the number of ranks. Asking for what was not put ends the process: other libraries wait. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char nspace[256]; uint32_t rank; } pmix_proc_t;
typedef struct { size_t size; char *bytes[2]; } longest_t;
typedef struct {
    uint16_t type;
    union { bool flag; int integer; uint32_t uint32; char *string; pmix_proc_t *proc; longest_t longest; } data;
} pmix_value_t;
typedef struct { char key[512]; uint32_t flags; pmix_value_t value; } pmix_info_t;
typedef void (*answered_t)(int, pmix_info_t *, size_t, void (*)(int, void *), void *, void *);
typedef void (*handler_t)(size_t, int, const pmix_proc_t *, pmix_info_t *, size_t, pmix_info_t *, size_t, answered_t, void *);

static pmix_proc_t me;
static int fences;

static void file_of(char *path, const char *what, const char *key, unsigned rank)
{
    snprintf(path, 512, "%s/%s-%s-%u", getenv("RMA_TEST_PMIX"), what, key, rank);
}

static void write_file(const char *path, const char *text)
{
    char draft[600];
    snprintf(draft, sizeof draft, "%s.draft", path);
    FILE *file = fopen(draft, "w");
    fputs(text, file);
    fclose(file);
    rename(draft, path);
}

static unsigned size(void) { return (unsigned)atoi(getenv("RMA_TEST_PMIX_SIZE")); }

int PMIx_Init(pmix_proc_t *proc, pmix_info_t *infos, size_t count)
{
    strcpy(me.nspace, getenv("PMIX_NAMESPACE"));
    me.rank = (uint32_t)atoi(getenv("PMIX_RANK"));
    *proc = me;
    return infos || count;
}

int PMIx_Put(uint8_t scope, const char *key, pmix_value_t *value)
{
    if (scope != 3 || value->type != 3)
        return -27;
    char path[512];
    file_of(path, "value", key, me.rank);
    write_file(path, value->data.string);
    return 0;
}

int PMIx_Commit(void) { return 0; }

int PMIx_Fence(const pmix_proc_t *procs, size_t count, const pmix_info_t *infos, size_t info_count)
{
    if (count != 1 || strcmp(procs->nspace, me.nspace) || procs->rank != UINT32_MAX - 1 || info_count != 1
        || strcmp(infos->key, "pmix.collect") || !infos->value.data.flag)
        return -27;
    char path[512], number[16];
    snprintf(number, sizeof number, "%d", fences++);
    file_of(path, "fence", number, me.rank);
    write_file(path, "");
    for (unsigned rank = 0; rank < size(); rank++) {
        file_of(path, "fence", number, rank);
        while (access(path, F_OK))
            usleep(500);
    }
    return 0;
}

int PMIx_Get(const pmix_proc_t *proc, const char *key, const pmix_info_t *infos, size_t count, pmix_value_t **value)
{
    *value = calloc(1, sizeof **value);
    if (proc->rank == UINT32_MAX - 1 && !strcmp(key, "pmix.job.size")) {
        (*value)->type = 14;
        (*value)->data.uint32 = size();
        return 0;
    }
    char text[8192] = "", path[512];
    if (proc->rank == UINT32_MAX - 1 && !strcmp(key, "pmix.lpeers")) {
        for (unsigned rank = 0; rank < size(); rank++)
            sprintf(text + strlen(text), "%s%u", rank ? "," : "", rank);
    } else {
        file_of(path, "value", key, proc->rank);
        FILE *file = fopen(path, "r");
        if (!file || count != 1 || strcmp(infos->key, "pmix.timeout") || infos->value.type != 6 || infos->value.data.integer <= 0) {
            fprintf(stderr, "%s of rank %u was not put\n", key, proc->rank);
            _exit(97);
        }
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    (*value)->type = 3;
    (*value)->data.string = strdup(text);
    return 0;
}

int PMIx_Abort(int status, const char *why, pmix_proc_t *procs, size_t count)
{
    fprintf(stderr, "stub: %s\n", why);
    return procs || count || status == 0;
}

int PMIx_Finalize(const pmix_info_t *infos, size_t count)
{
    puts("finalized");
    fflush(stdout);
    return infos || count;
}

/* Tells at once that the last rank has died, if the test wishes. */
int PMIx_Register_event_handler(int *codes, size_t count, pmix_info_t *infos, size_t info_count, handler_t handler, void *done, void *data)
{
    if (infos || info_count || done || count == 0)
        return -27;
    if (getenv("RMA_TEST_PMIX_DEATH")) {
        pmix_proc_t dead = me, server = {"server", 0};
        dead.rank = size() - 1;
        pmix_info_t about = {"pmix.evproc", 0, {22, {.proc = &dead}}};
        handler(0, codes[0], &server, &about, 1, NULL, 0, NULL, data);
    }
    return 0;
}

const char *PMIx_Error_string(int status)
{
    (void)status;
    return "STUB_ERROR";
}
