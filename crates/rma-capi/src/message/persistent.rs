//! Persistent requests of messages (MPI 5.0 §3.9): the arguments of a send or receive, looked at once and started many times.
//!
//! They keep the communicator and the datatype, so a program may free both while it has the request.

use super::buffered::{Buffered, leave};
use super::envelope::{Address, Wanted};
use super::send::ElementArguments;
use super::send::buffer;
use super::transfer::{
    MessageElements, Receiving, Sending, begin_receive_elements, begin_send_copy, begin_send_elements,
};
use crate::abi::*;
use crate::arguments::{Out, Wide};
use crate::communicator::Partners;
use crate::process::Process;
use crate::request::{Pending, Start, enter_persistent};
use rma::raw::SendMode;
use rma::{Communicator, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// What a send does about its buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Mode(SendMode),
    Buffered,
}

struct SendAgain {
    comm: Arc<Communicator>,
    /// Whose buffer it is, of a buffered send.
    handle: MPI_Comm,
    /// `None`, as for receives, stands for `MPI_PROC_NULL`.
    address: Option<Address>,
    elements: MessageElements,
    manner: Manner,
}

struct ReceiveAgain {
    comm: Arc<Communicator>,
    partners: Partners,
    wanted: Option<Wanted>,
    elements: MessageElements,
}

impl Start for SendAgain {
    fn start(&self) -> Result<Box<dyn Pending>> {
        let Some(address) = self.address else { return Ok(Box::new(Sending::NOTHING)) };
        let sending = match self.manner {
            Manner::Buffered => {
                leave(self.handle, begin_send_copy(&self.comm, address, &self.elements)?);
                return Ok(Box::new(Buffered));
            }
            Manner::Mode(SendMode::Standard) if self.elements.have_left(&self.comm, address) => {
                Sending::NOTHING
            }
            Manner::Mode(mode) => begin_send_elements(&self.comm, address, &self.elements, mode)?,
        };
        Ok(Box::new(sending))
    }
}

impl Start for ReceiveAgain {
    fn start(&self) -> Result<Box<dyn Pending>> {
        let Some(wanted) = self.wanted else { return Ok(Box::new(Receiving::Nothing)) };
        Ok(Box::new(begin_receive_elements(&self.comm, &self.partners, wanted, &self.elements)?))
    }
}

/// Makes a persistent send.
pub(crate) fn send_init<C: Wide>(
    process: &'static Process,
    elements: ElementArguments<C>,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    manner: Manner,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    let (handle, comm, buffer) = (comm, process.comm(comm)?, buffer(elements));
    let address = Address::new(comm.partners(), dest, tag)?;
    if address.is_some() {
        buffer.check()?;
    }
    let comm_kept = Arc::clone(&comm.inner);
    let again = SendAgain { comm: comm_kept, handle, address, elements: buffer.elements()?, manner };
    request.set("request", enter_persistent(again, comm.raiser(handle))?)
}

/// Makes a persistent receive.
pub(crate) fn receive_init<C: Wide>(
    process: &'static Process,
    elements: ElementArguments<C>,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    let (handle, comm, buffer) = (comm, process.comm(comm)?, buffer(elements));
    let wanted = Wanted::new(comm.partners(), source, tag)?;
    if wanted.is_some() {
        buffer.check()?;
    }
    let (comm_kept, partners) = (Arc::clone(&comm.inner), comm.partners().clone());
    let again = ReceiveAgain { comm: comm_kept, partners, wanted, elements: buffer.elements()? };
    request.set("request", enter_persistent(again, comm.raiser(handle))?)
}
