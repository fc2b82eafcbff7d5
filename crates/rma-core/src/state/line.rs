//! The packet origins that wait for a window's lock at its owner, in the order of their tickets.
//!
//! Memory follows the waiting requests, and goes when they have gone. Which requests wait, where, and how
//! many bytes wait with them is changed here alone. A line may be as long as the job has processes, so
//! nothing walks along it for each that joins.

use crate::control::{Grant, LockKind, Ticket};
use crate::ids::{Peer, Sequence, WindowId};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Waiters whose memory an idle window keeps.
const KEPT_WAITERS: usize = 16;

/// The line of one window.
#[derive(Default)]
pub(crate) struct Line {
    waiters: VecDeque<Waiter>,
    /// Requests that follow the owner, or wait beside the line: in the order in which they came, which is
    /// that in which they may enter. The first `following` of them follow the owner, and may all enter when
    /// it has left.
    beside: VecDeque<Waiter>,
    following: usize,
    /// The waiting origins that are alive: each waits once.
    origins: BTreeSet<Peer>,
    /// Bytes of packets kept with waiters.
    bytes: u64,
}

/// A request that waits.
pub(crate) struct Waiter {
    pub(crate) from: Peer,
    /// `None` once granted.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) kind: LockKind,
    pub(crate) window: WindowId,
    pub(crate) sequence: Sequence,
    /// The whole packet, when its operation waits along.
    pub(crate) packet: Option<Box<[u8]>>,
    /// The origin is lost: its turn is released as soon as it comes.
    pub(crate) is_lost: bool,
    /// It is the place of a dead process of the node, and its turn grants no lock.
    pub(crate) is_void: bool,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.beside.is_empty()
    }

    /// Whether a request of this process waits.
    pub(crate) fn has(&self, from: Peer) -> bool {
        self.origins.contains(&from)
    }

    /// Bytes of packets that wait.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Joins at the end, or those beside the line.
    pub(crate) fn join(&mut self, waiter: Waiter, is_beside: bool) {
        self.bytes += waiter.bytes();
        self.origins.insert(waiter.from);
        if is_beside {
            self.beside.push_back(waiter);
        } else {
            self.waiters.push_back(waiter);
        }
    }

    /// When the next beside the line has to be tried again without a wake-up.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.beside.get(self.following)?.ticket.as_ref()?.due()
    }

    /// The word is not frozen any more: waits in the places of the dead, and joins the line for requests that
    /// came meanwhile.
    pub(crate) fn thaw(
        &mut self,
        window: WindowId,
        voids: Vec<Ticket>,
        mut join: impl FnMut(Ticket) -> Ticket,
    ) {
        for ticket in voids {
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
                is_void: true,
                ticket: Some(ticket),
            };
            self.waiters.insert(at, waiter);
        }
        for waiter in &mut self.waiters {
            waiter.ticket =
                waiter.ticket.take().map(|ticket| if ticket.is_outside() { join(ticket) } else { ticket });
        }
    }

    /// The numbers that are waited for, in the order of their turns.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.waiters.iter().filter_map(|waiter| waiter.ticket.as_ref()?.number())
    }

    /// How many of the waiting requests are counted as sharers already.
    pub(crate) fn counted(&self) -> usize {
        let all = self.waiters.iter().chain(&self.beside);
        all.filter(|waiter| waiter.ticket.as_ref().is_some_and(Ticket::is_counted)).count()
    }

    /// Notes that a process is lost. Its ticket stays in line, or the requests behind it would never be
    /// served.
    pub(crate) fn lose(&mut self, peer: Peer) {
        self.origins.remove(&peer);
        // One beside the line has no place.
        let has_no_place = |waiter: &Waiter| waiter.from == peer && waiter.is_beside();
        self.bytes -=
            self.beside.iter().filter(|waiter| has_no_place(waiter)).map(Waiter::bytes).sum::<u64>();
        self.beside.retain(|waiter| !has_no_place(waiter));
        for waiter in self.waiters.iter_mut().chain(&mut self.beside).filter(|waiter| waiter.from == peer) {
            waiter.is_lost = true;
            self.bytes -= waiter.bytes();
            waiter.packet = None;
        }
    }

    /// Takes one off the line whose turn has come, if there is one.
    pub(crate) fn take_next(
        &mut self,
        mut turn: impl FnMut(Ticket) -> Result<Grant, Ticket>,
    ) -> Option<(Waiter, Grant)> {
        let (waiter, grant) =
            self.take_beside(&mut turn).or_else(|| take_at(&mut self.waiters, 0, &mut turn))?;
        if !waiter.is_lost {
            self.origins.remove(&waiter.from);
        }
        self.bytes -= waiter.bytes();
        Some((waiter, grant))
    }

    /// Takes the first that follows the owner, or the first beside the line.
    fn take_beside(
        &mut self,
        turn: &mut impl FnMut(Ticket) -> Result<Grant, Ticket>,
    ) -> Option<(Waiter, Grant)> {
        if self.following > 0
            && let Some(taken) = take_at(&mut self.beside, 0, turn)
        {
            self.following -= 1;
            return Some(taken);
        }
        while self.following < self.beside.len() {
            if let Some(taken) = take_at(&mut self.beside, self.following, turn) {
                return Some(taken);
            }
            if self.beside[self.following].is_beside() {
                break;
            }
            self.following += 1;
        }
        None
    }

    /// Gives memory back that only many origins have needed: an idle window weighs the same whatever was done on it.
    pub(crate) fn trim(&mut self) {
        for waiters in [&mut self.waiters, &mut self.beside] {
            if waiters.is_empty() && waiters.capacity() > KEPT_WAITERS {
                *waiters = VecDeque::new();
            }
        }
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self) -> Result<(), String> {
        let all = || self.waiters.iter().chain(&self.beside);
        let bytes = all().map(Waiter::bytes).sum::<u64>();
        if bytes != self.bytes {
            return Err(format!("{bytes} bytes wait for the lock, {} counted", self.bytes));
        }
        if let Some(waiter) = all().find(|waiter| waiter.ticket.is_none()) {
            return Err(format!("process {} waits without a ticket", waiter.from));
        }
        let following = self.beside.iter().take_while(|waiter| !waiter.is_beside()).count();
        if following < self.following || self.waiters.iter().any(Waiter::is_beside) {
            return Err(format!("{following} requests follow the owner, {} counted", self.following));
        }
        let alive = || all().filter(|waiter| !waiter.is_lost);
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

/// Tries a ticket; takes its waiter out when its turn has come.
fn take_at(
    waiters: &mut VecDeque<Waiter>,
    at: usize,
    turn: &mut impl FnMut(Ticket) -> Result<Grant, Ticket>,
) -> Option<(Waiter, Grant)> {
    let waiter = waiters.get_mut(at)?;
    match turn(waiter.ticket.take()?) {
        Ok(grant) => Some((waiters.remove(at)?, grant)),
        Err(ticket) => {
            waiter.ticket = Some(ticket);
            None
        }
    }
}

impl Waiter {
    fn is_beside(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::is_beside)
    }

    fn bytes(&self) -> u64 {
        self.packet.as_ref().map_or(0, |packet| packet.len() as u64)
    }
}
