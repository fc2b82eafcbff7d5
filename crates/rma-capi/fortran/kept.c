/* Memory that a nonblocking call reads or writes, and that is not the user's: it is kept until the request is complete,
 * which is seen when a call of Fortran gives the request back as a null handle. */
#include "support.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct kept {
    struct kept *next;
    int request;
    void *memory;
    /* The section that the memory is copied to in the end. */
    CFI_cdesc_t *back;
} kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static kept *all;
/* Most programs never keep anything. */
static atomic_int count;

static void end(void *memory, const CFI_cdesc_t *back)
{
    if (back)
        abi_copy_back(back, memory);
    free(memory);
}

static CFI_cdesc_t *duplicate(const CFI_cdesc_t *of)
{
    size_t size = sizeof(*of) + (size_t)of->rank * sizeof(of->dim[0]);
    CFI_cdesc_t *made = malloc(size);
    if (made)
        memcpy(made, of, sizeof(*of) + (size_t)of->rank * sizeof(of->dim[0]));
    return made;
}

static void keep(void *memory, const CFI_cdesc_t *back, int request)
{
    kept *one = malloc(sizeof(*one));
    CFI_cdesc_t *section = back ? duplicate(back) : NULL;
    if (!one || (back && !section))
        abort(); /* The call has begun, and cannot be taken back. */
    *one = (kept){.request = request, .memory = memory, .back = section};
    pthread_mutex_lock(&mutex);
    one->next = all;
    all = one;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&mutex);
}

void abi_keep_copy(void *copy, const CFI_cdesc_t *back, int request)
{
    if (request == 0 || request == int_of_MPI_Request(MPI_REQUEST_NULL))
        end(copy, back);
    else
        keep(copy, back, request);
}

void abi_keep_memory(void *memory, int request)
{
    if (memory)
        abi_keep_copy(memory, NULL, request);
}

static void complete(int request)
{
    kept *done = NULL;
    pthread_mutex_lock(&mutex);
    for (kept **at = &all; *at;) {
        kept *one = *at;
        if (one->request != request) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = done;
        done = one;
        atomic_fetch_sub(&count, 1);
    }
    pthread_mutex_unlock(&mutex);
    while (done) {
        kept *one = done;
        done = one->next;
        end(one->memory, one->back);
        free(one->back);
        free(one);
    }
}

void abi_request_back(int *to, MPI_Request from)
{
    int was = *to;
    *to = int_of_MPI_Request(from);
    if (from == MPI_REQUEST_NULL && atomic_load(&count) > 0 && was != *to)
        complete(was);
}
