! Sections of arrays in the calls that keep them: persistent and partitioned messages, persistent collectives along edges; backwards
! at both ends of a put and a get; parts of structures, pointers, arrays of fifteen dimensions. Prints "no errors" when all is as it
! should be.
program f08_sections
  use mpi_f08
  implicit none
  integer :: rank, ranks, next, before, bad

  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call kept_messages()
  call backwards_to_backwards()
  call along_edges()
  call parts_of_structures()
  call many_dimensions()
  call finish()

contains

  include 'f08_check.inc'

  ! A value for each place, rank and round.
  elemental integer function number(of, round, i, j)
    integer, intent(in) :: of, round, i, j
    number = 1000 * round + 100 * of + 10 * i + j
  end function number

  subroutine kept_messages()
    integer, asynchronous :: a(6, 6), b(6, 6), parts(12), whole(12)
    type(MPI_Request) :: requests(4)
    integer :: i, j, round
    call MPI_Send_init(a(6:1:-2, 5:1:-2), 9, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(1:6:2, 6:1:-2), 9, MPI_INTEGER, before, 3, MPI_COMM_WORLD, requests(2))
    call MPI_Psend_init(parts(12:1:-2), 3, 2, MPI_INTEGER, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(3))
    call MPI_Precv_init(whole(11:1:-2), 2, 3_MPI_COUNT_KIND, MPI_INTEGER, before, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &
        requests(4))
    do round = 1, 4
      a = reshape([((number(rank, round, i, j), i = 1, 6), j = 1, 6)], [6, 6])
      parts = [(number(rank, round, 0, i), i = 1, 12)]
      b = 0
      whole = 0
      call MPI_Startall(4, requests)
      call MPI_Pready(2, requests(3))
      call MPI_Pready_range(0, 1, requests(3))
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
      call check(all(b(1:6:2, 6:1:-2) == reshape([((number(before, round, i, j), i = 6, 1, -2), j = 5, 1, -2)], [3, 3])), &
          'a persistent message')
      call check(count(b == 0) == 27, 'nothing around it')
      call check(all(whole(11:1:-2) == [(number(before, round, 0, i), i = 12, 1, -2)]), 'a partitioned message')
      call check(all(whole(2:12:2) == 0), 'nothing between its elements')
    end do
    do i = 1, 4
      call MPI_Request_free(requests(i))
    end do
  end subroutine kept_messages

  ! Negative strides in memory here and, by a datatype, there.
  subroutine backwards_to_backwards()
    integer, asynchronous :: a(6, 6), b(6, 6), memory(60)
    type(MPI_Datatype) :: back
    type(MPI_Win) :: win
    integer :: i, j
    a = reshape([((number(rank, 0, i, j), i = 1, 6), j = 1, 6)], [6, 6])
    b = -1
    memory = 0
    call MPI_Type_create_hvector(9, 1, -8_MPI_ADDRESS_KIND, MPI_INTEGER, back)
    call MPI_Type_commit(back)
    call MPI_Win_create(memory, 240_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(6:1:-2, 5:1:-2), 9, MPI_INTEGER, next, 50_MPI_ADDRESS_KIND, 1, back, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(51:35:-2) == [((number(before, 0, i, j), i = 6, 1, -2), j = 5, 1, -2)]), 'put backwards')
    call MPI_Get(b(1:6:2, 6:1:-2), 9, MPI_INTEGER, rank, 50_MPI_ADDRESS_KIND, 1, back, win)
    call MPI_Win_fence(0, win)
    call check(all(reshape(b(1:6:2, 6:1:-2), [9]) == memory(51:35:-2)), 'got backwards')
    call check(count(b == -1) == 27 .and. count(memory == 0) == 51, 'nothing else')
    call MPI_Win_free(win)
    call MPI_Type_free(back)
  end subroutine backwards_to_backwards

  subroutine along_edges()
    integer, asynchronous :: to(12), from(12)
    type(MPI_Comm) :: ring
    type(MPI_Request) :: request
    integer :: round
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring)
    to = rank
    from = -1
    call MPI_Ineighbor_allgather(to(3), 1, MPI_INTEGER, from(12:1:-4), 1, MPI_INTEGER, ring, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(from(12) == before .and. from(8) == next .and. from(4) == -1, 'gathered from neighbors')
    from = -1
    call MPI_Neighbor_alltoall_init(to(12:1:-6), 1, MPI_INTEGER, from(1:12:6), 1, MPI_INTEGER, ring, MPI_INFO_NULL, &
        request)
    do round = 1, 3
      to = number(rank, round, 0, 0)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(from(1) == number(before, round, 0, 0) .and. from(7) == number(next, round, 0, 0), 'of neighbors')
      call check(count(from == -1) == 10, 'nothing between neighbors')
    end do
    call MPI_Request_free(request)
    call MPI_Comm_free(ring)
  end subroutine along_edges

  subroutine parts_of_structures()
    type pair
      sequence
      integer :: x, y
    end type pair
    type(pair), asynchronous, target :: a(5), b(5)
    integer, pointer, asynchronous :: every_second(:)
    integer, allocatable, asynchronous :: cube(:, :, :)
    integer, asynchronous :: line(6)
    integer :: i
    a%x = [(i, i = 1, 5)]
    a%y = -a%x
    b%x = 0
    b%y = 0
    call MPI_Sendrecv(a%y, 5, MPI_INTEGER, next, 0, &
        b(5:1:-1)%x, 5, MPI_INTEGER, &
        before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b%x == [-5, -4, -3, -2, -1]) .and. all(b%y == 0), 'components')
    every_second => a(5:1:-2)%y
    call MPI_Sendrecv(every_second, 3, MPI_INTEGER, next, 0, &
        b(1:5:2)%y, 3, MPI_INTEGER, &
        before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b%y == [-5, 0, -3, 0, -1]), 'a pointer')
    allocate (cube(4, 5, 6))
    cube = reshape([(i, i = 1, 120)], [4, 5, 6])
    call MPI_Sendrecv(cube(4:1:-3, 5:1:-2, 6), 6, MPI_INTEGER, next, 0, &
        line(6:1:-1), 6, MPI_INTEGER, &
        before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(line(6:1:-1) == reshape(cube(4:1:-3, 5:1:-2, 6), [6])), 'an allocated array')
    call MPI_Sendrecv(cube(:, 3:2, :), 0, MPI_INTEGER, next, 0, &
        line(2:1), 0, MPI_INTEGER, &
        before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine parts_of_structures

  subroutine many_dimensions()
    integer, asynchronous, dimension(2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2) :: a, b
    integer :: i
    a = reshape([(i, i = 1, 256)], shape(a))
    b = 0
    call MPI_Sendrecv(a(2:1:-1, :, :, :, 2:1:-1, :, :, :, :, :, :, :, :, :, 2:1:-1), 256, MPI_INTEGER, next, 0, &
        b(:, :, 2:1:-1, :, :, :, :, :, :, :, :, :, :, :, :), 256, MPI_INTEGER, &
        before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(:, :, 2:1:-1, :, :, :, :, :, :, :, :, :, :, :, :) == &
        a(2:1:-1, :, :, :, 2:1:-1, :, :, :, :, :, :, :, :, :, 2:1:-1)), 'fifteen dimensions')
  end subroutine many_dimensions
end program f08_sections
