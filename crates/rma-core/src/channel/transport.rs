//! The two traits of the line: what a channel does, and where it hands over what happened.

use super::{
    Armed, Budget, BulkToken, Capabilities, Closing, Delivery, Failure, Lane, Placement, Polled,
    RemoteMemory, Room, Source, TransferError, TransferLimits, TransferToken, Usage,
};
use crate::datatype::Gather;
use crate::ids::Peer;
use crate::poller::Registrar;
use std::io;

/// Where [`Channel::poll`] hands over what happened. It has no way to the channel: handlers only take notes.
pub trait Sink {
    /// A small packet arrived. `bytes` is a private copy (no other process can change it) and may have any alignment.
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery;

    /// The head of a bulk packet arrived, whose body has `body_len` bytes.
    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement;

    /// The body of the last bulk packet of this lane is in place.
    fn bulk_received(&mut self, from: Peer, lane: Lane);

    /// The channel is done with the body's memory.
    fn bulk_sent(&mut self, token: BulkToken);

    /// A transfer is over (clauses R2 and R3). Never called where none is begun.
    fn transferred(&mut self, token: TransferToken, outcome: Result<(), TransferError>) {
        let _ = (token, outcome);
    }

    /// There is room again after [`Room::Full`].
    fn writable(&mut self, peer: Peer, lane: Lane);

    /// The peer is lost; nothing more comes from it or goes to it.
    fn failed(&mut self, peer: Peer, failure: Failure);
}

/// A packet transport to the other processes of a job. The module's page is the contract.
///
/// Every method is called under one lock and returns at once.
///
/// # Safety
/// The implementation keeps clause C4: the memory of bulk bodies and of placements is not accessed outside the times that
/// the clause allows. The engine hands such memory to callers as free on that promise.
pub unsafe trait Channel: Send {
    /// What this channel can do for every peer; constant over its life.
    fn capabilities(&self) -> Capabilities;

    /// What this channel can do for one peer: no less than [`Channel::capabilities`], and constant too.
    fn capabilities_for(&self, peer: Peer) -> Capabilities {
        let _ = peer;
        self.capabilities()
    }

    /// Joins the poller: hands the channel what it needs to wake a sleeper. Called once, before anything is sent.
    ///
    /// # Errors
    /// When the system refuses the registration.
    fn register(&mut self, registrar: &Registrar) -> io::Result<()>;

    /// Starts a connection to `peer`, if there is none. Sending does that too; this only does it earlier.
    ///
    /// # Errors
    /// When the peer has failed, or cannot be named.
    fn connect(&mut self, peer: Peer) -> Result<(), Failure>;

    /// Gives a peer up whose machine is lost, as others have found for this `cause`: a later poll hands over what has arrived from
    /// it, then [`Sink::failed`], and nothing waits for a word of its system. A channel that hears of lost machines at once anyway
    /// need only look after it, which is what this does.
    fn give_up(&mut self, peer: Peer, cause: &str) {
        let _ = (self.connect(peer), cause);
    }

    /// Asks for room for a small packet of exactly `len` bytes. After [`Room::Granted`] the caller fills and commits.
    ///
    /// # Errors
    /// When the peer has failed.
    ///
    /// # Panics
    /// May panic when `len` is 0 or over [`Capabilities::max_packet`] for that peer.
    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure>;

    /// Appends bytes to the reserved packet.
    ///
    /// # Panics
    /// When nothing is reserved, or with more bytes than were reserved.
    fn fill(&mut self, source: Source<'_>);

    /// Sends the reserved packet.
    ///
    /// # Panics
    /// When nothing is reserved, or it has not been filled to its length.
    fn commit(&mut self);

    /// Sends a small packet that lies in one piece: reserves, fills and commits. A channel that can do all of that at once does.
    ///
    /// # Errors
    /// When the peer has failed.
    ///
    /// # Panics
    /// As [`Channel::reserve`].
    fn send(&mut self, peer: Peer, lane: Lane, packet: &[u8]) -> Result<Room, Failure> {
        let room = self.reserve(peer, lane, packet.len())?;
        if room == Room::Granted {
            self.fill(Source::Bytes(packet));
            self.commit();
        }
        Ok(room)
    }

    /// Sends a packet of a head and a body that is taken from where it lies; see clause C4.
    ///
    /// # Errors
    /// When the peer has failed.
    ///
    /// # Panics
    /// May panic when the head is empty or over [`Capabilities::max_packet`] for that peer, or the body is empty.
    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure>;

    /// Moves bytes both ways and hands over what arrived.
    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled;

    /// Whether a poll would find nothing to do, by loads of memory alone: for waits that look often between
    /// polls. `false` when that takes a system call to know. What only a poll finds out may be missed for a
    /// few looks.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Whether packets that were committed may lie here until a poll. `false` where they have left with the commit.
    fn keeps_packets(&self) -> bool {
        true
    }

    /// Prepares to sleep; see clause C6.
    fn arm(&mut self) -> Armed;

    /// Says goodbye to all peers once everything committed has left. Call until it answers [`Closing::Closed`]; between
    /// calls, poll. No packet is reserved after the first call.
    fn close(&mut self) -> Closing;

    /// What transfers to and from the memory of `peer` can do; `None`, for the channel's life, when it has only packets.
    fn transfers(&self, peer: Peer) -> Option<TransferLimits> {
        let _ = peer;
        None
    }

    /// Access to the memory of peers, if the channel offers it to any.
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        None
    }

    /// Memory in use.
    fn usage(&self) -> Usage;
}
