//! How a queue leaves: by calls of the system that name where its bytes lie, or copied into sealed records.
//!
//! Invariants: what leaves is what the plan says, in its order; bytes are taken off the queue when the system, or a record, has them.

use super::{Goodbye, PLAN_BYTES, PLAN_PARTS, Part, Portion, SendQueue, Written};
use crate::config::Limits;
use crate::frame;
use crate::seal::Sealer;
use crate::sys::SendVec;
use rma_core::channel::{BulkToken, Lane};
use rma_core::datatype::Gather;
use std::io;
use std::os::fd::BorrowedFd;

/// Pieces of a body shorter than this are copied together: the system's price of an entry is higher.
const SHORT_PIECE: usize = 512;

/// Bytes of the plan, as they are found.
enum Next<'a, 'b> {
    Bytes(&'a [u8]),
    /// So many bytes from the front of this rest of a body.
    Body(&'b mut Gather, u64),
}

impl SendQueue {
    /// Writes to the socket until it takes no more, nothing is left, or `most` bytes have gone. The tokens of bodies that
    /// have gone wholly go to `sent`. `stage` has [`STAGE`] bytes.
    ///
    /// # Errors
    /// Those of the system other than "would block".
    pub(crate) fn write(
        &mut self,
        socket: BorrowedFd<'_>,
        limits: &Limits,
        stage: &mut [u8],
        most: usize,
        mut sent: impl FnMut(BulkToken),
    ) -> io::Result<Written> {
        let mut bytes = 0;
        if most > 0
            && let Some(written) = self.write_directly(socket)
        {
            return written;
        }
        while bytes < most {
            self.extend_plan(limits.chunk);
            let vector = self.vector(stage);
            let len = vector.len();
            if len == 0 {
                break;
            }
            let taken = match vector.send(socket) {
                Ok(taken) => taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Written { bytes, blocked: true });
                }
                Err(error) => return Err(error),
            };
            self.consume(taken, &mut sent);
            bytes += taken;
            if taken < len {
                // The system reports room only after it has refused some, and this is how it refuses.
                return Ok(Written { bytes, blocked: true });
            }
        }
        Ok(Written { bytes, blocked: false })
    }

    /// [`SendQueue::write`] by way of a sealer: what has gone into a record is off the queue, though the record may wait for the
    /// system; then this is blocked.
    ///
    /// # Errors
    /// Those of the system other than "would block".
    pub(crate) fn write_sealed(
        &mut self,
        socket: BorrowedFd<'_>,
        limits: &Limits,
        sealer: &mut Sealer,
        most: usize,
        mut sent: impl FnMut(BulkToken),
    ) -> io::Result<Written> {
        let mut bytes = 0;
        while bytes < most {
            if sealer.is_idle() {
                self.extend_plan(limits.chunk);
                let len = self.copy(sealer.room());
                if len == 0 {
                    break;
                }
                sealer.seal(len);
                self.consume(len, &mut sent);
            }
            let mut vector = SendVec::new();
            vector.push(sealer.waiting());
            match vector.send(socket) {
                Ok(taken) => {
                    sealer.sent(taken);
                    bytes += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if !sealer.is_idle() {
                return Ok(Written { bytes, blocked: true });
            }
        }
        Ok(Written { bytes, blocked: false })
    }

    /// [`SendQueue::write`] where packets in one lane, which lie in one piece, are all there is: nothing has to be decided. What the
    /// system does not take is planned, since a packet may be cut; `None` when it is not so.
    fn write_directly(&mut self, socket: BorrowedFd<'_>) -> Option<io::Result<Written>> {
        if !self.plan.is_empty() || self.goodbye == Goodbye::Wanted {
            return None;
        }
        let lane = match Lane::ALL.map(|lane| self.lanes[lane as usize].ring.len() > 0) {
            [true, false] => Lane::ALL[0],
            [false, true] => Lane::ALL[1],
            _ => return None,
        };
        if self.lanes.iter().any(|lane| !lane.bulks.is_empty()) {
            return None;
        }
        let queue = &mut self.lanes[lane as usize];
        let len = queue.ring.len();
        let (packets, []) = queue.ring.parts(0, len) else { return None };
        let mut vector = SendVec::new();
        vector.push(packets);
        let taken = match vector.send(socket) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Some(Err(error)),
        };
        queue.ring.consume(taken);
        queue.planned = queue.committed;
        if taken < len {
            self.plan.push_back(Portion { lane, part: Part::Queued(len - taken) });
            self.planned_bytes += len - taken;
        }
        Some(Ok(Written { bytes: taken, blocked: taken < len }))
    }

    fn extend_plan(&mut self, chunk: u32) {
        while self.planned_bytes < PLAN_BYTES && self.plan.len() < PLAN_PARTS {
            let before = self.plan.len();
            for lane in [Lane::Response, Lane::Request] {
                self.planned_bytes += self.lanes[lane as usize].plan(lane, chunk, &mut self.plan);
            }
            if self.plan.len() == before {
                if self.goodbye == Goodbye::Wanted {
                    let part = Part::Header(frame::goodbye(), 0);
                    self.plan.push_back(Portion { lane: Lane::Request, part });
                    self.planned_bytes += frame::HEADER;
                    self.goodbye = Goodbye::Planned;
                }
                return;
            }
        }
    }

    /// The plan's bytes, as far as they go into one call.
    fn vector<'a>(&'a self, mut stage: &'a mut [u8]) -> SendVec<'a> {
        let mut out = SendVec::new();
        self.walk(|next| {
            if out.is_full() {
                return false;
            }
            match next {
                Next::Bytes(bytes) => {
                    out.push(bytes);
                    true
                }
                Next::Body(body, len) => add_body(&mut out, body, len, &mut stage),
            }
        });
        out
    }

    /// Copies the plan's bytes, as far as they have room; says how many.
    fn copy(&self, room: &mut [u8]) -> usize {
        let mut copied = 0;
        self.walk(|next| {
            let room = &mut room[copied..];
            match next {
                Next::Bytes(bytes) => {
                    let len = bytes.len().min(room.len());
                    room[..len].copy_from_slice(&bytes[..len]);
                    copied += len;
                    len == bytes.len()
                }
                Next::Body(body, len) => {
                    let most = usize::try_from(len).unwrap_or(usize::MAX).min(room.len());
                    body.read(&mut room[..most]);
                    copied += most;
                    most as u64 == len
                }
            }
        });
        copied
    }

    /// Goes over what the plan's bytes come from, in their order, until `visit` has enough. Of a body it takes what it was shown.
    #[inline]
    fn walk<'a>(&'a self, mut visit: impl FnMut(Next<'a, '_>) -> bool) {
        // Where each lane's next portion begins: an offset in the ring, a body, and what is left of it.
        let mut offsets = [0; 2];
        let mut bodies: [(usize, Option<Gather>); 2] = [(0, None), (0, None)];
        for portion in &self.plan {
            let lane = &self.lanes[portion.lane as usize];
            match &portion.part {
                Part::Queued(len) => {
                    let offset = &mut offsets[portion.lane as usize];
                    let (first, second) = lane.ring.parts(*offset, *len);
                    *offset += len;
                    for part in [first, second] {
                        if !visit(Next::Bytes(part)) {
                            return;
                        }
                    }
                }
                Part::Header(bytes, written) => {
                    if !visit(Next::Bytes(&bytes[*written..])) {
                        return;
                    }
                }
                Part::Body(len) => {
                    let (index, rest) = &mut bodies[portion.lane as usize];
                    let body = rest.get_or_insert_with(|| lane.bulks[*index].body.clone());
                    if !visit(Next::Body(body, *len)) {
                        return;
                    }
                    if body.remaining() == 0 {
                        (*index, *rest) = (*index + 1, None);
                    }
                }
            }
        }
    }

    /// Takes written bytes off the plan and off what they came from.
    fn consume(&mut self, mut bytes: usize, mut sent: impl FnMut(BulkToken)) {
        self.planned_bytes -= bytes;
        while let Some(Portion { lane, part }) = self.plan.front_mut() {
            let lane = &mut self.lanes[*lane as usize];
            let done = match part {
                Part::Queued(len) => {
                    let taken = bytes.min(*len);
                    lane.ring.consume(taken);
                    *len -= taken;
                    bytes -= taken;
                    *len == 0
                }
                Part::Header(header, written) => {
                    let taken = bytes.min(header.len() - *written);
                    *written += taken;
                    bytes -= taken;
                    *written == header.len()
                }
                Part::Body(len) => {
                    let taken = bytes.min(usize::try_from(*len).unwrap_or(usize::MAX));
                    let bulk = lane.bulks.front_mut().expect("a planned body is in the list");
                    bulk.body.advance(taken);
                    if bulk.body.remaining() == 0 {
                        sent(bulk.token);
                        lane.bulks.pop_front();
                        lane.unplanned -= 1;
                    }
                    *len -= taken as u64;
                    bytes -= taken;
                    *len == 0
                }
            };
            if !done {
                break;
            }
            self.plan.pop_front();
        }
    }
}

/// Adds the next `len` bytes of a body, long pieces from where they lie and short ones through the stage; says whether
/// all of them went in.
fn add_body<'a>(out: &mut SendVec<'a>, body: &mut Gather, len: u64, stage: &mut &'a mut [u8]) -> bool {
    let mut left = usize::try_from(len).unwrap_or(usize::MAX);
    while left > 0 {
        if out.is_full() {
            return false;
        }
        let Some(span) = body.peek(left) else { return true };
        if span.len() >= SHORT_PIECE || span.len() == left {
            out.push_span(span);
            body.advance(span.len());
            left -= span.len();
        } else {
            let copied = left.min(stage.len());
            if copied == 0 {
                return false;
            }
            let (here, rest) = std::mem::take(stage).split_at_mut(copied);
            body.read(here);
            out.push(here);
            *stage = rest;
            left -= copied;
        }
    }
    true
}
