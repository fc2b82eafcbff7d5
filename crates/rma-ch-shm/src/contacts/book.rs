//! The peers by number, those that a poll looks at, and what wakes this process.
//!
//! Invariants: a peer never contacted has no state; an entry is never removed, so that a peer that failed stays failed, but
//! it keeps no memory.

use crate::config::ShmConfig;
use crate::handshake::{Introduction, LONGEST};
use crate::identity::Service;
use crate::link::{Doorbell, Link, has_left};
use crate::reception::{News, Reception};
use crate::ring::{Consumer, arm_all};
use crate::segment::SharedMemory;
use crate::sockets;
use rma_core::channel::Failure;
use rma_core::ids::Peer;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

/// The peers, the door, and the own doorbell.
#[derive(Debug)]
pub(crate) struct Contacts {
    pub(super) introduction: Introduction,
    pub(super) config: ShmConfig,
    pub(super) reception: Reception,
    pub(super) doorbell: Doorbell,
    pub(super) entries: Vec<Entry>,
    pub(super) by_peer: BTreeMap<Peer, usize>,
    /// The entry that was looked for last: mostly it is the next one too.
    last: Option<(Peer, usize)>,
    /// Entries that a poll looks at.
    pub(super) live: Vec<usize>,
    /// Hellos that could not be sent yet.
    pub(super) waiting: Vec<Hello>,
    pub(super) news: Vec<News<LONGEST>>,
    /// Whether a sleeper must hear of what comes.
    pub(super) is_awaited: bool,
    /// Whether it was said that connections cannot be accepted.
    pub(super) has_warned: bool,
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

/// A hello that is to be sent.
#[derive(Debug)]
pub(super) struct Hello {
    pub(super) entry: usize,
    pub(super) memory: SharedMemory,
}

impl Contacts {
    pub(crate) fn new(introduction: Introduction, config: ShmConfig) -> io::Result<Self> {
        let me = introduction.me();
        let addresses = introduction.identity().addresses(Service::Channel, me);
        let reception = Reception::open(addresses, config.backlog).map_err(|error| {
            let error = sockets::explain(error);
            io::Error::new(
                error.kind(),
                format!("process {me} cannot listen for the peers of its node: {error}"),
            )
        })?;
        Ok(Self {
            introduction,
            config,
            reception,
            doorbell: Doorbell::new().map_err(sockets::explain)?,
            entries: Vec::new(),
            by_peer: BTreeMap::new(),
            last: None,
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
        let at = match self.last {
            Some((last, at)) if last == peer => at,
            _ => {
                let Some(&at) = self.by_peer.get(&peer) else { return self.make_contact(peer) };
                self.last = Some((peer, at));
                at
            }
        };
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
        linked(&mut self.entries)
    }

    /// Takes entries that are over off the list of those that a poll looks at.
    pub(crate) fn forget_ended(&mut self) {
        let entries = &self.entries;
        self.live.retain(|at| matches!(entries[*at].state, State::Linked(_) | State::Doomed(_)));
    }

    /// Whether no peer in contact has anything for a poll to do: two loads of shared memory for each.
    pub(crate) fn is_quiet(&self) -> bool {
        self.live.iter().all(|at| match &self.entries[*at].state {
            State::Linked(link) => link.is_idle(),
            State::Doomed(_) => false,
            State::Lost(_) | State::Left => true,
        })
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
        let Self { entries, doorbell, .. } = self;
        let each =
            |visit: &mut dyn FnMut(&mut Consumer)| linked(entries).flat_map(Link::consumers).for_each(visit);
        arm_all(each, || doorbell.clear());
        self.links().for_each(|link| link.arm_for_room());
        let is_quiet = self.links().all(Link::is_quiet);
        self.is_awaited = true;
        if !is_quiet {
            self.disarm();
        }
        is_quiet
    }

    /// Takes back what [`Contacts::arm`] did: the thread that armed last is awake. Only a waiter may say so,
    /// not every poll, since another thread may poll while the waiter sleeps.
    pub(crate) fn disarm(&mut self) {
        if std::mem::take(&mut self.is_awaited) {
            self.links().for_each(Link::disarm);
        }
    }

    /// Adds a peer.
    pub(super) fn insert(&mut self, peer: Peer, state: State) {
        let at = self.entries.len();
        let mut entry = Entry { peer, state, has_ended: false };
        if let (true, State::Linked(link)) = (self.is_awaited, &mut entry.state) {
            link.arm_without_clearing();
        }
        self.entries.push(entry);
        self.by_peer.insert(peer, at);
        self.live.push(at);
    }
}

fn linked(entries: &mut [Entry]) -> impl Iterator<Item = &mut Link> {
    entries.iter_mut().filter_map(|entry| match &mut entry.state {
        State::Linked(link) => Some(&mut **link),
        State::Doomed(_) | State::Lost(_) | State::Left => None,
    })
}
