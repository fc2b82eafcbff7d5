/* A library of MPI whose handles and constants nobody knows, in as few functions as a program with a window needs; and, with PROGRAM
 * defined, that program. */
#ifdef PROGRAM
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Win_create_dynamic(long info, long comm, long *win);

int main(int argc, char **argv)
{
    long win = 0;
    return MPI_Init(&argc, &argv) || MPI_Win_create_dynamic(1, 2, &win) || win != 3 || MPI_Finalize();
}
#else
#include <stdio.h>
#include <string.h>

int PMPI_Get_library_version(char *version, int *length)
{
    strcpy(version, "Nobody's MPI 1.0");
    *length = (int)strlen(version);
    return 0;
}

int PMPI_Init(int *argc, char ***argv)
{
    return *argc != 1 || *argv == NULL;
}

int PMPI_Finalize(void)
{
    printf("no errors\n");
    return 0;
}

int PMPI_Win_create_dynamic(long info, long comm, long *win)
{
    *win = info + comm;
    return 0;
}

int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
int MPI_Win_create_dynamic(long info, long comm, long *win) __attribute__((weak, alias("PMPI_Win_create_dynamic")));
#endif
