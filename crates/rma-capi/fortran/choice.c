/* Memory of the user: from a descriptor to address, count and datatype.
 *
 * Count and datatype say what there is as if the section were contiguous. The elements of the section are `elem_len` bytes
 * each, and a dimension may have any stride, also a negative one. A datatype is built for such a section when every element
 * of the given type lies within one element of the array: it needs no copy, so it serves one-sided and nonblocking
 * calls, and may be freed as soon as the call has returned. */
#include "support.h"
#include <string.h>

/* Places that stand for something else. */
void *abi_place(const CFI_cdesc_t *array)
{
    void *address = array->base_addr;
    if (address == &abi_mpi_bottom)
        return MPI_BOTTOM;
    if (address == &abi_mpi_in_place)
        return MPI_IN_PLACE;
    if (address == &abi_mpi_buffer_automatic)
        return MPI_BUFFER_AUTOMATIC;
    return address;
}

/* An array of assumed size has no extent in its last dimension, and is contiguous. */
static int is_contiguous(const CFI_cdesc_t *array)
{
    CFI_index_t stride = (CFI_index_t)array->elem_len;
    for (int i = 0; i < array->rank; i++) {
        CFI_index_t extent = array->dim[i].extent;
        if (extent == 0 || array->dim[i].extent < 0)
            return 1;
        if (extent > 1 && array->dim[i].sm != stride)
            return 0;
        stride *= extent;
    }
    return 1;
}

static CFI_index_t elements(const CFI_cdesc_t *array)
{
    CFI_index_t count = 1;
    for (int i = 0; i < array->rank; i++)
        count *= array->dim[i].extent;
    return count;
}

/* The distance of neighbours, if it is the same for all; 0 if it is not. */
static CFI_index_t single_stride(const CFI_cdesc_t *array)
{
    CFI_index_t stride = 0, next = 0;
    for (int i = 0; i < array->rank; i++) {
        CFI_index_t extent = array->dim[i].extent;
        if (extent == 1)
            continue;
        if (stride == 0)
            stride = array->dim[i].sm;
        else if (array->dim[i].sm != next)
            return 0;
        next = array->dim[i].sm * extent;
    }
    return stride;
}

/* How many elements of the type lie in one of the array; 0 if they do not lie within. */
static MPI_Count per_element(const CFI_cdesc_t *array, MPI_Datatype type, MPI_Count *extent)
{
    MPI_Count lb, true_lb, true_extent;
    MPI_Count length = (MPI_Count)array->elem_len;
    if (MPI_Type_get_extent_c(type, &lb, extent) || MPI_Type_get_true_extent_c(type, &true_lb, &true_extent))
        return 0;
    if (*extent <= 0 || length % *extent || true_lb < 0 || true_lb + true_extent > *extent)
        return 0;
    return length / *extent;
}

/* Two parts as one, of which the second lies `at` bytes behind the first; both are given up. */
static int join(MPI_Datatype *first, MPI_Datatype *second, MPI_Count at, MPI_Datatype *made)
{
    const MPI_Count ones[2] = {1, 1}, places[2] = {0, at};
    const MPI_Datatype types[2] = {*first, *second};
    int error = MPI_Type_create_struct_c(2, ones, places, types, made);
    MPI_Type_free(first);
    MPI_Type_free(second);
    return error;
}

/* The first `count` elements of the type in the dimensions below `rank`, of which each of the array holds `inner`. */
static int section(const CFI_cdesc_t *array, int rank, MPI_Count count, MPI_Datatype type, MPI_Count inner,
                   MPI_Datatype *made)
{
    if (rank == 0)
        return MPI_Type_contiguous_c(count, type, made);
    MPI_Count block = inner;
    for (int i = 0; i < rank - 1; i++)
        block *= array->dim[i].extent;
    MPI_Count whole = count / block, rest = count % block, stride = array->dim[rank - 1].sm;
    MPI_Datatype one, blocks, last;
    int error;
    if (whole == 0)
        return section(array, rank - 1, rest, type, inner, made);
    if ((error = section(array, rank - 1, block, type, inner, &one)))
        return error;
    error = MPI_Type_create_hvector_c(whole, 1, stride, one, &blocks);
    MPI_Type_free(&one);
    if (error || rest == 0) {
        *made = blocks;
        return error;
    }
    if ((error = section(array, rank - 1, rest, type, inner, &last))) {
        MPI_Type_free(&blocks);
        return error;
    }
    return join(&blocks, &last, whole * stride, made);
}

static int committed(abi_data *data, int error)
{
    if (error)
        return error;
    data->made = data->type;
    return MPI_Type_commit(&data->type);
}

static int is_empty(const CFI_cdesc_t *array)
{
    for (int i = 0; i < array->rank; i++)
        if (array->dim[i].extent == 0)
            return 1;
    return 0;
}

/* A section without elements has no place that an element could be moved to or from. */
static int refuse_empty(const char *name, const char *count_name, MPI_Count count, MPI_Datatype type)
{
    MPI_Count size;
    if (MPI_Type_size_c(type, &size) || size == 0)
        return MPI_SUCCESS;
    return abi_error(MPI_ERR_COUNT, "%s is %lld, but %s has no elements", count_name, (long long)count, name);
}

int abi_own(abi_data *data, const CFI_cdesc_t *array, const char *name, const char *count_name, MPI_Count count,
            const char *type_name, MPI_Datatype type)
{
    MPI_Count extent = 0, inner;
    *data = (abi_data){.address = abi_place(array), .count = count, .type = type};
    if (count <= 0 || type == MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    if (is_empty(array))
        return refuse_empty(name, count_name, count, type);
    if (is_contiguous(array))
        return MPI_SUCCESS;
    if (!(inner = per_element(array, type, &extent)))
        return abi_error(MPI_ERR_UNSUPPORTED_OPERATION,
                         "%s is a section of elements of %zu bytes, which elements of %s, of extent %lld, do not fill evenly",
                         name, array->elem_len, type_name, (long long)extent);
    if (count > inner * elements(array))
        return abi_error(MPI_ERR_COUNT, "%s is %lld, but the section %s has %lld elements of %s", count_name,
                         (long long)count, name, (long long)(inner * elements(array)), type_name);
    data->count = 1;
    return committed(data, section(array, array->rank, count, type, inner, &data->type));
}

int abi_contiguous(abi_data *data, const CFI_cdesc_t *array, const char *name)
{
    *data = (abi_data){.address = abi_place(array)};
    if (is_contiguous(array))
        return MPI_SUCCESS;
    return abi_error(MPI_ERR_BUFFER, "%s is a section of %lld elements of %zu bytes with gaps, but must be contiguous",
                     name, (long long)elements(array), array->elem_len);
}

/* Copies between a section and contiguous memory. */
static void copy(const CFI_cdesc_t *array, int rank, char *place, char **contiguous, int is_back)
{
    if (rank == 0) {
        if (is_back)
            memcpy(place, *contiguous, array->elem_len);
        else
            memcpy(*contiguous, place, array->elem_len);
        *contiguous += array->elem_len;
        return;
    }
    for (CFI_index_t i = 0; i < array->dim[rank - 1].extent; i++)
        copy(array, rank - 1, place + i * array->dim[rank - 1].sm, contiguous, is_back);
}

void abi_copy_back(const CFI_cdesc_t *array, const void *copied)
{
    char *from = (char *)copied;
    copy(array, array->rank, array->base_addr, &from, 1);
}

int abi_shared(abi_data *data, const CFI_cdesc_t *array, const char *name, int copies)
{
    *data = (abi_data){.address = abi_place(array), .type = data->type};
    if (is_contiguous(array))
        return MPI_SUCCESS;
    if (!copies)
        return abi_error(MPI_ERR_UNSUPPORTED_OPERATION,
                         "%s is a section of %lld elements of %zu bytes, but a persistent collective takes one stride alone",
                         name, (long long)elements(array), array->elem_len);
    char *to = malloc((size_t)elements(array) * array->elem_len);
    if (!to)
        return MPI_ERR_NO_MEM;
    data->address = data->copy = to;
    copy(array, array->rank, array->base_addr, &to, 0);
    return MPI_SUCCESS;
}

/* Where neighbours are equally far apart, a type of that extent has every block in its place. */
int abi_blocks(abi_data *data, const CFI_cdesc_t *array, const char *name, MPI_Datatype type, int copies)
{
    MPI_Count extent, stride;
    *data = (abi_data){.address = abi_place(array), .type = type};
    if (type == MPI_DATATYPE_NULL || is_contiguous(array))
        return MPI_SUCCESS;
    stride = single_stride(array);
    if (stride && per_element(array, type, &extent) == 1)
        return committed(data, MPI_Type_create_resized_c(type, 0, stride, &data->type));
    return abi_shared(data, array, name, copies);
}

void abi_data_end(abi_data *data, const CFI_cdesc_t *back, int request)
{
    if (data->made)
        MPI_Type_free(&data->made);
    if (!data->copy)
        return;
    abi_keep_copy(data->copy, back, request);
}
