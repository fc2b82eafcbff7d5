! Calls around the chapter by the module mpi_f08, on one rank or more: sections in messages and collectives, callbacks, texts,
! logical values, positions, statuses, names that stand for something. Prints "no errors" when all is as it should be.
! What the library calls; procedures within a program would need an executable stack.
module f08_calls_procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: caught = 0

contains

  subroutine longest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = max(a, b)
  end subroutine longest

  subroutine copied(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm == MPI_COMM_WORLD .and. comm_keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine copied

  subroutine deleted(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm /= MPI_COMM_NULL .and. comm_keyval /= 0 .and. extra_state == 5) caught = int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine deleted

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm /= MPI_COMM_NULL) caught = error_code
  end subroutine on_error

  subroutine asked(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = MPI_UNDEFINED
    status%MPI_TAG = 99
    ierror = MPI_SUCCESS
  end subroutine asked

  subroutine freed(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    caught = int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine freed

  subroutine cancelled(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, complete .or. extra_state == 6)
  end subroutine cancelled
end module f08_calls_procedures

program f08_calls
  use mpi_f08
  use f08_calls_procedures
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, next, before, bad, given

  bad = 0
  call MPI_Init_thread(MPI_THREAD_SINGLE, given)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call messages()
  call positions()
  call collectives()
  call types_per_rank()
  call operations()
  call attributes()
  call handlers()
  call generalized()
  call texts()
  call topologies()
  call datatypes()
  call finish()

contains

  include 'f08_check.inc'

  subroutine messages()
    integer, asynchronous :: a(4, 4), b(4, 4)
    integer :: i, counted, as_integers(MPI_STATUS_SIZE)
    integer(MPI_COUNT_KIND) :: large
    type(MPI_Status) :: status, again
    type(MPI_Request) :: request
    type(MPI_Message) :: message
    logical :: flag
    a = reshape([(i + 100 * rank, i = 1, 16)], [4, 4])
    b = 0
    call MPI_Irecv(b(4:1:-3, 2:4:2), 4, MPI_INTEGER, before, 7, MPI_COMM_WORLD, request)
    call MPI_Send(a(1:2, 3:4), 4, MPI_INTEGER, next, 7, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call check(all(b(4:1:-3, 2:4:2) == reshape([9, 10, 13, 14], [2, 2]) + 100 * before), 'a section sent')
    call check(count(b == 0) == 12, 'nothing else is received')
    call check(status%MPI_SOURCE == before .and. status%MPI_TAG == 7, 'a status')
    call MPI_Get_count(status, MPI_INTEGER, counted)
    call MPI_Get_count(status, MPI_INTEGER, large)
    call check(counted == 4 .and. large == 4, 'a count')
    call MPI_Status_f082f(status, as_integers)
    call check(as_integers(MPI_TAG) == 7 .and. as_integers(MPI_SOURCE) == before, 'a status of integers')
    call MPI_Status_f2f08(as_integers, again)
    call MPI_Get_count(again, MPI_INTEGER, counted)
    call check(counted == 4, 'there and back')
    call MPI_Test_cancelled(status, flag)
    call check(.not. flag, 'nothing is cancelled')
    call MPI_Isend(a(:, 1), 4, MPI_INTEGER, next, 8, MPI_COMM_WORLD, request)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(before, MPI_ANY_TAG, MPI_COMM_WORLD, flag, message, status)
    end do
    call check(status%MPI_TAG == 8, 'a message is there')
    call MPI_Mrecv(b(2, :), 4, MPI_INTEGER, message, MPI_STATUS_IGNORE)
    call check(all(b(2, :) == [1, 2, 3, 4] + 100 * before) .and. message == MPI_MESSAGE_NULL, 'a row')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Sendrecv_replace(a(::2, 1), 2, MPI_INTEGER, next, 1, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(a(:, 1) == [1 + 100 * before, 2 + 100 * rank, 3 + 100 * before, 4 + 100 * rank]), 'replaced')
  end subroutine messages

  subroutine positions()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: statuses(3)
    integer, asynchronous :: here(3), there
    integer :: index, outcount, indices(3)
    logical :: flag
    requests = MPI_REQUEST_NULL
    call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE)
    call check(index == MPI_UNDEFINED, 'no position')
    there = rank
    call MPI_Irecv(here(2), 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE)
    call check(index == 2, 'a position')
    call MPI_Irecv(here(3), 1, MPI_INTEGER, before, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Send(there, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD)
    call MPI_Waitsome(3, requests, outcount, indices, statuses)
    call check(outcount == 1 .and. indices(1) == 3 .and. statuses(1)%MPI_SOURCE == before, 'positions')
    call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE)
    call check(flag, 'all are complete')
  end subroutine positions

  subroutine collectives()
    integer, asynchronous :: mine(2, 2), all_of_them(2 * ranks), apart(3 * ranks), square(4, ranks), sums(6)
    integer :: i, j
    type(MPI_Request) :: request
    mine = reshape([1, 2, 3, 4], [2, 2]) + 10 * rank
    ! From a row; into every third element: blocks of a single stride.
    apart = -1
    call MPI_Allgather(mine(2, :), 1, MPI_INTEGER, apart(2::3), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(apart(2::3) == [(2 + 10 * i, i = 0, ranks - 1)]) .and. all(apart(1::3) == -1), 'gathered apart')
    ! Into a block of a matrix, which has no single stride.
    square = -1
    call MPI_Allgather(mine(2, :), 2, MPI_INTEGER, square(2:3, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(square(2:3, :) == reshape([((2 * j + 10 * i, j = 1, 2), i = 0, ranks - 1)], [2, ranks])), &
        'gathered into a block')
    call check(all(square(1:4:3, :) == -1), 'nothing around the block')
    square = -1
    call MPI_Iallgather(mine(1, :), 2, MPI_INTEGER, square(2:3, :), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(square(2:3, :) == reshape([((2 * j - 1 + 10 * i, j = 1, 2), i = 0, ranks - 1)], [2, ranks])), &
        'gathered into a block later')
    sums = 0
    call MPI_Allreduce(mine(:, 1), sums(1:4:3), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(sums == [total(1), 0, 0, total(2), 0, 0]), 'sums apart')
    sums = 0
    call MPI_Iallreduce(mine(2, 2:1:-1), sums(6:1:-4), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(sums == [0, total(2), 0, 0, 0, total(4)]), 'sums apart later')
    all_of_them = rank
    call MPI_Bcast(all_of_them(1::2), ranks, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    call check(all(all_of_them(1::2) == ranks - 1) .and. all(all_of_them(2::2) == rank), 'every second of all')
  end subroutine collectives

  integer function total(first)
    integer, intent(in) :: first
    integer :: i
    total = sum([(first + 10 * i, i = 0, ranks - 1)])
  end function total

  subroutine types_per_rank()
    integer, asynchronous :: from(ranks), to(ranks)
    integer, asynchronous :: counts(ranks), places(ranks)
    type(MPI_Datatype), asynchronous :: types(ranks)
    type(MPI_Request) :: request
    integer :: i
    from = [(100 * rank + i, i = 0, ranks - 1)]
    to = -1
    counts = 1
    places = [(4 * i, i = 0, ranks - 1)]
    types = MPI_INTEGER
    call MPI_Alltoallw(from, counts, places, types, to, counts, places, types, MPI_COMM_WORLD)
    call check(all(to == [(100 * i + rank, i = 0, ranks - 1)]), 'a type for each rank')
    to = -1
    call MPI_Ialltoallw(from, counts, places, types, to, counts, places, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(to == [(100 * i + rank, i = 0, ranks - 1)]), 'a type for each rank later')
  end subroutine types_per_rank

  subroutine operations()
    type(MPI_Op) :: op
    integer :: a(3), b(3)
    logical :: flag
    call MPI_Op_create(longest, .true., op)
    call MPI_Op_commutative(op, flag)
    call check(flag, 'it commutes')
    a = [rank, -rank, 5]
    call MPI_Allreduce(a, b, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(b == [ranks - 1, 0, 5]), 'an operation in Fortran')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'it is freed')
    flag = rank == 0
    call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
    call check(flag, 'logical or')
  end subroutine operations

  subroutine attributes()
    interface
      integer(c_int) function c_get_attr(comm, keyval, value, flag) bind(C, name='MPI_Comm_get_attr')
        import
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: keyval
        type(c_ptr), intent(out) :: value
        integer(c_int), intent(out) :: flag
      end function c_get_attr
      integer(c_int) function c_set_attr(comm, keyval, value) bind(C, name='MPI_Comm_set_attr')
        import
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: keyval
        type(c_ptr), value :: value
      end function c_set_attr
    end interface
    type(MPI_Comm) :: comm
    integer :: keyval, outcome
    integer(c_int) :: is_there
    integer(MPI_ADDRESS_KIND) :: value, here
    integer(MPI_ADDRESS_KIND), target :: in_c
    integer(MPI_ADDRESS_KIND), pointer :: through
    type(c_ptr) :: pointer_of_c
    logical :: flag
    call MPI_Comm_create_keyval(copied, deleted, keyval, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == 12, 'an attribute copied')
    caught = 0
    call MPI_Comm_free(comm)
    call check(caught == 12, 'an attribute deleted')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'the greatest tag')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 3_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == 3, 'an attribute the same')
    call MPI_Comm_free(comm)
    ! What one language sets the other one reads: C by a pointer, Fortran as an address.
    outcome = c_get_attr(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), keyval, pointer_of_c, is_there)
    call c_f_pointer(pointer_of_c, through)
    call check(outcome == MPI_SUCCESS .and. is_there /= 0 .and. through == 3, 'an attribute in C')
    in_c = 9
    outcome = c_set_attr(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), keyval, c_loc(in_c))
    call MPI_Get_address(in_c, here)
    call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
    call check(outcome == MPI_SUCCESS .and. flag .and. value == here, 'an attribute of C')
    value = 4
    comm = MPI_COMM_SELF
    call MPI_COMM_NULL_COPY_FN(comm, keyval, here, here, value, flag, outcome)
    call check(value == 4 .and. .not. flag, 'nothing is copied')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call MPI_Comm_free_keyval(keyval)
  end subroutine attributes

  subroutine handlers()
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: comm
    integer :: class
    integer :: a(4)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Errhandler_free(handler)
    call check(handler == MPI_ERRHANDLER_NULL, 'the handle of a handler')
    caught = 0
    a = 0
    call MPI_Send(a, 1, MPI_INTEGER, ranks + 5, 0, comm)
    ! MPICH 5 returns success behind a handler of the program.
    call MPI_Error_class(caught, class)
    call check(class == MPI_ERR_RANK, 'an error caught')
    call MPI_Comm_free(comm)
  end subroutine handlers

  subroutine generalized()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: counted
    logical :: flag
    caught = 0
    call MPI_Grequest_start(asked, freed, cancelled, 6_MPI_ADDRESS_KIND, request)
    call MPI_Test(request, flag, status)
    call check(.not. flag, 'not complete')
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, counted)
    call check(counted == 6 .and. status%MPI_TAG == 99 .and. caught == 6, 'a generalized request')
  end subroutine generalized

  subroutine texts()
    type(MPI_Info) :: info
    character(len=8) :: value
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_INFO_KEY) :: key
    integer :: length, major, minor
    logical :: flag
    call MPI_Info_create(info)
    call MPI_Info_set(info, '  a key ', ' a long value ')
    value = 'same'
    length = 8
    call MPI_Info_get_string(info, 'no key', length, value, flag)
    call check(.not. flag .and. value == 'same', 'a key that is not there')
    length = 0
    call MPI_Info_get_string(info, 'a key', length, value, flag)
    call check(flag .and. length == 12 .and. value == 'same', 'only its length')
    length = 8
    call MPI_Info_get_string(info, 'a key', length, value, flag)
    call check(flag .and. length == 12 .and. value == 'a long v', 'a value cut')
    call MPI_Info_get_nthkey(info, 0, key)
    call check(key == 'a key', 'a key')
    call MPI_Info_get_valuelen(info, key, length, flag)
    call check(flag .and. length == 12, 'the length of a value')
    call MPI_Info_free(info)
    call MPI_Get_library_version(version, length)
    call check(length > 0 .and. len_trim(version) <= length, 'a version')
    call MPI_Get_processor_name(name, length)
    call check(length == len_trim(name), 'the name of a processor')
    call MPI_Get_version(major, minor)
    call check(major >= 5, 'the standard')
    call MPI_Initialized(flag)
    call check(flag .and. MPI_Wtime() > 0, 'initialized')
  end subroutine texts

  subroutine topologies()
    type(MPI_Comm) :: grid, line
    integer :: dims(2), coords(2), source, dest, sizes
    logical :: periods(2)
    integer :: neighbors(2), out(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims)
    call check(product(dims) == ranks, 'dimensions')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid)
    call MPI_Cart_get(grid, 2, dims, periods, coords)
    call check(periods(1) .and. .not. periods(2), 'periods')
    call MPI_Cart_shift(grid, 1, 1, source, dest)
    call check(coords(2) > 0 .or. source == MPI_PROC_NULL, 'the end of a line')
    call MPI_Cart_sub(grid, [.true., .false.], line)
    call MPI_Comm_size(line, sizes)
    call check(sizes == dims(1), 'a line of a grid')
    call MPI_Comm_free(line)
    call MPI_Comm_free(grid)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, &
        MPI_INFO_NULL, .false., grid)
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, neighbors, 1, MPI_INTEGER, grid)
    call check(neighbors(1) == before, 'of a neighbor')
    call MPI_Dist_graph_neighbors(grid, 1, neighbors, MPI_UNWEIGHTED, 1, out, MPI_UNWEIGHTED)
    call check(neighbors(1) == before .and. out(1) == next, 'the neighbors')
    call MPI_Comm_free(grid)
  end subroutine topologies

  subroutine datatypes()
    type(MPI_Datatype) :: made, types(2), again(2)
    integer :: integers(5), counts(4), position, length
    integer(MPI_ADDRESS_KIND) :: addresses(3), lb, extent
    character :: packed(64)
    integer :: a(6), b(3)
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], types, made)
    call MPI_Type_get_envelope(made, counts(1), counts(2), counts(3), counts(4))
    call check(all(counts == [3, 2, 2, MPI_COMBINER_STRUCT]), 'an envelope')
    call MPI_Type_get_contents(made, 3, 2, 2, integers, addresses, again)
    call check(all(integers(1:3) == [2, 1, 2]) .and. again(2) == MPI_DOUBLE_PRECISION, 'contents')
    call MPI_Type_get_extent(made, lb, extent)
    call check(lb == 0 .and. extent == 24, 'an extent')
    call MPI_Type_free(made)
    a = [1, 2, 3, 4, 5, 6]
    position = 0
    call MPI_Pack(a(6:1:-2), 3, MPI_INTEGER, packed, 64, position, MPI_COMM_WORLD)
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, length)
    call check(position == length, 'packed')
    position = 0
    call MPI_Unpack(packed, 64, position, b, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b == [6, 4, 2]), 'unpacked')
    call MPI_Sizeof(a(1), length)
    call check(length == 4, 'the size of an integer')
  end subroutine datatypes
end program f08_calls
