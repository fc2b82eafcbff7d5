//! Buffered sends, and the buffers that programs give for them (MPI 5.0 §3.4, §3.6).
//!
//! The messages lie in memory of the library, as much as they need, whatever has been attached: a buffer is
//! kept to be given back. To detach or flush one is to wait until the messages that would have been in it
//! have left.

use super::envelope::Address;
use super::send::{ElementArguments, buffer};
use super::transfer::{Sending, begin_send_of};
use crate::abi::*;
use crate::arguments::{Memory, Out, Wide, count};
use crate::process::Process;
use crate::request::{End, Pending, wait_for};
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Whose buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BufferOwner {
    /// That of the process, which all share that have none.
    Process,
    Comm(MPI_Comm),
    /// What a communicator was made of is not known: to wait for the messages of a session is to wait for those of the process.
    Session(MPI_Session),
}

impl BufferOwner {
    fn has(self, message: Self) -> bool {
        self == message || matches!((self, message), (Self::Session(_), Self::Process))
    }
}

/// What is attached: address and size. Handles come only once, so the entry of a freed communicator is never
/// found again.
static BUFFERS: Mutex<BTreeMap<BufferOwner, (usize, i64)>> = Mutex::new(BTreeMap::new());

/// The messages that have not left yet.
static LEAVING: Mutex<Vec<(BufferOwner, Sending)>> = Mutex::new(Vec::new());

/// A buffered send, or the wait for all of a buffer.
pub(crate) struct Flush(pub(crate) BufferOwner);

impl Pending for Flush {
    fn take_end(&mut self) -> Option<End> {
        let mut leaving = LEAVING.lock();
        leaving.retain_mut(|(_, sending)| sending.take_end().is_none());
        (!leaving.iter().any(|(owner, _)| self.0.has(*owner))).then(End::done)
    }
}

/// A message that is in a buffer: its send is over.
pub(crate) struct Buffered;

impl Pending for Buffered {
    fn take_end(&mut self) -> Option<End> {
        Some(End::done())
    }
}

pub(crate) fn send<C: Wide>(
    process: &'static Process,
    elements: ElementArguments<C>,
    dest: c_int,
    tag: c_int,
    handle: MPI_Comm,
) -> Result<()> {
    let comm = process.comm(handle)?;
    let address = Address::new(comm.partners(), dest, tag)?;
    leave(handle, begin_send_of(comm, address, buffer(elements))?);
    process.poll();
    Ok(())
}

/// Keeps a message of a communicator as one that is in a buffer.
pub(super) fn leave(comm: MPI_Comm, sending: Sending) {
    let of_comm = BufferOwner::Comm(comm);
    let owner = if BUFFERS.lock().contains_key(&of_comm) { of_comm } else { BufferOwner::Process };
    let mut leaving = LEAVING.lock();
    leaving.retain_mut(|(_, sending)| sending.take_end().is_none());
    leaving.push((owner, sending));
}

pub(crate) fn attach(owner: BufferOwner, memory: Memory, size: impl Wide) -> Result<()> {
    // For `MPI_BUFFER_AUTOMATIC` the size does not matter.
    let is_automatic = memory.address() == MPI_BUFFER_AUTOMATIC;
    let len = if is_automatic { 0 } else { count("size", size)? as i64 };
    if len > 0 {
        memory.check("buffer")?;
    }
    let mut buffers = BUFFERS.lock();
    if buffers.contains_key(&owner) {
        return Err(Error::new(ErrorClass::Buffer, "", "a buffer is attached already"));
    }
    buffers.insert(owner, (memory.address(), len));
    Ok(())
}

pub(crate) fn detach<C: Wide>(
    process: &'static Process,
    owner: BufferOwner,
    address: Out<*mut c_void>,
    size: Out<C>,
) -> Result<()> {
    address.check("buffer_addr")?;
    size.check("size")?;
    let (buffer, len) = BUFFERS.lock().get(&owner).copied().ok_or_else(none_attached)?;
    let len = C::narrow(len).ok_or_else(|| {
        Error::new(ErrorClass::Count, "", format!("the buffer has {len} bytes, which size cannot tell"))
    })?;
    wait_for(process, &mut Flush(owner), None)?;
    BUFFERS.lock().remove(&owner);
    address.set("buffer_addr", std::ptr::with_exposed_provenance_mut(buffer))?;
    size.set("size", len)
}

#[cold]
fn none_attached() -> Error {
    Error::new(ErrorClass::Buffer, "", "no buffer is attached")
}
