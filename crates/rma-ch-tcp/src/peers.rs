//! The contacted peers: what is kept for each, and how to find it.
//!
//! Invariants: a peer gets its place at the first contact and keeps it, so places are good names in lists; a peer never
//! contacted has none. Which connection is the one between two peers that connect at the same time is decided here, by
//! [`judge`]. Knows no system call.

use crate::dial::Dial;
use crate::handshake::Verdict;
use crate::inbox::Inbox;
use crate::queue::SendQueue;
use crate::seal::{Keys, RECORD, Sealer};
use crate::silence::Owed;
use rma_core::channel::Failure;
use rma_core::ids::Peer;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};
use std::os::fd::OwnedFd;

/// All contacted peers.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    states: Vec<PeerState>,
    places: HashMap<Peer, usize>,
    /// The place that was looked up last: runs of packets go to one peer.
    last: Option<(Peer, usize)>,
}

/// What is kept for a peer.
#[derive(Debug)]
pub(crate) struct PeerState {
    pub(crate) peer: Peer,
    pub(crate) queue: SendQueue,
    pub(crate) link: Link,
}

/// The way to a peer.
#[derive(Debug)]
pub(crate) enum Link {
    Dialing(Dial),
    Connected(Connection),
    /// It closed in order and is gone. What is sent to it is dropped.
    Left,
    /// It is lost; final.
    Failed(Failure),
}

/// An authenticated connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    pub(crate) inbox: Inbox,
    /// Seals what is sent, if that is asked for.
    pub(crate) sealer: Option<Box<Sealer>>,
    /// The system takes no more bytes until it says so.
    pub(crate) blocked: bool,
    /// The system reports on the socket. It need not while the socket is read directly.
    pub(crate) is_watched: bool,
    /// Reads with data since the channel last made ready for a sleep.
    pub(crate) reads_awake: u32,
    /// The end of the stream has arrived, behind what can still be read.
    pub(crate) read_closed: bool,
    /// The peer has closed in order and sends nothing more. It may still read what is left for it, and our goodbye.
    pub(crate) ended: bool,
    /// Nothing can be written any more, and why. What has arrived is still read; then the peer is failed, unless it
    /// turns out to have left in order.
    pub(crate) write_error: Option<std::io::Error>,
    /// The end of the stream was sent, behind goodbye.
    pub(crate) finished: bool,
    /// What the peer's system has not confirmed.
    pub(crate) owed: Owed,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd, inbox: Inbox, keys: Option<&Keys>) -> Self {
        Self {
            socket,
            inbox,
            sealer: keys.map(|keys| Box::new(Sealer::new(&keys.send))),
            blocked: false,
            is_watched: true,
            reads_awake: 0,
            read_closed: false,
            ended: false,
            write_error: None,
            finished: false,
            owed: Owed::default(),
        }
    }

    /// Memory allocated; does not change.
    pub(crate) fn allocated(&self) -> usize {
        self.inbox.allocated() + if self.sealer.is_some() { RECORD } else { 0 }
    }
}

impl PeerState {
    /// Whether what is sent goes nowhere, and rightly so: the peer has left, or is about to be found lost.
    pub(crate) fn drops(&self) -> bool {
        match &self.link {
            Link::Dialing(_) | Link::Failed(_) => false,
            Link::Connected(connection) => connection.write_error.is_some(),
            Link::Left => true,
        }
    }
}

impl Peers {
    /// The place of a peer, if it was contacted.
    pub(crate) fn find(&mut self, peer: Peer) -> Option<usize> {
        if let Some((last, place)) = self.last
            && last == peer
        {
            return Some(place);
        }
        let place = *self.places.get(&peer)?;
        self.last = Some((peer, place));
        Some(place)
    }

    /// Gives a peer that was not contacted its place.
    pub(crate) fn add(&mut self, peer: Peer, link: Link) -> usize {
        let place = self.states.len();
        let double = self.places.insert(peer, place);
        debug_assert_eq!(double, None);
        self.states.push(PeerState { peer, queue: SendQueue::new(), link });
        place
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PeerState> {
        self.states.iter()
    }
}

impl Index<usize> for Peers {
    type Output = PeerState;

    fn index(&self, place: usize) -> &PeerState {
        &self.states[place]
    }
}

impl IndexMut<usize> for Peers {
    fn index_mut(&mut self, place: usize) -> &mut PeerState {
        &mut self.states[place]
    }
}

/// What becomes of the connection of `peer`, which has proven itself, in process `me`.
///
/// When both connect at the same time, both accept what the lower one began. That leaves exactly one connection:
///
/// ```text
///   lower                                   higher
///   answers "mine" from the moment it       accepts the lower one's connection at any time before
///   begins to connect; so once it has       it has one, and then drops its own; so its own can
///   begun, it never accepts the other's     only have been accepted before the lower one began
/// ```
pub(crate) fn judge(me: Peer, peer: Peer, link: Option<&Link>) -> Verdict {
    match link {
        None => Verdict::Accepted,
        Some(Link::Dialing(dial)) if dial.is_under_way() && me < peer => Verdict::Mine,
        Some(Link::Dialing(_)) => Verdict::Accepted,
        Some(Link::Connected(_) | Link::Left | Link::Failed(_)) => Verdict::Refused,
    }
}
