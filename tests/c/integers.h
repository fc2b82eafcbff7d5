/* The predefined types that C's integers have: a program says what WHOLE does with each. */
#ifndef INTEGERS_H
#define INTEGERS_H

#define EACH_INTEGER(WHOLE)                             \
    WHOLE(signed char, MPI_SIGNED_CHAR);                \
    WHOLE(unsigned char, MPI_UNSIGNED_CHAR);            \
    WHOLE(short, MPI_SHORT);                            \
    WHOLE(unsigned short, MPI_UNSIGNED_SHORT);          \
    WHOLE(int, MPI_INT);                                \
    WHOLE(unsigned, MPI_UNSIGNED);                      \
    WHOLE(long, MPI_LONG);                              \
    WHOLE(unsigned long, MPI_UNSIGNED_LONG);            \
    WHOLE(long long, MPI_LONG_LONG);                    \
    WHOLE(unsigned long long, MPI_UNSIGNED_LONG_LONG);  \
    WHOLE(int8_t, MPI_INT8_T);                          \
    WHOLE(int16_t, MPI_INT16_T);                        \
    WHOLE(int32_t, MPI_INT32_T);                        \
    WHOLE(int64_t, MPI_INT64_T);                        \
    WHOLE(uint8_t, MPI_UINT8_T);                        \
    WHOLE(uint16_t, MPI_UINT16_T);                      \
    WHOLE(uint32_t, MPI_UINT32_T);                      \
    WHOLE(uint64_t, MPI_UINT64_T);

#endif
