//! Where a channel in C hands over what happened, and the books of what is lent to it.
//!
//! The books see to what a channel in C may get wrong without being noticed there: a body comes back once, before its peer is
//! reported lost; a peer is lost once, and nothing of it is handed over afterwards; a place has one body, which is whole.

use crate::abi;
use crate::area::Loan;
use crate::foreign::text;
use rma_core::channel::{Budget, BulkToken, Delivery, Failure, FailureKind, Lane, Placement, Sink};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const ACCEPTED: c_int = 0;
const REFUSED: c_int = 1;

/// What a channel has of the engine's.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) bodies: BTreeMap<u64, (Peer, Loan<Gather>)>,
    places: HashMap<(Peer, Lane), Loan<Scatter>>,
    pub(crate) lost: HashMap<Peer, Failure>,
}

/// A poll under way. C sees its first field.
#[repr(C)]
pub(crate) struct Poll<'a> {
    head: abi::Sink,
    sink: &'a mut dyn Sink,
    books: &'a mut Books,
    budget: Budget,
    pub(crate) packets: u32,
    bytes: usize,
    pub(crate) moved: bool,
    /// A panic of the engine, which must not unwind through C.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Poll<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink, books: &'a mut Books, budget: Budget) -> Self {
        let size = size_of::<abi::Sink>();
        let head = abi::Sink { size, wants, packet, bulk, bulk_received, bulk_sent, writable, failed };
        Self { head, sink, books, budget, packets: 0, bytes: 0, moved: false, panic: None }
    }

    /// What C is given.
    pub(crate) fn as_ptr(&mut self) -> *mut abi::Sink {
        std::ptr::from_mut(self).cast()
    }

    /// The peer is lost, unless it was before.
    pub(crate) fn lose(&mut self, peer: Peer, kind: FailureKind, detail: String) {
        if self.books.lost.contains_key(&peer) {
            return;
        }
        self.moved = true;
        self.books.places.retain(|(from, _), _| *from != peer);
        let lent: Vec<u64> =
            self.books.bodies.iter().filter(|(_, (to, _))| *to == peer).map(|(token, _)| *token).collect();
        for token in lent {
            self.give_back(token);
        }
        let failure = Failure { kind, detail };
        self.books.lost.insert(peer, failure.clone());
        self.sink.failed(peer, failure);
    }

    fn give_back(&mut self, token: u64) {
        if self.books.bodies.remove(&token).is_some() {
            self.moved = true;
            self.sink.bulk_sent(BulkToken(token));
        }
    }

    fn packet(&mut self, from: Peer, lane: Option<Lane>, bytes: Option<&[u8]>) -> Result<(), String> {
        let (lane, bytes) = (lane.ok_or(NO_LANE)?, bytes.ok_or(NO_BYTES)?);
        self.count(from, lane, bytes.len() as u64)?;
        match self.sink.packet(from, lane, bytes) {
            Delivery::Accepted => Ok(()),
            Delivery::Refused(reason) => Err(reason.to_owned()),
        }
    }

    fn bulk(
        &mut self,
        from: Peer,
        lane: Option<Lane>,
        head: Option<&[u8]>,
        body_len: u64,
    ) -> Result<*mut abi::Area, String> {
        let (lane, head) = (lane.ok_or(NO_LANE)?, head.ok_or(NO_BYTES)?);
        self.count(from, lane, (head.len() as u64).saturating_add(body_len))?;
        match self.sink.bulk(from, lane, head, body_len) {
            Placement::Refused(reason) => Err(reason.to_owned()),
            Placement::Into(place) => {
                let loan = Loan::new(place);
                let area = loan.as_ptr();
                self.books.places.insert((from, lane), loan);
                Ok(area)
            }
        }
    }

    /// A packet is handed over.
    fn count(&mut self, from: Peer, lane: Lane, bytes: u64) -> Result<(), String> {
        if self.books.places.contains_key(&(from, lane)) {
            return Err("the channel handed over a packet before the body of the one before it".to_owned());
        }
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    fn bulk_received(&mut self, from: Peer, lane: Option<Lane>) -> Result<(), String> {
        let lane = lane.ok_or(NO_LANE)?;
        let place =
            self.books.places.remove(&(from, lane)).ok_or("the channel has no place for a body there")?;
        if place.left() > 0 {
            return Err(format!(
                "the channel called a body complete of which {} bytes are missing",
                place.left()
            ));
        }
        self.moved = true;
        self.sink.bulk_received(from, lane);
        Ok(())
    }
}

const NO_LANE: &str = "the channel named a lane that there is not";
const NO_BYTES: &str = "the channel handed over no bytes";

/// Runs what C has called for, unless the peer is lost. A refusal loses it.
fn handle<T>(
    sink: *mut abi::Sink,
    from: u32,
    work: impl FnOnce(&mut Poll<'_>) -> Result<T, String>,
) -> Option<T> {
    // SAFETY: C gives back the address that it got, of the first field of a `Poll` that lives until the channel's poll returns;
    // nothing else uses it meanwhile.
    let poll = unsafe { &mut *sink.cast::<Poll<'_>>() };
    if poll.panic.is_some() || poll.books.lost.contains_key(&Peer(from)) {
        return None;
    }
    let worked = catch_unwind(AssertUnwindSafe(|| match work(poll) {
        Ok(value) => Some(value),
        Err(reason) => {
            poll.lose(
                Peer(from),
                FailureKind::Protocol,
                format!("a packet of process {from} was refused: {reason}"),
            );
            None
        }
    }));
    worked.unwrap_or_else(|panic| {
        poll.panic = Some(panic);
        None
    })
}

fn lane(number: c_int) -> Option<Lane> {
    Lane::ALL.get(usize::try_from(number).ok()?).copied()
}

/// Bytes that the channel has for itself.
fn bytes<'a>(start: *const c_void, len: usize) -> Option<&'a [u8]> {
    let is_there = !start.is_null() && len > 0 && len <= isize::MAX as usize;
    // SAFETY: C's promise that so many bytes are there, and that they do not change while the sink is called.
    is_there.then(|| unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

unsafe extern "C" fn wants(sink: *const abi::Sink) -> c_int {
    // SAFETY: as in `handle`.
    let poll = unsafe { &*sink.cast::<Poll<'_>>() };
    c_int::from(poll.packets < poll.budget.packets && poll.bytes < poll.budget.bytes)
}

unsafe extern "C" fn packet(
    sink: *mut abi::Sink,
    from: u32,
    on: c_int,
    start: *const c_void,
    len: usize,
) -> c_int {
    handle(sink, from, |poll| poll.packet(Peer(from), lane(on), bytes(start, len)))
        .map_or(REFUSED, |()| ACCEPTED)
}

unsafe extern "C" fn bulk(
    sink: *mut abi::Sink,
    from: u32,
    on: c_int,
    start: *const c_void,
    len: usize,
    body_len: u64,
    place: *mut *mut abi::Area,
) -> c_int {
    let area = handle(sink, from, |poll| {
        if place.is_null() {
            return Err("the channel gave nowhere to say where a body goes".to_owned());
        }
        poll.bulk(Peer(from), lane(on), bytes(start, len), body_len)
    });
    if !place.is_null() {
        // SAFETY: not null, and C's promise that it is a place for an address.
        unsafe { place.write(area.unwrap_or(std::ptr::null_mut())) };
    }
    area.map_or(REFUSED, |_| ACCEPTED)
}

unsafe extern "C" fn bulk_received(sink: *mut abi::Sink, from: u32, on: c_int) -> c_int {
    handle(sink, from, |poll| poll.bulk_received(Peer(from), lane(on))).map_or(REFUSED, |()| ACCEPTED)
}

unsafe extern "C" fn bulk_sent(sink: *mut abi::Sink, token: u64) {
    // SAFETY: as in `handle`.
    let peer = unsafe { &*sink.cast::<Poll<'_>>() }.books.bodies.get(&token).map(|(peer, _)| peer.0);
    if let Some(peer) = peer {
        handle(sink, peer, |poll| {
            poll.give_back(token);
            Ok(())
        });
    }
}

unsafe extern "C" fn writable(sink: *mut abi::Sink, peer: u32, on: c_int) {
    handle(sink, peer, |poll| {
        poll.moved = true;
        lane(on).into_iter().for_each(|lane| poll.sink.writable(Peer(peer), lane));
        Ok(())
    });
}

unsafe extern "C" fn failed(sink: *mut abi::Sink, peer: u32, kind: c_int, detail: *const c_char) {
    handle(sink, peer, |poll| {
        let detail = text(detail).unwrap_or_else(|| format!("process {peer} is lost"));
        poll.lose(Peer(peer), failure_kind(kind), detail);
        Ok(())
    });
}

/// `RMA_FAILED_…`.
pub(crate) fn failure_kind(number: c_int) -> FailureKind {
    match number {
        2 => FailureKind::Dead,
        3 => FailureKind::Protocol,
        _ => FailureKind::Unreachable,
    }
}
