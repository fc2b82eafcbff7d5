! The calls of MPI-1 in the module mpi: attributes that are default integers, extents and displacements, error handlers. Prints "no
! errors" when all is as it should be.
module mpi1_procedures
  implicit none
  integer :: copies = 0, deletions = 0, last = 0, errors = 0
  logical :: refuses = .false.
contains
  subroutine copy(oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    integer :: oldcomm, keyval, extra_state, attribute_val_in, attribute_val_out, ierror
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm /= 0 .and. keyval /= 0
    ierror = 0
  end subroutine copy

  subroutine delete(comm, keyval, attribute_val, extra_state, ierror)
    integer :: comm, keyval, attribute_val, extra_state, ierror
    if (comm /= 0 .and. keyval /= 0 .and. extra_state == 5) deletions = deletions + 1
    last = attribute_val
    ierror = merge(1, 0, refuses)
  end subroutine delete

  subroutine handle(comm, code)
    integer :: comm, code
    if (comm /= 0 .and. code /= 0) errors = errors + 1
  end subroutine handle
end module mpi1_procedures

program mpi1
  use mpi
  use mpi1_procedures
  implicit none
  integer :: ierr, rank, bad, keyval, number, comm, datatype, handler, same
  logical :: flag
  bad = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)

  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, number, flag, ierr)
  call check(flag .and. number >= 32767, 'an attribute of the library')
  call MPI_Keyval_create(copy, delete, keyval, 5, ierr)
  number = 3
  call MPI_Attr_get(MPI_COMM_WORLD, keyval, number, flag, ierr)
  call check(.not. flag .and. number == 3, 'an attribute that is not set')
  call MPI_Attr_put(MPI_COMM_WORLD, keyval, -7, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Attr_get(comm, keyval, number, flag, ierr)
  call check(flag .and. number == -2 .and. copies == 1, 'a copied attribute')
  call MPI_Comm_free(comm, ierr)
  call check(deletions == 1 .and. last == -2, 'a deleted attribute')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  refuses = .true.
  call MPI_Attr_delete(MPI_COMM_WORLD, keyval, ierr)
  call check(ierr /= MPI_SUCCESS .and. deletions == 2, 'an attribute that is not given up')
  call MPI_Attr_get(MPI_COMM_WORLD, keyval, number, flag, ierr)
  call check(flag .and. number == -7, 'an attribute that stays')
  refuses = .false.
  call MPI_Attr_delete(MPI_COMM_WORLD, keyval, ierr)
  call check(ierr == MPI_SUCCESS .and. deletions == 3, 'an attribute that is given up')
  call MPI_Keyval_free(keyval, ierr)
  call check(keyval == MPI_KEYVAL_INVALID, 'a key that is freed')
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0, ierr)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
  call MPI_Attr_put(comm, keyval, 8, ierr)
  call MPI_Comm_dup(comm, same, ierr)
  call MPI_Attr_get(same, keyval, number, flag, ierr)
  call check(flag .and. number == 8, 'the function that copies')
  call MPI_Comm_free(same, ierr)
  call MPI_Comm_free(comm, ierr)

  call MPI_Type_hvector(3, 1, 24, MPI_DOUBLE_PRECISION, datatype, ierr)
  call check(extent_of(datatype) == 56, 'an hvector')
  call MPI_Type_free(datatype, ierr)
  call MPI_Type_hindexed(2, [1, 2], [-4, 16], MPI_INTEGER, datatype, ierr)
  call MPI_Type_lb(datatype, number, ierr)
  call check(number == -4, 'a lower bound')
  call MPI_Type_ub(datatype, number, ierr)
  call check(number == 24 .and. extent_of(datatype) == 28, 'an upper bound')
  call MPI_Type_free(datatype, ierr)
  call MPI_Type_struct(2, [1, 2], [0, 16], [MPI_INTEGER, MPI_DOUBLE_PRECISION], datatype, ierr)
  call check(extent_of(datatype) == 32, 'a struct')
  call MPI_Type_free(datatype, ierr)
  call MPI_Type_hvector(2, 1, huge(number), MPI_DOUBLE_PRECISION, datatype, ierr)
  call check(extent_of(datatype) == MPI_UNDEFINED, 'an extent beyond a default integer')
  call MPI_Type_free(datatype, ierr)

  call MPI_Errhandler_create(handle, handler, ierr)
  call MPI_Errhandler_set(MPI_COMM_SELF, handler, ierr)
  call MPI_Errhandler_get(MPI_COMM_SELF, same, ierr)
  call check(same == handler, 'an error handler')
  call MPI_Send(rank, 1, MPI_INTEGER, 1000, 0, MPI_COMM_SELF, ierr)
  call check(errors == 1, 'an error handler that is called')
  call MPI_Errhandler_free(same, ierr)
  call MPI_Errhandler_free(handler, ierr)

  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. bad == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)

contains

  integer function extent_of(datatype) result(extent)
    integer, intent(in) :: datatype
    call MPI_Type_extent(datatype, extent, ierr)
  end function extent_of

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    bad = bad + 1
    print '(a,i0,2a)', 'rank ', rank, ': ', what
  end subroutine check
end program mpi1
