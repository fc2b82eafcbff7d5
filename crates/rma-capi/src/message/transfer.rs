//! Messages between the program's memory and the runtime: the one place that lends that memory.

use super::envelope::{Address, Sender, Wanted};
use crate::abi::MPI_Datatype;
use crate::arguments::{Memory, Wide, count};
use crate::communicator::{Comm, Partners};
use crate::datatype::{self, dense_bytes};
use crate::overlap::{Touched, check_apart};
use crate::process::Sought;
use crate::request::{End, Pending, Status};
use rma::raw::{MatchedMessage, ReceiveMemory, ReceiveRequest, SendMode, SendRequest, ShortReceive};
use rma::{Communicator, Result};
use rma_core::datatype::Datatype;

/// Elements of the program.
#[derive(Clone, Copy)]
pub(crate) struct Buffer<C> {
    pub(crate) name: &'static str,
    pub(crate) address: Memory,
    pub(crate) count: C,
    pub(crate) datatype: MPI_Datatype,
}

/// The same, whatever becomes of the handle of the datatype.
pub(crate) struct MessageElements {
    name: &'static str,
    address: Memory,
    count: u64,
    datatype: Datatype,
}

/// A message that leaves, or, to `MPI_PROC_NULL`, none.
pub(crate) struct Sending(Option<SendRequest>);

/// A message that is waited for.
pub(crate) enum Receiving {
    /// From `MPI_PROC_NULL`.
    Nothing,
    Message {
        sender: Sender,
        request: ReceiveRequest,
    },
    Cancelled,
    /// Its end was taken.
    Over,
}

impl<C: Wide> Buffer<C> {
    /// Checks all but the address, which does not matter where nothing is sent or received.
    pub(crate) fn check_elements(&self) -> Result<()> {
        datatype::committed("datatype", self.datatype)?;
        count("count", self.count).map(drop)
    }

    /// The elements, with all checked but the address.
    pub(crate) fn elements(&self) -> Result<MessageElements> {
        let count = count("count", self.count)?;
        let datatype = datatype::committed("datatype", self.datatype)?;
        Ok(MessageElements { name: self.name, address: self.address, count, datatype })
    }

    /// Room for a message.
    fn room(&self) -> Result<ReceiveMemory> {
        if let Some(len) = dense_bytes(self.count, self.datatype) {
            return self.address.writable(self.name, len).map(ReceiveMemory::from);
        }
        let elements = count("count", self.count)?;
        let datatype = datatype::committed("datatype", self.datatype)?;
        self.address.scatter(self.name, elements, &datatype).map(ReceiveMemory::from)
    }

    /// Checks it, for calls that must not fail after they have done something.
    pub(crate) fn check(&self) -> Result<()> {
        let datatype = datatype::committed("datatype", self.datatype)?;
        self.address.gather(self.name, count("count", self.count)?, &datatype).map(drop)
    }
}

impl<C: Wide> Buffer<C> {
    /// Checks that this buffer, which is sent, and the one of a receive have no byte in common.
    pub(crate) fn check_apart(&self, received: &Self) -> Result<()> {
        let (sent, room) = (self.touched()?, received.touched()?);
        check_apart([self.name, received.name], sent.into_iter(), room.into_iter())
    }

    fn touched(&self) -> Result<Option<Touched>> {
        let datatype = datatype::committed("datatype", self.datatype)?;
        Ok(Touched::by(self.address, count("count", self.count)?, &datatype))
    }
}

impl MessageElements {
    /// Sends them on the fast path, if they lie without gaps; see [`has_left`].
    pub(crate) fn have_left(&self, comm: &Communicator, Address { scope, to, tag }: Address) -> bool {
        let len = self.datatype.dense_len(self.count);
        let span = len.and_then(|len| self.address.readable_at_all(len));
        span.is_some_and(|span| comm.runtime().try_send(to, scope, tag, span))
    }
}

impl Sending {
    /// No message, or one that has left.
    pub(crate) const NOTHING: Self = Self(None);
}

/// Sends a short message of elements without gaps on the fast path; see [`rma::raw::Runtime::try_send`]. `false` when the slow
/// path has to be taken, which also finds out what is wrong with the arguments.
pub(crate) fn has_left<C: Wide>(comm: &Comm, address: Option<Address>, buffer: Buffer<C>) -> bool {
    let Some(Address { scope, to, tag }) = address else { return false };
    let Some(len) = dense_bytes(buffer.count, buffer.datatype) else { return false };
    let Some(span) = buffer.address.readable_at_all(len) else { return false };
    comm.inner.runtime().try_send(to, scope, tag, span)
}

/// What a receive within one call has come to.
pub(crate) enum Now {
    Over(Status),
    Receiving(Receiving),
}

/// Receives a short message of elements without gaps on the fast path; see [`rma::raw::Runtime::try_receive`]. `None` when the
/// slow path has to be taken, which also finds out what is wrong with the arguments.
pub(crate) fn try_receive<C: Wide>(
    comm: &Comm,
    wanted: Option<Wanted>,
    buffer: Buffer<C>,
) -> Option<Result<Now>> {
    let wanted = wanted?;
    let Wanted { scope, source, tag, .. } = wanted;
    let memory = buffer.address.writable_at_all(dense_bytes(buffer.count, buffer.datatype)?)?;
    // Another thread may free the communicator while this one waits.
    let sender = wanted.sender(comm.partners());
    // SAFETY: MPI forbids the program to touch the buffer before the call has returned, and what it answers is waited for.
    let received = unsafe { comm.inner.runtime().try_receive(scope, source, tag, memory) }?;
    // Looked at where it lies: moved first, it would be read in other pieces than it was just written in.
    if let Ok(ShortReceive::Message(waiting)) = &received {
        return Some(Ok(Now::Over(sender.status_of_waiting(*waiting))));
    }
    Some(received.map(|received| match received {
        ShortReceive::Message(waiting) => Now::Over(sender.status_of_waiting(waiting)),
        ShortReceive::Request(request) => Now::Receiving(Receiving::Message { sender, request }),
    }))
}

/// Begins to send from the program's memory.
pub(crate) fn begin_send<C: Wide>(
    comm: &Comm,
    address: Option<Address>,
    buffer: Buffer<C>,
    mode: SendMode,
) -> Result<Sending> {
    let elements = buffer.elements()?;
    let Some(address) = address else { return Ok(Sending::NOTHING) };
    begin_send_elements(&comm.inner, address, &elements, mode)
}

/// As [`begin_send`], of elements whose handle may be gone.
pub(crate) fn begin_send_elements(
    comm: &Communicator,
    Address { scope, to, tag }: Address,
    elements: &MessageElements,
    mode: SendMode,
) -> Result<Sending> {
    let message = elements.address.gather(elements.name, elements.count, &elements.datatype)?;
    let messenger = comm.runtime().messenger();
    // SAFETY: MPI forbids the program to change or free the buffer of a send before the send is complete
    // (§3.7.2), which it learns only when the request has ended.
    let request = unsafe { messenger.begin_send_from(to, scope, tag, message, mode) }?;
    Ok(Sending(Some(request)))
}

/// The elements' bytes, packed.
fn copy(elements: &MessageElements) -> Result<Vec<u8>> {
    let len = datatype::bytes("count", elements.count as i64, &elements.datatype)?;
    let mut message = vec![0; len as usize];
    elements.address.gather(elements.name, elements.count, &elements.datatype)?.read(&mut message);
    Ok(message)
}

/// Begins to send a copy of the elements, so that the program's memory is free again at once.
pub(crate) fn begin_send_of<C: Wide>(
    comm: &Comm,
    address: Option<Address>,
    buffer: Buffer<C>,
) -> Result<Sending> {
    let elements = buffer.elements()?;
    let Some(address) = address else { return Ok(Sending::NOTHING) };
    begin_send_copy(&comm.inner, address, &elements)
}

/// As [`begin_send_of`], of elements whose handle may be gone.
pub(crate) fn begin_send_copy(
    comm: &Communicator,
    Address { scope, to, tag }: Address,
    elements: &MessageElements,
) -> Result<Sending> {
    let message = copy(elements)?;
    Ok(Sending(Some(comm.runtime().messenger().begin_send(to, scope, tag, message)?)))
}

/// Begins to receive into the program's memory.
#[inline]
pub(crate) fn begin_receive<C: Wide>(
    comm: &Comm,
    wanted: Option<Wanted>,
    buffer: Buffer<C>,
) -> Result<Receiving> {
    let Some(wanted) = wanted else {
        return buffer.check_elements().map(|()| Receiving::Nothing);
    };
    begin_receive_into(&comm.inner, wanted.sender(comm.partners()), wanted, buffer.room()?)
}

/// Begins to receive elements whose handle may be gone.
pub(crate) fn begin_receive_elements(
    comm: &Communicator,
    partners: &Partners,
    wanted: Wanted,
    elements: &MessageElements,
) -> Result<Receiving> {
    let memory = elements.address.scatter(elements.name, elements.count, &elements.datatype)?;
    begin_receive_into(comm, wanted.sender(partners), wanted, memory.into())
}

#[inline]
fn begin_receive_into(
    comm: &Communicator,
    sender: Sender,
    Wanted { scope, source, tag, .. }: Wanted,
    memory: ReceiveMemory,
) -> Result<Receiving> {
    let messenger = comm.runtime().messenger();
    // SAFETY: MPI forbids the program to touch the buffer of a receive before the receive is complete
    // (§3.7.2), which it learns only when the request has ended.
    let request = unsafe { messenger.begin_receive_into(scope, source, tag, memory) }?;
    Ok(Receiving::Message { sender, request })
}

/// Begins to receive a message that was taken out of matching.
pub(crate) fn begin_receive_of<C: Wide>(
    partners: Partners,
    message: MatchedMessage,
    buffer: Buffer<C>,
) -> Result<Receiving> {
    let memory = buffer.room()?;
    // SAFETY: as for `begin_receive`.
    let request = unsafe { message.begin_receive_into(memory) };
    Ok(Receiving::Message { sender: Sender::OneOf(partners), request })
}

impl Pending for Sending {
    fn take_end(&mut self) -> Option<End> {
        match &mut self.0 {
            None => Some(End::done()),
            Some(request) => request.test().map(|end| {
                let status = if request.is_withdrawn() { Status::CANCELLED } else { Status::EMPTY };
                End::from(end.map(|()| status))
            }),
        }
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        self.0.iter().for_each(|request| each(Sought::Message(request.name())));
    }

    fn call(&self) -> &'static str {
        "send"
    }

    fn cancel(&mut self) {
        self.0.iter_mut().for_each(SendRequest::withdraw);
    }
}

impl Pending for Receiving {
    fn take_end(&mut self) -> Option<End> {
        let end = match self {
            Self::Nothing => End::with(Status::NO_PROCESS),
            Self::Cancelled => End::with(Status::CANCELLED),
            Self::Message { sender, request } => {
                let end = request.test()?.map(|received| sender.status_of(&received));
                match request.refused() {
                    // The program may want to know what did not fit.
                    Some(refused) => End { status: sender.status_of_waiting(refused), error: end.err() },
                    None => match End::from(end) {
                        end if end.is_no_end() => return Some(end),
                        end => end,
                    },
                }
            }
            Self::Over => return None,
        };
        *self = Self::Over;
        Some(end)
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        match self {
            Self::Message { request, .. } => each(Sought::Message(request.name())),
            Self::Nothing | Self::Cancelled | Self::Over => {}
        }
    }

    fn call(&self) -> &'static str {
        "receive"
    }

    fn cancel(&mut self) {
        *self = match std::mem::replace(self, Self::Over) {
            Self::Message { sender, request } => match request.cancel() {
                Ok(()) => Self::Cancelled,
                Err(request) => Self::Message { sender, request },
            },
            other => other,
        };
    }
}
