//! How contact is made: hellos sent and answered, and what the sockets tell.
//!
//! A peer may make contact, send, say goodbye and end before this process looks for the first time. So before a peer is
//! taken for gone, and before it is contacted, the door is swept: every connection that was made until then is heard. Since
//! a process sends its hello before its goodbye, nothing that it sent is lost.
//!
//! Invariant: no process becomes a peer without the proof of the job's secret.

use super::book::{Contacts, Hello, State};
use crate::block::Block;
use crate::handshake::{self, LONGEST, Message, Refusal};
use crate::identity::Service;
use crate::layout::Side;
use crate::link::{Doorbell, Link, Role};
use crate::reception::News;
use crate::segment::{Mapping, SharedMemory};
use crate::sockets::{self, Received};
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

impl Contacts {
    /// Acts on what came to the sockets. Says whether anything did, and whether there may be more.
    pub(crate) fn check(&mut self) -> (bool, bool) {
        let has_sent = self.send_waiting();
        let mut news = std::mem::take(&mut self.news);
        let looked = self.reception.look(&mut news);
        let is_more = self.warn_once(looked);
        let (has_heard, has_ended) = self.act_on(&mut news);
        self.news = news;
        if has_ended {
            self.sweep();
        }
        (has_sent || has_heard, is_more)
    }

    /// Hears every connection that was made until now. Its news are acted on, but for ends, which the next check finds.
    fn sweep(&mut self) {
        let mut news = std::mem::take(&mut self.news);
        let swept = self.reception.sweep(&mut news, |_| ()).map(|()| false);
        self.warn_once(swept);
        self.act_on(&mut news);
        self.news = news;
    }

    /// Says whether there was anything, and whether a peer has come to its end.
    fn act_on(&mut self, news: &mut Vec<News<LONGEST>>) -> (bool, bool) {
        let (mut has_heard, mut has_ended) = (false, false);
        for item in news.drain(..) {
            match item {
                News::Greeting(connection, message) => {
                    self.greet(connection, message);
                    has_heard = true;
                }
                News::Readable(number) => {
                    let (at, role) = decode(number);
                    let introduction = &self.introduction;
                    if let State::Linked(link) = &mut self.entries[at].state {
                        has_heard |= link.listen(role, &|bytes| introduction.read(bytes));
                        has_ended |= link.is_over();
                    }
                }
            }
        }
        (has_heard, has_ended)
    }

    fn warn_once(&mut self, looked: io::Result<bool>) -> bool {
        looked.unwrap_or_else(|error| {
            if !std::mem::replace(&mut self.has_warned, true) {
                let (me, error) = (self.introduction.me(), sockets::explain(error));
                tracing::warn!("process {me} cannot accept connections: {error}");
            }
            false
        })
    }

    /// The entry of a peer that was not in contact so far.
    pub(super) fn make_contact(&mut self, peer: Peer) -> Result<usize, Failure> {
        let size = self.introduction.size();
        if peer.0 >= size || peer == self.introduction.me() {
            let detail = format!("process {peer} is not another process of a job of {size}");
            return Err(Failure { kind: FailureKind::Unreachable, detail });
        }
        self.sweep();
        if let Some(&at) = self.by_peer.get(&peer) {
            return Ok(at); // it has made contact itself
        }
        let at = self.entries.len();
        let made = self.make_block().and_then(|(memory, block)| {
            let link = Link::new(peer, block, self.introduction.geometry(), Side::Initiator);
            self.insert(peer, State::Linked(Box::new(link)));
            self.send_hello(Hello { entry: at, memory })
        });
        let Err(error) = made.map_err(sockets::explain) else { return Ok(at) };
        // Without a block there is no entry yet, and that of another peer may have come to where it would stand.
        self.sweep();
        let at = self.by_peer.get(&peer).copied();
        if let Some(at) = at.filter(|at| self.is_accepted(*at)) {
            return Ok(at);
        }
        let failure = unreachable(peer, &error);
        let state = State::Doomed(failure.clone());
        match at {
            Some(at) => self.entries[at].state = state,
            None => self.insert(peer, state),
        }
        Err(failure)
    }

    /// Whether a peer that could not be reached has made contact itself, perhaps just before it left. Then its own
    /// connection tells what became of it.
    fn is_accepted(&self, at: usize) -> bool {
        matches!(&self.entries[at].state, State::Linked(link) if link.is_accepted())
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

    fn send_waiting(&mut self) -> bool {
        let mut has_changed = false;
        for hello in std::mem::take(&mut self.waiting) {
            let (at, waiting) = (hello.entry, self.waiting.len());
            if let Err(error) = self.send_hello(hello).map_err(sockets::explain) {
                self.sweep();
                if !self.is_accepted(at) {
                    self.give_up(at, &error);
                }
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
        let addresses = self.introduction.identity().addresses(Service::Channel, peer);
        let sent = sockets::connect_to(addresses).and_then(|connection| {
            let descriptors = [hello.memory.as_fd(), self.doorbell.as_fd()];
            sockets::send(&connection, &self.introduction.hello(peer), &descriptors)?;
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
        self.reception.watch(&connection, encode(at, role))?;
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
                if let Err(error) = self.connect(at, Role::Acceptor, connection).map_err(sockets::explain) {
                    self.give_up(at, &error);
                }
            }
            Err(reason) => {
                if reason == Refusal::Files {
                    self.warn_once(Err(sockets::out_of_files()));
                }
                self.reception.on_unauthenticated();
                tracing::debug!(
                    turned_away = self.reception.unauthenticated(),
                    "process {} refused a connection: {}",
                    self.introduction.me(),
                    reason.text()
                );
                // Told as far as it can be.
                let _ = sockets::send(&connection, &handshake::refusal(reason), &[]);
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
        if message.has_lost_some {
            return Err(Refusal::Files);
        }
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
                State::Linked(link) => {
                    link.adopt(block, geometry)?;
                    at
                }
                State::Doomed(_) | State::Lost(_) | State::Left => {
                    return Err(Refusal::Repeated);
                }
            },
        };
        let is_awaited = self.is_awaited;
        if let State::Linked(link) = &mut self.entries[at].state {
            link.set_doorbell(doorbell);
            if is_awaited {
                link.arm_without_clearing();
            }
        }
        // A fresh connection has room for one message. A peer that has gone already is noticed by reading.
        let _ = sockets::send(connection, &self.introduction.welcome(from), &[self.doorbell.as_fd()]);
        Ok(at)
    }
}

/// The number under which a connection is watched.
fn encode(at: usize, role: Role) -> u64 {
    (at as u64) << 1 | role as u64
}

fn decode(number: u64) -> (usize, Role) {
    ((number >> 1) as usize, if number & 1 == 0 { Role::Initiator } else { Role::Acceptor })
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
