! The chapter's examples whose code is C or none, in Fortran: epochs between ranks of a ring, locks, double buffers, a semaphore,
! critical regions, loads and stores, requests, a list. Prints "no errors" when all is as it should be.
program f08_chapter
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 12
  integer :: rank, ranks, next, before, bad
  integer :: one = 1, nothing = 0

  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call epoch_and_lock()
  call borders(is_by_groups=.false.)
  call borders(is_by_groups=.true.)
  call double_buffer()
  call semaphore()
  call two_in_a_region()
  call many_in_a_region()
  call loads_and_stores()
  call pipeline()
  call list()
  call finish()

contains

  include 'f08_check.inc'

  ! Integers of the library's.
  subroutine allocated(count, memory, win)
    integer, intent(in) :: count
    integer, pointer, intent(out) :: memory(:)
    type(MPI_Win), intent(out) :: win
    type(c_ptr) :: base
    call MPI_Win_allocate(int(4 * count, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [count])
  end subroutine allocated

  function single(other) result(group)
    integer, intent(in) :: other
    type(MPI_Group) :: group, all
    call MPI_Comm_group(MPI_COMM_WORLD, all)
    call MPI_Group_incl(all, 1, [other], group)
    call MPI_Group_free(all)
  end function single

  ! Examples 11.4 to 11.8 and 11.11: a target that posts, one that is locked, and stores of its own that others read.
  subroutine epoch_and_lock()
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: mine
    type(MPI_Win) :: win
    type(MPI_Group) :: sources, targets
    call allocated(2, memory, win)
    sources = single(before)
    targets = single(next)
    memory = -1
    mine = 40 + rank
    call MPI_Win_post(sources, 0, win)
    call MPI_Win_start(targets, 0, win)
    call MPI_Put(mine, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_complete(win)
    call MPI_Win_wait(win)
    call check(memory(1) == 40 + before .and. memory(2) == -1, 'Example 11.4: a put to a target that has posted')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Group_free(sources)
    call MPI_Group_free(targets)
    mine = 50 + rank
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win)
    call MPI_Put(mine, 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_unlock(next, win)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win)
    memory(2) = 60 + rank
    call MPI_Win_unlock(rank, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call check(memory(1) == 50 + before, 'Example 11.5: a put to a target that is locked')
    call MPI_Win_unlock(rank, win)
    call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win)
    call MPI_Get(mine, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_unlock(next, win)
    call check(mine == 60 + next, 'Example 11.6: a store of the target')
    call MPI_Win_free(win)
  end subroutine epoch_and_lock

  ! Examples 11.13 to 11.16: cells of a ring are the sum of themselves and those beside them, whose borders travel.
  subroutine borders(is_by_groups)
    logical, intent(in) :: is_by_groups
    integer, asynchronous :: cells(0:n + 1)
    integer :: whole(0:n * ranks - 1), step, i
    type(MPI_Win) :: win
    type(MPI_Group) :: all, beside
    cells = 0
    cells(1:n) = [(rank * n + i, i = 0, n - 1)]
    whole = [(i, i = 0, n * ranks - 1)]
    call MPI_Win_create(cells, int(4 * (n + 2), MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_get_group(win, all)
    call MPI_Group_incl(all, merge(1, 2, before == next), [before, next], beside)
    call MPI_Group_free(all)
    do step = 1, 3
      if (is_by_groups) then
        call MPI_Win_post(beside, 0, win)
        call MPI_Win_start(beside, 0, win)
      else
        call MPI_Win_fence(MPI_MODE_NOPRECEDE, win)
      end if
      call MPI_Put(cells(1), 1, MPI_INTEGER, before, int(n + 1, MPI_ADDRESS_KIND), 1, MPI_INTEGER, win)
      call MPI_Put(cells(n), 1, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
      if (is_by_groups) then
        call MPI_Win_complete(win)
        call MPI_Win_wait(win)
      else
        call MPI_Win_fence(ior(MPI_MODE_NOSTORE, MPI_MODE_NOSUCCEED), win)
      end if
      cells(1:n) = cells(0:n - 1) + cells(1:n) + cells(2:n + 1)
      whole = cshift(whole, -1) + whole + cshift(whole, 1)
    end do
    call check(all_equal(cells(1:n), whole(rank * n:)), 'Examples 11.13 and 11.15: cells of a ring')
    call MPI_Group_free(beside)
    call MPI_Win_free(win)
  end subroutine borders

  logical function all_equal(a, b)
    integer, intent(in) :: a(n), b(n)
    all_equal = all(a == b)
  end function all_equal

  ! Example 11.17: two arrays are made of each other in turn, and the next round's epoch is open while this one's ends.
  subroutine double_buffer()
    integer, asynchronous :: a(2), b(2)
    type(MPI_Win) :: wins(2)
    type(MPI_Group) :: sources, targets
    integer :: round
    a = rank
    b = -1
    call MPI_Win_create(a, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, wins(1))
    call MPI_Win_create(b, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, wins(2))
    sources = single(before)
    targets = single(next)
    call MPI_Win_post(sources, 0, wins(2))
    do round = 1, 4
      associate (from => wins(1 + mod(round + 1, 2)), to => wins(1 + mod(round, 2)))
        call MPI_Win_start(targets, 0, to)
        if (mod(round, 2) == 1) then
          call MPI_Put(a, 2, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, to)
        else
          call MPI_Put(b, 2, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, to)
        end if
        call MPI_Win_complete(to)
        if (round < 4) call MPI_Win_post(sources, 0, from)
        call MPI_Win_wait(to)
      end associate
    end do
    call check(all(a == modulo(rank - 4, ranks)), 'Example 11.17: double buffers')
    call MPI_Group_free(sources)
    call MPI_Group_free(targets)
    call MPI_Win_free(wins(1))
    call MPI_Win_free(wins(2))
  end subroutine double_buffer

  integer function read_word(other, word, win)
    integer, intent(in) :: other, word
    type(MPI_Win), intent(in) :: win
    integer, asynchronous :: found
    call MPI_Get_accumulate(nothing, 1, MPI_INTEGER, found, 1, MPI_INTEGER, other, int(word, MPI_ADDRESS_KIND), 1, &
        MPI_INTEGER, MPI_NO_OP, win)
    call MPI_Win_flush(other, win)
    read_word = found
  end function read_word

  subroutine write_word(other, word, value, op, win)
    integer, intent(in) :: other, word, value
    type(MPI_Op), intent(in) :: op
    type(MPI_Win), intent(in) :: win
    call MPI_Accumulate(value, 1, MPI_INTEGER, other, int(word, MPI_ADDRESS_KIND), 1, MPI_INTEGER, op, win)
    call MPI_Win_flush(other, win)
  end subroutine write_word

  ! Example 11.18: all ranks count down and wait for zero.
  subroutine semaphore()
    integer, pointer, asynchronous :: memory(:)
    type(MPI_Win) :: win
    call allocated(1, memory, win)
    call MPI_Win_lock_all(0, win)
    memory = ranks
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call write_word(0, 0, -1, MPI_SUM, win)
    do while (read_word(0, 0, win) /= 0)
    end do
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine semaphore

  ! One more at the first rank, by two operations.
  subroutine raise(word, win)
    integer, intent(in) :: word
    type(MPI_Win), intent(in) :: win
    integer, asynchronous :: value
    integer(MPI_ADDRESS_KIND) :: disp
    disp = word
    call MPI_Get(value, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, win)
    call MPI_Win_flush(0, win)
    value = value + 1
    call MPI_Put(value, 1, MPI_INTEGER, 0, disp, 1, MPI_INTEGER, win)
    call MPI_Win_flush(0, win)
  end subroutine raise

  ! Example 11.19: Peterson's algorithm for ranks 0 and 1.
  subroutine two_in_a_region()
    integer, parameter :: rounds = 10, flag = 0, turn = 1, shared = 2
    integer, pointer, asynchronous :: memory(:)
    type(MPI_Win) :: win
    integer :: round
    call allocated(3, memory, win)
    call MPI_Win_lock_all(0, win)
    memory = 0
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    do round = 1, merge(rounds, 0, rank < 2 .and. ranks > 1)
      call write_word(rank, flag, 1, MPI_REPLACE, win)
      call write_word(0, turn, 1 - rank, MPI_REPLACE, win)
      do while (read_word(1 - rank, flag, win) == 1)
        if (read_word(0, turn, win) == rank) exit
      end do
      call raise(shared, win)
      call write_word(rank, flag, 0, MPI_REPLACE, win)
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call check(read_word(0, shared, win) == merge(2 * rounds, 0, ranks > 1), 'Example 11.19: two in a critical region')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine two_in_a_region

  ! Example 11.20: a lock by compare and swap.
  subroutine many_in_a_region()
    integer, parameter :: rounds = 5
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: found
    type(MPI_Win) :: win
    integer :: round
    call allocated(2, memory, win)
    call MPI_Win_lock_all(0, win)
    memory = 0
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    do round = 1, rounds
      do
        call MPI_Compare_and_swap(one, nothing, found, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, win)
        call MPI_Win_flush(0, win)
        if (found == 0) exit
      end do
      call raise(1, win)
      call MPI_Compare_and_swap(nothing, one, found, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, win)
      call MPI_Win_flush(0, win)
      call check(found == 1, 'Example 11.20: the lock is held')
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call check(read_word(0, 1, win) == rounds * ranks, 'Example 11.20: many in a critical region')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine many_in_a_region

  ! Example 11.21: shared memory, whose stores messages follow.
  subroutine loads_and_stores()
    type(MPI_Comm) :: node
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer, volatile :: x
    integer :: me, size, unit, round
    integer(MPI_ADDRESS_KIND) :: bytes
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node)
    call MPI_Comm_rank(node, me)
    call MPI_Comm_size(node, size)
    bytes = merge(4, 0, me == 0)
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, node, base, win)
    call MPI_Win_shared_query(win, 0, bytes, unit, base)
    call check(bytes == 4 .and. unit == 4, 'Example 11.21: the first rank has one element')
    call c_f_pointer(base, x)
    call MPI_Win_lock_all(MPI_MODE_NOCHECK, win)
    do round = 1, merge(20, 0, size > 1 .and. me < 2)
      if (me == 0) then
        x = round
        call MPI_Win_sync(win)
        call MPI_Send(nothing, 0, MPI_INTEGER, 1, 0, node)
        call MPI_Recv(nothing, 0, MPI_INTEGER, 1, 0, node, MPI_STATUS_IGNORE)
      else
        call MPI_Recv(nothing, 0, MPI_INTEGER, 0, 0, node, MPI_STATUS_IGNORE)
        call MPI_Win_sync(win)
        call check(x == round, 'Example 11.21: a store that a message follows')
        call MPI_Send(nothing, 0, MPI_INTEGER, 0, 0, node)
      end if
    end do
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    call MPI_Comm_free(node)
  end subroutine loads_and_stores

  ! Example 11.22: chunks are fetched, changed and written back, some at once.
  subroutine pipeline()
    integer, parameter :: steps = 10, m = 3
    integer, pointer, asynchronous :: memory(:)
    integer, asynchronous :: chunks(n, m)
    type(MPI_Win) :: win
    type(MPI_Request) :: get, puts(m)
    integer :: step, j, i
    integer(MPI_ADDRESS_KIND) :: disp
    call allocated(n * steps, memory, win)
    call MPI_Win_lock_all(0, win)
    memory = [(1000 * rank + i, i = 1, n * steps)]
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    do step = 1, steps
      j = step
      if (step > m) call MPI_Waitany(m, puts, j, MPI_STATUS_IGNORE)
      disp = n * (step - 1)
      call MPI_Rget(chunks(:, j), n, MPI_INTEGER, next, disp, n, MPI_INTEGER, win, get)
      call MPI_Wait(get, MPI_STATUS_IGNORE)
      chunks(:, j) = 2 * chunks(:, j) + step
      call MPI_Rput(chunks(:, j), n, MPI_INTEGER, next, disp, n, MPI_INTEGER, win, puts(j))
    end do
    call MPI_Waitall(m, puts, MPI_STATUSES_IGNORE)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    do step = 1, steps
      associate (chunk => memory(n * (step - 1) + 1:n * step))
        call check(all(chunk == [(2 * (1000 * rank + n * (step - 1) + i) + step, i = 1, n)]), 'Example 11.22: a pipeline')
      end associate
    end do
    call MPI_Win_unlock(rank, win)
    call MPI_Win_free(win)
  end subroutine pipeline

  ! Example 11.23: a list to which all ranks append. An element has the rank and the address of the next one, and a value.
  subroutine list()
    integer, parameter :: each = 5
    integer(MPI_ADDRESS_KIND), pointer, asynchronous :: elements(:, :)
    integer(MPI_ADDRESS_KIND), asynchronous :: found, read(3)
    integer(MPI_ADDRESS_KIND) :: head, tail, new, other, nil
    integer :: tail_rank, i, count
    integer :: last(0:ranks - 1)
    type(MPI_Win) :: win
    nil = -1
    allocate (elements(3, 0:each))
    elements = nil
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_attach(win, elements, int(24 * (each + 1), MPI_ADDRESS_KIND))
    call MPI_Get_address(elements, head)
    call MPI_Bcast(head, 1, MPI_AINT, 0, MPI_COMM_WORLD)
    tail = head
    tail_rank = 0
    call MPI_Win_lock_all(0, win)
    do i = 1, each
      elements(3, i) = 1000 * rank + i
      call MPI_Win_sync(win)
      call MPI_Get_address(elements(1, i), new)
      other = rank
      do
        call MPI_Compare_and_swap(other, nil, found, MPI_AINT, tail_rank, tail, win)
        call MPI_Win_flush(tail_rank, win)
        if (found == nil) then
          call MPI_Accumulate(new, 1, MPI_AINT, tail_rank, MPI_Aint_add(tail, 8_MPI_ADDRESS_KIND), 1, MPI_AINT, &
              MPI_REPLACE, win)
          call MPI_Win_flush(tail_rank, win)
          tail = new
          tail_rank = rank
          exit
        end if
        count = int(found)
        do
          call MPI_Fetch_and_op(nil, found, MPI_AINT, tail_rank, MPI_Aint_add(tail, 8_MPI_ADDRESS_KIND), MPI_NO_OP, win)
          call MPI_Win_flush(tail_rank, win)
          if (found /= nil) exit
        end do
        tail = found
        tail_rank = count
      end do
    end do
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    last = 0
    count = 0
    tail = head
    tail_rank = 0
    call MPI_Win_lock_all(0, win)
    do while (tail_rank >= 0)
      call MPI_Get(read, 3, MPI_AINT, tail_rank, tail, 3, MPI_AINT, win)
      call MPI_Win_flush(tail_rank, win)
      if (count > 0) then
        i = int(read(3) / 1000)
        call check(read(3) == 1000 * i + last(i) + 1, 'Example 11.23: the order of one rank')
        last(i) = last(i) + 1
      end if
      count = count + 1
      tail_rank = int(read(1))
      tail = read(2)
    end do
    call MPI_Win_unlock_all(win)
    call check(count == 1 + each * ranks, 'Example 11.23: all elements')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_detach(win, elements)
    call MPI_Win_free(win)
    deallocate (elements)
  end subroutine list
end program f08_chapter
