//! Sends (MPI 5.0 §3.2.1, §3.4, §3.7.2).

use super::envelope::Address;
use super::transfer::{Buffer, Sending, begin_send, has_left};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::process::Process;
use crate::request::{enter, wait_for};
use rma::Result;
use rma::raw::SendMode;
use std::ffi::c_int;

forms! {
    /// `MPI_Send` (§3.2.1).
    fn MPI_Send | MPI_Send_c(buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    raises Raiser::Comm(comm); |process| { send(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard) }

    /// `MPI_Ssend` (§3.4).
    fn MPI_Ssend | MPI_Ssend_c(buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    raises Raiser::Comm(comm); |process| { send(process, (buf, count, datatype), dest, tag, comm, SendMode::Synchronous) }

    /// `MPI_Rsend` (§3.4): as a standard send, which the standard allows.
    fn MPI_Rsend | MPI_Rsend_c(buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    raises Raiser::Comm(comm); |process| { send(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard) }

    /// `MPI_Isend` (§3.7.2).
    fn MPI_Isend | MPI_Isend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard, request)
    }

    /// `MPI_Irsend` (§3.7.2): as a standard send, which the standard allows.
    fn MPI_Irsend | MPI_Irsend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Standard, request)
    }

    /// `MPI_Issend` (§3.7.2).
    fn MPI_Issend | MPI_Issend_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        start(process, (buf, count, datatype), dest, tag, comm, SendMode::Synchronous, request)
    }
}

pub(super) type Elements<C> = (Memory, C, MPI_Datatype);

fn send<C: Wide>(
    process: &'static Process,
    elements: Elements<C>,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    mode: SendMode,
) -> Result<()> {
    let (comm, buffer) = (process.comm(comm)?, buffer(elements));
    let address = Address::new(comm.partners(), dest, tag)?;
    if mode == SendMode::Standard && has_left(comm, address, buffer) {
        return Ok(());
    }
    wait_for(process, &mut begin_send(comm, address, buffer, mode)?, None)
}

fn start<C: Wide>(
    process: &'static Process,
    elements: Elements<C>,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    mode: SendMode,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    let (handle, comm, buffer) = (comm, process.comm(comm)?, buffer(elements));
    let address = Address::new(comm.partners(), dest, tag)?;
    let sending = match mode == SendMode::Standard && has_left(comm, address, buffer) {
        true => Sending::NOTHING,
        false => {
            let sending = begin_send(comm, address, buffer, mode)?;
            // The message leaves now: the program may be away from the library for long after this call.
            process.poll();
            sending
        }
    };
    request.set("request", enter(Box::new(sending), comm.raiser(handle))?)
}

pub(super) fn buffer<C: Wide>((address, count, datatype): Elements<C>) -> Buffer<C> {
    Buffer { name: "buf", address, count, datatype }
}
