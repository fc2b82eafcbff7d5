/* Values of attributes.
 *
 * C has a pointer where Fortran has a number. A number that Fortran sets is a box, to which C has the pointer; a pointer that C
 * sets is a number in Fortran, its address. Which of the two a pointer is, the list of boxes says. A box is given up with the
 * attribute when Fortran has made the key, and stays when C has. */
#include "support.h"
#include <pthread.h>

typedef struct box {
    MPI_Aint value;
    struct box *next;
} box;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static box *boxes;

MPI_Aint *abi_boxed(MPI_Aint value)
{
    box *made = malloc(sizeof(*made));
    if (!made)
        return NULL;
    made->value = value;
    pthread_mutex_lock(&mutex);
    made->next = boxes;
    boxes = made;
    pthread_mutex_unlock(&mutex);
    return &made->value;
}

/* The number that an attribute is. */
MPI_Aint abi_unboxed(void *value, int is_last)
{
    MPI_Aint number = (MPI_Aint)value;
    pthread_mutex_lock(&mutex);
    for (box **at = &boxes; *at; at = &(*at)->next) {
        box *one = *at;
        if ((void *)one != value)
            continue;
        number = one->value;
        if (is_last) {
            *at = one->next;
            free(one);
        }
        break;
    }
    pthread_mutex_unlock(&mutex);
    return number;
}

/* Those that the library sets are read through the pointer that C gets. */
MPI_Aint abi_attribute(int keyval, void *value)
{
    switch (keyval) {
    case MPI_WIN_SIZE:
        return *(const MPI_Aint *)value;
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
        return *(const int *)value;
    default:
        return abi_unboxed(value, 0);
    }
}
