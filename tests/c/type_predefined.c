/* Sizes and extents of the predefined types are those of C, and types are found by their size.
 *
 * ranks: 1
 * memcheck: yes */
#include "check.h"

#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

static void expect(MPI_Datatype type, const char *name, size_t bytes)
{
    int size = -1;
    MPI_Aint low = -1, extent = -1;
    OK(MPI_Type_size(type, &size));
    OK(MPI_Type_get_extent(type, &low, &extent));
    if ((size_t)size != bytes || low != 0 || (size_t)extent != bytes)
        CHECK_SAY("%s: size %d, lower bound %ld, extent %ld, not %zu", name, size, (long)low, (long)extent, bytes);
}

#define EXPECT(type, c_type) expect(type, #type, sizeof(c_type))

/* A pair: the size is without holes, the extent is that of the structure. */
static void pair(MPI_Datatype type, const char *name, size_t first, size_t structure)
{
    int size = -1;
    MPI_Aint low = -1, extent = -1;
    OK(MPI_Type_size(type, &size));
    OK(MPI_Type_get_extent(type, &low, &extent));
    if ((size_t)size != first + sizeof(int) || low != 0 || (size_t)extent != structure)
        CHECK_SAY("%s: size %d, lower bound %ld, extent %ld", name, size, (long)low, (long)extent);
}

#define PAIR(type, c_type) pair(type, #type, sizeof(c_type), sizeof(struct { c_type value; int index; }))

/* A type of a class and a size is one of that size. */
static void matching(int class, size_t bytes)
{
    MPI_Datatype found = MPI_DATATYPE_NULL;
    int size = -1;
    OK(MPI_Type_match_size(class, (int)bytes, &found));
    OK(MPI_Type_size(found, &size));
    CHECK_EQ((size_t)size, bytes);
}

/* The name of a constant, also of one that there may be no type for. */
static void named(MPI_Datatype type, const char *name)
{
    char text[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;
    OK(MPI_Type_get_name(type, text, &length));
    CHECK_TEXT(text, name);
    CHECK_EQ(length, strlen(name));
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    named(MPI_INT, "MPI_INT");
    named(MPI_REAL8, "MPI_REAL8");
#ifdef MPI_ABI_VERSION
    named(MPI_REAL16, "MPI_REAL16");
    named(MPI_COMPLEX32, "MPI_COMPLEX32");
#endif
    EXPECT(MPI_CHAR, char);
    EXPECT(MPI_SIGNED_CHAR, signed char);
    EXPECT(MPI_UNSIGNED_CHAR, unsigned char);
    EXPECT(MPI_SHORT, short);
    EXPECT(MPI_UNSIGNED_SHORT, unsigned short);
    EXPECT(MPI_INT, int);
    EXPECT(MPI_UNSIGNED, unsigned);
    EXPECT(MPI_LONG, long);
    EXPECT(MPI_UNSIGNED_LONG, unsigned long);
    EXPECT(MPI_LONG_LONG, long long);
    EXPECT(MPI_LONG_LONG_INT, long long);
    EXPECT(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    EXPECT(MPI_FLOAT, float);
    EXPECT(MPI_DOUBLE, double);
    EXPECT(MPI_LONG_DOUBLE, long double);
    EXPECT(MPI_WCHAR, wchar_t);
    EXPECT(MPI_C_BOOL, bool);
    EXPECT(MPI_C_COMPLEX, float complex);
    EXPECT(MPI_C_FLOAT_COMPLEX, float complex);
    EXPECT(MPI_C_DOUBLE_COMPLEX, double complex);
    EXPECT(MPI_C_LONG_DOUBLE_COMPLEX, long double complex);
    EXPECT(MPI_INT8_T, int8_t);
    EXPECT(MPI_INT16_T, int16_t);
    EXPECT(MPI_INT32_T, int32_t);
    EXPECT(MPI_INT64_T, int64_t);
    EXPECT(MPI_UINT8_T, uint8_t);
    EXPECT(MPI_UINT16_T, uint16_t);
    EXPECT(MPI_UINT32_T, uint32_t);
    EXPECT(MPI_UINT64_T, uint64_t);
    EXPECT(MPI_AINT, MPI_Aint);
    EXPECT(MPI_COUNT, MPI_Count);
    EXPECT(MPI_OFFSET, MPI_Offset);
    EXPECT(MPI_BYTE, char);
    EXPECT(MPI_PACKED, char);
    PAIR(MPI_FLOAT_INT, float);
    PAIR(MPI_DOUBLE_INT, double);
    PAIR(MPI_LONG_INT, long);
    PAIR(MPI_2INT, int);
    PAIR(MPI_SHORT_INT, short);
    PAIR(MPI_LONG_DOUBLE_INT, long double);
    matching(MPI_TYPECLASS_INTEGER, sizeof(short));
    matching(MPI_TYPECLASS_INTEGER, sizeof(long long));
    matching(MPI_TYPECLASS_REAL, sizeof(float));
    matching(MPI_TYPECLASS_REAL, sizeof(long double));
    matching(MPI_TYPECLASS_COMPLEX, sizeof(float complex));
    matching(MPI_TYPECLASS_COMPLEX, sizeof(double complex));
    return check_end();
}
