//! The channel: contact, polls, waits and ends.

use crate::block::SlotName;
use crate::config::{Limits, OfiSettings};
use crate::fabric::{Done, Fabric};
use crate::life::Life;
use crate::peer::{Arrival, Link, OFFERS, Parting, PeerState};
use crate::pull::{PART, READ_SLOTS};
use crate::registration::Exposed;
use crate::transfers::Transfers;
use crate::wire::{HEAD_LEN, HEADER, Header, Kind, Letter, OFFER, Offer};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, FailureKind, Lane, Polled,
    RemoteMemory, Room, Sink, Source, TransferLimits, Usage,
};
use rma_core::datatype::Gather;
use rma_core::descriptors::with_streams_taken;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// Polls after which the lower channel is asked for news at the latest, while there is traffic.
const NEWS_EVERY: u32 = 32;
/// How long the lower channel may take to say what became of a peer that the provider does not reach.
const VERDICT: Duration = Duration::from_secs(2);
/// How long it takes the provider to find nothing, at most: it has moved bytes where that takes longer.
const NOTHING: Duration = Duration::from_micros(3);
/// How long the provider may take to connect until a sleep is risked. Some connect within polls only, and do not wake for that.
const CONNECTING: Duration = Duration::from_secs(10);
/// Packets of credits alone that can be under way from a peer: each returns at least half of a lane's, answers an
/// offer, or is the first.
pub(crate) const CREDIT_PACKETS: u32 = 5 + 2 * OFFERS as u32;

/// Packets over libfabric.
pub struct OfiChannel {
    pub(crate) me: Peer,
    pub(crate) size: u32,
    pub(crate) limits: Limits,
    // Closed before the lower channel tells the peers.
    pub(crate) fabric: Fabric,
    pub(crate) life: Life,
    pub(crate) peers: Vec<PeerState>,
    pub(crate) places: FxHashMap<Peer, usize>,
    /// Whose packets are built in a block.
    pub(crate) by_block: FxHashMap<u32, usize>,
    /// Buffers with packets that were not looked at yet, in order.
    pub(crate) arrived: VecDeque<Arrival>,
    /// Buffers that the provider did not take, and the number of those that it has: more contacts than its queue has room for leave some
    /// over until others come back.
    pub(crate) unposted: Vec<SlotName>,
    pub(crate) posted: usize,
    /// Bodies to give back.
    pub(crate) returned: Vec<BulkToken>,
    /// Losses to report, each when no transfer to that peer is under way, and since when.
    pub(crate) failures: Vec<(Peer, Failure, Instant)>,
    pub(crate) transfers: Transfers,
    /// Peers that a poll has something to do for.
    listed: Vec<usize>,
    /// Peers that were lost below and are not reported.
    pub(crate) lost: Vec<usize>,
    /// Number of peers that the provider does not reach.
    pub(crate) broken: usize,
    /// Peers that the provider may be connecting to, and since when.
    pub(crate) connecting: Vec<(usize, Instant)>,
    /// Number of peers whose greeting has not come.
    pub(crate) greeting: usize,
    pub(crate) done: Vec<Done>,
    /// Whether the last collection left nothing behind.
    pub(crate) is_drained: bool,
    pub(crate) is_news_due: bool,
    polls: u32,
    is_closing: bool,
    pub(crate) is_life_closing: bool,
    reservation: Option<Reservation>,
}

/// A packet that is being built.
#[derive(Debug)]
struct Reservation {
    place: usize,
    lane: Lane,
    /// None where it has no reader any more.
    slot: Option<u32>,
    len: usize,
    filled: usize,
}

/// What one poll has done so far.
pub(crate) struct Turn<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) packets: u32,
    pub(crate) bytes: usize,
    pub(crate) moved: bool,
    budget: Budget,
}

impl Turn<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.packets >= self.budget.packets || self.bytes >= self.budget.bytes
    }
}

impl OfiChannel {
    /// Opens an endpoint. Peers are contacted when something is first sent to them.
    ///
    /// # Errors
    /// When there is no libfabric, or it has not what is needed.
    ///
    /// # Safety
    /// As [`probe`](crate::probe).
    pub unsafe fn open(settings: OfiSettings) -> io::Result<Self> {
        let OfiSettings { me, size, listen, config, lower } = settings;
        let limits = Limits::new(&config);
        // SAFETY: the caller's promise.
        let open = || unsafe { Fabric::open(&config, listen) };
        let fabric = with_streams_taken(|| open().map_err(io::Error::other))?;
        if fabric.inject_max() < HEADER {
            let (provider, most) = (config.provider.as_str(), fabric.inject_max());
            return Err(io::Error::other(format!(
                "{provider} copies at most {most} bytes at once, but {HEADER} are needed"
            )));
        }
        Ok(Self {
            me,
            size,
            limits,
            fabric,
            life: Life::new(lower),
            peers: Vec::new(),
            places: FxHashMap::default(),
            by_block: FxHashMap::default(),
            arrived: VecDeque::new(),
            unposted: Vec::new(),
            posted: 0,
            returned: Vec::new(),
            failures: Vec::new(),
            transfers: Transfers::default(),
            listed: Vec::new(),
            lost: Vec::new(),
            broken: 0,
            connecting: Vec::new(),
            greeting: 0,
            done: Vec::new(),
            is_drained: true,
            is_news_due: true,
            polls: 0,
            is_closing: false,
            is_life_closing: false,
            reservation: None,
        })
    }

    /// Ends a reservation without a trace.
    pub(crate) fn forget_reservation(&mut self) {
        self.reservation = None;
    }

    /// Credits owed from which they are returned without a packet to ride on.
    pub(crate) fn owed_from(&self) -> u32 {
        (self.limits.credits / 2).max(1)
    }

    /// Notes that a poll has something to do for a peer.
    pub(crate) fn list(&mut self, place: usize) {
        if !std::mem::replace(&mut self.peers[place].is_listed, true) {
            self.listed.push(place);
        }
    }

    /// Lets the peer read a body, if that is worth it and can be done.
    fn offer(&mut self, body: &Gather) -> Option<Exposed> {
        let len = body.remaining();
        if len < self.limits.read_from || self.fabric.longest_read().is_none() {
            return None;
        }
        let whole = body.peek(usize::MAX).filter(|span| span.len() as u64 == len)?;
        // SAFETY: the body's memory stays until its token is given back or the channel is dropped (clause C4), and is
        // withdrawn before that.
        unsafe { self.fabric.expose(whole, false) }.ok()
    }

    /// Sends what waits, and reports room.
    fn serve(&mut self, turn: &mut Turn<'_>) {
        for place in std::mem::take(&mut self.listed) {
            self.peers[place].is_listed = false;
            for lane in Lane::ALL {
                turn.moved |= self.send_waiting(place, lane);
                turn.moved |= self.pump(place, lane);
                turn.moved |= self.pull(place, lane);
            }
            turn.moved |= self.return_credits(place);
            self.report_transfer_room(place, turn);
            for lane in Lane::ALL {
                let state = &mut self.peers[place];
                let has_room = state.drops() || state.has_room(lane);
                if state.sending[lane as usize].is_wanted
                    && has_room
                    && !matches!(state.link, Link::Failed(_))
                {
                    state.sending[lane as usize].is_wanted = false;
                    turn.sink.writable(state.peer, lane);
                    turn.moved = true;
                }
            }
            if self.peers[place].needs_serving(self.owed_from()) {
                self.list(place);
            }
        }
    }

    /// Reports bodies and losses: these behind everything that had arrived.
    fn report(&mut self, turn: &mut Turn<'_>) {
        if self.broken > 0 {
            self.judge_broken();
        }
        if self.is_drained && !self.lost.is_empty() {
            for place in std::mem::take(&mut self.lost) {
                let state = &mut self.peers[place];
                let peer = state.peer;
                let is_from = |arrival: &Arrival| {
                    let bytes = self.fabric.read(arrival.name, arrival.len);
                    Header::parse(bytes).is_some_and(|(head, _)| head.from == peer.0)
                };
                if self.arrived.iter().any(is_from) {
                    self.lost.push(place);
                } else if let Some(failure) = state.lost.take() {
                    self.fail(place, failure, false);
                }
            }
        }
        for token in self.returned.drain(..) {
            turn.sink.bulk_sent(token);
            turn.moved = true;
        }
        self.report_refused(turn);
        self.report_failures(turn);
    }

    /// Fails peers that the provider does not reach although nothing is known of their end.
    fn judge_broken(&mut self) {
        for place in 0..self.peers.len() {
            let state = &self.peers[place];
            let Some((since, why)) = &state.broken else { continue };
            if since.elapsed() >= VERDICT {
                let detail = format!("process {} is not reached over libfabric any more: {why}", state.peer);
                self.fail(place, Failure { kind: FailureKind::Dead, detail }, true);
            }
        }
    }

    fn is_busy(&self) -> bool {
        let owed_from = self.owed_from();
        !self.arrived.is_empty()
            || !self.returned.is_empty()
            || !self.transfers.refused.is_empty()
            || !self.failures.is_empty()
            || (self.posted == 0 && !self.unposted.is_empty())
            || !self.lost.is_empty()
            || self.broken > 0
            || self.listed.iter().any(|place| self.peers[*place].needs_serving(owed_from))
    }
}

// SAFETY: clause C4. A body's memory is named by its `Gather` in the peer's `SendLane`, which is read within calls of this
// channel, or by its registration there; both are dropped together with noting its token (`pump`, `take_credits`, `drop_all`),
// and notes are reported later, before failures. A placement's memory is named only by its `Scatter` in the peer's
// `ReceiveLane`, written within `deliver` and `pulled`, and dropped before `bulk_received` is called and before a failure is
// noted; where it is read in place, the provider writes it until the read came back, which both wait for. Besides these and registered
// bodies, which peers only read, the provider knows this channel's own buffers only.
unsafe impl Channel for OfiChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "ofi", max_packet: self.limits.packet, bulk_from: self.limits.bulk_from }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.life.register(registrar)?;
        self.fabric.wait_descriptor().map_or(Ok(()), |descriptor| registrar.add_readable(descriptor))
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.reservation = None;
        self.contact(peer).map(drop)
    }

    fn give_up(&mut self, peer: Peer, cause: &str) {
        self.reservation = None;
        self.life.give_up(peer, cause);
        self.is_news_due = true;
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        assert!((1..=self.limits.packet).contains(&len), "a packet of {len} bytes");
        self.reservation = None;
        let place = self.contact(peer)?;
        let state = &mut self.peers[place];
        let slot = match state.drops() {
            true => None,
            false if state.has_room(lane) => state.sending[lane as usize].free.last().copied(),
            false => {
                state.sending[lane as usize].is_wanted = true;
                return Ok(Room::Full);
            }
        };
        self.reservation = Some(Reservation { place, lane, slot, len, filled: 0 });
        Ok(Room::Granted)
    }

    fn fill(&mut self, source: Source<'_>) {
        let reservation = self.reservation.as_mut().expect("a packet is reserved");
        let (at, more) = (reservation.filled, source.len());
        assert!(more <= reservation.len - at, "more bytes than were reserved");
        reservation.filled += more;
        let name = reservation.slot.map(|slot| self.peers[reservation.place].slot(slot));
        match (source, name) {
            (Source::Bytes(bytes), Some(name)) => self.fabric.part(name, HEADER + at, more).write(bytes),
            (Source::Memory(gather), Some(name)) => {
                gather.copy_to(self.fabric.part(name, HEADER + at, more));
            }
            (Source::Bytes(_), None) => {}
            (Source::Memory(gather), None) => gather.advance(more),
        }
    }

    fn commit(&mut self) {
        let Reservation { place, lane, slot, len, filled } =
            self.reservation.take().expect("a packet is reserved");
        assert_eq!(filled, len, "bytes filled of bytes reserved");
        if slot.is_none() {
            return;
        }
        // The one that was reserved: nothing was freed or taken since.
        if let Some(slot) = self.peers[place].sending[lane as usize].free.pop() {
            self.dispatch(place, lane, slot, len, Kind::Small, 0);
        }
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        mut body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        assert!((1..=self.limits.packet).contains(&head.len()), "a head of {} bytes", head.len());
        assert!(body.remaining() > 0, "a body of no bytes");
        self.reservation = None;
        let place = self.contact(peer)?;
        let state = &mut self.peers[place];
        if state.drops() {
            self.returned.push(token);
            return Ok(Room::Granted);
        }
        let slot = if state.has_room(lane) { state.sending[lane as usize].free.pop() } else { None };
        let Some(slot) = slot else {
            state.sending[lane as usize].is_wanted = true;
            return Ok(Room::Full);
        };
        let (name, len) = (state.slot(slot), body.remaining());
        if let Some(exposed) = self.offer(&body) {
            let offer = Offer { address: exposed.address, key: exposed.key };
            self.fabric.part(name, HEADER, OFFER).write(&offer.emit());
            self.fabric.part(name, HEADER + OFFER, head.len()).write(head);
            self.peers[place].sending[lane as usize].offered.push_back((exposed, token));
            self.dispatch(place, lane, slot, OFFER + head.len(), Kind::Offer, len);
            return Ok(Room::Granted);
        }
        // A head is not longer than a packet, whose length fits 32 bits.
        self.fabric.part(name, HEADER, HEAD_LEN).write(&(head.len() as u32).to_le_bytes());
        let at = HEADER + HEAD_LEN + head.len();
        self.fabric.part(name, HEADER + HEAD_LEN, head.len()).write(head);
        let room = usize::try_from(len).unwrap_or(usize::MAX).min(self.limits.packet - head.len());
        let first = body.copy_to(self.fabric.part(name, at, room));
        self.dispatch(place, lane, slot, HEAD_LEN + head.len() + first, Kind::Head, len);
        match body.remaining() {
            0 => self.returned.push(token),
            _ => self.peers[place].sending[lane as usize].body = Some((body, token)),
        }
        self.list(place);
        self.pump(place, lane);
        Ok(Room::Granted)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reservation = None;
        let mut turn = Turn { sink, packets: 0, bytes: 0, moved: false, budget };
        // Without a packet to hand over there is nothing to collect for.
        if budget.packets > 0 {
            self.polls = self.polls.wrapping_add(1);
            let is_eager = self.is_closing || self.broken > 0 || self.greeting > 0 || self.life.is_waiting();
            if self.is_news_due || is_eager || self.polls.is_multiple_of(NEWS_EVERY) {
                self.poll_life(&mut turn);
            }
            let began = self.serves().then(Instant::now);
            self.collect(&mut turn);
            turn.moved |= began.is_some_and(|began| began.elapsed() > NOTHING);
            self.deliver(&mut turn);
            self.post_again();
        }
        self.serve(&mut turn);
        self.report(&mut turn);
        if turn.moved {
            self.fabric.on_moved();
        }
        Polled {
            packets: turn.packets,
            moved: turn.moved,
            more: budget.packets > 0 && !self.arrived.is_empty(),
        }
    }

    fn arm(&mut self) -> Armed {
        self.reservation = None;
        let peers = &self.peers;
        self.connecting
            .retain(|(place, since)| peers[*place].is_connecting() && since.elapsed() < CONNECTING);
        if self.is_busy() || !self.connecting.is_empty() {
            return Armed::Busy;
        }
        // Whatever wakes the sleeper may be below.
        self.is_news_due = true;
        if self.life.arm() == Armed::Busy || !self.fabric.may_sleep() {
            return Armed::Busy;
        }
        Armed::Sleep
    }

    fn close(&mut self) -> Closing {
        self.reservation = None;
        self.is_closing = true;
        let mut is_pending = !self.returned.is_empty() || !self.failures.is_empty();
        for place in 0..self.peers.len() {
            let state = &mut self.peers[place];
            match (&state.link, state.parting) {
                (Link::Ready { .. }, Parting::Here) if state.goodbye.is_none() && state.has_sent_all() => {
                    state.parting = Parting::Said;
                    let (peer, sent) = (state.peer, [state.sending[0].sequence, state.sending[1].sequence]);
                    self.post_letter(peer, &Letter::Goodbye(sent));
                    is_pending = true;
                }
                // The rest of what the peer sent, of what is sent to it, or its answer.
                (Link::Ready { .. }, Parting::Here) | (Link::Ready { .. } | Link::Closed, Parting::Said) => {
                    is_pending = true;
                }
                // A goodbye that was announced is answered.
                (Link::Ready { .. }, Parting::Done) => is_pending |= state.goodbye.is_some(),
                (Link::Greeting | Link::Closed | Link::Failed(_), _) => {}
            }
        }
        if is_pending {
            return Closing::Pending;
        }
        self.is_life_closing |= !self.life.is_waiting();
        self.life.close()
    }

    fn transfers(&self, _: Peer) -> Option<TransferLimits> {
        self.transfer_limits()
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.as_remote_memory()
    }

    fn usage(&self) -> Usage {
        let slot = self.limits.slot_len().next_multiple_of(64);
        let packets = slot * (4 * self.limits.credits + CREDIT_PACKETS) as usize;
        let per_peer = packets + READ_SLOTS as usize * PART;
        let below = self.life.usage();
        Usage {
            peers: self.peers.len(),
            bytes: self.fabric.bytes() + below.bytes,
            limit_bytes: self.peers.len() * per_peer + below.limit_bytes,
        }
    }
}

impl fmt::Debug for OfiChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfiChannel")
            .field("me", &self.me)
            .field("peers", &self.peers.len())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
