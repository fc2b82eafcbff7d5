//! The packet origins that wait for a window's lock at its owner, in the order of their tickets.
//!
//! Memory follows those who wait, and goes when they have gone. Who waits, where, and how many bytes wait with them is
//! changed here alone. A line may be as long as the job has processes, so nothing walks along it for each that joins.

use crate::control::{Grant, LockKind, Ticket};
use crate::ids::{Peer, Sequence, WindowId};
use std::collections::{BTreeSet, VecDeque};

/// Waiters whose memory an idle window keeps.
const KEPT_WAITERS: usize = 16;

/// The line of one window.
#[derive(Default)]
pub(super) struct Line {
    waiters: VecDeque<Waiter>,
    /// Those who wait and are alive: each waits once.
    origins: BTreeSet<Peer>,
    /// Bytes of packets kept with waiters.
    bytes: u64,
}

/// A request that waits.
pub(super) struct Waiter {
    pub(super) from: Peer,
    /// `None` once granted.
    pub(super) ticket: Option<Ticket>,
    pub(super) kind: LockKind,
    pub(super) window: WindowId,
    pub(super) sequence: Sequence,
    /// The whole packet, when its operation waits along.
    pub(super) packet: Option<Box<[u8]>>,
    /// The origin is lost: its turn is released as soon as it comes.
    pub(super) is_lost: bool,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Whether a request of this process waits.
    pub(super) fn has(&self, from: Peer) -> bool {
        self.origins.contains(&from)
    }

    /// Bytes of packets that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Joins at the end, or in front of everybody.
    pub(super) fn join(&mut self, waiter: Waiter, is_first: bool) {
        self.bytes += waiter.bytes();
        self.origins.insert(waiter.from);
        if is_first {
            self.waiters.push_front(waiter);
        } else {
            self.waiters.push_back(waiter);
        }
    }

    /// Waits in the place of a lost process that stood in line by itself.
    pub(super) fn adopt(&mut self, window: WindowId, ticket: Ticket) {
        let is_later =
            |waiter: &Waiter| waiter.ticket.as_ref().is_some_and(|waiting| ticket.is_before(waiting));
        let at = self.waiters.iter().position(is_later).unwrap_or(self.waiters.len());
        let waiter = Waiter {
            from: ticket.holder().peer(),
            kind: ticket.kind(),
            window,
            sequence: Sequence(0),
            packet: None,
            is_lost: true,
            ticket: Some(ticket),
        };
        self.waiters.insert(at, waiter);
    }

    /// Notes that a process is lost. Its ticket stays in line, or nobody behind it would ever be served.
    pub(super) fn lose(&mut self, peer: Peer) {
        self.origins.remove(&peer);
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.from == peer) {
            waiter.is_lost = true;
            self.bytes -= waiter.bytes();
            waiter.packet = None;
        }
    }

    /// Tries the ticket of the first; takes it off the line when its turn has come.
    pub(super) fn take_first(
        &mut self,
        turn: impl FnOnce(Ticket) -> Result<Grant, Ticket>,
    ) -> Option<(Waiter, Grant)> {
        let first = self.waiters.front_mut()?;
        let grant = match turn(first.ticket.take()?) {
            Ok(grant) => grant,
            Err(ticket) => {
                first.ticket = Some(ticket);
                return None;
            }
        };
        let waiter = self.waiters.pop_front()?;
        if !waiter.is_lost {
            self.origins.remove(&waiter.from);
        }
        self.bytes -= waiter.bytes();
        Some((waiter, grant))
    }

    /// Gives memory back that only a crowd of origins has needed: an idle window weighs the same whatever was done on it.
    pub(super) fn trim(&mut self) {
        if self.waiters.is_empty() && self.waiters.capacity() > KEPT_WAITERS {
            self.waiters = VecDeque::new();
        }
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(super) fn invariants(&self) -> Result<(), String> {
        let bytes = self.waiters.iter().map(Waiter::bytes).sum::<u64>();
        if bytes != self.bytes {
            return Err(format!("{bytes} bytes wait for the lock, {} counted", self.bytes));
        }
        if let Some(waiter) = self.waiters.iter().find(|waiter| waiter.ticket.is_none()) {
            return Err(format!("process {} waits without a ticket", waiter.from));
        }
        let alive = || self.waiters.iter().filter(|waiter| !waiter.is_lost);
        let missing = alive().find(|waiter| !self.origins.contains(&waiter.from));
        if let Some(waiter) = missing {
            return Err(format!("process {} waits, and is not known to", waiter.from));
        }
        if alive().count() != self.origins.len() {
            return Err(format!("{} requests of {} processes wait", alive().count(), self.origins.len()));
        }
        Ok(())
    }
}

impl Waiter {
    fn bytes(&self) -> u64 {
        self.packet.as_ref().map_or(0, |packet| packet.len() as u64)
    }
}
