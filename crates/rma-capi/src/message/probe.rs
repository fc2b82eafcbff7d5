//! What probes find (MPI 5.0 §3.8.1, §3.8.2): what a receive would take, and taking it out of matching for a receive of its own.

use super::envelope::{Wanted, status_of_waiting};
use crate::abi::*;
use crate::arguments::Out;
use crate::communicator::{Comm, Partners};
use crate::errors::Raiser;
use crate::handle::Table;
use crate::process::Process;
use crate::request::{Status, StatusOut};
use parking_lot::Mutex;
use rma::raw::MatchedMessage;
use rma::{Error, ErrorClass, Result};

/// A message that a probe has taken.
pub(crate) struct ProbedMessage {
    pub(super) inner: MatchedMessage,
    pub(super) partners: Partners,
    pub(super) raiser: Raiser,
}

pub(crate) static MESSAGES: Table<MPI_Message, Mutex<ProbedMessage>> = Table::new();

impl Raiser {
    /// The communicator that a message is of.
    pub(crate) fn of_message(message: Out<MPI_Message>) -> Self {
        let found = message.current().one("message").ok().and_then(find);
        found.map_or(Self::None, |taken| taken.lock().raiser.clone())
    }
}

/// Takes a message's handle; `None` stands for the message of `MPI_PROC_NULL`.
pub(super) fn take(message: MPI_Message) -> Result<Option<ProbedMessage>> {
    if message == MPI_MESSAGE_NO_PROC {
        return Ok(None);
    }
    let taken = MESSAGES.remove(message).ok_or_else(|| {
        let cause = match message {
            MPI_MESSAGE_NULL => "message is MPI_MESSAGE_NULL".to_owned(),
            message => format!("message {:#x} is no message, or was received", message.0),
        };
        Error::new(ErrorClass::Request, "", cause)
    })?;
    Ok(Some(taken.into_inner()))
}

fn find(message: MPI_Message) -> Option<&'static Mutex<ProbedMessage>> {
    // SAFETY: MPI forbids to receive a message while another thread passes its handle to a call.
    unsafe { MESSAGES.get(message) }
}

pub(crate) fn look(comm: &Comm, wanted: Wanted) -> Result<Option<Status>> {
    let messenger = comm.inner.runtime().messenger();
    let found = messenger.probe(wanted.scope, wanted.source, wanted.tag);
    if found.is_none() {
        messenger.check_source(wanted.scope, wanted.source)?;
    }
    Ok(found.map(|waiting| status_of_waiting(comm.partners(), waiting)))
}

pub(crate) fn take_one(comm: &Comm, wanted: Wanted) -> Result<Option<MatchedMessage>> {
    let messenger = comm.inner.runtime().messenger();
    let taken = messenger.take(wanted.scope, wanted.source, wanted.tag);
    if taken.is_none() {
        messenger.check_source(wanted.scope, wanted.source)?;
    }
    Ok(taken)
}

pub(crate) fn hand_out(
    process: &'static Process,
    comm: MPI_Comm,
    taken: Option<MatchedMessage>,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> Result<()> {
    let Some(inner) = taken else {
        Status::NO_PROCESS.store(status);
        return message.set("message", MPI_MESSAGE_NO_PROC);
    };
    let found = process.comm(comm)?;
    let (partners, raiser) = (found.partners().clone(), found.raiser(comm));
    status_of_waiting(&partners, inner.waiting()).store(status);
    let handle = MESSAGES
        .insert(Mutex::new(ProbedMessage { inner, partners, raiser }))
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another message"))?;
    message.set("message", handle)
}
