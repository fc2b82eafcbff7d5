//! What two ranks in contact share: two lanes each way, and how each side left.
//!
//! Invariants: only the sending side pushes to a wire and only the receiving side pops, so room that the sender has seen
//! stays; a body's memory is read only under its cell's lock, and the sender revokes the cell before the memory is no
//! longer its own, so that no read can come later (contract C4, also when a channel is dropped in the middle of a copy).

use crate::config::SimConfig;
use crate::dice::Moment;
use parking_lot::Mutex;
use rma_core::channel::{Failure, FailureKind, Lane};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};

/// The two sides' common state.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The lower and the higher number.
    pub(crate) ends: [Peer; 2],
    wires: [[Wire; 2]; 2],
    state: [AtomicU8; 2],
}

/// How far a side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SideState {
    /// Sends and receives.
    Here = 0,
    /// Has said goodbye: sends nothing more, still receives.
    Closed = 1,
    /// Is gone after its goodbye.
    Left = 2,
    /// Is gone without one.
    Dead = 3,
    /// Has refused a packet of the other side.
    Refused = 4,
    /// Has found the connection broken.
    Cut = 5,
}

/// One lane in one direction. A job of 10⁵ ranks has millions of them, most of which never carry anything: one that is not
/// used is a few words, and has no memory of its own.
#[derive(Debug)]
pub(crate) struct Wire {
    parcels: Mutex<VecDeque<Parcel>>,
    capacity: usize,
    /// Packets pushed and not yet finished by the receiver, and their bytes.
    unread: AtomicUsize,
    unread_bytes: AtomicUsize,
    /// The sender found the wire full.
    starved: AtomicBool,
    last_due: AtomicU64,
}

/// A packet under way.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// When it arrives, in virtual time.
    pub(crate) due: Moment,
    /// The small packet, or the head of a bulk.
    pub(crate) bytes: Box<[u8]>,
    /// The body of a bulk.
    pub(crate) body: Option<Arc<Body>>,
}

/// A bulk body in its sender's memory.
#[derive(Debug)]
pub(crate) struct Body {
    len: u64,
    /// `None` once revoked.
    source: Mutex<Option<Gather>>,
    is_taken: AtomicBool,
}

/// The body's sender has taken it back: it failed, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revoked;

impl Pair {
    pub(crate) fn new(a: Peer, b: Peer, config: &SimConfig) -> Self {
        let wires = || [Wire::new(config), Wire::new(config)];
        let state = [const { AtomicU8::new(SideState::Here as u8) }; 2];
        Self { ends: [a.min(b), a.max(b)], wires: [wires(), wires()], state }
    }

    /// The index of a rank's side.
    pub(crate) fn side(&self, peer: Peer) -> usize {
        usize::from(self.ends[1] == peer)
    }

    /// The wire that this side sends on.
    pub(crate) fn wire_from(&self, side: usize, lane: Lane) -> &Wire {
        &self.wires[side][lane as usize]
    }

    pub(crate) fn state(&self, side: usize) -> SideState {
        match self.state[side].load(Acquire) {
            0 => SideState::Here,
            1 => SideState::Closed,
            2 => SideState::Left,
            3 => SideState::Dead,
            4 => SideState::Refused,
            _ => SideState::Cut,
        }
    }

    /// Moves a side's state forward; a later state is never overwritten by an earlier one. Everything the
    /// side pushed before is visible to a thread that sees the new state.
    pub(crate) fn advance(&self, side: usize, state: SideState) {
        self.state[side].fetch_max(state as u8, AcqRel);
    }
}

impl Wire {
    fn new(config: &SimConfig) -> Self {
        Self {
            parcels: Mutex::default(),
            capacity: config.lane_packets as usize,
            unread: AtomicUsize::new(0),
            unread_bytes: AtomicUsize::new(0),
            starved: AtomicBool::new(false),
            last_due: AtomicU64::new(0),
        }
    }

    /// Sender: whether a packet can be pushed.
    pub(crate) fn has_room(&self) -> bool {
        self.unread.load(Acquire) < self.capacity
    }

    /// Sender: whether a packet can be pushed; if not, the receiver will be asked to ring.
    pub(crate) fn has_room_or_starves(&self) -> bool {
        if self.has_room() {
            return true;
        }
        // SYNC POINT starved: the flag first, then the look; `finish` makes room first, then reads the flag.
        self.starved.swap(true, AcqRel);
        self.has_room()
    }

    /// Sender: the moment before which nothing more may arrive.
    pub(crate) fn last_due(&self) -> Moment {
        Moment(self.last_due.load(Relaxed))
    }

    /// Sender: pushes a packet; there is room.
    pub(crate) fn push(&self, parcel: Parcel) {
        self.last_due.store(parcel.due.0, Relaxed);
        self.unread_bytes.fetch_add(parcel.bytes.len(), Relaxed);
        let before = self.unread.fetch_add(1, AcqRel);
        assert!(before < self.capacity, "the sender has seen room, and is the only one that pushes");
        self.parcels.lock().push_back(parcel);
    }

    /// Sender: bytes not yet read.
    pub(crate) fn unread_bytes(&self) -> usize {
        self.unread_bytes.load(Relaxed)
    }

    /// Receiver: the next packet.
    pub(crate) fn pop(&self) -> Option<Parcel> {
        self.parcels.lock().pop_front()
    }

    /// Receiver: whether there is a packet.
    pub(crate) fn is_empty(&self) -> bool {
        self.parcels.lock().is_empty()
    }

    /// Receiver: a popped packet is done with. Says whether the sender waits for the room.
    #[must_use]
    pub(crate) fn finish(&self, len: usize) -> bool {
        self.unread_bytes.fetch_sub(len, Relaxed);
        self.unread.fetch_sub(1, AcqRel);
        // SYNC POINT starved: see `has_room_or_starves`.
        self.starved.swap(false, AcqRel)
    }
}

impl Body {
    pub(crate) fn new(source: Gather) -> Self {
        let len = source.remaining();
        Self { len, source: Mutex::new(Some(source)), is_taken: AtomicBool::new(false) }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Receiver: copies at most `limit` bytes into `target`; says how many.
    pub(crate) fn copy_into(&self, target: &mut Scatter, limit: usize) -> Result<usize, Revoked> {
        let mut source = self.source.lock();
        let source = source.as_mut().ok_or(Revoked)?;
        if target.is_discard() {
            let step = limit.min(usize::try_from(target.remaining()).unwrap_or(usize::MAX));
            source.advance(step);
            target.advance(step);
            return Ok(step);
        }
        let mut done = 0;
        while done < limit {
            let Some(span) = target.peek(limit - done) else { break };
            let step = source.copy_to(span);
            target.advance(step);
            done += step;
        }
        Ok(done)
    }

    /// Receiver: the whole body is in place.
    pub(crate) fn take(&self) {
        *self.source.lock() = None;
        self.is_taken.store(true, Release);
    }

    /// Sender: whether the receiver has all of it.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_taken.load(Acquire)
    }

    /// Sender: ends all access. Waits for a copy of one step that is going on in another thread.
    pub(crate) fn revoke(&self) {
        *self.source.lock() = None;
    }

    /// Receiver: whether the sender has taken it back.
    pub(crate) fn is_revoked(&self) -> bool {
        self.source.lock().is_none() && !self.is_taken()
    }
}

/// What is said of a peer that lives and cannot be reached any more.
pub(crate) fn broken(peer: Peer) -> Failure {
    Failure { kind: FailureKind::Unreachable, detail: format!("the connection to rank {peer} is broken") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma_core::mem::{ReadSpan, WriteSpan};

    #[test]
    fn a_revoked_body_is_not_read() {
        let (from, mut to) = ([7u8; 10], [0u8; 10]);
        // SAFETY: both arrays outlive the copies, and no reference to them is used meanwhile.
        let (source, target) =
            unsafe { (ReadSpan::new(from.as_ptr(), 10), WriteSpan::new(to.as_mut_ptr(), 10)) };
        let body = Body::new(Gather::span(source));
        let mut scatter = Scatter::span(target);
        assert_eq!(body.copy_into(&mut scatter, 4), Ok(4));
        body.revoke();
        assert_eq!(body.copy_into(&mut scatter, 4), Err(Revoked));
        assert!(body.is_revoked() && !body.is_taken());
        assert_eq!(to, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn states_only_move_forward() {
        let pair = Pair::new(Peer(5), Peer(2), &SimConfig::smallest());
        assert_eq!((pair.ends, pair.side(Peer(2)), pair.side(Peer(5))), ([Peer(2), Peer(5)], 0, 1));
        pair.advance(0, SideState::Left);
        pair.advance(0, SideState::Closed);
        assert_eq!((pair.state(0), pair.state(1)), (SideState::Left, SideState::Here));
    }

    #[test]
    fn a_wire_counts_what_is_unread_and_remembers_starving_senders() {
        let pair = Pair::new(Peer(0), Peer(1), &SimConfig::smallest());
        let wire = pair.wire_from(0, Lane::Request);
        assert!(wire.has_room_or_starves());
        wire.push(Parcel { due: Moment(0), bytes: vec![1; 9].into(), body: None });
        assert_eq!(wire.unread_bytes(), 9);
        let parcel = wire.pop().unwrap();
        assert!(!wire.has_room_or_starves(), "popped is not finished");
        assert!(wire.finish(parcel.bytes.len()), "the sender starves");
        assert!(wire.has_room() && !wire.starved.load(Relaxed));
    }
}
