! A program of the old kind, good in the fixed and in the free form: mpif.h, handles as integers, buffers that begin within an
! array, procedures outside of modules. Prints "no errors" when all is as it should be.
      subroutine check(holds, what)
      implicit none
      logical holds
      character*(*) what
      integer bad
      common /faults/ bad
      if (holds) return
      bad = bad + 1
      print *, 'not so: ', what
      end subroutine

      subroutine longest(invec, inoutvec, len, datatype)
      implicit none
      integer len, datatype, i, invec(len), inoutvec(len)
      do i = 1, len
        if (datatype .ne. 0) inoutvec(i) = max(invec(i), inoutvec(i))
      end do
      end subroutine

      program included
      implicit none
      include 'mpif.h'
      integer bad, rank, ranks, ierr, win, op, comm, keyval, length
      integer next, previous, i, request
      integer memory(20), a(20), b(3), status(MPI_STATUS_SIZE), dims(2)
      integer (kind=MPI_ADDRESS_KIND) bytes, disp, val
      logical flag, periods(2)
      character*(MPI_MAX_OBJECT_NAME) name
      double precision start
      common /faults/ bad
      common /exposed/ memory
      external check, longest
      bad = 0
      call MPI_INIT(ierr)
      start = MPI_WTIME()
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      next = mod(rank + 1, ranks)
      previous = mod(rank + ranks - 1, ranks)
      do i = 1, 20
        memory(i) = -1
        a(i) = 100 * rank + i
      end do
      bytes = 80
      call MPI_WIN_CREATE(memory, bytes, 4, MPI_INFO_NULL,              &
     &                    MPI_COMM_WORLD, win, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'a window')
      call MPI_WIN_FENCE(0, win, ierr)
      disp = 2
      call MPI_PUT(a(5), 6, MPI_INTEGER, next, disp, 6, MPI_INTEGER,    &
     &             win, ierr)
      call MPI_WIN_FENCE(MPI_MODE_NOSUCCEED, win, ierr)
      do i = 1, 20
        if (i .ge. 3 .and. i .le. 8) then
          call check(memory(i) .eq. 100 * previous + i + 2, 'a put')
        else
          call check(memory(i) .eq. -1, 'what is beside it')
        end if
      end do
      call MPI_WIN_GET_ATTR(win, MPI_WIN_SIZE, val, flag, ierr)
      call check(flag .and. val .eq. bytes, 'an attribute')
      call MPI_WIN_FREE(win, ierr)
      call check(win .eq. MPI_WIN_NULL, 'a handle that is freed')
      call MPI_OP_CREATE(longest, .true., op, ierr)
      a(1) = rank
      a(2) = 2
      a(3) = -rank
      call MPI_ALLREDUCE(a, b, 3, MPI_INTEGER, op, MPI_COMM_WORLD,ierr)
      call check(b(1) .eq. ranks - 1 .and. b(3) .eq. 0, 'an operation')
      call MPI_OP_FREE(op, ierr)
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,                      &
     &          MPI_COMM_NULL_DELETE_FN, keyval, val, ierr)
      val = 4
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, keyval, val, ierr)
      dims(1) = ranks
      dims(2) = 1
      periods(1) = .true.
      periods(2) = .false.
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      val = 0
      call MPI_COMM_GET_ATTR(comm, keyval, val, flag, ierr)
      call check(flag .and. val .eq. 4, 'a copied attribute')
      call MPI_COMM_FREE(comm, ierr)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval,0,  &
     &                       ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval, -5, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_ATTR_GET(comm, keyval, length, flag, ierr)
      call check(flag .and. length .eq. -5, 'an attribute of MPI-1')
      call MPI_COMM_FREE(comm, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval, ierr)
      call MPI_KEYVAL_FREE(keyval, ierr)
      call MPI_TYPE_HVECTOR(2, 1, 12, MPI_INTEGER, op, ierr)
      call MPI_TYPE_EXTENT(op, length, ierr)
      call check(length .eq. 16, 'an extent')
      call MPI_TYPE_FREE(op, ierr)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,   &
     &                     comm, ierr)
      call MPI_COMM_SET_NAME(comm, 'ring', ierr)
      call MPI_COMM_GET_NAME(comm, name, length, ierr)
      call check(name .eq. 'ring' .and. length .eq. 4, 'a name')
      call MPI_CART_SHIFT(comm, 0, 1, previous, next, ierr)
      call MPI_IRECV(b, 1, MPI_INTEGER, previous, 7, comm, request,ierr)
      call MPI_SEND(a(1), 1, MPI_INTEGER, next, 7, comm, ierr)
      call MPI_WAIT(request, status, ierr)
      call check(b(1) .eq. previous, 'a message')
      call check(status(MPI_TAG) .eq. 7, 'a status')
      call MPI_TEST(request, flag, MPI_STATUS_IGNORE, ierr)
      call check(flag .and. request .eq. MPI_REQUEST_NULL, 'a request')
      call MPI_COMM_FREE(comm, ierr)
      call MPI_ALLREDUCE(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM,    &
     &                   MPI_COMM_WORLD, ierr)
      call check(MPI_WTIME() .ge. start, 'time')
      if (rank .eq. 0 .and. bad .eq. 0) print *, 'no errors'
      call MPI_FINALIZE(ierr)
      end program
