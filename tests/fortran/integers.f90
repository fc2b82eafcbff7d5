! Handles as integers, by the module mpi: a section, procedures that are called, a status. Prints "no errors" when all is as it should be.
module integers_procedures
  implicit none
contains
  subroutine longest(invec, inoutvec, len, datatype)
    integer :: len, datatype, invec(len), inoutvec(len)
    if (datatype /= 0) inoutvec = max(invec, inoutvec)
  end subroutine longest
end module integers_procedures

program integers
  use mpi
  use integers_procedures
  implicit none
  integer :: ierr, rank, ranks, op, comm, keyval, length, bad
  integer :: a(3), b(3), status(MPI_STATUS_SIZE), as_it_is(MPI_STATUS_SIZE)
  integer(MPI_ADDRESS_KIND) :: value, base
  type(MPI_Status) :: of_types
  character(len=MPI_MAX_OBJECT_NAME) :: name
  logical :: flag
  bad = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Op_create(longest, .true., op, ierr)
  a = [rank, 2, -rank]
  call MPI_Allreduce(a, b, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call check(all(b == [ranks - 1, 2, 0]), 'an operation')
  call MPI_Op_free(op, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 4_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
  call check(flag .and. value == 4, 'an attribute')
  call MPI_Comm_set_name(comm, 'mine', ierr)
  call MPI_Comm_get_name(comm, name, length, ierr)
  call check(name == 'mine' .and. length == 4, 'a name')
  call MPI_Sendrecv(a(1:3:2), 2, MPI_INTEGER, rank, 5, b(3:1:-2), 2, MPI_INTEGER, rank, 5, comm, status, ierr)
  call check(b(1) == -rank .and. b(3) == rank .and. status(MPI_TAG) == 5, 'a section')
  call MPI_Status_f2f08(status, of_types)
  call MPI_Status_f082f(of_types, as_it_is)
  call check(of_types%MPI_TAG == 5 .and. all(as_it_is == status), 'a status')
  call MPI_Comm_free(comm, ierr)
  call check(comm == MPI_COMM_NULL, 'a handle that is freed')
  call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, ierr)
  call check(base /= 0, 'an address')
  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. bad == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)

contains

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    bad = bad + 1
    print '(a,i0,2a)', 'rank ', rank, ': ', what
  end subroutine check
end program integers
