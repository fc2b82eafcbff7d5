//! Persistent sends and receives (MPI 5.0 §3.9).

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::message::persistent::{Manner, receive_init, send_init};
use rma::raw::SendMode;
use std::ffi::c_int;

forms! {
    /// `MPI_Send_init` (§3.9).
    fn MPI_Send_init | MPI_Send_init_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        send_init(process, (buf, count, datatype), dest, tag, comm, Manner::Mode(SendMode::Standard), request)
    }

    /// `MPI_Bsend_init` (§3.9).
    fn MPI_Bsend_init | MPI_Bsend_init_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        send_init(process, (buf, count, datatype), dest, tag, comm, Manner::Buffered, request)
    }

    /// `MPI_Ssend_init` (§3.9).
    fn MPI_Ssend_init | MPI_Ssend_init_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        send_init(
            process,
            (buf, count, datatype),
            dest,
            tag,
            comm,
            Manner::Mode(SendMode::Synchronous),
            request,
        )
    }

    /// `MPI_Rsend_init` (§3.9): as a standard send, which the standard allows.
    fn MPI_Rsend_init | MPI_Rsend_init_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        send_init(process, (buf, count, datatype), dest, tag, comm, Manner::Mode(SendMode::Standard), request)
    }

    /// `MPI_Recv_init` (§3.9).
    fn MPI_Recv_init | MPI_Recv_init_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        receive_init(process, (buf, count, datatype), source, tag, comm, request)
    }
}
