//! Buffered sends, and the calls on buffers (MPI 5.0 §3.4, §3.6).

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::message::buffered::{BufferOwner, Buffered, Flush, attach, detach, send};
use crate::request::{enter, wait_for};
use std::ffi::{c_int, c_void};

forms! {
    /// `MPI_Bsend` (§3.4).
    fn MPI_Bsend | MPI_Bsend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| { send(process, (buf, count, datatype), dest, tag, comm) }

    /// `MPI_Ibsend` (§3.7.2): over at once.
    fn MPI_Ibsend | MPI_Ibsend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        send(process, (buf, count, datatype), dest, tag, comm)?;
        request.set("request", enter(Box::new(Buffered), process.comm(comm)?.raiser(comm))?)
    }

    /// `MPI_Buffer_attach` (§3.6).
    fn MPI_Buffer_attach | MPI_Buffer_attach_c(buffer: Memory, size: Number) raises Raiser::None; |_| {
        attach(BufferOwner::Process, buffer, size)
    }

    /// `MPI_Buffer_detach` (§3.6).
    fn MPI_Buffer_detach | MPI_Buffer_detach_c(buffer_addr: Out<*mut c_void>, size: Out<Number>)
    raises Raiser::None; |process| {
        detach(process, BufferOwner::Process, buffer_addr, size)
    }

    /// `MPI_Comm_attach_buffer` (§3.6).
    fn MPI_Comm_attach_buffer | MPI_Comm_attach_buffer_c(comm: MPI_Comm, buffer: Memory, size: Number)
    raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        attach(BufferOwner::Comm(comm), buffer, size)
    }

    /// `MPI_Comm_detach_buffer` (§3.6).
    fn MPI_Comm_detach_buffer | MPI_Comm_detach_buffer_c(
        comm: MPI_Comm, buffer_addr: Out<*mut c_void>, size: Out<Number>,
    )
    raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        detach(process, BufferOwner::Comm(comm), buffer_addr, size)
    }
}

entry! {
    /// `MPI_Buffer_flush` (§3.6).
    fn MPI_Buffer_flush() raises Raiser::None; |process| {
        wait_for(process, &mut Flush(BufferOwner::Process), None)
    }

    /// `MPI_Buffer_iflush` (§3.6).
    fn MPI_Buffer_iflush(request: Out<MPI_Request>) raises Raiser::None; |_| {
        request.check("request")?;
        request.set("request", enter(Box::new(Flush(BufferOwner::Process)), Raiser::None)?)
    }

    /// `MPI_Comm_flush_buffer` (§3.6).
    fn MPI_Comm_flush_buffer(comm: MPI_Comm) raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        wait_for(process, &mut Flush(BufferOwner::Comm(comm)), None)
    }

    /// `MPI_Comm_iflush_buffer` (§3.6).
    fn MPI_Comm_iflush_buffer(comm: MPI_Comm, request: Out<MPI_Request>)
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let raiser = process.comm(comm)?.raiser(comm);
        request.set("request", enter(Box::new(Flush(BufferOwner::Comm(comm))), raiser)?)
    }
}
