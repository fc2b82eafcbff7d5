//! The channel: sending and polling, the part that runs all the time.
//!
//! A poll goes over the work lists: handshakes that moved, queues that can be written, connections that can be read, and what
//! is to be reported. Epoll events are collected only now and then while there is traffic: the connections used last are
//! simply read. Invariant behind clause C6: whatever the system has reported is
//! in a list until it was acted upon, [`TcpChannel::arm`] takes all reports and then looks at the lists, and what the
//! system reports later wakes the sleeper.

use super::watch::EpollEvents;
use crate::config::{Directory, Limits, TcpSettings};
use crate::handshake::{Identity, Terms};
use crate::inbox::{Halt, Turn};
use crate::peers::{Connection, Link, PeerState, Peers};
use crate::queue::{STAGE, SendQueue};
use crate::readiness::{Readiness, Source as ReadySource};
use crate::seal::RECORD;
use crate::unauthenticated::Unauthenticated;
use crate::work_lists::WorkLists;
use crate::{socket, sys};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Failure, Lane, Polled, Room, Sink, Source,
    Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use rma_core::processor::Processor;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Queued bytes that are written at once instead of at the next poll, so that the peer can begin.
const EARLY_WRITE: usize = 32768;
/// How soon a closing channel looks again whether the peers' systems have confirmed everything.
const CLOSE_LOOK: Duration = Duration::from_millis(1);

/// Packets over TCP between the processes of a job. See the crate's page.
pub struct TcpChannel {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) directory: Directory,
    pub(crate) address: SocketAddr,
    pub(crate) listener: Listener,
    pub(crate) readiness: Readiness,
    pub(crate) unauthenticated: Unauthenticated,
    pub(crate) peers: Peers,
    pub(crate) work_lists: WorkLists,
    /// A packet between its reservation and its commit.
    reservation: Option<Reservation>,
    /// Memory for short pieces of bodies; made at the first connection.
    stage: Vec<u8>,
    /// Whose deadline is over; empty between polls.
    pub(crate) late: Vec<ReadySource>,
    /// The timer went off and the deadlines have not been looked at.
    pub(crate) timer_fired: bool,
    pub(crate) epoll_events: EpollEvents,
    /// System calls that have looked for something.
    calls: SystemCalls,
    pub(crate) closing: bool,
    /// While closing: a deadline is set for looking again.
    pub(crate) look_due: bool,
    /// When connections are looked at for silence.
    pub(crate) silence_at: Option<Instant>,
}

/// System calls by which a channel has looked for something, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCalls {
    /// Of what a connection has to read.
    pub reads: u64,
    /// Of the epoll events of all sockets.
    pub epoll_waits: u64,
}

/// The listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    /// A connection may be waiting to be accepted.
    pub(crate) maybe_waiting: bool,
    /// The system refused to accept, and is not asked before this.
    pub(crate) paused_until: Option<Instant>,
    /// All places of unauthenticated connections are taken, and none of them makes way before this.
    pub(crate) crowded_until: Option<Instant>,
    /// A descriptor of no use, in the place of a connection that can be turned away when there is no other left.
    pub(crate) reserve: Option<OwnedFd>,
    /// It was said that connections cannot be accepted.
    pub(crate) has_warned: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    place: usize,
    lane: Lane,
    len: usize,
    filled: usize,
    /// The packet goes nowhere; see [`PeerState::drops`].
    dropped: bool,
}

impl TcpChannel {
    /// Starts to listen. No peer is contacted before something is sent to it.
    ///
    /// # Errors
    /// When the system refuses, for example because the address is none of this machine's.
    pub fn bind(settings: TcpSettings) -> io::Result<Self> {
        let TcpSettings { me, size, job, secret, listen, config, directory } = settings;
        let limits = Limits::new(&config);
        let terms = Terms {
            packet: limits.packet as u32,
            processor: Processor::HERE,
            authenticate: limits.authenticate,
        };
        let (listening, address) = socket::listen(listen, &limits)?;
        let readiness = Readiness::new()?;
        readiness.add(listening.as_fd(), ReadySource::Listener)?;
        Ok(Self {
            identity: Identity::new(me, size, &job, secret, terms),
            limits,
            directory,
            address,
            listener: Listener {
                reserve: Some(listening.try_clone()?),
                socket: listening,
                maybe_waiting: false,
                paused_until: None,
                crowded_until: None,
                has_warned: false,
            },
            readiness,
            unauthenticated: Unauthenticated::new(&limits),
            peers: Peers::default(),
            work_lists: WorkLists::new(limits.direct_reads),
            reservation: None,
            stage: Vec::new(),
            late: Vec::new(),
            timer_fired: false,
            epoll_events: EpollEvents::new(),
            calls: SystemCalls::default(),
            closing: false,
            look_due: false,
            silence_at: None,
        })
    }

    /// How many system calls have looked for something.
    pub fn system_calls(&self) -> SystemCalls {
        SystemCalls { epoll_waits: self.epoll_events.collections(), ..self.calls }
    }

    /// The text that the directories of the other processes answer for this one.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Writes the queue of one peer, `most` bytes of it at least; says whether anything went.
    fn write(&mut self, place: usize, most: usize) -> bool {
        let PeerState { queue, link: Link::Connected(connection), .. } = &mut self.peers[place] else {
            return false;
        };
        if connection.blocked || connection.write_error.is_some() {
            return false;
        }
        if self.stage.is_empty() {
            self.stage = vec![0; STAGE];
        }
        let work_lists = &mut self.work_lists;
        let socket = connection.socket.as_fd();
        let sent = |token| work_lists.note_sent(token);
        let written = match &mut connection.sealer {
            None => queue.write(socket, &self.limits, &mut self.stage, most, sent),
            Some(sealer) => queue.write_sealed(socket, &self.limits, sealer, most, sent),
        };
        match written {
            Ok(written) => {
                connection.blocked = written.blocked;
                if !queue.is_empty() && !written.blocked {
                    work_lists.write.push(place);
                }
                // A sealed record may be left when the queue is empty; it is blocked then.
                if queue.is_empty() && !written.blocked && self.closing && !connection.finished {
                    socket::finish(socket);
                    connection.finished = true;
                }
                let (is_used, blocked) = (written.bytes > 0 && !connection.ended, written.blocked);
                if is_used {
                    self.used(place);
                }
                if blocked {
                    self.watch(place);
                }
                written.bytes > 0
            }
            Err(error) => {
                self.cannot_write(place, error);
                true
            }
        }
    }

    /// Reads the connection of one peer.
    fn read(&mut self, place: usize, turn: &mut Turn<'_>) {
        let PeerState { peer, link: Link::Connected(connection), .. } = &mut self.peers[place] else {
            return;
        };
        if connection.ended {
            // There is nothing to read, but a reason to look: perhaps the peer does not read any more.
            if connection.write_error.is_some() || socket::error(connection.socket.as_fd()).is_err() {
                self.part(place);
            }
            return;
        }
        let before = turn.progress();
        let socket = connection.socket.as_fd();
        match connection.inbox.receive(socket, *peer, connection.read_closed, turn) {
            Ok(halt) => {
                if turn.progress() != before {
                    self.used(place);
                    self.read_awake(place);
                } else if self.work_lists.direct.missed(place) {
                    self.watch(place);
                }
                match halt {
                    Halt::Drained => {}
                    Halt::Budget => self.work_lists.read.push(place),
                    Halt::Ended => {
                        if let Link::Connected(connection) = &mut self.peers[place].link {
                            connection.ended = true;
                        }
                        self.work_lists.direct.remove(place);
                        self.watch(place);
                        // Looked at once more, in case nothing can be written either.
                        self.work_lists.read.push(place);
                    }
                    Halt::Left => self.part(place),
                }
            }
            Err(broken) => self.broken(place, broken),
        }
    }

    /// Reads what is in the list, and what is read directly: each connection once, since a second read right
    /// behind the first finds nothing. Those that the turn was too short for come first in the next: a peer
    /// with much to say keeps out no connection that the system does not report.
    fn read_all(&mut self, turn: &mut Turn<'_>) {
        let mut direct = self.work_lists.direct.list();
        for _ in 0..self.work_lists.read.len() {
            if turn.is_over() {
                break;
            }
            let Some(place) = self.work_lists.read.pop() else { break };
            self.read(place, turn);
            direct.retain(|other| *other != place);
        }
        for place in direct {
            if turn.is_over() {
                self.work_lists.read.push(place);
            } else if !self.work_lists.read.contains(place) {
                self.read(place, turn);
            }
        }
        if turn.is_over() {
            // The next turn may be as long, and others may have come meanwhile.
            self.epoll_events.collect_next();
        }
    }

    /// Reports room in lanes that were full.
    fn report_room(&mut self, turn: &mut Turn<'_>) {
        for _ in 0..self.work_lists.full.len() {
            let Some(place) = self.work_lists.full.pop() else { return };
            let PeerState { peer, queue, link } = &mut self.peers[place];
            if matches!(link, Link::Failed(_)) {
                continue;
            }
            for lane in Lane::ALL {
                if queue.take_writable(lane, &self.limits) {
                    turn.sink.writable(*peer, lane);
                    turn.moved = true;
                }
            }
            if queue.has_full_lane() {
                self.work_lists.full.push(place);
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.work_lists.is_busy()
            || self.timer_fired
            || self.can_accept()
            || self
                .work_lists
                .full
                .iter()
                .any(|place| self.peers[place].queue.would_be_writable(&self.limits))
    }

    /// Whether something committed has not reached the system of a peer.
    fn is_unconfirmed(&self) -> bool {
        self.peers.iter().any(|state| match &state.link {
            Link::Dialing(_) => true,
            Link::Connected(Connection { write_error: Some(_), .. }) => true,
            Link::Connected(connection) if connection.finished => {
                // An error is one of the connection, and found by reading.
                sys::unconfirmed(connection.socket.as_fd()).map_or(true, |bytes| bytes > 0)
            }
            Link::Connected(_) => true,
            Link::Left | Link::Failed(_) => false,
        })
    }
}

// SAFETY: clause C4. A bulk body's memory is named only by its `Gather` in the peer's `SendQueue`, which gives it to the
// kernel for the time of a call and drops it together with noting its token (`SendQueue::consume` and `clear`); the notes
// are reported later, and bodies before failures. A placement's memory is named only by its `Scatter` in the peer's
// `Inbox`, which is dropped before `bulk_received` is called, and with the connection before `failed` is.
unsafe impl Channel for TcpChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "tcp", max_packet: self.limits.packet, bulk_from: self.limits.bulk_from }
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.readiness.join(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.contact(peer).map(|_| ())
    }

    fn give_up(&mut self, peer: Peer, cause: &str) {
        self.abandon(peer, cause);
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        assert!((1..=self.limits.packet).contains(&len), "a packet of {len} bytes");
        self.reservation = None;
        let place = self.contact(peer)?;
        let state = &mut self.peers[place];
        let dropped = state.drops();
        let room = if dropped { Room::Granted } else { state.queue.reserve(lane, len, &self.limits) };
        match room {
            Room::Granted => self.reservation = Some(Reservation { place, lane, len, filled: 0, dropped }),
            Room::Full => self.work_lists.full.push(place),
        }
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        let reservation = self.reservation.as_mut().expect("a packet is reserved");
        let more = source.len();
        assert!(more <= reservation.len - reservation.filled, "more bytes than were reserved");
        if !reservation.dropped {
            self.peers[reservation.place].queue.fill(reservation.lane, reservation.filled, source);
        } else if let Source::Memory(gather) = source {
            gather.advance(more);
        }
        reservation.filled += more;
    }

    fn commit(&mut self) {
        let reservation = self.reservation.take().expect("a packet is reserved");
        assert_eq!(reservation.filled, reservation.len, "bytes filled of bytes reserved");
        if reservation.dropped {
            return;
        }
        let Reservation { place, lane, len, .. } = reservation;
        let queue = &mut self.peers[place].queue;
        queue.commit(lane, len);
        if queue.waiting_bytes() >= EARLY_WRITE {
            self.write(place, EARLY_WRITE);
        } else {
            self.work_lists.write.push(place);
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
        assert!((1..=self.limits.packet).contains(&head.len()), "a head of {} bytes", head.len());
        assert!(body.remaining() > 0, "a body of no bytes");
        self.reservation = None;
        let place = self.contact(peer)?;
        let state = &mut self.peers[place];
        if state.drops() {
            self.work_lists.note_sent(token);
            return Ok(Room::Granted);
        }
        let room = state.queue.push_bulk(lane, head, body, token, &self.limits);
        match room {
            Room::Granted => self.work_lists.write.push(place),
            Room::Full => self.work_lists.full.push(place),
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.reservation = None;
        let mut turn = Turn::new(sink, budget);
        for _ in 0..self.work_lists.write.len() {
            let Some(place) = self.work_lists.write.pop() else { break };
            turn.moved |= self.write(place, budget.bytes);
        }
        // Without a packet to hand over there is nothing to read for, and nothing to ask the system.
        if budget.packets > 0 {
            if self.epoll_events.is_due() || self.work_lists.direct.is_empty() {
                self.collect();
            }
            turn.moved |= self.advance_contacts();
            self.read_all(&mut turn);
            self.calls.reads += turn.reads;
        }
        turn.moved |= self.work_lists.report(turn.sink);
        self.report_room(&mut turn);
        Polled {
            packets: turn.packets,
            moved: turn.moved,
            more: turn.is_over() && !self.work_lists.read.is_empty(),
        }
    }

    fn arm(&mut self) -> Armed {
        if self.is_busy() {
            return Armed::Busy;
        }
        self.watch_all();
        self.collect();
        if self.is_busy() {
            return Armed::Busy;
        }
        // Whatever wakes the sleeper is in the system's reports, so the next poll begins with them.
        self.epoll_events.collect_next();
        Armed::Sleep
    }

    fn close(&mut self) -> Closing {
        self.reservation = None;
        if !std::mem::replace(&mut self.closing, true) {
            for place in 0..self.peers.len() {
                let state = &mut self.peers[place];
                if matches!(state.link, Link::Dialing(_) | Link::Connected(_)) {
                    state.queue.say_goodbye();
                    self.work_lists.write.push(place);
                }
            }
        }
        if !self.is_unconfirmed() {
            return Closing::Closed;
        }
        // The system does not report that the last bytes were confirmed, so a sleeper is woken to look.
        if !std::mem::replace(&mut self.look_due, true) {
            self.readiness.set_deadline(Instant::now() + CLOSE_LOOK, ReadySource::Timer);
        }
        Closing::Pending
    }

    fn usage(&self) -> Usage {
        let shared = |connections| STAGE + connections * Unauthenticated::BYTES;
        let peer = |state: &PeerState| {
            let connection = match &state.link {
                Link::Connected(connection) => connection.allocated(),
                Link::Dialing(_) | Link::Left | Link::Failed(_) => 0,
            };
            size_of::<PeerState>() + state.queue.allocated() + connection
        };
        let records = if self.limits.authenticate { 2 * RECORD } else { 0 };
        let per_peer =
            size_of::<PeerState>() + SendQueue::most_allocated(&self.limits) + self.limits.receive + records;
        Usage {
            peers: self.peers.len(),
            bytes: self.peers.iter().map(peer).sum::<usize>()
                + self.stage.len()
                + self.unauthenticated.len() * Unauthenticated::BYTES,
            limit_bytes: self.peers.len() * per_peer + shared(self.limits.unauthenticated),
        }
    }
}

impl fmt::Debug for TcpChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpChannel")
            .field("identity", &self.identity)
            .field("address", &self.address)
            .field("peers", &self.peers.len())
            .finish_non_exhaustive()
    }
}
