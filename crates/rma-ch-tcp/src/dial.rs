//! The way to a peer that this process began: connect, authenticate, try again.
//!
//! ```text
//!                 ┌──────────── lost before the verdict ────────────┐
//!                 ▼                                                 │
//!   Pausing ─▶ Connecting ─▶ Answer ─▶ Verdict ─┬─ accepted ─▶ connected
//!                                               ├─ mine ─────▶ Yielded (the peer's own connection is coming)
//!                                               └─ refused ──▶ failed
//! ```
//!
//! The system has [`Limits::connect_timeout`] to connect, and a connection that is lost before the verdict is made anew
//! until that time is over. A peer that is connected but silent is busy, not dead, and waited for. Yielding keeps the
//! own connection open, so that the end of a peer that never gets to connecting is noticed. Knows no queue.

use crate::config::Limits;
use crate::exchange::Exchange;
use crate::handshake::{Dialer, Identity, Nonce, Reason, Verdict};
use crate::seal::Keys;
use crate::socket;
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use rma_core::random::random;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Pause before the second attempt; doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The attempts to reach one peer.
#[derive(Debug)]
pub(crate) struct Dial {
    peer: Peer,
    address: SocketAddr,
    /// The address in words, with the machine's name if it is known.
    place: String,
    stage: DialStage,
    /// No attempt begins after this.
    give_up_at: Instant,
    pause: Duration,
    /// When a stage that has an end ends.
    deadline: Option<Instant>,
    /// The peer's own connection, which has to wait for this one: closed when this one is made or given up.
    parked: Option<OwnedFd>,
}

#[derive(Debug)]
enum DialStage {
    Pausing,
    Connecting(OwnedFd),
    Answer(Exchange, Dialer),
    Verdict(Exchange, Option<Keys>),
    Yielded(Exchange),
}

/// What a step led to.
#[derive(Debug)]
pub(crate) enum Dialed {
    /// Nothing yet.
    Waiting,
    /// The attempt is lost; there is a new [`Dial::deadline`].
    Pausing,
    /// A new attempt has begun: there is a new socket to watch, and a new deadline.
    Started,
    /// Both sides know each other; frames may follow.
    Connected(OwnedFd, Option<Keys>),
    Failed(Failure),
}

impl Dial {
    /// Begins the first attempt.
    ///
    /// # Errors
    /// When the system refuses a socket.
    pub(crate) fn begin(
        peer: Peer,
        address: SocketAddr,
        machine: Option<&str>,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let now = Instant::now();
        let mut dial = Self {
            peer,
            address,
            place: machine.map_or_else(|| address.to_string(), |name| format!("{address} ({name})")),
            stage: DialStage::Pausing,
            give_up_at: now + limits.connect_timeout,
            pause: FIRST_PAUSE,
            deadline: None,
            parked: None,
        };
        dial.connect(now, limits)?;
        Ok(dial)
    }

    /// The socket of the attempt under way.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match &self.stage {
            DialStage::Pausing => None,
            DialStage::Connecting(socket) => Some(socket.as_fd()),
            DialStage::Answer(exchange, _)
            | DialStage::Verdict(exchange, _)
            | DialStage::Yielded(exchange) => Some(exchange.socket()),
        }
    }

    /// When to call [`Dial::expire`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the peer may accept an attempt that is under way, so that its own would be the second connection.
    pub(crate) fn is_under_way(&self) -> bool {
        match self.stage {
            DialStage::Connecting(_) | DialStage::Answer(..) | DialStage::Verdict(..) => true,
            DialStage::Pausing | DialStage::Yielded(_) => false,
        }
    }

    /// Keeps the peer's own connection until this one is made or given up.
    pub(crate) fn park(&mut self, socket: OwnedFd) {
        self.parked = Some(socket);
    }

    /// Goes on after the socket has become readable or writable.
    pub(crate) fn advance(&mut self, identity: &Identity) -> Dialed {
        let peer = self.peer;
        loop {
            match std::mem::replace(&mut self.stage, DialStage::Pausing) {
                DialStage::Pausing => return Dialed::Waiting,
                DialStage::Connecting(socket) => match socket::connected(socket.as_fd(), &self.address) {
                    Ok(false) => return self.wait_in(DialStage::Connecting(socket)),
                    Ok(true) => {
                        self.deadline = None;
                        match greet(peer, identity, Exchange::new(socket)) {
                            Ok(stage) => self.stage = stage,
                            Err(error) => return self.lost(&error),
                        }
                    }
                    Err(error) => return self.unreachable(&error),
                },
                DialStage::Answer(mut exchange, dialer) => match exchange.receive() {
                    Ok(None) => return self.wait_in(DialStage::Answer(exchange, dialer)),
                    Ok(Some(answer)) => match identity.prove(&dialer, &answer) {
                        Ok(proof) => match exchange.send(&proof) {
                            Ok(()) => {
                                let keys = identity.keys_of_dialer(&dialer, &answer);
                                self.stage = DialStage::Verdict(exchange, keys);
                            }
                            Err(error) => return self.lost(&error),
                        },
                        Err(reason @ Reason::Files) => {
                            return Dialed::Failed(Failure {
                                kind: FailureKind::Unreachable,
                                detail: format!(
                                    "process {peer} cannot be reached at {}: {reason}",
                                    self.place
                                ),
                            });
                        }
                        Err(reason) => {
                            return Dialed::Failed(Failure {
                                kind: FailureKind::Protocol,
                                detail: format!(
                                    "process {peer} could not be authenticated at {}: {reason}",
                                    self.place
                                ),
                            });
                        }
                    },
                    Err(error) => return self.lost(&error),
                },
                DialStage::Verdict(mut exchange, keys) => match exchange.receive() {
                    Ok(None) => return self.wait_in(DialStage::Verdict(exchange, keys)),
                    Ok(Some(bytes)) => match Verdict::parse(&bytes) {
                        Ok(Verdict::Accepted) => return Dialed::Connected(exchange.into_socket(), keys),
                        Ok(Verdict::Mine) => self.stage = DialStage::Yielded(exchange),
                        Ok(Verdict::Refused) => {
                            return Dialed::Failed(Failure {
                                kind: FailureKind::Unreachable,
                                detail: format!("process {peer} has given this process up"),
                            });
                        }
                        Err(reason) => {
                            return Dialed::Failed(Failure {
                                kind: FailureKind::Protocol,
                                detail: format!("process {peer} ended the handshake wrongly: {reason}"),
                            });
                        }
                    },
                    Err(error) => return self.lost(&error),
                },
                DialStage::Yielded(mut exchange) => {
                    return match exchange.receive::<1>() {
                        Ok(None) => self.wait_in(DialStage::Yielded(exchange)),
                        Ok(Some(_)) => Dialed::Failed(Failure {
                            kind: FailureKind::Protocol,
                            detail: format!("process {peer} went on with a connection that it had put off"),
                        }),
                        Err(error) => self.lost(&error),
                    };
                }
            }
        }
    }

    /// Goes on after the deadline: begins the next attempt, or gives up.
    pub(crate) fn expire(&mut self, limits: &Limits) -> Dialed {
        self.deadline = None;
        match &self.stage {
            DialStage::Pausing => match self.connect(Instant::now(), limits) {
                Ok(()) => Dialed::Started,
                Err(failure) => Dialed::Failed(failure),
            },
            DialStage::Connecting(_) => self.unreachable(&io::ErrorKind::TimedOut.into()),
            DialStage::Answer(..) | DialStage::Verdict(..) | DialStage::Yielded(_) => Dialed::Waiting,
        }
    }

    fn connect(&mut self, now: Instant, limits: &Limits) -> Result<(), Failure> {
        match socket::connect(&self.address, limits) {
            Ok(socket) => {
                self.stage = DialStage::Connecting(socket);
                self.deadline = Some(now + limits.connect_timeout);
                Ok(())
            }
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn wait_in(&mut self, stage: DialStage) -> Dialed {
        self.stage = stage;
        Dialed::Waiting
    }

    /// A connection that was made, and lost before the verdict: the peer had no room for it, or is gone, which the next
    /// attempt shows.
    fn lost(&mut self, error: &io::Error) -> Dialed {
        let now = Instant::now();
        if now >= self.give_up_at {
            return self.unreachable(error);
        }
        self.stage = DialStage::Pausing;
        self.deadline = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Dialed::Pausing
    }

    fn unreachable(&self, error: &io::Error) -> Dialed {
        Dialed::Failed(self.failure(error))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        let error = socket::explain(error);
        Failure {
            kind: FailureKind::Unreachable,
            detail: format!("process {} cannot be reached at {}: {error}", self.peer, self.place),
        }
    }
}

/// Introduces this process on a connection that was made.
fn greet(peer: Peer, identity: &Identity, exchange: Exchange) -> io::Result<DialStage> {
    let (dialer, hello) = identity.dial(peer, nonce()?);
    exchange.send(&hello)?;
    Ok(DialStage::Answer(exchange, dialer))
}

/// A fresh random number.
///
/// # Errors
/// When the system has none.
pub(crate) fn nonce() -> io::Result<Nonce> {
    random()
}
