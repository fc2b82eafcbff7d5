//! Partitioned messages (MPI 5.0 §4): a persistent send whose elements become ready part by part, and the receive that it meets.
//!
//! The parts travel as one message, which leaves when the last one is ready. Which requests belong together is decided when they are
//! made: the first send of a rank with a tag meets the first receive from there with it, and so on. So the number of a request is a part
//! of the tag of its messages, which no other receive matches.

use super::envelope::{Address, Wanted};
use super::transfer::{
    Buffer, MessageElements, Receiving, Sending, begin_receive_elements, begin_send_elements,
};
use crate::abi::*;
use crate::arguments::{Memory, Out, len};
use crate::communicator::Partners;
use crate::info;
use crate::process::{Process, Sought};
use crate::request::{End, Parts, Pending, Start, enter_persistent};
use parking_lot::Mutex;
use rma::raw::{Scope, SendMode};
use rma::{Communicator, Error, ErrorClass, Result};
use rma_core::ids::Peer;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, LazyLock};

/// Scope, whether it is a send, peer and tag.
type Partner = (Scope, bool, Peer, u64);

/// How many requests there have been with each partner.
static NUMBERS: LazyLock<Mutex<HashMap<Partner, u64>>> = LazyLock::new(Mutex::default);

/// A send, and what of it is ready.
struct PartitionedSender {
    comm: Arc<Communicator>,
    /// `None`, as for receives, stands for `MPI_PROC_NULL`.
    address: Option<Address>,
    elements: MessageElements,
    parts: Mutex<Ready>,
    under_way: Arc<SendingSlot>,
}

/// Which parts of a send are ready.
struct Ready {
    is_ready: Vec<bool>,
    missing: usize,
}

/// The message, once it has left the hands of the program, or why it has not.
type SendingSlot = Mutex<Option<Result<Sending>>>;

struct PartitionedReceiver {
    comm: Arc<Communicator>,
    partners: Partners,
    wanted: Option<Wanted>,
    elements: MessageElements,
    partitions: usize,
}

/// A send in the eyes of calls that wait.
struct Leaving(Arc<SendingSlot>);

impl Pending for Leaving {
    fn take_end(&mut self) -> Option<End> {
        match &mut *self.0.lock() {
            None => None,
            Some(Ok(sending)) => sending.take_end(),
            Some(Err(error)) => Some(End::from(Err(error.clone()))),
        }
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        match &*self.0.lock() {
            Some(Ok(sending)) => sending.seek(each),
            _ => each(Sought::Any),
        }
    }
}

impl PartitionedSender {
    /// All is ready.
    fn leave(&self) {
        let sending = match self.address {
            None => Ok(Sending::NOTHING),
            Some(address) => begin_send_elements(&self.comm, address, &self.elements, SendMode::Standard),
        };
        *self.under_way.lock() = Some(sending);
    }
}

impl Start for PartitionedSender {
    fn start(&self) -> Result<Box<dyn Pending>> {
        let mut parts = self.parts.lock();
        parts.is_ready.fill(false);
        parts.missing = parts.is_ready.len();
        *self.under_way.lock() = None;
        if parts.missing == 0 {
            drop(parts);
            self.leave();
        }
        Ok(Box::new(Leaving(Arc::clone(&self.under_way))))
    }

    fn parts(&self) -> Option<&dyn Parts> {
        Some(self)
    }
}

impl Parts for PartitionedSender {
    fn count(&self) -> usize {
        self.parts.lock().is_ready.len()
    }

    fn make_ready(&self, part: usize) -> Result<()> {
        let mut parts = self.parts.lock();
        if std::mem::replace(&mut parts.is_ready[part], true) {
            let cause = format!("partition {part} is ready already");
            return Err(Error::new(ErrorClass::Arg, "", cause));
        }
        parts.missing -= 1;
        let is_all = parts.missing == 0;
        drop(parts);
        if is_all {
            self.leave();
        }
        Ok(())
    }
}

impl Start for PartitionedReceiver {
    fn start(&self) -> Result<Box<dyn Pending>> {
        let Some(wanted) = self.wanted else { return Ok(Box::new(Receiving::Nothing)) };
        Ok(Box::new(begin_receive_elements(&self.comm, &self.partners, wanted, &self.elements)?))
    }

    fn parts(&self) -> Option<&dyn Parts> {
        Some(self)
    }
}

impl Parts for PartitionedReceiver {
    fn count(&self) -> usize {
        self.partitions
    }

    fn make_ready(&self, _part: usize) -> Result<()> {
        Err(Error::new(
            ErrorClass::Request,
            "",
            "request is a receive, whose partitions the sender makes ready",
        ))
    }
}

/// The elements of all partitions.
pub(crate) struct Partitions {
    pub(crate) buf: Memory,
    pub(crate) partitions: c_int,
    pub(crate) count: MPI_Count,
    pub(crate) datatype: MPI_Datatype,
}

impl Partitions {
    fn elements(&self, is_used: bool) -> Result<(MessageElements, usize)> {
        let (partitions, each) = (len("partitions", self.partitions)?, len("count", self.count)?);
        let count = (partitions as i64).checked_mul(each as i64).ok_or_else(|| {
            Error::new(
                ErrorClass::Count,
                "",
                format!("{partitions} partitions of {each} elements are more than 2^63"),
            )
        })?;
        let buffer = Buffer { name: "buf", address: self.buf, count, datatype: self.datatype };
        if is_used {
            buffer.check()?;
        }
        Ok((buffer.elements()?, partitions))
    }
}

/// The tag of the messages of the next request with this address.
fn numbered(scope: Scope, is_send: bool, peer: Peer, tag: u64) -> u64 {
    let mut numbers = NUMBERS.lock();
    let number = numbers.entry((scope, is_send, peer, tag)).or_default();
    let numbered = *number << 32 | tag;
    *number += 1;
    numbered
}

pub(crate) fn send_init(
    process: &'static Process,
    partitions: &Partitions,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    info::get_optional(info)?;
    let (handle, comm) = (comm, process.comm(comm)?);
    let address = Address::new(comm.partners(), dest, tag)?;
    let (elements, number) = partitions.elements(address.is_some())?;
    let address = address.map(|Address { to, tag, .. }| {
        let scope = comm.partners().scope_of_partitions();
        Address { scope, to, tag: numbered(scope, true, to, tag) }
    });
    let parts = Mutex::new(Ready { is_ready: vec![false; number], missing: number });
    let under_way = Arc::new(Mutex::new(None));
    let sender = PartitionedSender { comm: Arc::clone(&comm.inner), address, elements, parts, under_way };
    request.set("request", enter_persistent(sender, comm.raiser(handle))?)
}

pub(crate) fn receive_init(
    process: &'static Process,
    partitions: &Partitions,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    info: MPI_Info,
    request: Out<MPI_Request>,
) -> Result<()> {
    request.check("request")?;
    info::get_optional(info)?;
    let (handle, comm) = (comm, process.comm(comm)?);
    let wanted = Wanted::new(comm.partners(), source, tag)?;
    let (elements, number) = partitions.elements(wanted.is_some())?;
    let exact = |wanted: Wanted| match (wanted.source, wanted.tag) {
        (Some(source), Some(tag)) => {
            let scope = comm.partners().scope_of_partitions();
            let tag = numbered(scope, false, source, tag);
            Ok(Wanted { scope, tag: Some(tag), ..wanted })
        }
        (None, _) => {
            Err(Error::new(ErrorClass::Rank, "", "source is MPI_ANY_SOURCE, which partitions do not take"))
        }
        (_, None) => Err(Error::new(ErrorClass::Tag, "", "tag is MPI_ANY_TAG, which partitions do not take")),
    };
    let wanted = wanted.map(exact).transpose()?;
    let (inner, partners) = (Arc::clone(&comm.inner), comm.partners().clone());
    let receiver = PartitionedReceiver { comm: inner, partners, wanted, elements, partitions: number };
    request.set("request", enter_persistent(receiver, comm.raiser(handle))?)
}
