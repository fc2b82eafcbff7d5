! The examples of the chapter that are written in Fortran: a distributed array read and added to through a map, whose elements may lie at any
! rank. Prints "no errors" when all is as it should be.
program f08_examples
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: m = 5
  integer :: rank, ranks, bad, i
  integer :: map(m)
  real, asynchronous :: mine(m), wanted(m)

  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  ! Every element of the array is wanted by one rank; ranks and places are mixed.
  map = [(mod(3 * (rank * m + i) + 1, ranks * m), i = 0, m - 1)]
  if (mod(ranks * m, 3) == 0) map = [(mod(rank * m + i + 2, ranks * m), i = 0, m - 1)]
  mine = [(real(rank * m + i), i = 0, m - 1)]
  call by_types()
  call check(all(wanted == map), 'Example 11.1: one get for each rank')
  call by_elements()
  call check(all(wanted == map), 'Example 11.2: one get for each element')
  call sums()
  call check(all(mine == [(real(rank * m + i + 1), i = 0, m - 1)]), 'Example 11.3: sums')
  call finish()

contains

  include 'f08_check.inc'

  subroutine expose(win)
    type(MPI_Win), intent(out) :: win
    integer(MPI_ADDRESS_KIND) :: lb, extent
    call MPI_Type_get_extent(MPI_REAL, lb, extent)
    call MPI_Win_create(mine, m * extent, int(extent), MPI_INFO_NULL, MPI_COMM_WORLD, win)
  end subroutine expose

  ! All elements of one rank by one call: a type for where they lie there, and one for where they go here.
  subroutine by_types()
    type(MPI_Win) :: win
    type(MPI_Datatype) :: here, there
    integer :: other
    integer, allocatable :: places(:)
    wanted = -1
    call expose(win)
    call MPI_Win_fence(0, win)
    do other = 0, ranks - 1
      places = pack([(i, i = 1, m)], map / m == other)
      if (size(places) == 0) cycle
      call MPI_Type_create_indexed_block(size(places), 1, places - 1, MPI_REAL, here)
      call MPI_Type_create_indexed_block(size(places), 1, mod(map(places), m), MPI_REAL, there)
      call MPI_Type_commit(here)
      call MPI_Type_commit(there)
      call MPI_Get(wanted, 1, here, other, 0_MPI_ADDRESS_KIND, 1, there, win)
      call MPI_Type_free(here)
      call MPI_Type_free(there)
    end do
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine by_types

  subroutine by_elements()
    type(MPI_Win) :: win
    wanted = -1
    call expose(win)
    call MPI_Win_fence(0, win)
    do i = 1, m
      call MPI_Get(wanted(i), 1, MPI_REAL, map(i) / m, int(mod(map(i), m), MPI_ADDRESS_KIND), 1, MPI_REAL, win)
    end do
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine by_elements

  subroutine sums()
    type(MPI_Win) :: win
    real, asynchronous :: one
    one = 1
    call expose(win)
    call MPI_Win_fence(0, win)
    do i = 1, m
      call MPI_Accumulate(one, 1, MPI_REAL, map(i) / m, int(mod(map(i), m), MPI_ADDRESS_KIND), 1, MPI_REAL, &
          MPI_SUM, win)
    end do
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine sums
end program f08_examples
