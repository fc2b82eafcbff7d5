/* Procedures of Fortran that C calls.
 *
 * Where C hands a state over, the state says which procedure it is. Reductions and error handlers have none: there a
 * procedure gets one of a number of functions in C, which it keeps, and which the next object with that procedure gets too. */
#include "support.h"
#include <pthread.h>

/* What C hands over. */
typedef struct {
    abi_procedure procedures[3];
    MPI_Aint extra;
    /* Whether attributes and the extra state are default integers, as in MPI-1. */
    int has_integers;
} state;

void *abi_state(abi_procedure first, abi_procedure second, abi_procedure third, MPI_Aint extra_state)
{
    state *made = malloc(sizeof(*made));
    if (made)
        *made = (state){{first, second, third}, extra_state, 0};
    return made;
}

void abi_keyval_create(abi_procedure copy_fn, abi_procedure delete_fn, int *keyval, const int *extra_state, int *ierror)
{
    state *made = abi_state(copy_fn, delete_fn, NULL, *extra_state);
    if (!made) {
        *ierror = abi_refuse_comm(MPI_COMM_SELF, MPI_ERR_NO_MEM);
        return;
    }
    made->has_integers = 1;
    *ierror = MPI_Comm_create_keyval(abi_comm_copy_attr_function, abi_comm_delete_attr_function, keyval, made);
}

/* How Fortran calls them. */
typedef void copy_function(int *handle, int *keyval, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out, int *flag, int *error);
typedef void delete_function(int *handle, int *keyval, MPI_Aint *value, MPI_Aint *extra, int *error);
typedef void copy_integer(int *handle, int *keyval, int *extra, int *in, int *out, int *flag, int *error);
typedef void delete_integer(int *handle, int *keyval, int *value, int *extra, int *error);

static MPI_Aint copied_integer(state *of, int handle, int keyval, MPI_Aint in, int *flag, int *error)
{
    int value = (int)in, extra = (int)of->extra, given = 0;
    ((copy_integer *)of->procedures[0])(&handle, &keyval, &extra, &value, &given, flag, error);
    return given;
}

static void deleted_integer(state *of, int handle, int keyval, MPI_Aint number, int *error)
{
    int value = (int)number, extra = (int)of->extra;
    ((delete_integer *)of->procedures[1])(&handle, &keyval, &value, &extra, error);
}

static int copied(int handle, int keyval, void *extra, void *in, void *out, int *flag)
{
    state *of = extra;
    MPI_Aint value = abi_unboxed(in, 0), given = 0;
    int error = MPI_SUCCESS, is_copied = 0;
    if (of->has_integers)
        given = copied_integer(of, handle, keyval, value, &is_copied, &error);
    else
        ((copy_function *)of->procedures[0])(&handle, &keyval, &of->extra, &value, &given, &is_copied, &error);
    *flag = error == MPI_SUCCESS && is_copied != 0;
    if (!*flag)
        return error;
    *(void **)out = abi_boxed(given);
    return *(void **)out ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int deleted(int handle, int keyval, void *value, void *extra)
{
    state *of = extra;
    MPI_Aint number = abi_unboxed(value, 0);
    int error = MPI_SUCCESS;
    if (of->has_integers)
        deleted_integer(of, handle, keyval, number, &error);
    else
        ((delete_function *)of->procedures[1])(&handle, &keyval, &number, &of->extra, &error);
    /* An attribute whose function fails stays. */
    if (error == MPI_SUCCESS)
        abi_unboxed(value, 1);
    return error;
}

#define ABI_ATTRIBUTES(type, name)                                                                                 \
    int abi_##name##_copy_attr_function(type object, int keyval, void *extra, void *in, void *out, int *flag)       \
    {                                                                                                              \
        return copied(int_of_##type(object), keyval, extra, in, out, flag);                                        \
    }                                                                                                              \
    int abi_##name##_delete_attr_function(type object, int keyval, void *value, void *extra)                       \
    {                                                                                                              \
        return deleted(int_of_##type(object), keyval, value, extra);                                               \
    }
ABI_ATTRIBUTES(MPI_Comm, comm)
ABI_ATTRIBUTES(MPI_Datatype, type)
ABI_ATTRIBUTES(MPI_Win, win)

int abi_grequest_query_function(void *extra, MPI_Status *status)
{
    state *of = extra;
    int error = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, MPI_Status *, int *))of->procedures[0])(&of->extra, status, &error);
    return error;
}

int abi_grequest_free_function(void *extra)
{
    state *of = extra;
    int error = MPI_SUCCESS;
    ((void (*)(MPI_Aint *, int *))of->procedures[1])(&of->extra, &error);
    free(of);
    return error;
}

int abi_grequest_cancel_function(void *extra, int complete)
{
    state *of = extra;
    int error = MPI_SUCCESS, is_complete = complete != 0;
    ((void (*)(MPI_Aint *, int *, int *))of->procedures[2])(&of->extra, &is_complete, &error);
    return error;
}

/* Functions in C without a state: each calls the procedure at its own place in a table. */
#define ABI_PLACES 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The place of a procedure; -1 when there is none left. */
static int place(abi_procedure *table, abi_procedure procedure)
{
    int found = -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < ABI_PLACES && found < 0; i++) {
        if (!table[i])
            table[i] = procedure;
        if (table[i] == procedure)
            found = i;
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

#define ABI_8(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define ABI_64(m) ABI_8(m, 00) ABI_8(m, 01) ABI_8(m, 02) ABI_8(m, 03) ABI_8(m, 04) ABI_8(m, 05) ABI_8(m, 06) ABI_8(m, 07)

#define ABI_TABLE(kind, type)                                                                     \
    static abi_procedure kind##_table[ABI_PLACES];                                                \
    ABI_64(kind##_body)                                                                           \
    static type *const kind##_functions[ABI_PLACES] = {ABI_64(kind##_name)};                      \
    type *abi_##kind(abi_procedure procedure)                                                     \
    {                                                                                             \
        int at = place(kind##_table, procedure);                                                  \
        return at < 0 ? NULL : kind##_functions[at];                                              \
    }

#define user_function_name(n) user_function_##n,
#define user_function_body(n)                                                                     \
    static void user_function_##n(void *in, void *inout, int *length, MPI_Datatype *type)         \
    {                                                                                             \
        int datatype = int_of_MPI_Datatype(*type);                                                \
        ((void (*)(void *, void *, int *, int *))user_function_table[n])(in, inout, length, &datatype); \
    }
ABI_TABLE(user_function, MPI_User_function)

#define user_function_c_name(n) user_function_c_##n,
#define user_function_c_body(n)                                                                   \
    static void user_function_c_##n(void *in, void *inout, MPI_Count *length, MPI_Datatype *type) \
    {                                                                                             \
        int datatype = int_of_MPI_Datatype(*type);                                                \
        ((void (*)(void *, void *, MPI_Count *, int *))user_function_c_table[n])(in, inout, length, &datatype); \
    }
ABI_TABLE(user_function_c, MPI_User_function_c)

#define comm_errhandler_function_name(n) comm_errhandler_function_##n,
#define comm_errhandler_function_body(n)                                                          \
    static void comm_errhandler_function_##n(MPI_Comm *comm, int *error, ...)                     \
    {                                                                                             \
        int handle = int_of_MPI_Comm(*comm);                                                      \
        ((void (*)(int *, int *))comm_errhandler_function_table[n])(&handle, error);              \
    }
ABI_TABLE(comm_errhandler_function, MPI_Comm_errhandler_function)

#define win_errhandler_function_name(n) win_errhandler_function_##n,
#define win_errhandler_function_body(n)                                                           \
    static void win_errhandler_function_##n(MPI_Win *win, int *error, ...)                        \
    {                                                                                             \
        int handle = int_of_MPI_Win(*win);                                                        \
        ((void (*)(int *, int *))win_errhandler_function_table[n])(&handle, error);               \
    }
ABI_TABLE(win_errhandler_function, MPI_Win_errhandler_function)

#ifdef ABI_HAS_MPI_Session
#define session_errhandler_function_name(n) session_errhandler_function_##n,
#define session_errhandler_function_body(n)                                                           \
    static void session_errhandler_function_##n(MPI_Session *session, int *error, ...)                        \
    {                                                                                             \
        int handle = int_of_MPI_Session(*session);                                                        \
        ((void (*)(int *, int *))session_errhandler_function_table[n])(&handle, error);               \
    }
ABI_TABLE(session_errhandler_function, MPI_Session_errhandler_function)
#endif
