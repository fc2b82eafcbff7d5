//! Answers on their way out: one queue per peer, in the order in which requests were carried out.
//!
//! A reply is a descriptor; the data of a get is read from the window when it leaves. Memory is bounded by
//! the origins' credits, and a peer that sends more requests than an origin of this job can is refused. A
//! release waits in the queue until everything before it has left, bulk bodies included. Few empty queues are
//! kept, so a rank that all others of a large job have contacted once weighs no more than before.
//!
//! Most often one short reply is all that is owed to any peer, and it leaves before the next one comes: it
//! has no queue.

use super::{Buffer, Buffers, BulkOwner, Bulks, Held, Outbox, Sent, Shared, Windows};
use crate::bugs::{Bug, has};
use crate::channel::{BulkToken, Lane, MIN_PACKET, Source};
use crate::control::LockKind;
use crate::datatype::Gather;
use crate::ids::{Peer, Sequence, WindowId};
use crate::mem::ReadSpan;
use crate::state::WindowState;
use crate::stats::Counters;
use crate::wire::{RequestFlags, Response, ResponseFlags, ResponseKind, SHORT_HEAD};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Something owed to a peer.
pub(crate) enum Reply {
    /// A response, with what comes behind its head.
    Packet(Response, ReplyBody),
    /// The release of the peer's lock on a window, once everything before has left.
    Release(WindowId, LockKind),
    /// The peer is done with exposure epoch `.1` of a window, once everything before has left.
    Done(WindowId, u64),
    /// The peer has come to its next fence of a window, and everything before has left.
    Fence(WindowId),
    /// A counter of a window is raised, once everything before has left.
    Notice(WindowId, u32),
    /// The key of the window's memory.
    Key(WindowId),
}

/// The data of a response.
pub(crate) enum ReplyBody {
    None,
    /// The old value of an element.
    Bytes(SmallVec<[u8; 16]>),
    /// One run of window memory, kept mapped until it has been sent.
    Run(ReadSpan, #[allow(dead_code)] Held), // held for its lifetime alone
    /// Several runs, apart from the reply, because most have one.
    Memory(Box<Gather>, #[allow(dead_code)] Held),
    /// The old values of many elements.
    Buffer(Buffer),
}

/// Longest data of a reply that needs no queue.
const SHORT_BODY: usize = 64;
const _: () = assert!(SHORT_HEAD + SHORT_BODY <= MIN_PACKET);

impl ReplyBody {
    /// How many bytes there are, if the data are few, in one run.
    fn short_len(&self) -> Option<usize> {
        let len = match self {
            Self::None => 0,
            Self::Bytes(bytes) => bytes.len(),
            Self::Run(run, _) => run.len(),
            Self::Memory(..) | Self::Buffer(_) => return None,
        };
        (len <= SHORT_BODY).then_some(len)
    }
}

/// Empty queues that are kept for the next reply, with their memory.
const KEPT_QUEUES: usize = 8;

/// All replies of an engine.
#[derive(Default)]
pub(crate) struct Replies {
    /// A short response, while no other reply is queued for any peer.
    single: Option<(Peer, Response, ReplyBody)>,
    queues: FxHashMap<Peer, Queue>,
    /// Peers with a queue that is not empty.
    waiting: VecDeque<Peer>,
    merged: u64,
    /// Memory for old values on their way out, and for operands on their way in.
    pub(crate) buffers: Buffers,
}

#[derive(Default)]
struct Queue {
    replies: VecDeque<Reply>,
    /// Bulk bodies that the channel still reads from a window.
    bulks: u32,
    is_waiting: bool,
}

impl Buffers {
    /// Keeps what a reply that has left was read from, if it is a buffer.
    fn take_back(&mut self, body: ReplyBody) {
        if let ReplyBody::Buffer(buffer) = body {
            self.give_back(buffer);
        }
    }
}

impl Replies {
    /// Queues a reply. An acknowledgement is merged with one before it, which says the same of earlier
    /// requests; so is the error of a store with an earlier one, since a window raises its first error only.
    pub(crate) fn push(&mut self, to: Peer, reply: Reply) {
        match reply {
            Reply::Packet(response, body) if self.is_empty() && body.short_len().is_some() => {
                self.single = Some((to, response, body));
            }
            reply => {
                self.end_single();
                self.enqueue(to, reply);
            }
        }
    }

    /// Puts the response that has no queue into one.
    fn end_single(&mut self) {
        if let Some((to, response, body)) = self.single.take() {
            self.enqueue(to, Reply::Packet(response, body));
        }
    }

    fn enqueue(&mut self, to: Peer, reply: Reply) {
        let queue = self.queues.entry(to).or_default();
        if let (Some(Reply::Packet(last, _)), Reply::Packet(next, _)) = (queue.replies.back_mut(), &reply)
            && can_merge(last, next)
        {
            last.sequence = next.sequence;
            self.merged += 1;
            return;
        }
        queue.replies.push_back(reply);
        if !queue.is_waiting {
            queue.is_waiting = true;
            self.waiting.push_back(to);
        }
    }

    /// Number of replies queued for a peer.
    pub(crate) fn len(&self, to: Peer) -> usize {
        if self.waiting.is_empty() {
            return self.single.iter().filter(|(peer, ..)| *peer == to).count();
        }
        self.queues.get(&to).map_or(0, |queue| queue.replies.len())
    }

    /// Whether every reply to a peer has left, with its bulk body.
    pub(crate) fn owes_nothing_to(&self, peer: Peer) -> bool {
        self.len(peer) == 0 && self.queues.get(&peer).is_none_or(|queue| queue.bulks == 0)
    }

    /// Whether replies of this window are queued or leaving. Walked only when a window is freed.
    pub(crate) fn owes(&self, window: WindowId, bulks: &Bulks) -> bool {
        let queued = self.queues.values().flat_map(|queue| &queue.replies).any(|reply| match reply {
            Reply::Packet(response, _) => response.window == window,
            Reply::Release(of, _) | Reply::Done(of, _) | Reply::Notice(of, _) => *of == window,
            Reply::Fence(of) | Reply::Key(of) => *of == window,
        });
        queued
            || self.single.as_ref().is_some_and(|(_, response, _)| response.window == window)
            || bulks
                .iter()
                .any(|(_, owner)| matches!(owner, BulkOwner::Reply { window: of, .. } if *of == window))
    }

    /// The data of an operation are where they belong: raises the counter that it names, if it does, once the replies that read this
    /// process's memory before it have left.
    #[inline]
    pub(crate) fn notify(&mut self, shared: &Shared, from: Peer, flags: RequestFlags) {
        if let Some(counter) = flags.counter() {
            self.notify_of(shared, from, counter);
        }
    }

    #[inline(never)]
    fn notify_of(&mut self, shared: &Shared, from: Peer, counter: u32) {
        if self.owes_nothing_to(from) {
            raise(shared, counter);
        } else if !has(Bug::NoticeLostBehindReply) {
            self.push(from, Reply::Notice(shared.id, counter));
        }
    }

    /// A bulk body has left.
    pub(crate) fn on_bulk_sent(&mut self, to: Peer, memory: ReplyBody) {
        self.buffers.take_back(memory);
        let Some(queue) = self.queues.get_mut(&to) else { return };
        queue.bulks -= 1;
        if queue.replies.is_empty() {
            self.drop_if_spare(to);
        } else if !queue.is_waiting {
            queue.is_waiting = true;
            self.waiting.push_back(to);
        }
    }

    /// Drops a queue without replies, unless a bulk body is on its way or it is one of the few that are kept.
    fn drop_if_spare(&mut self, peer: Peer) {
        if self.queues.len() > KEPT_QUEUES && self.queues.get(&peer).is_some_and(|queue| queue.bulks == 0) {
            self.queues.remove(&peer);
        }
    }

    /// Drops what is owed to a lost peer; gives the releases among it, which others wait for.
    pub(crate) fn forget_peer(&mut self, peer: Peer) -> impl Iterator<Item = (WindowId, LockKind)> + use<> {
        self.single.take_if(|(to, ..)| *to == peer);
        self.waiting.retain(|waiting| *waiting != peer);
        let queue = self.queues.remove(&peer).unwrap_or_default();
        queue.replies.into_iter().filter_map(|reply| match reply {
            Reply::Release(window, kind) => Some((window, kind)),
            Reply::Packet(..) | Reply::Done(..) | Reply::Notice(..) | Reply::Fence(..) | Reply::Key(..) => {
                None
            }
        })
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self, bulks: &Bulks) -> Result<(), String> {
        if let Some((peer, response, _)) = &self.single
            && !self.waiting.is_empty()
        {
            return Err(format!("{response} to {peer} is not the only reply"));
        }
        for (peer, queue) in &self.queues {
            let listed = self.waiting.iter().filter(|waiting| *waiting == peer).count();
            if listed != usize::from(queue.is_waiting) || (!queue.replies.is_empty() && listed == 0) {
                return Err(format!("{} replies to {peer}, listed {listed} times", queue.replies.len()));
            }
            let leaving =
                bulks.iter().filter(|(_, owner)| matches!(owner, BulkOwner::Reply { to, .. } if to == peer));
            if leaving.count() != queue.bulks as usize {
                return Err(format!("{} bulk replies to {peer} counted", queue.bulks));
            }
        }
        Ok(())
    }

    /// Whether no reply waits to be sent, as far as a step knows.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.single.is_none()
    }

    /// Sends what has room, peers in turn; `release` gives a lock back when everything before has left. Answers whether anything left.
    #[cfg_attr(debug_assertions, inline(never))] // a station for debuggers
    pub(crate) fn send(
        &mut self,
        outbox: &mut Outbox<'_>,
        bulks: &mut Bulks,
        windows: &mut Windows,
        release: &mut dyn FnMut(&mut WindowState, &mut Counters, Peer, LockKind),
    ) -> bool {
        if let Some((peer, response, body)) = &self.single {
            let sent = send_short(outbox, *peer, response, body);
            if sent == Sent::Yes {
                self.single = None;
            } else {
                self.end_single();
            }
            return sent == Sent::Yes;
        }
        let mut any = false;
        outbox.counters.on_acks_merged(std::mem::take(&mut self.merged));
        for _ in 0..self.waiting.len() {
            let Some(peer) = self.waiting.pop_front() else { break };
            let Some(queue) = self.queues.get_mut(&peer) else { continue };
            while let Some(reply) = queue.replies.front_mut() {
                let sent = match reply {
                    Reply::Release(..) | Reply::Done(..) | Reply::Notice(..) | Reply::Fence(..)
                        if queue.bulks > 0 && !has(Bug::ReleaseBeforeReplyIsOut) =>
                    {
                        Sent::Full
                    }
                    Reply::Done(..) | Reply::Notice(..) | Reply::Fence(..) => {
                        take_note(windows, peer, reply);
                        Sent::Yes
                    }
                    Reply::Key(window) => send_key(outbox, windows, peer, *window),
                    Reply::Release(window, kind) => {
                        if let Some(state) = windows.get_mut(*window) {
                            release(state, outbox.counters, peer, *kind);
                        }
                        Sent::Yes
                    }
                    Reply::Packet(response, body) => {
                        send_packet(outbox, bulks, peer, response, body, &mut queue.bulks)
                    }
                };
                if sent != Sent::Yes {
                    break;
                }
                if let Some(Reply::Packet(_, body)) = queue.replies.pop_front() {
                    self.buffers.take_back(body);
                }
                any = true;
            }
            queue.is_waiting = !queue.replies.is_empty();
            if queue.is_waiting {
                self.waiting.push_back(peer);
            } else {
                self.drop_if_spare(peer);
            }
        }
        if any {
            self.trim();
        }
        any
    }

    /// Gives memory back that only many peers have needed.
    fn trim(&mut self) {
        let is_roomy = |len: usize, capacity: usize| capacity > 8 * KEPT_QUEUES && capacity / 8 > len;
        if is_roomy(self.queues.len(), self.queues.capacity()) {
            self.queues.shrink_to(KEPT_QUEUES);
        }
        if is_roomy(self.waiting.len(), self.waiting.capacity()) {
            self.waiting.shrink_to(KEPT_QUEUES);
        }
    }
}

fn can_merge(last: &Response, next: &Response) -> bool {
    let is_plain = |response: &Response| {
        response.flags == ResponseFlags::NONE
            && matches!(response.kind, ResponseKind::Ack | ResponseKind::Error { to: None, .. })
    };
    if last.flags == ResponseFlags::NOTE && next.flags == ResponseFlags::NOTE {
        // The first error of a window is the one that is raised.
        let is_over = [last, next].into_iter().any(|response| response.kind == ResponseKind::Over);
        return last.window == next.window && !is_over;
    }
    let loses_error = last.kind == ResponseKind::Ack && next.kind != ResponseKind::Ack;
    is_plain(last) && is_plain(next) && last.window == next.window && !loses_error
}

/// Takes note of what a peer has done, now that all before it has left.
fn take_note(windows: &mut Windows, peer: Peer, reply: &Reply) {
    let (Reply::Done(id, _) | Reply::Notice(id, _) | Reply::Fence(id)) = reply else { return };
    let Some(window) = windows.get_mut(*id) else { return };
    let rank = window.shared.group.rank(peer);
    match (reply, rank) {
        (Reply::Notice(_, counter), _) => raise(&window.shared, *counter),
        (Reply::Done(_, number), Some(rank)) => window.on_done(rank, *number),
        (Reply::Fence(_), Some(rank)) => {
            if let Some(arrivals) = &mut window.target.arrivals {
                arrivals.on_arrived(rank);
            }
        }
        _ => {}
    }
}

/// Raises a counter of this process. The step that does it makes its threads look again.
fn raise(shared: &Shared, counter: u32) {
    if let Some(own) = shared.notification.own() {
        own.raise(counter);
    }
}

/// Sends the key of a window's memory, if there still is such a window.
fn send_key(outbox: &mut Outbox<'_>, windows: &mut Windows, peer: Peer, id: WindowId) -> Sent {
    let Some(window) = windows.get_mut(id) else { return Sent::Yes };
    let kind = window.expose_to(&mut *outbox.channel, peer);
    let key = Response { window: id, flags: ResponseFlags::NONE, sequence: Sequence(0), kind };
    outbox.small(peer, Lane::Response, &key.emit(), Source::Bytes(&[]))
}

/// Sends a response that is a packet of few bytes; every channel carries so much in a small one.
fn send_short(outbox: &mut Outbox<'_>, peer: Peer, response: &Response, body: &ReplyBody) -> Sent {
    let mut packet = [0; SHORT_HEAD + SHORT_BODY];
    let (head, _) = packet.split_first_chunk_mut().expect("a packet longer than the head");
    let Some(head_len) = response.put_head(head) else {
        return outbox.whole(peer, Lane::Response, &response.emit(), 0);
    };
    let len = body.short_len().unwrap_or_default();
    match body {
        ReplyBody::Bytes(bytes) => packet[head_len..head_len + len].copy_from_slice(bytes),
        ReplyBody::Run(run, _) => run.read(&mut packet[head_len..head_len + len]),
        ReplyBody::None | ReplyBody::Memory(..) | ReplyBody::Buffer(_) => {}
    }
    outbox.whole(peer, Lane::Response, &packet[..head_len + len], len)
}

fn send_packet(
    outbox: &mut Outbox<'_>,
    bulks: &mut Bulks,
    peer: Peer,
    response: &Response,
    body: &mut ReplyBody,
    in_flight: &mut u32,
) -> Sent {
    let head = response.emit();
    let limits = outbox.capabilities(peer);
    let is_small =
        |len: u64| len <= limits.bulk_from as u64 && head.len() as u64 + len <= limits.max_packet as u64;
    let mut data = match body {
        ReplyBody::None => return outbox.small(peer, Lane::Response, &head, Source::Bytes(&[])),
        ReplyBody::Bytes(bytes) => return outbox.small(peer, Lane::Response, &head, Source::Bytes(bytes)),
        ReplyBody::Run(run, _) if is_small(run.len() as u64) => {
            return outbox.small_span(peer, Lane::Response, &head, *run);
        }
        ReplyBody::Run(run, _) => Gather::span(*run),
        ReplyBody::Memory(data, _) => Gather::clone(data),
        // SAFETY: the buffer is not written, and it lives until the span is used no more: it is in the queue
        // until the packet is the channel's, and in the table of bulk bodies until the channel has read the
        // last byte (clause C4).
        ReplyBody::Buffer(buffer) => Gather::span(unsafe { buffer.read_span() }),
    };
    if is_small(data.remaining()) {
        return outbox.small(peer, Lane::Response, &head, Source::Memory(&mut data));
    }
    let entry = bulks.vacant_entry();
    let token = BulkToken(entry.key() as u64);
    let sent = outbox.bulk(peer, Lane::Response, &head, data, token);
    if sent == Sent::Yes {
        let memory = std::mem::replace(body, ReplyBody::None);
        entry.insert(BulkOwner::Reply { window: response.window, to: peer, memory });
        *in_flight += 1;
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RequestId;
    use slab::Slab;

    const WINDOW: WindowId = WindowId { index: 3, generation: 1 };

    fn reply(sequence: u64, kind: ResponseKind) -> Reply {
        let flags = ResponseFlags::NONE;
        Reply::Packet(Response { window: WINDOW, flags, sequence: Sequence(sequence), kind }, ReplyBody::None)
    }

    fn ack(sequence: u64) -> Reply {
        reply(sequence, ResponseKind::Ack)
    }

    fn sequences(replies: &Replies, peer: u32) -> Vec<u64> {
        replies.invariants(&Slab::new()).unwrap();
        let queued = replies.queues.get(&Peer(peer)).into_iter().flat_map(|queue| &queue.replies);
        let sequence = |reply: &Reply| match reply {
            Reply::Packet(response, _) => response.sequence.0,
            _ => 0,
        };
        queued.map(sequence).collect()
    }

    #[test]
    fn the_only_acknowledgement_has_no_queue_and_counts_like_others() {
        let mut replies = Replies::default();
        assert!(replies.is_empty() && !replies.owes(WINDOW, &Slab::new()));
        replies.push(Peer(1), ack(5));
        assert!(replies.queues.is_empty() && !replies.is_empty());
        assert_eq!((replies.len(Peer(1)), replies.len(Peer(2))), (1, 0));
        assert!(replies.owes(WINDOW, &Slab::new()), "its window stays");
        assert!(!replies.owes(WindowId { index: 4, ..WINDOW }, &Slab::new()));
        assert_eq!(replies.forget_peer(Peer(2)).count(), 0);
        assert!(!replies.is_empty());
        assert_eq!(replies.forget_peer(Peer(1)).count(), 0);
        assert!(replies.is_empty(), "a lost peer gets no answer");
    }

    #[test]
    fn short_data_need_no_queue_either_and_keep_their_place() {
        let to = RequestId { index: 0, generation: 0 };
        let data = |sequence, len| {
            let Reply::Packet(response, _) = reply(sequence, ResponseKind::Data { to }) else {
                unreachable!()
            };
            Reply::Packet(response, ReplyBody::Bytes(SmallVec::from_elem(7, len)))
        };
        for (len, has_queue) in [(0, false), (SHORT_BODY, false), (SHORT_BODY + 1, true)] {
            let mut replies = Replies::default();
            replies.push(Peer(1), data(5, len));
            assert_eq!((!replies.queues.is_empty(), replies.len(Peer(1))), (has_queue, 1), "{len} bytes");
            replies.push(Peer(1), ack(6));
            assert_eq!((sequences(&replies, 1), replies.merged), (vec![5, 6], 0));
            let Some(Reply::Packet(_, ReplyBody::Bytes(bytes))) = replies.queues[&Peer(1)].replies.front()
            else {
                panic!("the data are first")
            };
            assert_eq!(bytes.len(), len);
        }
    }

    #[test]
    fn no_queue_outlives_its_last_bulk_body_but_a_few() {
        let mut replies = Replies::default();
        for peer in 0..20 {
            replies.queues.insert(Peer(peer), Queue { bulks: 1, ..Queue::default() });
        }
        (0..20).for_each(|peer| replies.on_bulk_sent(Peer(peer), ReplyBody::None));
        assert_eq!(replies.queues.len(), KEPT_QUEUES);
        assert!(replies.queues.values().all(|queue| queue.bulks == 0));
    }

    #[test]
    fn what_follows_it_stands_behind_it_or_joins_it() {
        let data = || reply(7, ResponseKind::Data { to: RequestId { index: 0, generation: 0 } });
        let mut replies = Replies::default();
        replies.push(Peer(1), ack(5));
        replies.push(Peer(1), ack(6));
        assert_eq!((sequences(&replies, 1), replies.merged, replies.len(Peer(1))), (vec![6], 1, 1));
        replies.push(Peer(1), data());
        assert_eq!(sequences(&replies, 1), [6, 7]);

        let mut replies = Replies::default();
        replies.push(Peer(1), ack(5));
        replies.push(Peer(2), data());
        assert_eq!((sequences(&replies, 1), sequences(&replies, 2)), (vec![5], vec![7]));
        assert_eq!(replies.waiting, [Peer(1), Peer(2)], "in the order in which they came");
    }
}
