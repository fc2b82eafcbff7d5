//! All peers that this process has to do with: who was contacted or has made contact, and how contact is made.
//!
//! Invariants: a peer never contacted has no state; an entry is never removed, so that a peer that failed stays failed, but
//! it keeps no memory. Nobody becomes a peer without the proof of the job's secret.

use crate::block::Block;
use crate::config::ShmConfig;
use crate::handshake::{self, Introduction, LONGEST, Message, Refusal};
use crate::identity::Service;
use crate::layout::Side;
use crate::link::{Doorbell, Ending, Link, Role, has_left};
use crate::reception::{News, Reception};
use crate::segment::{Mapping, SharedMemory};
use crate::sockets::{self, Received};
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The peers, the door, and the own doorbell.
#[derive(Debug)]
pub(crate) struct Contacts {
    introduction: Introduction,
    config: ShmConfig,
    reception: Reception,
    doorbell: Doorbell,
    entries: Vec<Entry>,
    by_peer: BTreeMap<Peer, usize>,
    /// Entries that a poll looks at.
    live: Vec<usize>,
    /// Hellos that could not be sent yet.
    waiting: Vec<Hello>,
    news: Vec<News<LONGEST>>,
    /// Whether somebody may be asleep who must hear of what comes.
    is_awaited: bool,
    /// Whether it was said that connections cannot be accepted.
    has_warned: bool,
}

/// A peer with state.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) peer: Peer,
    pub(crate) state: State,
    /// Set by a poll that found the peer's end.
    pub(crate) has_ended: bool,
}

/// What became of a peer.
#[derive(Debug)]
pub(crate) enum State {
    /// In contact, perhaps about to end.
    Linked(Box<Link>),
    /// It could not be reached, which has not been reported yet.
    Doomed(Failure),
    /// Reported as failed.
    Lost(Failure),
    /// It said goodbye.
    Left,
}

#[derive(Debug)]
struct Hello {
    entry: usize,
    memory: SharedMemory,
}

impl Contacts {
    pub(crate) fn new(introduction: Introduction, config: ShmConfig) -> io::Result<Self> {
        let me = introduction.me();
        let address = introduction.identity().address(Service::Channel, me)?;
        let reception = Reception::open(&address, config.backlog).map_err(|error| {
            io::Error::new(error.kind(), format!("process {me} cannot listen for its siblings: {error}"))
        })?;
        Ok(Self {
            introduction,
            config,
            reception,
            doorbell: Doorbell::new()?,
            entries: Vec::new(),
            by_peer: BTreeMap::new(),
            live: Vec::new(),
            waiting: Vec::new(),
            news: Vec::new(),
            is_awaited: false,
            has_warned: false,
        })
    }

    /// The descriptors that wake a sleeper.
    pub(crate) fn wake_sources(&self) -> [std::os::fd::BorrowedFd<'_>; 2] {
        [self.reception.as_fd(), self.doorbell.as_fd()]
    }

    /// The entry of a peer that can be sent to; makes contact if there is none.
    pub(crate) fn reach(&mut self, peer: Peer) -> Result<usize, Failure> {
        let Some(&at) = self.by_peer.get(&peer) else { return self.make_contact(peer) };
        match &self.entries[at].state {
            State::Linked(_) => Ok(at),
            State::Doomed(failure) | State::Lost(failure) => Err(failure.clone()),
            State::Left => Err(has_left(peer)),
        }
    }

    /// The link of an entry that [`Contacts::reach`] gave.
    pub(crate) fn link(&mut self, at: usize) -> Option<&mut Link> {
        match &mut self.entries[at].state {
            State::Linked(link) => Some(link),
            State::Doomed(_) | State::Lost(_) | State::Left => None,
        }
    }

    /// All entries, and the places of those that a poll looks at.
    pub(crate) fn live(&mut self) -> (&[usize], &mut [Entry]) {
        (&self.live, &mut self.entries)
    }

    /// Every link.
    pub(crate) fn links(&mut self) -> impl Iterator<Item = &mut Link> {
        self.entries.iter_mut().filter_map(|entry| match &mut entry.state {
            State::Linked(link) => Some(&mut **link),
            State::Doomed(_) | State::Lost(_) | State::Left => None,
        })
    }

    /// Takes entries that are over off the list of those that a poll looks at.
    pub(crate) fn forget_ended(&mut self) {
        let entries = &self.entries;
        self.live.retain(|at| matches!(entries[*at].state, State::Linked(_) | State::Doomed(_)));
    }

    /// Whether a poll has to come soon although no source will say so.
    pub(crate) fn is_pressed(&self) -> bool {
        !self.waiting.is_empty()
            || self.live.iter().any(|at| matches!(self.entries[*at].state, State::Doomed(_)))
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// Whether hellos are still to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Peers with state, and bytes of shared memory held for them.
    pub(crate) fn usage(&self) -> (usize, usize) {
        let bytes = self.entries.iter().map(|entry| match &entry.state {
            State::Linked(link) => link.block_bytes(),
            State::Doomed(_) | State::Lost(_) | State::Left => 0,
        });
        (self.entries.len(), bytes.sum())
    }

    /// Asks all peers to ring, and says whether nothing has to be done before a sleep.
    pub(crate) fn arm(&mut self) -> bool {
        let mut was_rung = false;
        for link in self.links() {
            link.arm(&mut was_rung);
        }
        if was_rung {
            // Between asking and looking: what was rung for before is seen by the look, what comes after rings again.
            self.doorbell.clear();
        }
        let is_quiet = self.links().all(Link::is_quiet);
        self.is_awaited = true;
        if !is_quiet {
            self.disarm();
        }
        is_quiet
    }

    /// Takes back what [`Contacts::arm`] did: whoever armed last is awake. Only a waiter may say so, not every poll, since
    /// another thread may poll while the waiter sleeps.
    pub(crate) fn disarm(&mut self) {
        if std::mem::take(&mut self.is_awaited) {
            self.links().for_each(Link::disarm);
        }
    }

    /// Acts on what came to the sockets. Says whether anything did, and whether there may be more.
    pub(crate) fn check(&mut self) -> (bool, bool) {
        let mut has_changed = self.send_waiting();
        let mut news = std::mem::take(&mut self.news);
        let is_more = self.reception.look(&mut news).unwrap_or_else(|error| {
            if !std::mem::replace(&mut self.has_warned, true) {
                tracing::warn!(%error, "process {} cannot accept connections", self.introduction.me());
            }
            false
        });
        for item in news.drain(..) {
            match item {
                News::Greeting(connection, message) => {
                    self.greet(connection, message);
                    has_changed = true;
                }
                News::Readable(number) => has_changed |= self.listen(number),
            }
        }
        self.news = news;
        (has_changed, is_more)
    }

    fn listen(&mut self, number: u64) -> bool {
        let (at, role) =
            ((number >> 1) as usize, if number & 1 == 0 { Role::Initiator } else { Role::Acceptor });
        let introduction = &self.introduction;
        match &mut self.entries[at].state {
            State::Linked(link) => link.listen(role, &|bytes| introduction.read(bytes)),
            State::Doomed(_) | State::Lost(_) | State::Left => false,
        }
    }

    fn make_contact(&mut self, peer: Peer) -> Result<usize, Failure> {
        let size = self.introduction.size();
        if peer.0 >= size || peer == self.introduction.me() {
            let detail = format!("process {peer} is not another process of a job of {size}");
            return Err(Failure { kind: FailureKind::Unreachable, detail });
        }
        let at = self.entries.len();
        let made = self.make_block().and_then(|(memory, block)| {
            let link = Link::new(peer, block, self.introduction.geometry(), Side::Initiator);
            self.insert(peer, State::Linked(Box::new(link)));
            self.send_hello(Hello { entry: at, memory })
        });
        let Err(error) = made else { return Ok(at) };
        let failure = unreachable(peer, &error);
        let state = State::Doomed(failure.clone());
        match self.entries.get_mut(at) {
            Some(entry) => entry.state = state,
            None => self.insert(peer, state),
        }
        Err(failure)
    }

    fn make_block(&self) -> io::Result<(SharedMemory, Block)> {
        let len = self.introduction.geometry().block_len() as u64;
        let memory = SharedMemory::create(len, len, &self.config).map_err(io::Error::other)?;
        memory.reserve().map_err(|error| {
            let dir = self.config.dir.path().display();
            io::Error::new(error.kind(), format!("{len} bytes of shared memory in {dir}: {error}"))
        })?;
        let block = Block::new(Mapping::new(&memory)?);
        Ok((memory, block))
    }

    fn insert(&mut self, peer: Peer, state: State) {
        let at = self.entries.len();
        let mut entry = Entry { peer, state, has_ended: false };
        if let (true, State::Linked(link)) = (self.is_awaited, &mut entry.state) {
            link.arm(&mut false);
        }
        self.entries.push(entry);
        self.by_peer.insert(peer, at);
        self.live.push(at);
    }

    fn send_waiting(&mut self) -> bool {
        let mut has_changed = false;
        for hello in std::mem::take(&mut self.waiting) {
            let (at, waiting) = (hello.entry, self.waiting.len());
            if let Err(error) = self.send_hello(hello) {
                self.give_up(at, &error);
            }
            has_changed |= self.waiting.len() == waiting;
        }
        has_changed
    }

    fn give_up(&mut self, at: usize, error: &io::Error) {
        let peer = self.entries[at].peer;
        if let State::Linked(link) = &mut self.entries[at].state {
            link.break_off(Refusal::Resources, unreachable(peer, error));
        }
    }

    /// Sends a hello, or puts it on the list of those that wait for the peer to accept others first.
    fn send_hello(&mut self, hello: Hello) -> io::Result<()> {
        let peer = self.entries[hello.entry].peer;
        let address = self.introduction.identity().address(Service::Channel, peer)?;
        let sent = sockets::connect_to(&address).and_then(|connection| {
            let descriptors = [hello.memory.as_fd(), self.doorbell.as_fd()];
            sockets::send(&connection, None, &self.introduction.hello(peer), &descriptors)?;
            Ok(connection)
        });
        match sent {
            Ok(connection) => self.connect(hello.entry, Role::Initiator, connection),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.waiting.push(hello);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn connect(&mut self, at: usize, role: Role, connection: OwnedFd) -> io::Result<()> {
        self.reception.watch(&connection, (at as u64) << 1 | role as u64)?;
        if let State::Linked(link) = &mut self.entries[at].state {
            link.connect(role, connection);
        }
        Ok(())
    }

    /// Answers the first message of a connection.
    fn greet(&mut self, connection: OwnedFd, message: Received<LONGEST>) {
        let answer = self.introduction.read(message.bytes()).and_then(|meaning| match meaning {
            Message::Hello(from) => self.welcome(from, &connection, message),
            _ => Err(Refusal::Message),
        });
        match answer {
            Ok(at) => {
                if let Err(error) = self.connect(at, Role::Acceptor, connection) {
                    self.give_up(at, &error);
                }
            }
            Err(reason) => {
                self.reception.on_stranger();
                tracing::debug!(
                    turned_away = self.reception.strangers(),
                    "process {} refused a connection: {}",
                    self.introduction.me(),
                    reason.text()
                );
                // Told as far as it can be.
                let _ = sockets::send(&connection, None, &handshake::refusal(reason), &[]);
            }
        }
    }

    /// Takes what came with a hello, and answers it.
    fn welcome(
        &mut self,
        from: Peer,
        connection: &OwnedFd,
        message: Received<LONGEST>,
    ) -> Result<usize, Refusal> {
        let Ok([memory, doorbell]) = message.descriptors.into_inner() else {
            return Err(Refusal::Descriptors);
        };
        let geometry = self.introduction.geometry();
        let memory = SharedMemory::received(memory, geometry.block_len() as u64, &self.config)
            .map_err(|_| Refusal::Descriptors)?;
        let doorbell = Doorbell::received(doorbell).map_err(|_| Refusal::Descriptors)?;
        let block = Block::new(Mapping::new(&memory).map_err(|_| Refusal::Resources)?);
        let at = match self.by_peer.get(&from) {
            None => {
                let link = Link::new(from, block, geometry, Side::Acceptor);
                self.insert(from, State::Linked(Box::new(link)));
                self.entries.len() - 1
            }
            Some(&at) => match &mut self.entries[at].state {
                State::Linked(link) if *link.ending() == Ending::Open => {
                    link.adopt(block, geometry)?;
                    at
                }
                State::Linked(_) | State::Doomed(_) | State::Lost(_) | State::Left => {
                    return Err(Refusal::Repeated);
                }
            },
        };
        let is_awaited = self.is_awaited;
        if let State::Linked(link) = &mut self.entries[at].state {
            link.set_doorbell(doorbell);
            if is_awaited {
                link.arm(&mut false);
            }
        }
        // A fresh connection has room for one message. A peer that has gone already is noticed by reading.
        let _ = sockets::send(connection, None, &self.introduction.welcome(from), &[self.doorbell.as_fd()]);
        Ok(at)
    }
}

fn unreachable(peer: Peer, error: &io::Error) -> Failure {
    let detail = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("process {peer} cannot be reached: it has ended, or was never started on this node")
        }
        _ => format!("process {peer} cannot be reached: {error}"),
    };
    Failure { kind: FailureKind::Unreachable, detail }
}
