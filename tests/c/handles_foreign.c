/* A handle of one kind where another kind belongs, and a number that never was a handle, are refused with the class of the
 * argument's kind.
 *
 * ranks: 1 2
 * memcheck: yes
 * peers: none, a foreign handle is theirs to crash on */
#include "check.h"

/* Everything that is not of the kind asked for: one live and one predefined handle of each other kind, and rubbish. */
enum { KINDS = 7, RUBBISH = 6 };
enum kind { COMM, GROUP, TYPE, WIN, REQUEST, INFO, OP };
static intptr_t live[KINDS], fixed[KINDS];
static const intptr_t rubbish[RUBBISH] = {3, -1, 0x7fffffff, 0x100000001, (intptr_t)0xdeadbeefdeadbee8u, 0x3ff};

static void refuse(enum kind kind, intptr_t value)
{
    MPI_Group group;
    int n, in = 1, out = 0;
    MPI_Request request;
    switch (kind) {
    case COMM:
        FAILS(MPI_Comm_size((MPI_Comm)value, &n), MPI_ERR_COMM);
        FAILS(MPI_Barrier((MPI_Comm)value), MPI_ERR_COMM);
        break;
    case GROUP:
        FAILS(MPI_Group_size((MPI_Group)value, &n), MPI_ERR_GROUP);
        break;
    case TYPE:
        FAILS(MPI_Type_size((MPI_Datatype)value, &n), MPI_ERR_TYPE);
        FAILS(MPI_Send(&in, 1, (MPI_Datatype)value, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
        break;
    case WIN:
        FAILS(MPI_Win_fence(0, (MPI_Win)value), MPI_ERR_WIN);
        FAILS(MPI_Win_get_group((MPI_Win)value, &group), MPI_ERR_WIN);
        break;
    case REQUEST:
        request = (MPI_Request)value;
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        break;
    case INFO:
        FAILS(MPI_Info_get_nkeys((MPI_Info)value, &n), MPI_ERR_INFO);
        break;
    case OP:
        FAILS(MPI_Allreduce(&in, &out, 1, MPI_INT, (MPI_Op)value, MPI_COMM_SELF), MPI_ERR_OP);
        break;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Win win;
    MPI_Request request;
    MPI_Info info;
    int *base, in = 0, out = 4;
    check_begin(&argc, &argv);
    check_errors_return();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    OK(MPI_Info_create(&info));
    live[COMM] = (intptr_t)comm, fixed[COMM] = (intptr_t)MPI_COMM_WORLD;
    live[GROUP] = (intptr_t)group, fixed[GROUP] = (intptr_t)MPI_GROUP_EMPTY;
    live[TYPE] = (intptr_t)type, fixed[TYPE] = (intptr_t)MPI_INT;
    live[WIN] = (intptr_t)win, fixed[WIN] = (intptr_t)MPI_WIN_NULL;
    live[REQUEST] = (intptr_t)request, fixed[REQUEST] = (intptr_t)MPI_ERRORS_RETURN;
    live[INFO] = (intptr_t)info, fixed[INFO] = (intptr_t)MPI_INFO_NULL;
    live[OP] = (intptr_t)MPI_SUM, fixed[OP] = (intptr_t)MPI_REPLACE;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int other = 0; other < KINDS; other++) {
            if (other == kind)
                continue;
            refuse((enum kind)kind, live[other]);
            refuse((enum kind)kind, fixed[other]);
        }
        for (int i = 0; i < RUBBISH; i++)
            refuse((enum kind)kind, rubbish[i]);
    }
    OK(MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 4);
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
    OK(MPI_Type_free(&type));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&comm));
    return check_end();
}
