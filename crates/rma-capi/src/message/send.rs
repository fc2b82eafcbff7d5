//! What sends do, blocking and with a request.

use super::envelope::Address;
use super::transfer::{Buffer, begin_send, has_left};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::process::Process;
use crate::request::{enter, enter_ended, wait_for};
use rma::Result;
use rma::raw::SendMode;
use std::ffi::c_int;

pub(crate) type ElementArguments<C> = (Memory, C, MPI_Datatype);

pub(crate) fn send<C: Wide>(
    process: &'static Process,
    elements: ElementArguments<C>,
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

pub(crate) fn start<C: Wide>(
    process: &'static Process,
    elements: ElementArguments<C>,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    mode: SendMode,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    let (handle, comm, buffer) = (comm, process.comm(comm)?, buffer(elements));
    let address = Address::new(comm.partners(), dest, tag)?;
    if mode == SendMode::Standard && has_left(comm, address, buffer) {
        return request.set("request", enter_ended()?);
    }
    let sending = begin_send(comm, address, buffer, mode)?;
    // The message leaves now: the program may be away from the library for long after this call.
    process.poll();
    request.set("request", enter(Box::new(sending), comm.raiser(handle))?)
}

pub(super) fn buffer<C: Wide>((address, count, datatype): ElementArguments<C>) -> Buffer<C> {
    Buffer { name: "buf", address, count, datatype }
}
