! Calls that a profiler in Fortran sees: it has the names of the part in C, and calls on by names with a P. Prints "no errors" when
! it has seen them all.
module profiler
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: puts = 0, fences = 0
contains
  subroutine seen_put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, &
      target_datatype, win, ierror) bind(C, name="abi_mpi_put")
    type(*), dimension(..), intent(in), asynchronous :: origin_addr
    integer(c_int), intent(in) :: origin_count, target_rank, target_count
    integer(MPI_ADDRESS_KIND), intent(in) :: target_disp
    type(MPI_Datatype), intent(in) :: origin_datatype, target_datatype
    type(MPI_Win), intent(in) :: win
    integer(c_int), optional, intent(out) :: ierror
    puts = puts + origin_count
    call PMPI_Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, &
      win, ierror)
  end subroutine seen_put

  subroutine seen_fence(assert, win, ierror) bind(C, name="abi_mpi_win_fence")
    integer(c_int), intent(in) :: assert
    type(MPI_Win), intent(in) :: win
    integer(c_int), optional, intent(out) :: ierror
    fences = fences + 1
    call PMPI_Win_fence(assert, win, ierror)
  end subroutine seen_fence
end module profiler

program f08_profiled
  use mpi_f08
  use profiler, only: puts, fences
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, op, keyval, bad
  integer, asynchronous :: memory(8), mine(8)
  logical :: flag
  integer(MPI_ADDRESS_KIND) :: bytes
  double precision :: start
  type(MPI_Win) :: win
  call PMPI_Init()
  start = PMPI_Wtime()
  call PMPI_Initialized(flag)
  bad = merge(0, 1, flag)
  call PMPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  memory = -1
  mine = [(10 * rank + op, op = 1, 8)]
  bytes = 32
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  call MPI_Put(mine(8:2:-2), 4, MPI_INTEGER, mod(rank + 1, ranks), 1_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call PMPI_Put(mine(1), 1, MPI_INTEGER, mod(rank + 1, ranks), 7_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
  call PMPI_Win_fence(0, win)
  mine = 10 * mod(rank + ranks - 1, ranks) + [0, 8, 6, 4, 2, 0, 0, 1]
  if (any(memory(2:5) /= mine(2:5)) .or. memory(8) /= mine(8) .or. any(memory([1, 6, 7]) /= -1)) bad = bad + 1
  if (puts /= 4 .or. fences /= 2 .or. PMPI_Wtime() < start) bad = bad + 1
  call PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call PMPI_Win_set_attr(win, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Win_get_attr(win, keyval, bytes, flag)
  if (.not. flag .or. bytes /= 5) bad = bad + 1
  call MPI_Win_free(win)
  call PMPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. bad == 0) print '(a)', 'no errors'
  call PMPI_Finalize()
end program f08_profiled
