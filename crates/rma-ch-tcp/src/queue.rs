//! The send queue of one peer: two lanes of packets and bodies, and the order in which they leave.
//!
//! A lane is a ring of framed packets and heads, and a list of bodies with the place in the ring's stream behind which
//! each belongs. What leaves next is decided in small portions (the plan): all packets up to a body, then one piece of
//! that body, responses first, lane after lane. A plan is never changed, so a frame that was written in part is always
//! finished; it is short, so that a response does not wait long behind bodies of requests.
//!
//! Invariants: in each lane `written ≤ planned ≤ committed` by stream position; a ring holds exactly the bytes from
//! `written` to `committed`; bodies are given back once, in order, when their last byte is written or the queue is
//! emptied. How it leaves stands in `write`. Knows no connection but the one it is asked to write to.

use crate::config::Limits;
use crate::frame;
use crate::ring::ByteRing;
use rma_core::channel::{BulkToken, Lane, Room, Source};
use rma_core::datatype::Gather;
use std::collections::VecDeque;

mod write;

/// Bytes that a plan holds before no more is added.
const PLAN_BYTES: usize = 1 << 19;
/// Portions that a plan holds before no more is added.
const PLAN_PARTS: usize = 48;
/// Memory for copying pieces together.
pub(crate) const STAGE: usize = 65536;

/// Both lanes towards one peer.
#[derive(Debug)]
pub(crate) struct SendQueue {
    lanes: [LaneQueue; 2],
    plan: VecDeque<Portion>,
    planned_bytes: usize,
    goodbye: Goodbye,
}

#[derive(Debug, Default)]
struct LaneQueue {
    ring: ByteRing,
    /// Stream position behind the last committed packet.
    committed: u64,
    /// Stream position behind the last planned byte.
    planned: u64,
    bulks: VecDeque<Bulk>,
    /// Index of the first body that is not wholly planned.
    unplanned: usize,
    /// What was asked for when there was no room last.
    wanted: Option<Wanted>,
}

#[derive(Debug)]
struct Bulk {
    /// Stream position of the first byte behind the head.
    behind: u64,
    /// The bytes not yet written.
    body: Gather,
    /// How many of them are not yet planned.
    unplanned: u64,
    token: BulkToken,
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Packet(usize),
    Bulk(usize),
}

/// A run of bytes of the plan.
#[derive(Debug)]
struct Portion {
    lane: Lane,
    part: Part,
}

#[derive(Debug)]
enum Part {
    /// That many bytes of the lane's ring.
    Queued(usize),
    /// A frame header that is in no ring, of which so many bytes were written.
    Header([u8; frame::HEADER], usize),
    /// That many bytes of the lane's first bodies.
    Body(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goodbye {
    Unsaid,
    Wanted,
    Planned,
}

/// How far writing came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Bytes taken by the system.
    pub(crate) bytes: usize,
    /// The system takes no more now.
    pub(crate) blocked: bool,
}

impl SendQueue {
    pub(crate) fn new() -> Self {
        Self { lanes: Default::default(), plan: VecDeque::new(), planned_bytes: 0, goodbye: Goodbye::Unsaid }
    }

    /// Whether there is room for a packet of `len` bytes; if so, it may be written by [`SendQueue::fill`].
    pub(crate) fn reserve(&mut self, lane: Lane, len: usize, limits: &Limits) -> Room {
        let queue = &mut self.lanes[lane as usize];
        if !queue.has_room(Wanted::Packet(len), limits) {
            queue.wanted = Some(Wanted::Packet(len));
            return Room::Full;
        }
        queue.ring.make_room(frame::HEADER + len, limits.lane);
        // A packet's length is at most `LONGEST_PACKET`, checked by the caller against its limit.
        queue.ring.write(0, &frame::packet(lane, len as u32));
        Room::Granted
    }

    /// Writes bytes at `offset` of the reserved packet.
    pub(crate) fn fill(&mut self, lane: Lane, offset: usize, source: Source<'_>) {
        let ring = &mut self.lanes[lane as usize].ring;
        match source {
            Source::Bytes(bytes) => ring.write(frame::HEADER + offset, bytes),
            Source::Memory(gather) => {
                let len = gather.remaining() as usize;
                ring.write_gathered(frame::HEADER + offset, len, gather);
            }
        }
    }

    /// Adds the reserved packet of `len` bytes to the queue.
    pub(crate) fn commit(&mut self, lane: Lane, len: usize) {
        self.lanes[lane as usize].commit(frame::HEADER + len);
    }

    /// Adds a bulk packet, if there is room.
    pub(crate) fn push_bulk(
        &mut self,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
        limits: &Limits,
    ) -> Room {
        let queue = &mut self.lanes[lane as usize];
        if !queue.has_room(Wanted::Bulk(head.len()), limits) {
            queue.wanted = Some(Wanted::Bulk(head.len()));
            return Room::Full;
        }
        let len = frame::BULK_HEADER + head.len();
        queue.ring.make_room(len, limits.lane);
        queue.ring.write(0, &frame::bulk(lane, head.len() as u32, body.remaining()));
        queue.ring.write(frame::BULK_HEADER, head);
        queue.commit(len);
        let unplanned = body.remaining();
        queue.bulks.push_back(Bulk { behind: queue.committed, body, unplanned, token });
        Room::Granted
    }

    /// Whether the lane was full and what was asked for then would fit now. Answers so once.
    pub(crate) fn take_writable(&mut self, lane: Lane, limits: &Limits) -> bool {
        let queue = &mut self.lanes[lane as usize];
        queue.wanted.take().is_some_and(|wanted| {
            let fits = queue.has_room(wanted, limits);
            if !fits {
                queue.wanted = Some(wanted);
            }
            fits
        })
    }

    /// Whether a lane was full when it was asked last, and [`SendQueue::take_writable`] has not answered yet.
    pub(crate) fn has_full_lane(&self) -> bool {
        self.lanes.iter().any(|lane| lane.wanted.is_some())
    }

    /// Whether [`SendQueue::take_writable`] would answer so for a lane.
    pub(crate) fn would_be_writable(&self, limits: &Limits) -> bool {
        self.lanes.iter().any(|lane| lane.wanted.is_some_and(|wanted| lane.has_room(wanted, limits)))
    }

    /// Says goodbye behind everything that is queued. Nothing is queued afterwards.
    pub(crate) fn say_goodbye(&mut self) {
        if self.goodbye == Goodbye::Unsaid {
            self.goodbye = Goodbye::Wanted;
        }
    }

    /// Whether everything has been written, goodbye included.
    pub(crate) fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.goodbye != Goodbye::Wanted && self.waiting_bytes() == 0
    }

    /// Bytes in the rings, and some for a body: how much one write is worth.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.lanes.iter().map(|lane| lane.ring.len() + usize::from(!lane.bulks.is_empty())).sum()
    }

    /// Memory allocated.
    pub(crate) fn allocated(&self) -> usize {
        let lane = |l: &LaneQueue| l.ring.allocated() + l.bulks.capacity() * size_of::<Bulk>();
        self.lanes.iter().map(lane).sum::<usize>() + self.plan.capacity() * size_of::<Portion>()
    }

    /// The most that [`SendQueue::allocated`] can become.
    pub(crate) fn most_allocated(limits: &Limits) -> usize {
        // Lists grow by doubling, from a few entries.
        let list = |entries: usize| 2 * entries.max(4);
        2 * (limits.lane + list(limits.bulks) * size_of::<Bulk>())
            + list(PLAN_PARTS + PORTIONS_PER_TURN) * size_of::<Portion>()
    }

    /// Gives up everything queued: the bodies' tokens go to `sent`, the memory back. There is room in every lane then,
    /// which is still to be reported where it was asked for.
    pub(crate) fn clear(&mut self, mut sent: impl FnMut(BulkToken)) {
        for lane in &mut self.lanes {
            lane.bulks.drain(..).for_each(|bulk| sent(bulk.token));
            *lane = LaneQueue { wanted: lane.wanted, ..LaneQueue::default() };
        }
        self.plan = VecDeque::new();
        self.planned_bytes = 0;
        self.goodbye = Goodbye::Unsaid;
    }
}

/// What one turn of one lane adds to a plan at most.
const PORTIONS_PER_TURN: usize = 2 * 3;

impl LaneQueue {
    fn has_room(&self, wanted: Wanted, limits: &Limits) -> bool {
        match wanted {
            Wanted::Packet(len) => self.ring.len() + frame::HEADER + len <= limits.lane,
            Wanted::Bulk(head) => {
                self.bulks.len() < limits.bulks && self.ring.len() + frame::BULK_HEADER + head <= limits.lane
            }
        }
    }

    fn commit(&mut self, len: usize) {
        self.ring.commit(len);
        self.committed += len as u64;
    }

    /// Plans the packets up to the next body, and a piece of that body; says how many bytes.
    fn plan(&mut self, lane: Lane, chunk: u32, plan: &mut VecDeque<Portion>) -> usize {
        let bulk = self.bulks.get_mut(self.unplanned);
        let end = bulk.as_ref().map_or(self.committed, |bulk| bulk.behind);
        let queued = (end - self.planned) as usize;
        let mut bytes = queued;
        if queued > 0 {
            self.planned = end;
            plan.push_back(Portion { lane, part: Part::Queued(queued) });
        }
        if let Some(bulk) = bulk {
            let len = u64::from(chunk).min(bulk.unplanned);
            // At most `chunk`, which is such a number.
            plan.push_back(Portion { lane, part: Part::Header(frame::chunk(lane, len as u32), 0) });
            plan.push_back(Portion { lane, part: Part::Body(len) });
            bytes += frame::HEADER + len as usize;
            bulk.unplanned -= len;
            if bulk.unplanned == 0 {
                self.unplanned += 1;
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
