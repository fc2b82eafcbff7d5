//! How peers come into contact: dials, incoming connections, deadlines, and what ends a contact.
//!
//! The part of the channel that runs rarely. Invariants: every way that a peer's connection ends goes through
//! [`TcpChannel::fail`] or [`TcpChannel::part`], which give back the bodies and report; an unauthenticated connection never leads there.

use crate::channel::{Listener, TcpChannel};
use crate::dial::{Dial, Dialed};
use crate::exchange::Exchange;
use crate::handshake::{HELLO, Verdict, turned_away};
use crate::inbox::{Broken, Inbox};
use crate::peers::{Connection, Link, PeerState, judge};
use crate::readiness::Source;
use crate::seal::Keys;
use crate::silence::LOOKS;
use crate::socket;
use crate::sys::{self, BadMemory};
use crate::unauthenticated::Heard;
use rma_core::Below;
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long the listener rests when the system has no descriptor for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl TcpChannel {
    /// The place of a peer, which is contacted if it was not.
    ///
    /// # Errors
    /// When it has failed, or cannot be named.
    pub(crate) fn contact(&mut self, peer: Peer) -> Result<usize, Failure> {
        if let Some(place) = self.peers.find(peer) {
            return match &self.peers[place].link {
                Link::Failed(failure) => Err(failure.clone()),
                Link::Dialing(_) | Link::Connected(_) | Link::Left => Ok(place),
            };
        }
        let unreachable = |detail| Failure { kind: FailureKind::Unreachable, detail };
        if peer == self.identity.me {
            return Err(unreachable(format!("process {peer} is this process")));
        }
        if peer.0 >= self.identity.size {
            let among = Below(self.identity.size.into());
            return Err(unreachable(format!("process {peer} is not in {among}")));
        }
        match self.dial(peer) {
            Ok(dial) => {
                let place = self.peers.add(peer, Link::Dialing(dial));
                self.watch_dial(place)?;
                Ok(place)
            }
            Err(failure) => {
                let place = self.peers.add(peer, Link::Left);
                self.fail(place, failure.clone());
                Err(failure)
            }
        }
    }

    fn dial(&mut self, peer: Peer) -> Result<Dial, Failure> {
        let unknown = |cause: String| Failure {
            kind: FailureKind::Unreachable,
            detail: format!("the address of process {peer} is not known: {cause}"),
        };
        let text = (self.directory)(peer).map_err(|error| unknown(error.to_string()))?;
        let (address, machine) = text.split_once('@').map_or((&*text, None), |(at, name)| (at, Some(name)));
        let address: SocketAddr =
            address.parse().map_err(|_| unknown(format!("{text:?} is no IP address and port")))?;
        Dial::begin(peer, address, machine, &self.limits)
    }

    /// Goes on with the dials and unauthenticated connections where something has happened, and with those whose time is over.
    pub(crate) fn advance_contacts(&mut self) -> bool {
        let mut moved = std::mem::take(&mut self.timer_fired);
        if moved {
            self.expire();
        }
        for _ in 0..self.work_lists.dial.len() {
            let Some(place) = self.work_lists.dial.pop() else { break };
            if let Link::Dialing(dial) = &mut self.peers[place].link {
                let dialed = dial.advance(&self.identity);
                self.dialed(place, dialed);
                moved = true;
            }
        }
        for _ in 0..self.work_lists.unauthenticated.len() {
            let Some(index) = self.work_lists.unauthenticated.pop() else { break };
            moved = true;
            let _ = self.hear(index);
        }
        self.end_late();
        while self.can_accept() {
            moved = true;
            self.accept();
        }
        moved
    }

    /// Goes on with an unauthenticated connection; says whether it still waits for the same message.
    fn hear(&mut self, index: usize) -> bool {
        match self.unauthenticated.advance(index, &self.identity, &self.limits) {
            Heard::Waiting => return true,
            Heard::Dropped => {}
            Heard::Until(deadline) => {
                self.readiness.set_deadline(deadline, Source::Unauthenticated(index));
                self.work_lists.unauthenticated.push(index);
            }
            Heard::Known(peer, exchange, keys) => self.meet(peer, exchange, keys),
        }
        false
    }

    /// Whether an incoming connection may be waiting, and has a place or may get one.
    pub(crate) fn can_accept(&self) -> bool {
        let Listener { maybe_waiting, paused_until, crowded_until, .. } = &self.listener;
        *maybe_waiting
            && paused_until.is_none()
            && (crowded_until.is_none() || self.unauthenticated.has_room())
    }

    /// Sees to a place for an unauthenticated connection; without one, none is accepted for a time.
    fn has_place(&mut self) -> bool {
        while !self.unauthenticated.has_room() {
            let Some((index, at)) = self.unauthenticated.next_to_go() else { break };
            if at > Instant::now() {
                self.listener.crowded_until = Some(at);
                self.readiness.set_deadline(at, Source::Listener);
                return false;
            }
            // What has arrived counts, however late this process looks.
            if self.hear(index) {
                self.unauthenticated.make_way(index);
            }
        }
        self.listener.crowded_until = None;
        true
    }

    fn accept(&mut self) {
        if !self.has_place() {
            return;
        }
        match socket::accept(&self.listener.socket, &self.limits) {
            Ok((socket, from)) => {
                let (index, deadline) = self.unauthenticated.add(socket, from, &self.limits);
                self.readiness.set_deadline(deadline, Source::Unauthenticated(index));
                self.work_lists.unauthenticated.push(index);
                let Some(socket) = self.unauthenticated.socket(index) else { return };
                if let Err(error) = self.readiness.add(socket, Source::Unauthenticated(index)) {
                    // It will be dropped when its time is over.
                    tracing::warn!(%error, "an incoming connection cannot be watched");
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                self.listener.maybe_waiting = false;
            }
            Err(error) => {
                if socket::is_out_of_files(&error) && self.listener.reserve.take().is_some() {
                    // One at a time is turned away, and tries again: it would wait for ever otherwise.
                    self.turn_away();
                    return;
                }
                if !std::mem::replace(&mut self.listener.has_warned, true) {
                    let error = socket::explain(&error);
                    tracing::warn!("an incoming connection cannot be accepted now: {error}");
                }
                let until = Instant::now() + ACCEPT_PAUSE;
                self.listener.paused_until = Some(until);
                self.readiness.set_deadline(until, Source::Listener);
            }
        }
    }

    /// Tells the next incoming connection that there is no descriptor for it, in the place of the one that was in reserve.
    fn turn_away(&mut self) {
        if !std::mem::replace(&mut self.listener.has_warned, true) {
            let error = socket::explain(&rustix::io::Errno::MFILE.into());
            tracing::warn!("incoming connections are turned away: {error}");
        }
        if let Ok((socket, _)) = socket::accept(&self.listener.socket, &self.limits) {
            let mut exchange = Exchange::new(socket);
            // A hello that were left unread would take the answer with it. Without an answer the peer tries again.
            let _ = exchange.receive::<HELLO>();
            let _ = exchange.send(&turned_away());
        }
        self.listener.reserve = self.listener.socket.try_clone().ok();
        let until = Instant::now() + ACCEPT_PAUSE;
        self.listener.paused_until = Some(until);
        self.readiness.set_deadline(until, Source::Listener);
    }

    /// Notes whose time is over. What has arrived in time counts, however late this process looks, so they are looked at
    /// once more before [`TcpChannel::end_late`].
    fn expire(&mut self) {
        let known = self.late.len();
        self.readiness.take_expired(&mut self.late);
        for source in &self.late[known..] {
            match source {
                Source::Unauthenticated(index) => self.work_lists.unauthenticated.push(*index),
                Source::Peer(place) => self.work_lists.dial.push(*place),
                Source::Listener | Source::Timer => {}
            }
        }
    }

    /// Ends what is still late.
    fn end_late(&mut self) {
        let now = Instant::now();
        while let Some(source) = self.late.pop() {
            match source {
                Source::Unauthenticated(index) => self.unauthenticated.expire(index, now),
                Source::Peer(place) => {
                    if let Link::Dialing(dial) = &mut self.peers[place].link
                        && dial.deadline().is_some_and(|deadline| deadline <= now)
                    {
                        let dialed = dial.expire(&self.limits);
                        self.dialed(place, dialed);
                    }
                }
                Source::Listener => {
                    self.listener.paused_until.take_if(|until| *until <= now);
                    self.listener.crowded_until.take_if(|until| *until <= now);
                }
                // Nothing but the reason to wake: see `close`, and what looks for silence.
                Source::Timer => {
                    self.look_due = false;
                    self.end_silent(now);
                }
            }
        }
    }

    fn dialed(&mut self, place: usize, dialed: Dialed) {
        match dialed {
            Dialed::Waiting => {}
            Dialed::Pausing | Dialed::Started => {
                // A failure is noted by then.
                let _ = self.watch_dial(place);
            }
            Dialed::Connected(socket, keys) => self.establish(place, socket, keys),
            Dialed::Failed(failure) => self.fail(place, failure),
        }
    }

    /// Watches the deadline of a dial, and the socket of an attempt that has begun.
    fn watch_dial(&mut self, place: usize) -> Result<(), Failure> {
        let Link::Dialing(dial) = &self.peers[place].link else { return Ok(()) };
        if let Some(deadline) = dial.deadline() {
            self.readiness.set_deadline(deadline, Source::Peer(place));
        }
        let Some(socket) = dial.socket() else { return Ok(()) };
        match self.readiness.add(socket, Source::Peer(place)) {
            Ok(()) => Ok(()),
            Err(error) => {
                let failure = Failure {
                    kind: FailureKind::Unreachable,
                    detail: format!(
                        "a connection to process {} cannot be watched: {error}",
                        self.peers[place].peer
                    ),
                };
                self.fail(place, failure.clone());
                Err(failure)
            }
        }
    }

    /// Gives its verdict to a peer that has proven itself.
    fn meet(&mut self, peer: Peer, exchange: Exchange, keys: Option<Keys>) {
        let place = self.peers.find(peer);
        let verdict = judge(self.identity.me, peer, place.map(|place| &self.peers[place].link));
        if let Err(error) = exchange.send(&verdict.emit()) {
            // The peer will try again, or it is gone; both are seen elsewhere.
            tracing::debug!(%peer, %error, "a verdict could not be sent");
            return;
        }
        match verdict {
            Verdict::Accepted => {
                let place = match place {
                    Some(place) => place,
                    None => self.peers.add(peer, Link::Left),
                };
                self.establish(place, exchange.into_socket(), keys);
            }
            Verdict::Mine => {
                if let Some(place) = place
                    && let Link::Dialing(dial) = &mut self.peers[place].link
                {
                    dial.park(exchange.into_socket());
                }
            }
            Verdict::Refused => tracing::debug!(%peer, "a second connection of a peer was refused"),
        }
    }

    /// Makes an authenticated connection the one with a peer. Replaces a dial, which ends with that.
    fn establish(&mut self, place: usize, socket: OwnedFd, keys: Option<Keys>) {
        if let Err(error) = self.readiness.rename(socket.as_fd(), Source::Peer(place)) {
            return self.fail(
                place,
                Failure {
                    kind: FailureKind::Unreachable,
                    detail: format!(
                        "the connection of process {} cannot be watched: {error}",
                        self.peers[place].peer
                    ),
                },
            );
        }
        let state = &mut self.peers[place];
        tracing::debug!(peer = %state.peer, "connected");
        state.link =
            Link::Connected(Connection::new(socket, Inbox::new(&self.limits, keys.as_ref()), keys.as_ref()));
        if self.closing {
            state.queue.say_goodbye();
        }
        self.work_lists.write.push(place);
        self.work_lists.read.push(place);
        self.watch_for_silence();
    }

    /// Nothing can be written to a peer any more. What has arrived is still read, and tells whether the peer has left in order.
    pub(crate) fn cannot_write(&mut self, place: usize, error: io::Error) {
        let PeerState { queue, link: Link::Connected(connection), .. } = &mut self.peers[place] else {
            return;
        };
        connection.write_error = Some(error);
        socket::abandon(connection.socket.as_fd());
        queue.clear(|token| self.work_lists.note_sent(token));
        self.work_lists.read.push(place);
    }

    /// Gives up a peer whose machine is lost, as others have found: neither a dial nor a confirmation is waited for.
    pub(crate) fn abandon(&mut self, peer: Peer, cause: &str) {
        if peer == self.identity.me || peer.0 >= self.identity.size {
            return;
        }
        let detail = format!("process {peer} is gone before there was a connection: {cause}");
        let gone = Failure { kind: FailureKind::Dead, detail };
        let Some(place) = self.peers.find(peer) else {
            let place = self.peers.add(peer, Link::Left);
            return self.fail(place, gone);
        };
        match &self.peers[place].link {
            Link::Connected(_) => self.cannot_write(place, io::Error::other(cause)),
            Link::Dialing(_) => self.fail(place, gone),
            Link::Left | Link::Failed(_) => {}
        }
    }

    /// There is a connection: it is looked at from now on.
    pub(crate) fn watch_for_silence(&mut self) {
        if let Some(limit) = self.limits.ack_timeout
            && self.silence_at.is_none()
        {
            let at = Instant::now() + limit / LOOKS;
            self.silence_at = Some(at);
            self.readiness.set_deadline(at, Source::Timer);
        }
    }

    /// Gives up the peers that have been silent for too long, if it is time to look.
    pub(crate) fn end_silent(&mut self, now: Instant) {
        let Some(limit) = self.limits.ack_timeout else { return };
        if self.silence_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        let mut has_any = false;
        for place in 0..self.peers.len() {
            let Link::Connected(connection) = &mut self.peers[place].link else { continue };
            let Connection { socket, owed, write_error: None, .. } = connection else { continue };
            has_any = true;
            // A connection that cannot be asked is ended by what reads and writes it.
            let silence = sys::silence(socket.as_fd()).unwrap_or_default();
            if owed.look(silence, now) >= limit {
                let cause = format!("its system has confirmed nothing for {} s", limit.as_secs());
                self.cannot_write(place, io::Error::new(io::ErrorKind::TimedOut, cause));
            }
        }
        if has_any {
            self.watch_for_silence();
        }
    }

    /// A connection is of no more use.
    pub(crate) fn broken(&mut self, place: usize, broken: Broken) {
        let state = &self.peers[place];
        let peer = state.peer;
        let Broken { kind, cause } = match &state.link {
            Link::Connected(Connection { write_error: Some(error), .. }) => match BadMemory::of(error) {
                None => Broken { cause: format!("is gone: nothing can be sent to it: {error}"), ..broken },
                Some(bad) => Broken::by(bad),
            },
            _ => broken,
        };
        let failure = Failure { kind, detail: format!("process {peer} {cause}") };
        if kind == FailureKind::Unreachable {
            // A call whose memory it is may have ended already, and no other may ask for this peer.
            tracing::warn!("{failure}");
        }
        self.fail(place, failure);
    }

    /// Gives a peer up, and notes it.
    pub(crate) fn fail(&mut self, place: usize, failure: Failure) {
        let state = &mut self.peers[place];
        tracing::debug!(peer = %state.peer, cause = %failure, "a peer has failed");
        state.queue.clear(|token| self.work_lists.note_sent(token));
        state.link = Link::Failed(failure.clone());
        self.work_lists.direct.remove(place);
        self.work_lists.note_failed(state.peer, failure);
    }

    /// A peer that said goodbye is gone: nothing more comes from it or goes to it.
    pub(crate) fn part(&mut self, place: usize) {
        let state = &mut self.peers[place];
        tracing::debug!(peer = %state.peer, "a peer has left");
        state.queue.clear(|token| self.work_lists.note_sent(token));
        state.link = Link::Left;
        self.work_lists.direct.remove(place);
    }
}
