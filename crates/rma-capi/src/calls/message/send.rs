//! Sends (MPI 5.0 §3.2.1, §3.4, §3.7.2).

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::message::send::{send, start};
use rma::raw::SendMode;
use std::ffi::c_int;

forms! {
    /// `MPI_Send` (§3.2.1).
    fn MPI_Send | MPI_Send_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        send(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard)
    }

    /// `MPI_Ssend` (§3.4).
    fn MPI_Ssend | MPI_Ssend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        send(process, (buf, count, datatype), dest, tag, comm, SendMode::Synchronous)
    }

    /// `MPI_Rsend` (§3.4): as a standard send, which the standard allows.
    fn MPI_Rsend | MPI_Rsend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        send(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard)
    }

    /// `MPI_Isend` (§3.7.2).
    fn MPI_Isend | MPI_Isend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard, request)
    }

    /// `MPI_Irsend` (§3.7.2): as a standard send, which the standard allows.
    fn MPI_Irsend | MPI_Irsend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard, request)
    }

    /// `MPI_Issend` (§3.7.2).
    fn MPI_Issend | MPI_Issend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Synchronous, request)
    }
}
