//! The channel: the contract of `rma_core::channel` over links to peers.
//!
//! Invariants: one reservation at a time; a poll without news makes no system call and costs two loads of shared memory for
//! each peer in contact. Knows nothing of rings' insides or of how contact is made.

use crate::config::ShmConfig;
use crate::contacts::{Contacts, State};
use crate::handshake::Introduction;
use crate::identity::Identity;
use crate::layout::Geometry;
use crate::link::{Allowance, Ending};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, Polled, Room, Sink, Source,
    Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::{fmt, io};

/// What a [`ShmChannel`] is made from.
#[derive(Clone)]
pub struct ShmSettings {
    /// This process.
    pub me: Peer,
    /// Number of processes of the job.
    pub size: u32,
    /// Name of the job: what tells it from others on this node.
    pub job: String,
    /// What only the processes of the job know.
    pub secret: [u8; 32],
    /// The variables.
    pub config: ShmConfig,
}

/// A channel between the processes of one node.
#[derive(Debug)]
pub struct ShmChannel {
    contacts: Contacts,
    geometry: Geometry,
    bulk_from: usize,
    check_interval: u64,
    /// Polls until the sockets are looked at.
    until_check: u64,
    /// Which live peer the next poll begins with.
    first: usize,
    reservation: Option<Reservation>,
    /// Private copy of the packet that is handed over.
    scratch: Box<[u8]>,
}

#[derive(Debug)]
struct Reservation {
    entry: usize,
    lane: Lane,
    len: usize,
    filled: usize,
}

impl ShmChannel {
    /// Opens the channel: from now on peers of the node can make contact.
    ///
    /// # Errors
    /// When the system refuses a socket or descriptor, or a process of this number is there already.
    pub fn new(settings: ShmSettings) -> io::Result<Self> {
        let ShmSettings { me, size, job, secret, config } = settings;
        let geometry = Geometry::new(&config);
        let max_packet = geometry.max_packet();
        let introduction = Introduction::new(Identity::new(job, secret), me, size, geometry);
        Ok(Self {
            geometry,
            bulk_from: usize::try_from(config.bulk_bytes).unwrap_or(usize::MAX).min(max_packet),
            check_interval: config.check_interval.max(1),
            until_check: 1,
            first: 0,
            reservation: None,
            scratch: vec![0; max_packet].into(),
            contacts: Contacts::new(introduction, config)?,
        })
    }

    /// Clears what an uncommitted reservation wrote (clause C2).
    #[inline]
    fn abandon(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.clear(&reservation);
        }
    }

    #[cold]
    fn clear(&mut self, reservation: &Reservation) {
        if let Some(link) = self.contacts.link(reservation.entry) {
            link.reserved_lane(reservation.lane).abandon(reservation.filled);
        }
    }

    /// Looks at the sockets. Says whether anything came, or may be there still.
    fn check(&mut self) -> bool {
        let (has_changed, is_more) = self.contacts.check();
        self.until_check = if is_more { 1 } else { self.check_interval };
        has_changed || is_more
    }

    fn exchange(&mut self, sink: &mut dyn Sink, allowance: &mut Allowance) {
        let (live, entries) = self.contacts.live();
        let first = if self.first < live.len() { self.first } else { 0 };
        let mut has_ended = false;
        for turn in first..first + live.len() {
            let entry = &mut entries[live[if turn < live.len() { turn } else { turn - live.len() }]];
            entry.has_ended = match &mut entry.state {
                State::Linked(link) => link.poll(sink, &mut self.scratch, allowance),
                State::Doomed(_) => true,
                State::Lost(_) | State::Left => false,
            };
            has_ended |= entry.has_ended;
        }
        // A poll that takes nothing is no turn, or of two links the same one would always be first.
        if allowance.polled.more && allowance.takes() {
            self.first = first + 1;
        }
        if has_ended {
            allowance.polled.moved = true;
            self.finish_ended(sink);
        }
    }

    #[cold]
    fn finish_ended(&mut self, sink: &mut dyn Sink) {
        let (live, entries) = self.contacts.live();
        for &at in live {
            let entry = &mut entries[at];
            if !entry.has_ended {
                continue;
            }
            let failure = match std::mem::replace(&mut entry.state, State::Left) {
                State::Linked(link) => link.finish(sink),
                State::Doomed(failure) | State::Lost(failure) => Some(failure),
                State::Left => None,
            };
            if let Some(failure) = failure {
                entry.state = State::Lost(failure.clone());
                sink.failed(entry.peer, failure);
            }
        }
        self.contacts.forget_ended();
    }
}

// SAFETY: clause C4. The memory of a bulk body is reached only through the `Gather` that `Outgoing` keeps; it drops it when
// the last piece is in the ring, or in `give_up`, before it reports `bulk_sent`, which `finish` does before `failed`. The
// memory of a placement is reached only through the `Scatter` that `Incoming` keeps; it drops it before `bulk_received`,
// and a link is consumed by `finish` before `failed` is reported.
unsafe impl Channel for ShmChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "shm", max_packet: self.geometry.max_packet(), bulk_from: self.bulk_from }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.contacts.wake_sources().into_iter().try_for_each(|source| registrar.add_readable(source))
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.contacts.reach(peer).map(|_| ())
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        self.abandon();
        assert!(len > 0 && len <= self.geometry.max_packet(), "a packet of {len} bytes");
        let entry = self.contacts.reach(peer)?;
        let is_awaited = self.contacts.is_awaited();
        let Some(link) = self.contacts.link(entry) else { return Ok(Room::Full) };
        let room = link.lane(lane)?.reserve(len, is_awaited).map_err(|corrupt| link.on_corrupt(corrupt))?;
        if room == Room::Granted {
            self.reservation = Some(Reservation { entry, lane, len, filled: 0 });
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let Some(Reservation { entry, lane, len, filled }) = &mut self.reservation else {
            panic!("fill without a reservation");
        };
        let more = source.len();
        assert!(more <= *len - *filled, "{more} bytes more than the {len} that were reserved");
        if let Some(link) = self.contacts.link(*entry) {
            link.reserved_lane(*lane).fill(*filled, source);
        }
        *filled += more;
    }

    fn commit(&mut self) {
        let Some(Reservation { entry, lane, len, filled }) = self.reservation.take() else {
            panic!("commit without a reservation");
        };
        assert!(filled == len, "a packet of {len} bytes is committed with {filled}");
        if let Some(link) = self.contacts.link(entry)
            && link.reserved_lane(lane).commit(len)
        {
            link.ring();
        }
    }

    fn send(&mut self, peer: Peer, lane: Lane, packet: &[u8]) -> Result<Room, Failure> {
        self.abandon();
        let len = packet.len();
        assert!(len > 0 && len <= self.geometry.max_packet(), "a packet of {len} bytes");
        let entry = self.contacts.reach(peer)?;
        let is_awaited = self.contacts.is_awaited();
        let Some(link) = self.contacts.link(entry) else { return Ok(Room::Full) };
        let out = link.lane(lane)?;
        match out.reserve(len, is_awaited) {
            Ok(Room::Full) => Ok(Room::Full),
            Ok(Room::Granted) => {
                out.fill(0, Source::Bytes(packet));
                if out.commit(len) {
                    link.ring();
                }
                // A process that only sends looks at its sockets as often as one that polls.
                self.until_check = self.until_check.saturating_sub(1).max(1);
                Ok(Room::Granted)
            }
            Err(corrupt) => Err(link.on_corrupt(corrupt)),
        }
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        self.abandon();
        let head_len = head.len();
        assert!(head_len > 0 && head_len <= self.geometry.max_packet(), "a bulk head of {head_len} bytes");
        assert!(body.remaining() > 0, "an empty bulk body");
        let entry = self.contacts.reach(peer)?;
        let is_awaited = self.contacts.is_awaited();
        let Some(link) = self.contacts.link(entry) else { return Ok(Room::Full) };
        let out = link.lane(lane)?;
        match out.send_bulk(head, body, token, is_awaited) {
            Ok(Room::Full) => Ok(Room::Full),
            Ok(Room::Granted) => {
                if out.must_ring() {
                    link.ring();
                }
                Ok(Room::Granted)
            }
            Err(corrupt) => Err(link.on_corrupt(corrupt)),
        }
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.abandon();
        let mut allowance = Allowance::new(budget);
        self.until_check -= 1;
        if self.until_check == 0 {
            allowance.polled.moved |= self.check();
        }
        self.exchange(sink, &mut allowance);
        allowance.polled
    }

    fn is_quiet(&self) -> bool {
        self.until_check > 1 && self.contacts.is_quiet() && !self.contacts.has_unsent()
    }

    fn keeps_packets(&self) -> bool {
        false
    }

    fn arm(&mut self) -> Armed {
        self.abandon();
        if self.check() || self.contacts.is_pressed() {
            self.contacts.disarm();
            return Armed::Busy;
        }
        if !self.contacts.arm() {
            return Armed::Busy;
        }
        // Whatever ends the sleep, the first poll after it looks at everything.
        self.until_check = 1;
        Armed::Sleep
    }

    fn close(&mut self) -> Closing {
        self.abandon();
        self.check();
        let mut is_closed = !self.contacts.has_unsent();
        for link in self.contacts.links() {
            if matches!(link.ending(), Ending::Open | Ending::Parting) {
                is_closed &= link.is_drained() && link.say_goodbye();
            }
        }
        if is_closed { Closing::Closed } else { Closing::Pending }
    }

    fn usage(&self) -> Usage {
        let (peers, block_bytes) = self.contacts.usage();
        let own = self.scratch.len();
        // Two blocks when both made contact at the same time.
        Usage { peers, bytes: block_bytes + own, limit_bytes: peers * 2 * self.geometry.block_len() + own }
    }
}

impl fmt::Debug for ShmSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { me, size, job, secret: _, config } = self;
        f.debug_struct("ShmSettings")
            .field("me", me)
            .field("size", size)
            .field("job", job)
            .field("config", config)
            .finish_non_exhaustive()
    }
}
