! Windows of a Fortran program, by the module that F08 chooses: mpi_f08, or else mpi. Prints "no errors" when all is as it should be.
program windows
#ifdef F08
  use mpi_f08
#define WINDOW type(MPI_Win)
#define GROUP type(MPI_Group)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#else
  use mpi
#define WINDOW integer
#define GROUP integer
#define DATATYPE integer
#define REQUEST integer
#endif
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 16
  WINDOW :: win, allocated_win
  GROUP :: all, other
  DATATYPE :: every_second
  REQUEST :: request
  integer :: rank, ranks, next, ierr, bad, everywhere, i, one(1), key
  integer(MPI_ADDRESS_KIND) :: bytes, disp, value
  integer, asynchronous :: memory(n), here(n)
  integer :: mine, old
  logical :: flag
  type(c_ptr) :: base
  integer, pointer :: given(:)
  DATATYPE :: precise, ranged, pairs
  real(kind(1d0)), asynchronous :: reals(4), sums(4)

  bad = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  memory = -1
  bytes = n * 4
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call check(ierr == MPI_SUCCESS, 'create')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
  call check(flag .and. value == bytes, 'size')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierr)
  call check(flag .and. value == 4, 'unit')
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierr)
  call MPI_Get_address(memory, disp, ierr)
  call check(flag .and. value == disp, 'base')
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
  call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'flavor')

  ! A datatype with gaps, in a fence.
  call MPI_Type_vector(n / 2, 1, 2, MPI_INTEGER, every_second, ierr)
  call MPI_Type_commit(every_second, ierr)
  here = [(100 * rank + i, i = 1, n)]
  disp = 0
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(here, 1, every_second, next, disp, 1, every_second, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  do i = 1, n
    if (mod(i, 2) == 1) then
      call check(memory(i) == 100 * mod(rank + ranks - 1, ranks) + i, 'put')
    else
      call check(memory(i) == -1, 'gap')
    end if
  end do
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
  call MPI_Type_free(every_second, ierr)

  ! Start and post.
  call MPI_Win_get_group(win, all, ierr)
  one(1) = mod(rank + ranks - 1, ranks)
  call MPI_Group_incl(all, 1, one, other, ierr)
  call MPI_Win_post(other, 0, win, ierr)
  call MPI_Group_free(other, ierr)
  one(1) = next
  call MPI_Group_incl(all, 1, one, other, ierr)
  call MPI_Win_start(other, 0, win, ierr)
  mine = rank
  disp = 1
  call MPI_Put(mine, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_complete(win, ierr)
  call MPI_Win_wait(win, ierr)
  call check(memory(2) == mod(rank + ranks - 1, ranks), 'pscw')
  call MPI_Group_free(other, ierr)
  call MPI_Group_free(all, ierr)
  call MPI_Win_free(win, ierr)

  ! Memory that is given, locks, an atomic, a request.
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, allocated_win, ierr)
  call c_f_pointer(base, given, [n])
  given = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Win_lock_all(0, allocated_win, ierr)
  mine = 1
  disp = 0
  call MPI_Fetch_and_op(mine, old, MPI_INTEGER, 0, disp, MPI_SUM, allocated_win, ierr)
  call MPI_Win_flush(0, allocated_win, ierr)
  call check(old >= 0 .and. old < ranks, 'fetch_and_op')
  disp = 2
  call MPI_Rput(rank, 1, MPI_INTEGER, next, disp, 1, MPI_INTEGER, allocated_win, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Win_unlock_all(allocated_win, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call check(given(3) == mod(rank + ranks - 1, ranks), 'rput')
  disp = 0
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, allocated_win, ierr)
  call MPI_Get(mine, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, allocated_win, ierr)
  call MPI_Win_unlock(0, allocated_win, ierr)
  call check(mine == ranks, 'get')
  call MPI_Win_free(allocated_win, ierr)

  ! Types by precision and range, alone and in a type of the program.
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, precise, ierr)
  call MPI_Type_create_f90_integer(9, ranged, ierr)
  call MPI_Type_contiguous(2, precise, pairs, ierr)
  call MPI_Type_commit(pairs, ierr)
  reals = [(rank + i * 0.5d0, i = 1, 4)]
  sums = -1
  bytes = 4 * 8
  call MPI_Win_create(sums, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  disp = 0
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(reals, 4, precise, next, disp, 4, precise, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Accumulate(reals, 2, pairs, next, disp, 4, precise, MPI_SUM, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call check(count(sums == [(2 * mod(rank + ranks - 1, ranks) + i * 1d0, i = 1, 4)]) == 4, 'precise')
  call MPI_Win_fence(0, win, ierr)
  memory(1:2) = [rank, -1]
  disp = 3
  call MPI_Get_accumulate(memory, 1, ranged, memory(2), 1, ranged, next, disp, 1, ranged, MPI_REPLACE, win, ierr)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
  ! The lower half of a small whole number is zero, and is the other rank's now.
  call check(ierr == MPI_SUCCESS .and. memory(2) == 0, 'ranged')
  one = transfer(sums(4), one, 1)
  call check(one(1) == mod(rank + ranks - 1, ranks), 'replaced')
  call MPI_Win_free(win, ierr)
  call MPI_Type_free(pairs, ierr)

  ! What was attached to one window is not on the next.
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, value, ierr)
  do i = 1, 4
    call MPI_Win_create(sums, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_get_attr(win, key, value, flag, ierr)
    call check(.not. flag, 'attribute of another window')
    value = i
    call MPI_Win_set_attr(win, key, value, ierr)
    call MPI_Win_get_attr(win, key, value, flag, ierr)
    call check(flag .and. value == i, 'attribute')
    call MPI_Win_free(win, ierr)
  end do
  call MPI_Win_free_keyval(key, ierr)

  call MPI_Allreduce(bad, everywhere, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. everywhere == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      bad = bad + 1
      print '(a, i0, 2a)', 'rank ', rank, ': not so: ', what
    end if
  end subroutine
end program
