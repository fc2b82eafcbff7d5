/* What the calls of Fortran share: handles as integers, and what is done with arguments that C does not have.
 *
 * Only functions of the standard ABI are called, so that a program runs on any library that has it. */
#ifndef MPI_ABI_F08_SUPPORT_H
#define MPI_ABI_F08_SUPPORT_H

#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <stdlib.h>

/* A procedure of Fortran. */
typedef void (*abi_procedure)(void);

/* Handles whose values the ABI fixes have the same number in both languages. */
enum { ABI_PREDEFINED = 0x400 };

#define ABI_HANDLE(type, name)                                                                     \
    static inline type type##_of(int value)                                                        \
    {                                                                                              \
        return (unsigned)value < ABI_PREDEFINED ? (type)(intptr_t)value : name##_fromint(value);   \
    }                                                                                              \
    static inline int int_of_##type(type handle)                                                   \
    {                                                                                              \
        return (uintptr_t)handle < ABI_PREDEFINED ? (int)(intptr_t)handle : name##_toint(handle);  \
    }
#include "handles.h"

/* Memory of the user as a call takes it. */
typedef struct {
    void *address;
    MPI_Count count;
    MPI_Datatype type;
    /* A datatype made for the call. */
    MPI_Datatype made;
    /* A contiguous copy of a section. */
    void *copy;
} abi_data;

/* Handles of an array. */
typedef struct {
    void **handles;
    MPI_Count count;
    void *few[16];
} abi_handles;

/* choice.c: each begins a use of memory, and answers a code of errors. Texts are the arguments' names. */
void *abi_place(const CFI_cdesc_t *array);
int abi_own(abi_data *data, const CFI_cdesc_t *array, const char *name, const char *count_name, MPI_Count count,
            const char *type_name, MPI_Datatype type);
int abi_blocks(abi_data *data, const CFI_cdesc_t *array, const char *name, MPI_Datatype type, int copies);
int abi_shared(abi_data *data, const CFI_cdesc_t *array, const char *name, int copies);
int abi_contiguous(abi_data *data, const CFI_cdesc_t *array, const char *name);
/* Ends it: at once without a request, or else the copy when the request is complete. */
void abi_data_end(abi_data *data, const CFI_cdesc_t *back, int request);
void abi_copy_back(const CFI_cdesc_t *array, const void *copy);

/* arguments.c */
int *abi_weights(const int *weights);
MPI_Status *abi_status(MPI_Status *status);
MPI_Status *abi_statuses(MPI_Status *statuses);
void abi_from_one(int *positions, int count);
int abi_text(char **text, const CFI_cdesc_t *from, int both_ends);
void abi_answer(const CFI_cdesc_t *to, const char *text);
int abi_mpi_request_begin(abi_handles *to, MPI_Count count, const int *from);
void abi_mpi_request_end(abi_handles *from, int *to);
int abi_mpi_datatype_begin(abi_handles *to, MPI_Count count, const int *from);
void abi_mpi_datatype_end(abi_handles *from, int *to);
int abi_types(MPI_Datatype **to, const CFI_cdesc_t *buffer, int ranks, const int *from);
int abi_ranks(MPI_Comm comm);
int abi_sources(MPI_Comm comm);
int abi_destinations(MPI_Comm comm);
/* A code of the class that says this of it from now on; the class itself where the library takes no text. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int abi_error(int class, const char *format, ...);
int abi_refuse_comm(MPI_Comm comm, int error);
int abi_refuse_win(MPI_Win win, int error);

/* kept.c: memory that lives until a request is complete. */
void abi_keep_memory(void *memory, int request);
void abi_keep_copy(void *copy, const CFI_cdesc_t *back, int request);
void abi_request_back(int *to, MPI_Request from);

/* attributes.c */
MPI_Aint *abi_boxed(MPI_Aint value);
MPI_Aint abi_unboxed(void *value, int is_last);
MPI_Aint abi_attribute(int keyval, void *value);

/* callbacks.c */
void *abi_state(abi_procedure first, abi_procedure second, abi_procedure third, MPI_Aint extra_state);
MPI_User_function *abi_user_function(abi_procedure procedure);
MPI_User_function_c *abi_user_function_c(abi_procedure procedure);
MPI_Comm_errhandler_function *abi_comm_errhandler_function(abi_procedure procedure);
MPI_Win_errhandler_function *abi_win_errhandler_function(abi_procedure procedure);
#ifdef ABI_HAS_MPI_Session
MPI_Session_errhandler_function *abi_session_errhandler_function(abi_procedure procedure);
#endif
MPI_Comm_copy_attr_function abi_comm_copy_attr_function;
MPI_Comm_delete_attr_function abi_comm_delete_attr_function;
MPI_Type_copy_attr_function abi_type_copy_attr_function;
MPI_Type_delete_attr_function abi_type_delete_attr_function;
MPI_Win_copy_attr_function abi_win_copy_attr_function;
MPI_Win_delete_attr_function abi_win_delete_attr_function;
MPI_Grequest_query_function abi_grequest_query_function;
MPI_Grequest_free_function abi_grequest_free_function;
MPI_Grequest_cancel_function abi_grequest_cancel_function;

/* Names of Fortran whose places mean something; the modules have the same. */
extern int abi_mpi_bottom, abi_mpi_in_place, abi_mpi_buffer_automatic;
extern int abi_mpi_unweighted[1], abi_mpi_weights_empty[1];
extern MPI_Status abi_mpi_status_ignore, abi_mpi_statuses_ignore[1];

#endif
