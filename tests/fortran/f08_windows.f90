! The one-sided chapter by the module mpi_f08, on one rank or more. Prints "no errors" when all is as it should be.
! What the library calls; procedures within a program would need an executable stack.
module f08_windows_procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: caught = 0

contains

  subroutine on_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL) caught = error_code
  end subroutine on_error
end module f08_windows_procedures

program f08_windows
  use mpi_f08
  use f08_windows_procedures
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, next, before, bad

  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call sections_by_fence()
  call sections_partly()
  call sections_by_request()
  call atomics_under_lock()
  call posts_and_starts()
  call allocated_memory()
  call dynamic_memory()
  call attributes_and_names()
  call errors()
  call finish()

contains

  include 'f08_check.inc'

  ! A window over these elements, and a value for each element of each rank.
  subroutine expose(memory, elements, win)
    integer, intent(in) :: elements
    real(c_double), intent(in), asynchronous :: memory(elements)
    type(MPI_Win), intent(out) :: win
    call MPI_Win_create(memory, int(elements * 8, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  end subroutine expose

  subroutine sections_by_fence()
    real(c_double), asynchronous :: a(6, 8), b(6, 8), memory(48), expected(3, 4)
    type(MPI_Win) :: win
    integer :: i, j, ierr
    do j = 1, 8
      do i = 1, 6
        a(i, j) = 100 * rank + 10 * i + j
      end do
    end do
    memory = -1
    b = -2
    call expose(memory, 48, win)
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win)
    ! Backwards in the one dimension, with a step in the other.
    call MPI_Put(a(6:1:-2, 1:8:2), 12, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 12, &
        MPI_DOUBLE_PRECISION, win, ierr)
    call check(ierr == MPI_SUCCESS, 'put of a section')
    call MPI_Win_fence(0, win)
    do j = 1, 4
      do i = 1, 3
        expected(i, j) = 100 * before + 10 * (8 - 2 * i) + 2 * j - 1
      end do
    end do
    call check(all(memory(1:12) == reshape(expected, [12])), 'what a section put')
    call check(all(memory(13:) < 0), 'nothing else is put')
    call MPI_Win_fence(0, win)
    ! Into a section whose both strides are negative: large counts, too.
    call MPI_Get(b(5:1:-2, 7:1:-2), 12_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, rank, &
        0_MPI_ADDRESS_KIND, 12_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, win)
    call MPI_Win_fence(0, win)
    call check(all(b(5:1:-2, 7:1:-2) == expected), 'what is got into a section')
    call check(count(b == -2) == 36, 'nothing else is got')
    ! Each column's sum into one element, from one line of the matrix.
    call MPI_Accumulate(a(2, :), 8, MPI_DOUBLE_PRECISION, next, 20_MPI_ADDRESS_KIND, 8, &
        MPI_DOUBLE_PRECISION, MPI_SUM, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    call check(all(memory(21:28) == -1 + 100 * before + 20 + [(real(j, c_double), j = 1, 8)]), 'a line added')
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL, 'the handle of a freed window')
  end subroutine sections_by_fence

  ! Fewer elements than the section has; elements of several, and parts of, elements of the array.
  subroutine sections_partly()
    real(c_double), asynchronous :: a(4, 5), memory(48)
    complex(c_double), asynchronous :: z(6)
    type(MPI_Win) :: win
    type(MPI_Datatype) :: every_second
    integer :: i
    a = reshape([(real(i, c_double), i = 1, 20)], [4, 5])
    z = [(cmplx(i, -i, c_double), i = 1, 6)]
    memory = 0
    call expose(memory, 48, win)
    call MPI_Type_vector(3, 1, 2, MPI_DOUBLE_PRECISION, every_second)
    call MPI_Type_commit(every_second)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:4:3, :), 5, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, win)
    call MPI_Put(z(1:6:2), 5, MPI_DOUBLE_PRECISION, next, 8_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, win)
    call MPI_Put(a(4:1:-1, 2), 24, MPI_BYTE, next, 16_MPI_ADDRESS_KIND, 1, every_second, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(1:6) == [1, 4, 5, 8, 9, 0]), 'five of ten')
    call check(all(memory(9:14) == [1, -1, 3, -3, 5, 0]), 'halves of elements')
    call check(all(memory(17:22) == [8, 0, 7, 0, 6, 0]), 'bytes into a vector')
    call MPI_Type_free(every_second)
    call MPI_Win_free(win)
  end subroutine sections_partly

  subroutine sections_by_request()
    real(c_double), asynchronous :: a(9), b(9), memory(9)
    type(MPI_Win) :: win
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    integer :: i
    a = [(real(rank * 10 + i, c_double), i = 1, 9)]
    b = 0
    memory = 0
    call expose(memory, 9, win)
    call MPI_Win_lock_all(0, win)
    call MPI_Rput(a(9:1:-2), 5, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, &
        win, requests(1))
    call MPI_Raccumulate(a(2:8:2), 4, MPI_DOUBLE_PRECISION, next, 5_MPI_ADDRESS_KIND, 4, &
        MPI_DOUBLE_PRECISION, MPI_REPLACE, win, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all([(requests(i) == MPI_REQUEST_NULL, i = 1, 2)]), 'requests are complete')
    call MPI_Win_flush(next, win)
    call MPI_Rget(b(9:1:-1), 9, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 9, MPI_DOUBLE_PRECISION, &
        win, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(all(b(9:1:-1) == [a(9:1:-2), a(2:8:2)]), 'by requests, there and back')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine sections_by_request

  subroutine atomics_under_lock()
    integer, asynchronous :: memory(4), one(3), old(3), compare
    type(MPI_Win) :: win
    memory = 0
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    one = 1
    old = -1
    call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)
    call MPI_Fetch_and_op(one(2), old(2), MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush_local(0, win)
    call MPI_Win_unlock(0, win)
    call check(old(2) >= 0 .and. old(2) < ranks .and. old(1) == -1, 'a ticket')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK * 0, win)
    compare = 0
    one(1) = 42
    call MPI_Compare_and_swap(one(1), compare, old(3), MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, win)
    call MPI_Get_accumulate(one(1:3:2), 2, MPI_INTEGER, old(3:1:-2), 2, MPI_INTEGER, next, 2_MPI_ADDRESS_KIND, &
        2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_unlock(next, win)
    call check(old(1) == 0 .and. old(3) == 0, 'what was there before')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call MPI_Win_sync(win)
    call check(all(memory(2:4) == [42, 42, 1]), 'what is there after')
    call check(rank /= 0 .or. memory(1) == ranks, 'all tickets')
    call MPI_Win_unlock(rank, win)
    call MPI_Win_free(win)
  end subroutine atomics_under_lock

  subroutine posts_and_starts()
    integer, asynchronous :: memory(2), mine
    type(MPI_Win) :: win
    type(MPI_Group) :: world, to, from
    logical :: flag
    memory = -1
    mine = rank
    call MPI_Win_create(memory, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_group(win, world)
    call MPI_Group_incl(world, 1, [next], to)
    call MPI_Group_incl(world, 1, [before], from)
    call MPI_Win_post(from, 0, win)
    call MPI_Win_start(to, 0, win)
    call MPI_Put(mine, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_complete(win)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(win, flag)
    end do
    call check(all(memory == [-1, before]), 'post, start, complete, test')
    call MPI_Group_free(world)
    call MPI_Group_free(to)
    call MPI_Group_free(from)
    call MPI_Win_free(win)
  end subroutine posts_and_starts

  subroutine allocated_memory()
    type(MPI_Win) :: win
    type(MPI_Comm) :: node
    type(c_ptr) :: base, theirs
    integer, pointer :: mine(:), neighbor(:)
    integer(MPI_ADDRESS_KIND) :: bytes
    integer :: unit, place, places
    call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, mine, [10])
    mine = rank
    call MPI_Win_fence(0, win)
    call MPI_Put([1, 2, 3], 3, MPI_INTEGER, next, 4_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(mine == [rank, rank, rank, rank, 1, 2, 3, rank, rank, rank]), 'memory of the library')
    call MPI_Win_free(win)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, place)
    call MPI_Comm_size(node, places)
    call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, node, base, win)
    call c_f_pointer(base, mine, [2])
    call MPI_Win_lock_all(MPI_MODE_NOCHECK, win)
    mine = 7 + place
    call MPI_Win_sync(win)
    call MPI_Barrier(node)
    call MPI_Win_sync(win)
    call MPI_Win_shared_query(win, mod(place + 1, places), bytes, unit, theirs)
    call c_f_pointer(theirs, neighbor, [2])
    call check(bytes == 8 .and. unit == 4 .and. all(neighbor == 7 + mod(place + 1, places)), 'memory of a neighbor')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    call MPI_Comm_free(node)
    call MPI_Alloc_mem(64_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
    call c_f_pointer(base, mine, [16])
    mine = 3
    call MPI_Free_mem(mine)
  end subroutine allocated_memory

  subroutine dynamic_memory()
    real(c_double), asynchronous, target :: memory(4)
    real(c_double), asynchronous :: a(4)
    integer(MPI_ADDRESS_KIND) :: here, there
    type(MPI_Win) :: win
    memory = 0
    a = rank
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, memory, 32_MPI_ADDRESS_KIND)
    call MPI_Get_address(memory, here)
    call check(MPI_Aint_diff(MPI_Aint_add(here, 24_MPI_ADDRESS_KIND), here) == 24, 'sums of addresses')
    call MPI_Sendrecv(here, 1, MPI_AINT, before, 0, there, 1, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:4:3), 2, MPI_DOUBLE_PRECISION, next, MPI_Aint_add(there, 8_MPI_ADDRESS_KIND), 2, &
        MPI_DOUBLE_PRECISION, win)
    call MPI_Win_fence(0, win)
    call check(all(memory == [0, before, before, 0]), 'memory attached')
    call MPI_Win_detach(win, memory)
    call MPI_Win_free(win)
  end subroutine dynamic_memory

  subroutine attributes_and_names()
    integer, asynchronous, target :: memory(6)
    integer(MPI_ADDRESS_KIND) :: value, here
    character(len=20) :: name
    type(MPI_Win) :: win
    type(MPI_Info) :: hints
    integer :: length, keyval
    logical :: flag
    call MPI_Win_create(memory, 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check(flag .and. value == 24, 'size')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call check(flag .and. value == 4, 'unit')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag)
    call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'flavor')
    call MPI_Get_address(memory, here)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call check(flag .and. value == here, 'base')
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, keyval, value, flag)
    call check(.not. flag, 'no attribute')
    call MPI_Win_set_attr(win, keyval, -5_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, keyval, value, flag)
    call check(flag .and. value == -5, 'an attribute')
    call MPI_Win_delete_attr(win, keyval)
    call MPI_Win_free_keyval(keyval)
    call check(keyval == MPI_KEYVAL_INVALID, 'a key that is freed')
    call MPI_Win_set_name(win, ' a window   ')
    call MPI_Win_get_name(win, name, length)
    call check(name == ' a window' .and. length == 9, 'a name')
    call MPI_Win_get_info(win, hints)
    call check(hints /= MPI_INFO_NULL, 'hints')
    call MPI_Info_free(hints)
    call MPI_Win_free(win)
  end subroutine attributes_and_names

  subroutine errors()
    real(c_double), asynchronous :: memory(8), a(8)
    type(MPI_Win) :: win
    type(MPI_Errhandler) :: handler, got
    integer :: ierr, class, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    memory = 0
    a = 1
    call expose(memory, 8, win)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_get_errhandler(win, got)
    call check(got == MPI_ERRORS_RETURN, 'the handler that was set')
    call MPI_Win_fence(0, win)
    call MPI_Put(a, 1, MPI_DOUBLE_PRECISION, ranks, 0_MPI_ADDRESS_KIND, 1, MPI_DOUBLE_PRECISION, win, ierr)
    call MPI_Error_class(ierr, class)
    call check(class == MPI_ERR_RANK, 'a rank that there is not')
    call MPI_Error_string(ierr, text, length)
    call check(length > 0 .and. len_trim(text) == length, 'the text of an error')
    ! More than the section has.
    call MPI_Put(a(1:8:2), 5, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, win, ierr)
    call check_says(ierr, MPI_ERR_COUNT, 'origin_count is 5, but the section origin_addr has 4 elements of origin_datatype')
    call MPI_Put(a(5:4), 1, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 1, MPI_DOUBLE_PRECISION, win, ierr)
    call check_says(ierr, MPI_ERR_COUNT, 'origin_count is 1, but origin_addr has no elements')
    call MPI_Put(a(5:4), 0, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 0, MPI_DOUBLE_PRECISION, win, ierr)
    call check(ierr == MPI_SUCCESS, 'nothing of nothing')
    call MPI_Put(a(1:8:2), 1, MPI_2DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 2, MPI_DOUBLE_PRECISION, win, ierr)
    call check_says(ierr, MPI_ERR_UNSUPPORTED_OPERATION, 'origin_addr is a section of elements of 8 bytes, which &
        &elements of origin_datatype, of extent 16, do not fill evenly')
    call MPI_Win_create_errhandler(on_error, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Errhandler_free(handler)
    caught = 0
    call MPI_Win_call_errhandler(win, MPI_ERR_OTHER)
    call check(caught == MPI_ERR_OTHER, 'a handler in Fortran')
    call MPI_Put(a(1:8:2), 5, MPI_DOUBLE_PRECISION, next, 0_MPI_ADDRESS_KIND, 5, MPI_DOUBLE_PRECISION, win, ierr)
    call check_says(ierr, MPI_ERR_COUNT, 'origin_count is 5, but the section origin_addr has 4 elements of origin_datatype')
    call check(ierr == caught, 'a handler hears of sections')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine errors

  ! The code of an error has this class and text.
  subroutine check_says(code, class, text)
    integer, intent(in) :: code, class
    character(*), intent(in) :: text
    character(len=MPI_MAX_ERROR_STRING) :: said
    integer :: its_class, length
    call MPI_Error_class(code, its_class)
    call MPI_Error_string(code, said, length)
    call check(its_class == class .and. said == text, text)
  end subroutine check_says
end program f08_windows
