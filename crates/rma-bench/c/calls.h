/* The calls that a library may lack: references are weak, so that the program links without them and their addresses are
 * null. The prototypes are those of the standard; they stand here for headers that do not have them either. */

#ifndef RMA_BENCH_CALLS_H
#define RMA_BENCH_CALLS_H

#include <mpi.h>

#pragma weak MPI_Accumulate
#pragma weak MPI_Cart_create
#pragma weak MPI_Comm_group
#pragma weak MPI_Compare_and_swap
#pragma weak MPI_Fetch_and_op
#pragma weak MPI_Get
#pragma weak MPI_Get_accumulate
#pragma weak MPI_Get_library_version
#pragma weak MPI_Group_free
#pragma weak MPI_Group_incl
#pragma weak MPI_Init_thread
#pragma weak MPI_Irecv
#pragma weak MPI_Isend
#pragma weak MPI_Neighbor_alltoall
#pragma weak MPI_Put
#pragma weak MPI_Recv
#pragma weak MPI_Rput
#pragma weak MPI_Send
#pragma weak MPI_Type_commit
#pragma weak MPI_Type_create_indexed_block
#pragma weak MPI_Type_create_subarray
#pragma weak MPI_Type_free
#pragma weak MPI_Type_vector
#pragma weak MPI_Wait
#pragma weak MPI_Waitall
#pragma weak MPI_Win_allocate
#pragma weak MPI_Win_complete
#pragma weak MPI_Win_create
#pragma weak MPI_Win_fence
#pragma weak MPI_Win_flush
#pragma weak MPI_Win_flush_all
#pragma weak MPI_Win_free
#pragma weak MPI_Win_lock
#pragma weak MPI_Win_lock_all
#pragma weak MPI_Win_post
#pragma weak MPI_Win_start
#pragma weak MPI_Win_unlock
#pragma weak MPI_Win_unlock_all
#pragma weak MPI_Win_wait
#pragma weak MPIX_Put_notify
#pragma weak MPIX_Win_set_num_notify
#pragma weak MPIX_Win_wait_notify

int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, int notify, MPI_Win win);
int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info info, int num_notify);
int MPIX_Win_wait_notify(MPI_Win win, int notify, MPI_Count number, MPI_Count *value);
int MPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                   MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int MPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                         int target_rank, MPI_Aint target_disp, MPI_Win win);
int MPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win);
int MPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
            int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr,
                       int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int MPI_Get_library_version(char *version, int *resultlen);
int MPI_Group_free(MPI_Group *group);
int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
int MPI_Cart_create(MPI_Comm old_comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *comm_cart);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Neighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                          MPI_Datatype recvtype, MPI_Comm comm);
int MPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win);
int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request);
int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_Type_commit(MPI_Datatype *datatype);
int MPI_Type_free(MPI_Datatype *datatype);
int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win);
int MPI_Win_complete(MPI_Win win);
int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);
int MPI_Win_fence(int assertion, MPI_Win win);
int MPI_Win_flush(int rank, MPI_Win win);
int MPI_Win_flush_all(MPI_Win win);
int MPI_Win_free(MPI_Win *win);
int MPI_Win_lock(int lock_type, int rank, int assertion, MPI_Win win);
int MPI_Win_lock_all(int assertion, MPI_Win win);
int MPI_Win_post(MPI_Group group, int assertion, MPI_Win win);
int MPI_Win_start(MPI_Group group, int assertion, MPI_Win win);
int MPI_Win_unlock(int rank, MPI_Win win);
int MPI_Win_unlock_all(MPI_Win win);
int MPI_Win_wait(MPI_Win win);

#endif
