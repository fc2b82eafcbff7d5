//! How receives begin, of messages that come and of those that a probe has taken.

use super::envelope::Wanted;
use super::probe::take;
use super::transfer::{Buffer, Receiving, begin_receive, begin_receive_of};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide};
use crate::errors::Raiser;
use crate::process::Process;
use rma::Result;
use std::ffi::c_int;

#[inline]
pub(crate) fn begin<C: Wide>(
    process: &'static Process,
    address: Memory,
    count: C,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Result<Receiving> {
    let comm = process.comm(comm)?;
    begin_receive(
        comm,
        Wanted::new(comm.partners(), source, tag)?,
        Buffer { name: "buf", address, count, datatype },
    )
}

/// Begins to receive a message that a probe has taken, and takes the program's handle of it.
pub(crate) fn begin_matched<C: Wide>(
    address: Memory,
    count: C,
    datatype: MPI_Datatype,
    message: Out<MPI_Message>,
) -> Result<(Receiving, Raiser)> {
    let buffer = Buffer { name: "buf", address, count, datatype };
    let handle = message.current().one("message")?;
    if handle == MPI_MESSAGE_NO_PROC {
        buffer.check_elements()?
    } else {
        buffer.check()?
    }
    let taken = take(handle)?;
    message.set("message", MPI_MESSAGE_NULL)?;
    match taken {
        None => Ok((Receiving::Nothing, Raiser::None)),
        Some(taken) => Ok((begin_receive_of(taken.partners, taken.inner, buffer)?, taken.raiser)),
    }
}
