! What a compiler makes of coarrays, by hand: memory of every image in one window, sections put and got with any stride on both
! sides, images that wait for each other, events, atomics, a critical region, teams. Prints "no errors" when all is as it should be.
module coarrays
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: coarray, image, images

  ! Elements of this image as a matrix, and words for synchronization behind them.
  type :: coarray
    real(c_double), pointer :: local(:, :) => null()
    type(MPI_Comm) :: team
    type(MPI_Win) :: win
    integer :: rows = 0, columns = 0
  contains
    procedure :: make, free, put, get, sync_all, post, wait_for, add, enter, leave
  end type coarray

  ! A critical region, an event, a number.
  integer, parameter :: words = 3
  integer(MPI_ADDRESS_KIND), parameter :: region = 0, event = 1, number = 2

contains

  integer function image(team)
    type(MPI_Comm), intent(in) :: team
    call MPI_Comm_rank(team, image)
    image = image + 1
  end function image

  integer function images(team)
    type(MPI_Comm), intent(in) :: team
    call MPI_Comm_size(team, images)
  end function images

  subroutine make(this, rows, columns, team)
    class(coarray), intent(out) :: this
    integer, intent(in) :: rows, columns
    type(MPI_Comm), intent(in) :: team
    type(c_ptr) :: base
    integer(MPI_ADDRESS_KIND) :: bytes
    this%rows = rows
    this%columns = columns
    this%team = team
    bytes = 8 * (rows * columns + words)
    call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, team, base, this%win)
    call c_f_pointer(base, this%local, [rows, columns])
    call MPI_Win_lock_all(MPI_MODE_NOCHECK, this%win)
    call this%sync_all()
  end subroutine make

  subroutine free(this)
    class(coarray), intent(inout) :: this
    call this%sync_all()
    call MPI_Win_unlock_all(this%win)
    call MPI_Win_free(this%win)
    this%local => null()
  end subroutine free

  ! The elements (first(1):last(1):step(1), first(2):last(2):step(2)) as a type that begins at the first element.
  type(MPI_Datatype) function section(this, first, last, step)
    class(coarray), intent(in) :: this
    integer, intent(in) :: first(2), last(2), step(2)
    type(MPI_Datatype) :: column
    integer :: counts(2)
    counts = max((last - first + step) / step, 0)
    call MPI_Type_create_hvector(counts(1), 1, 8_MPI_ADDRESS_KIND * step(1), MPI_DOUBLE_PRECISION, column)
    call MPI_Type_create_hvector(counts(2), 1, 8_MPI_ADDRESS_KIND * this%rows * step(2), column, section)
    call MPI_Type_commit(section)
    call MPI_Type_free(column)
  end function section

  integer(MPI_ADDRESS_KIND) function place(this, first)
    class(coarray), intent(in) :: this
    integer, intent(in) :: first(2)
    place = (first(1) - 1) + int(this%rows, MPI_ADDRESS_KIND) * (first(2) - 1)
  end function place

  ! A(first:last:step)[to] = values
  subroutine put(this, values, to, first, last, step)
    class(coarray), intent(in) :: this
    real(c_double), intent(in), asynchronous :: values(:, :)
    integer, intent(in) :: to, first(2), last(2), step(2)
    type(MPI_Datatype) :: there
    there = section(this, first, last, step)
    call MPI_Put(values, size(values), MPI_DOUBLE_PRECISION, to - 1, place(this, first), 1, there, this%win)
    call MPI_Win_flush(to - 1, this%win)
    call MPI_Type_free(there)
  end subroutine put

  ! values = A(first:last:step)[from]
  subroutine get(this, values, from, first, last, step)
    class(coarray), intent(in) :: this
    real(c_double), intent(inout), asynchronous :: values(:, :)
    integer, intent(in) :: from, first(2), last(2), step(2)
    type(MPI_Datatype) :: there
    there = section(this, first, last, step)
    call MPI_Get(values, size(values), MPI_DOUBLE_PRECISION, from - 1, place(this, first), 1, there, this%win)
    call MPI_Win_flush(from - 1, this%win)
    call MPI_Type_free(there)
  end subroutine get

  subroutine sync_all(this)
    class(coarray), intent(in) :: this
    call MPI_Win_flush_all(this%win)
    call MPI_Win_sync(this%win)
    call MPI_Barrier(this%team)
    call MPI_Win_sync(this%win)
  end subroutine sync_all

  integer(c_int64_t) function changed(this, at, word, by, op)
    class(coarray), intent(in) :: this
    integer, intent(in) :: at
    integer(MPI_ADDRESS_KIND), intent(in) :: word
    integer(c_int64_t), intent(in) :: by
    type(MPI_Op), intent(in) :: op
    integer(c_int64_t), asynchronous :: old
    call MPI_Fetch_and_op(by, old, MPI_INTEGER8, at - 1, this%rows * this%columns + word, op, this%win)
    call MPI_Win_flush(at - 1, this%win)
    changed = old
  end function changed

  ! An event of an image: it happens, and is waited for.
  subroutine post(this, at)
    class(coarray), intent(in) :: this
    integer, intent(in) :: at
    integer(c_int64_t) :: old
    old = changed(this, at, event, 1_c_int64_t, MPI_SUM)
    if (old < 0) error stop 'an event that was never waited for'
  end subroutine post

  subroutine wait_for(this, times)
    class(coarray), intent(in) :: this
    integer, intent(in) :: times
    integer(c_int64_t) :: old
    do while (changed(this, image(this%team), event, 0_c_int64_t, MPI_NO_OP) < times)
    end do
    old = changed(this, image(this%team), event, -int(times, c_int64_t), MPI_SUM)
    if (old < times) error stop 'an event was lost'
    call MPI_Win_sync(this%win)
  end subroutine wait_for

  integer(c_int64_t) function add(this, at, by)
    class(coarray), intent(in) :: this
    integer, intent(in) :: at
    integer(c_int64_t), intent(in) :: by
    add = changed(this, at, number, by, MPI_SUM)
  end function add

  ! A critical region of all images.
  subroutine enter(this)
    class(coarray), intent(in) :: this
    integer(c_int64_t), asynchronous :: old
    do
      call MPI_Compare_and_swap(int(image(this%team), c_int64_t), 0_c_int64_t, old, MPI_INTEGER8, 0, &
          this%rows * this%columns + region, this%win)
      call MPI_Win_flush(0, this%win)
      if (old == 0) exit
    end do
  end subroutine enter

  subroutine leave(this)
    class(coarray), intent(in) :: this
    integer(c_int64_t) :: holder
    holder = changed(this, 1, region, 0_c_int64_t, MPI_REPLACE)
    if (holder /= image(this%team)) error stop 'another image was in the critical region'
  end subroutine leave
end module coarrays

program f08_coarrays
  use mpi_f08
  use coarrays
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: rows = 6, columns = 5
  type(coarray) :: a, b
  type(MPI_Comm) :: team
  real(c_double), asynchronous :: values(rows, columns), part(3, 2)
  integer :: rank, me, many, right, left, bad, i, j
  integer(c_int64_t) :: old

  bad = 0
  call MPI_Init()
  me = image(MPI_COMM_WORLD)
  rank = me - 1
  many = images(MPI_COMM_WORLD)
  right = mod(me, many) + 1
  left = mod(me + many - 2, many) + 1
  call a%make(rows, columns, MPI_COMM_WORLD)
  call check(all_of(a) == 0, 'zeros at first')
  call a%sync_all()
  values = matrix(me)

  ! Every second row of the columns from the last on, from a section that runs backwards.
  call a%put(values(5:1:-2, 1:2), right, [1, columns], [5, 1], [2, -4])
  call a%sync_all()
  call check(all(a%local(1:5:2, columns) == matrix_part(left, 1)), 'a put, the last column')
  call check(all(a%local(1:5:2, 1) == matrix_part(left, 2)), 'a put, the first column')
  call check(all(a%local(2:6:2, :) == 0) .and. all(a%local(:, 2:4) == 0), 'what is beside a put')
  call a%sync_all()
  a%local = values
  call a%sync_all()
  part = -1
  call a%get(part(:, 2:1:-1), left, [6, 2], [2, 4], [-2, 2])
  values = matrix(left)
  call check(all(part(:, 2) == values(6:2:-2, 2)) .and. all(part(:, 1) == values(6:2:-2, 4)), 'a get')
  call a%sync_all()

  ! A ring of events: each image goes on when the one before it has put.
  if (me == 1) then
    call a%put(values(1:1, 1:1), right, [1, 1], [1, 1], [1, 1])
    call a%post(right)
  end if
  call a%wait_for(1)
  call check(a%local(1, 1) == values_of_first(), 'an event follows a put')
  if (me /= 1) then
    call a%put(a%local(1:1, 1:1), right, [1, 1], [1, 1], [1, 1])
    call a%post(right)
  end if
  call a%sync_all()

  ! A number that all images change, one at a time and by atomics.
  do i = 1, 5
    call a%enter()
    call a%get(part(1:1, 1:1), 1, [2, 2], [2, 2], [1, 1])
    part(1, 1) = part(1, 1) + 1
    call a%put(part(1:1, 1:1), 1, [2, 2], [2, 2], [1, 1])
    call a%leave()
    old = a%add(1, 2_c_int64_t)
    call check(old >= 0 .and. mod(old, 2_c_int64_t) == 0, 'an atomic')
  end do
  call a%sync_all()
  call a%get(part(1:1, 1:1), 1, [2, 2], [2, 2], [1, 1])
  values = matrix(1)
  call check(part(1, 1) == values(2, 2) + 5 * many, 'a critical region')
  old = a%add(1, 0_c_int64_t)
  call check(old == 10 * many, 'atomics')

  ! A team of half the images has a coarray of its own while the other one lives.
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), me, team)
  call b%make(2, 1, team)
  part(1:2, 1) = [real(c_double) :: me, -me]
  if (image(team) == 1) call b%put(part(1:2, 1:1), images(team), [2, 1], [1, 1], [-1, 1])
  call b%sync_all()
  if (image(team) == images(team)) then
    call check(b%local(1, 1) == -b%local(2, 1) .and. mod(nint(b%local(2, 1)), 2) == mod(me, 2), 'a team')
  end if
  call b%free()
  call MPI_Comm_free(team)
  call a%free()
  call finish()

contains

  include 'f08_check.inc'

  real(c_double) function all_of(of)
    type(coarray), intent(in) :: of
    all_of = sum(abs(of%local))
  end function all_of

  ! What an image's elements are.
  function matrix(of)
    integer, intent(in) :: of
    real(c_double) :: matrix(rows, columns)
    matrix = reshape([((100 * of + 10 * i + j, i = 1, rows), j = 1, columns)], [rows, columns])
  end function matrix

  function matrix_part(of, column)
    integer, intent(in) :: of, column
    real(c_double) :: matrix_part(3), all_elements(rows, columns)
    all_elements = matrix(of)
    matrix_part = all_elements(5:1:-2, column)
  end function matrix_part

  ! The element that goes around the ring: the first image has taken it from the image on its left.
  real(c_double) function values_of_first()
    real(c_double) :: all_elements(rows, columns)
    all_elements = matrix(many)
    values_of_first = all_elements(1, 1)
  end function values_of_first
end program f08_coarrays
