/* Arguments that are not the same in C: texts, arrays of handles, positions, and names that stand for something. */
#include "support.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

int abi_mpi_bottom, abi_mpi_in_place, abi_mpi_buffer_automatic;
int abi_mpi_unweighted[1], abi_mpi_weights_empty[1];
MPI_Status abi_mpi_status_ignore, abi_mpi_statuses_ignore[1];

int *abi_weights(const int *weights)
{
    if (weights == abi_mpi_unweighted)
        return MPI_UNWEIGHTED;
    return weights == abi_mpi_weights_empty ? MPI_WEIGHTS_EMPTY : (int *)weights;
}

MPI_Status *abi_status(MPI_Status *status)
{
    return status == &abi_mpi_status_ignore ? MPI_STATUS_IGNORE : status;
}

MPI_Status *abi_statuses(MPI_Status *statuses)
{
    return statuses == abi_mpi_statuses_ignore ? MPI_STATUSES_IGNORE : statuses;
}

/* Positions in arrays, which Fortran counts from one. */
void abi_from_one(int *positions, int count)
{
    for (int i = 0; i < count; i++)
        positions[i] += positions[i] != MPI_UNDEFINED;
}

/* Blanks at the end are padding; those in front mean nothing in keys and values. */
int abi_text(char **text, const CFI_cdesc_t *from, int both_ends)
{
    const char *start = from->base_addr;
    size_t length = from->elem_len;
    while (length > 0 && start[length - 1] == ' ')
        length--;
    for (; both_ends && length > 0 && *start == ' '; length--)
        start++;
    if (!(*text = malloc(length + 1)))
        return MPI_ERR_NO_MEM;
    memcpy(*text, start, length);
    (*text)[length] = 0;
    return MPI_SUCCESS;
}

void abi_answer(const CFI_cdesc_t *to, const char *text)
{
    size_t length = strlen(text);
    if (length > to->elem_len)
        length = to->elem_len;
    memcpy(to->base_addr, text, length);
    memset((char *)to->base_addr + length, ' ', to->elem_len - length);
}

/* Room for the handles; none where the count is refused anyway. */
static int begin(abi_handles *to, MPI_Count count)
{
    *to = (abi_handles){.count = count > 0 ? count : 0};
    to->handles = to->few;
    if (to->count > (MPI_Count)(sizeof(to->few) / sizeof(to->few[0])))
        to->handles = malloc((size_t)to->count * sizeof(void *));
    if (to->handles)
        return MPI_SUCCESS;
    to->count = 0;
    return MPI_ERR_NO_MEM;
}

static void end(abi_handles *from)
{
    if (from->handles != from->few)
        free(from->handles);
}

int abi_mpi_request_begin(abi_handles *to, MPI_Count count, const int *from)
{
    int error = begin(to, count);
    for (MPI_Count i = 0; i < to->count; i++)
        to->handles[i] = MPI_Request_of(from[i]);
    return error;
}

void abi_mpi_request_end(abi_handles *from, int *to)
{
    for (MPI_Count i = 0; to && i < from->count; i++)
        abi_request_back(&to[i], from->handles[i]);
    end(from);
}

int abi_mpi_datatype_begin(abi_handles *to, MPI_Count count, const int *from)
{
    int error = begin(to, count);
    for (MPI_Count i = 0; i < to->count; i++)
        to->handles[i] = from ? MPI_Datatype_of(from[i]) : MPI_DATATYPE_NULL;
    return error;
}

void abi_mpi_datatype_end(abi_handles *from, int *to)
{
    for (MPI_Count i = 0; to && i < from->count; i++)
        to[i] = int_of_MPI_Datatype(from->handles[i]);
    end(from);
}

/* Types per rank, which may be read until the call is complete; none where a buffer in place makes them mean nothing. */
int abi_types(MPI_Datatype **to, const CFI_cdesc_t *buffer, int ranks, const int *from)
{
    if (abi_place(buffer) == MPI_IN_PLACE)
        ranks = 0;
    if (!(*to = malloc((size_t)(ranks > 0 ? ranks : 1) * sizeof(MPI_Datatype))))
        return MPI_ERR_NO_MEM;
    (*to)[0] = MPI_DATATYPE_NULL;
    for (int i = 0; i < ranks; i++)
        (*to)[i] = MPI_Datatype_of(from[i]);
    return MPI_SUCCESS;
}

int abi_ranks(MPI_Comm comm)
{
    int is_inter = 0, ranks = 0;
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &is_inter))
        return 0;
    if (is_inter ? MPI_Comm_remote_size(comm, &ranks) : MPI_Comm_size(comm, &ranks))
        return 0;
    return ranks;
}

/* The neighbours that a rank of a topology receives from and sends to. */
static void neighbors(MPI_Comm comm, int *sources, int *destinations)
{
    int topology = MPI_UNDEFINED, rank, weighted;
    *sources = *destinations = 0;
    if (comm == MPI_COMM_NULL || MPI_Topo_test(comm, &topology))
        return;
    if (topology == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
    } else if (topology == MPI_GRAPH && !MPI_Comm_rank(comm, &rank)) {
        MPI_Graph_neighbors_count(comm, rank, sources);
        *destinations = *sources;
    } else if (topology == MPI_CART && !MPI_Cartdim_get(comm, sources)) {
        *sources *= 2;
        *destinations = *sources;
    }
}

int abi_sources(MPI_Comm comm)
{
    int sources, destinations;
    neighbors(comm, &sources, &destinations);
    return sources;
}

int abi_destinations(MPI_Comm comm)
{
    int sources, destinations;
    neighbors(comm, &sources, &destinations);
    return destinations;
}

/* One code of each class serves all errors, whose last text it has: codes are never given back, as a program may hold one. */
int abi_error(int class, const char *format, ...)
{
    enum { CLASSES = 64 };
    static _Atomic int codes[CLASSES];
    char text[MPI_MAX_ERROR_STRING];
    va_list values;
    int code, none = 0;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (class >= CLASSES)
        return class;
    if (!(code = atomic_load(&codes[class]))) {
        if (MPI_Add_error_code(class, &code))
            return class;
        if (!atomic_compare_exchange_strong(&codes[class], &none, code))
            code = none;
    }
    return MPI_Add_error_string(code, text) ? class : code;
}

int abi_refuse_comm(MPI_Comm comm, int error)
{
    MPI_Comm_call_errhandler(comm, error);
    return error;
}

int abi_refuse_win(MPI_Win win, int error)
{
    MPI_Win_call_errhandler(win, error);
    return error;
}

/* Only the descriptor knows how long an element is. */
void abi_mpi_sizeof(const CFI_cdesc_t *x, int *size, int *ierror)
{
    *size = (int)x->elem_len;
    if (ierror)
        *ierror = MPI_SUCCESS;
}

/* A compiler must not know that this does nothing. */
void abi_mpi_f_sync_reg(const CFI_cdesc_t *buf)
{
    (void)buf;
}
