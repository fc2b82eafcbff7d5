//! Incoming connections that are not yet authenticated.
//!
//! Any process can connect, so an incoming connection costs little and cannot disturb the job: their number is limited (more
//! wait in the system's queue), each message has a time limit, and no message of theirs fails a peer. When all places are
//! taken, the connection that has been silent longest makes way, after a time that a peer hardly ever needs: silent
//! connections keep no peer out, and a peer that is pushed out connects again. Knows no peers; a proof makes one of the
//! other side.

use crate::config::Limits;
use crate::dial::nonce;
use crate::exchange::Exchange;
use crate::handshake::{Answerer, Identity, Refusal, check_start};
use crate::seal::Keys;
use rma_core::ids::Peer;
use slab::Slab;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long an incoming connection without a hello keeps its place when others need it: a hello is sent with the connection.
const BEFORE_HELLO: Duration = Duration::from_millis(50);
/// The same after a hello, which needs the job's name only: the proof takes a round trip.
const BEFORE_PROOF: Duration = Duration::from_millis(250);

/// All of them.
#[derive(Debug)]
pub(crate) struct Unauthenticated {
    slots: Slab<Incoming>,
    limit: usize,
    /// Those dropped for what they sent.
    dropped: u64,
}

#[derive(Debug)]
struct Incoming {
    exchange: Exchange,
    stage: AnswerStage,
    deadline: Instant,
    /// From then on it makes way for others.
    makes_way_at: Instant,
    from: Origin,
}

#[derive(Debug)]
enum AnswerStage {
    Hello,
    Proof(Answerer),
}

/// What a step led to.
#[derive(Debug)]
pub(crate) enum Heard {
    Waiting,
    /// Waiting anew: for the next message, until this time.
    Until(Instant),
    /// This peer has proven itself, and awaits the verdict.
    Known(Peer, Exchange, Option<Keys>),
    /// Not of this job, or gone; already reported.
    Dropped,
}

impl Unauthenticated {
    /// Memory of one.
    pub(crate) const BYTES: usize = size_of::<Incoming>();

    pub(crate) fn new(limits: &Limits) -> Self {
        Self { slots: Slab::new(), limit: limits.unauthenticated, dropped: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.slots.len() < self.limit
    }

    /// Takes in an accepted connection; says its number and how long it has.
    pub(crate) fn add(
        &mut self,
        socket: OwnedFd,
        from: Option<SocketAddr>,
        limits: &Limits,
    ) -> (usize, Instant) {
        let now = Instant::now();
        let (deadline, makes_way_at) = (now + limits.handshake_timeout, now + BEFORE_HELLO);
        let exchange = Exchange::new(socket);
        let incoming =
            Incoming { exchange, stage: AnswerStage::Hello, deadline, makes_way_at, from: Origin(from) };
        (self.slots.insert(incoming), deadline)
    }

    /// Which connection is the next to make way, and from when on.
    pub(crate) fn next_to_go(&self) -> Option<(usize, Instant)> {
        let times = self.slots.iter().map(|(index, incoming)| (index, incoming.makes_way_at));
        times.min_by_key(|(_, at)| *at)
    }

    /// Drops one for another: what it has sent was looked at.
    pub(crate) fn make_way(&mut self, index: usize) {
        if self.slots.contains(index) {
            let incoming = self.slots.remove(index);
            tracing::debug!(from = %incoming.from, "a silent connection made way for others");
        }
    }

    pub(crate) fn socket(&self, index: usize) -> Option<BorrowedFd<'_>> {
        Some(self.slots.get(index)?.exchange.socket())
    }

    /// Goes on after the socket has become readable.
    pub(crate) fn advance(&mut self, index: usize, identity: &Identity, limits: &Limits) -> Heard {
        let Some(incoming) = self.slots.get_mut(index) else { return Heard::Waiting };
        match incoming.advance(identity) {
            Ok(Progress::None) => Heard::Waiting,
            Ok(Progress::Message) => {
                let now = Instant::now();
                incoming.deadline = now + limits.handshake_timeout;
                incoming.makes_way_at = now + BEFORE_PROOF;
                Heard::Until(incoming.deadline)
            }
            Ok(Progress::Known(peer, keys)) => Heard::Known(peer, self.slots.remove(index).exchange, keys),
            Err(Leaving::Ended) => {
                let incoming = self.slots.remove(index);
                // Also what a peer does that has found another way.
                tracing::debug!(from = %incoming.from, "an incoming connection ended before it authenticated");
                Heard::Dropped
            }
            Err(Leaving::Wrong(cause)) => {
                self.drop_with(index, &cause);
                Heard::Dropped
            }
        }
    }

    /// Drops one whose time is over by `now`.
    pub(crate) fn expire(&mut self, index: usize, now: Instant) {
        if self.slots.get(index).is_some_and(|incoming| incoming.deadline <= now) {
            self.drop_with(index, "it did not authenticate in time");
        }
    }

    fn drop_with(&mut self, index: usize, cause: &str) {
        let from = self.slots.remove(index).from;
        self.dropped += 1;
        // Any process can connect: a flood of connections is no flood of lines.
        if self.dropped.is_power_of_two() {
            tracing::warn!(%from, cause, so_far = self.dropped, "an incoming connection was dropped");
        } else {
            tracing::debug!(%from, cause, so_far = self.dropped, "an incoming connection was dropped");
        }
    }
}

/// The other end of a connection, for messages: a system need not say it.
#[derive(Debug)]
struct Origin(Option<SocketAddr>);

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("an address that the system does not tell"),
        }
    }
}

enum Progress {
    None,
    Message,
    Known(Peer, Option<Keys>),
}

enum Leaving {
    Ended,
    Wrong(String),
}

impl Incoming {
    fn advance(&mut self, identity: &Identity) -> Result<Progress, Leaving> {
        match &self.stage {
            AnswerStage::Hello => {
                let hello = self.exchange.receive();
                let Some(hello) = hello? else {
                    // A connection that speaks something else is not waited for.
                    return match check_start(self.exchange.partial()) {
                        Ok(()) => Ok(Progress::None),
                        Err(reason) => Err(Leaving::Wrong(reason.to_string())),
                    };
                };
                match identity.answer(&hello, nonce()?) {
                    Ok((answerer, answer)) => {
                        self.exchange.send(&answer)?;
                        self.stage = AnswerStage::Proof(answerer);
                        Ok(Progress::Message)
                    }
                    Err(Refusal { reason, answer }) => {
                        if let Some(answer) = answer {
                            self.exchange.send(&answer)?;
                        }
                        Err(Leaving::Wrong(reason.to_string()))
                    }
                }
            }
            AnswerStage::Proof(answerer) => match self.exchange.receive()? {
                None => Ok(Progress::None),
                Some(proof) => match identity.verify(answerer, &proof) {
                    Ok(peer) => Ok(Progress::Known(peer, identity.keys_of_answerer(answerer))),
                    Err(reason) => Err(Leaving::Wrong(reason.to_string())),
                },
            },
        }
    }
}

impl From<io::Error> for Leaving {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Self::Ended,
            _ => Self::Wrong(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn the_other_end_is_written_as_an_address() {
        let address = "[fd77::1]:5".parse().unwrap();
        assert_eq!(Origin(Some(address)).to_string(), "[fd77::1]:5");
        assert!(!Origin(None).to_string().contains("None"));
    }
}
