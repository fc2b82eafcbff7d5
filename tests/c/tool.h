/* What the programs about the tool interface share. */
#ifndef TOOL_H
#define TOOL_H

#include "check.h"

/* A call of the tool interface answers this code: it has no error handlers, and its codes are classes. */
#define ANSWERS(call, code)                                                                    \
    do {                                                                                       \
        DOING(#call);                                                                          \
        int check_code = (call);                                                               \
        if (check_code != (code))                                                              \
            CHECK_SAY("%s: %s, expected %s", #call, check_describe(check_code), #code);        \
    } while (0)

/* A handle of the control variable with this name. */
CHECK_UNUSED static MPI_T_cvar_handle tool_cvar(const char *name)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index = -1, count = -1;
    OK(MPI_T_cvar_get_index(name, &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

/* The value of a control variable that is a number. */
CHECK_UNUSED static unsigned long long tool_number(const char *name)
{
    MPI_T_cvar_handle handle = tool_cvar(name);
    unsigned long long value = 0;
    OK(MPI_T_cvar_read(handle, &value));
    OK(MPI_T_cvar_handle_free(&handle));
    return value;
}

/* Whether a control variable that is a text has this value. */
CHECK_UNUSED static int tool_says(const char *name, const char *expected)
{
    MPI_T_cvar_handle handle = tool_cvar(name);
    char value[1024] = "";
    OK(MPI_T_cvar_read(handle, value));
    OK(MPI_T_cvar_handle_free(&handle));
    return strcmp(value, expected) == 0;
}

/* The value of a control variable that is a word of an enumeration. */
CHECK_UNUSED static int tool_word(const char *name)
{
    MPI_T_cvar_handle handle = tool_cvar(name);
    int value = -1;
    OK(MPI_T_cvar_read(handle, &value));
    OK(MPI_T_cvar_handle_free(&handle));
    return value;
}

/* Whether operations on ranks of one node are packets. */
CHECK_UNUSED static int tool_has_packets(void)
{
    return (!tool_says("RMA_CHANNEL", "auto") && !tool_says("RMA_CHANNEL", "shm,ofi")) || tool_word("RMA_DIRECT") == 0;
}

/* The index of the performance variable with this name and class. */
CHECK_UNUSED static int tool_pvar(const char *name, int var_class)
{
    int index = -1;
    OK(MPI_T_pvar_get_index(name, var_class, &index));
    return index;
}

/* A handle of a performance variable, of an object or of none. */
CHECK_UNUSED static MPI_T_pvar_handle tool_meter(MPI_T_pvar_session session, const char *name, int var_class,
                                                 void *object)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    OK(MPI_T_pvar_handle_alloc(session, tool_pvar(name, var_class), object, &handle, &count));
    CHECK_EQ(count, 1);
    return handle;
}

CHECK_UNUSED static unsigned long long tool_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = ~0ull;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

#endif
