//! From a send call to the channel. All sending happens in [`MessengerState::advance`].
//!
//! Per peer there are two queues: responses are descriptors that need no room of ours beyond themselves, requests leave
//! strictly in the order of the calls, so that messages of one pair match in order. "Full" stops one queue of one peer.

use super::deaths::Teller;
use super::memory::Payload;
use super::messenger::Messenger;
use super::near::are_near;
use super::packet::{EAGER_LEN, Label, Packet};
use super::request::RequestId;
use super::state::{
    Absence, Herald, MessengerState, Outgoing, ReceiveState, RequestKind, RequestState, Send, SendMode,
    SendStage,
};
use rma_core::channel::{BulkToken, Channel, Failure, Lane, Room, Source};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::mem::ReadSpan;
use rma_core::progress::UPPER_TOKEN;
use rma_core::{Error, ErrorClass, Result};
use std::sync::atomic::Ordering::Relaxed;

/// Most peers that are greeted later.
const MOST_TO_GREET: usize = 64;

/// Longest message that is copied together with its head.
const SHORT: usize = 64;

/// What became of one thing to send.
enum SendOutcome {
    /// It left.
    Sent,
    /// There is no room, or nothing to send.
    Stop,
    /// The peer cannot be reached.
    Lost(Failure),
}

impl MessengerState {
    /// Starts to send; the end is found under the answered name.
    pub(super) fn begin_send(
        &mut self,
        to: Peer,
        label: Label,
        payload: Payload,
        mode: SendMode,
    ) -> Result<RequestId> {
        self.check_peer(to, "send")?;
        let refusal = self.revocation(label.scope, "send");
        if let Some(error) = refusal.or_else(|| self.absence_of(label.scope.context, to)) {
            let kind = RequestKind::Sent(Err(error));
            return Ok(self.requests.insert(RequestState { kind, is_abandoned: false }));
        }
        if to == self.me {
            return Ok(self.begin_send_to_self(label, payload, mode));
        }
        let lost = self.peer(to).lost.clone();
        let send = Send { to, label, payload, mode, stage: SendStage::Queued, is_asked_back: false };
        let id = self.requests.insert(RequestState { kind: RequestKind::Send(send), is_abandoned: false });
        match lost {
            Some(why) => self.finish(id, RequestKind::Sent(Err(lost_error("send", to, &why)))),
            None => {
                self.peer(to).requests.push_back(Outgoing::Message(id));
                self.activate(to);
            }
        }
        Ok(id)
    }

    fn begin_send_to_self(&mut self, label: Label, payload: Payload, mode: SendMode) -> RequestId {
        self.note_event();
        let sent = |end| RequestState { kind: RequestKind::Sent(end), is_abandoned: false };
        let me = self.me;
        let len = payload.len() as u64;
        if let Some(receive) = self.matcher.take_posted(label, me) {
            let receive = self.as_request(receive);
            if let Some(RequestKind::Receive(ReceiveState::Posted { sink, .. })) = self.take_kind(receive) {
                let data = payload.copy_to(sink);
                self.finish_receive(receive, me, label.tag, len, data);
            }
            return self.requests.insert(sent(Ok(())));
        }
        // A short message is kept, so that a program may send to itself before it receives; a long one waits in place.
        let kept = match payload.len() <= self.eager_max && mode == SendMode::Standard {
            true => payload.copy_to(super::memory::Sink::Owned { limit: len }).ok().flatten(),
            false => None,
        };
        let (id, content) = match kept {
            Some(bytes) => (self.requests.insert(sent(Ok(()))), super::matching::Content::Kept(bytes)),
            None => {
                let stage = SendStage::Announced;
                let send = Send { to: me, label, payload, mode, stage, is_asked_back: false };
                let id =
                    self.requests.insert(RequestState { kind: RequestKind::Send(send), is_abandoned: false });
                (id, super::matching::Content::Own { send: id, len })
            }
        };
        let arrived = super::matching::Arrived { source: me, tag: label.tag, content };
        self.matcher.keep(label.scope, arrived);
        id
    }

    /// Takes what a request is made of out; it is to be finished at once.
    pub(super) fn take_kind(&mut self, id: RequestId) -> Option<RequestKind> {
        let placeholder = RequestKind::Sent(Ok(()));
        self.requests.get_mut(id).map(|request| std::mem::replace(&mut request.kind, placeholder))
    }

    /// Sends what waits and has room; says whether anything left.
    pub(super) fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        self.signs.is_due.store(false, Relaxed);
        let mut moved = self.look_after_dead(channel);
        moved |= self.send_notices(channel);
        let mut turn = std::mem::take(&mut self.turn);
        std::mem::swap(&mut turn, &mut self.active);
        for peer in turn.drain(..) {
            moved |= self.send_to(peer, channel);
            let state = self.peer(peer);
            let waits =
                !state.requests.is_empty() || !state.responses.is_empty() || state.credit.is_pressing();
            state.is_active = waits && state.lost.is_none();
            if state.is_active {
                self.active.push(peer);
            }
        }
        self.turn = turn;
        self.signs.is_active.store(!self.active.is_empty() || !self.notices.is_empty(), Relaxed);
        moved
    }

    /// Sends a short message at once, without a request, when nothing is before it and the receiver has granted room for it.
    /// `false` when the slow path has to be taken; nothing was done then.
    pub(super) fn try_send(
        &mut self,
        to: Peer,
        label: Label,
        message: ReadSpan,
        channel: &mut dyn Channel,
    ) -> bool {
        let len = message.len();
        if self.is_revoked(label.scope) || self.absences.has(label.scope.context, to) {
            return false;
        }
        let Some(peer) = self.peers.get_mut(&to) else { return false };
        let is_free = peer.requests.is_empty() && peer.lost.is_none() && to != self.me;
        if !is_free || len > self.eager_max || len + EAGER_LEN > channel.capabilities_for(to).max_packet {
            return false;
        }
        let before = peer.credit;
        if !peer.credit.spend(len) {
            return false;
        }
        let head = Packet::Eager { label, credit: peer.credit.pay() }.emit();
        let mut short = [0; EAGER_LEN + SHORT];
        let room = match short.get_mut(..EAGER_LEN + len) {
            // In one piece: filling twice costs more than the copy.
            Some(packet) => {
                let (start, rest) = packet.split_at_mut(EAGER_LEN);
                start.copy_from_slice(head.as_ref());
                message.read(rest);
                channel.send(to, Lane::Request, packet)
            }
            None => {
                let room = channel.reserve(to, Lane::Request, len + EAGER_LEN);
                if room == Ok(Room::Granted) {
                    channel.fill(Source::Bytes(head.as_ref()));
                    channel.fill(Source::Memory(&mut Gather::span(message)));
                    channel.commit();
                }
                room
            }
        };
        // The slow path reports why a peer cannot be reached.
        if room != Ok(Room::Granted) {
            peer.credit = before;
            return false;
        }
        self.packets_sent += 1;
        true
    }

    fn send_to(&mut self, peer: Peer, channel: &mut dyn Channel) -> bool {
        let max_packet = channel.capabilities_for(peer).max_packet;
        let mut moved = false;
        for lane in [Lane::Response, Lane::Request] {
            loop {
                let step = match lane {
                    Lane::Response => self.send_response(peer, channel),
                    Lane::Request => self.send_request(peer, channel, max_packet),
                };
                match step {
                    SendOutcome::Sent => {
                        self.packets_sent += 1;
                        moved = true;
                    }
                    SendOutcome::Stop => break,
                    SendOutcome::Lost(failure) => {
                        if !self.has_parted(peer, &failure) {
                            self.on_unreachable(peer, &failure);
                        }
                        return true;
                    }
                }
            }
        }
        moved
    }

    /// Whether nothing but farewells is left to say to a peer that cannot be reached; drops them then. It has ended its part
    /// and gone, as it may: nothing here waits for it. Had it died, the channel would tell.
    pub(super) fn has_parted(&mut self, peer: Peer, failure: &Failure) -> bool {
        let state = self.peer(peer);
        let says_farewell = state.has_left || !state.requests.is_empty();
        let is_awaited = |next: &Outgoing| {
            matches!(
                next,
                Outgoing::Message(_) | Outgoing::Body(_) | Outgoing::Withdraw(_) | Outgoing::Greeting
            )
        };
        let has_parted = says_farewell && !state.requests.iter().any(is_awaited);
        if has_parted {
            state.requests.clear();
            state.responses.clear();
            state.lost.get_or_insert_with(|| failure.detail.clone());
        }
        has_parted
    }

    fn send_response(&mut self, peer: Peer, channel: &mut dyn Channel) -> SendOutcome {
        let state = self.peer(peer);
        let (packet, paid) = match state.responses.front() {
            Some(packet) => (*packet, 0),
            None if state.credit.is_pressing() => {
                let credit = state.credit.pay();
                (Packet::Credit { credit }, credit)
            }
            None => return SendOutcome::Stop,
        };
        let step = send_small(channel, peer, Lane::Response, &packet, None);
        if let SendOutcome::Sent = step {
            if paid == 0 {
                state.responses.pop_front();
            }
        } else {
            state.credit.unpay(paid);
        }
        step
    }

    fn send_request(&mut self, peer: Peer, channel: &mut dyn Channel, max_packet: usize) -> SendOutcome {
        let Some(outgoing) = self.peer(peer).requests.front().copied() else { return SendOutcome::Stop };
        let step = match outgoing {
            Outgoing::Message(id) => self.send_message(id, peer, channel, max_packet),
            Outgoing::Body(id) => self.send_body(id, peer, channel),
            Outgoing::Withdraw(sender) => {
                send_small(channel, peer, Lane::Request, &Packet::Withdraw { sender }, None)
            }
            Outgoing::Farewell => send_small(channel, peer, Lane::Request, &Packet::Farewell, None),
            Outgoing::Greeting => send_small(channel, peer, Lane::Request, &Packet::Greeting, None),
            Outgoing::Death(dead) => {
                send_small(channel, peer, Lane::Request, &Packet::Death { peer: dead }, None)
            }
            Outgoing::Quit { scope, number, why } => {
                send_small(channel, peer, Lane::Request, &Packet::Quit { scope, number, why }, None)
            }
        };
        if let SendOutcome::Sent = step {
            self.peer(peer).requests.pop_front();
        }
        step
    }

    /// Sends a message at once, or announces it.
    fn send_message(
        &mut self,
        id: RequestId,
        peer: Peer,
        channel: &mut dyn Channel,
        max_packet: usize,
    ) -> SendOutcome {
        let eager_max = self.eager_max;
        let Some(state) = self.peers.get_mut(&peer) else { return SendOutcome::Sent };
        let Some(RequestState { kind: RequestKind::Send(send), .. }) = self.requests.get_mut(id) else {
            return SendOutcome::Sent;
        };
        let len = send.payload.len();
        let before = state.credit;
        let is_short = len <= eager_max && len.saturating_add(EAGER_LEN) <= max_packet;
        // The receiver answers an announcement when a receive takes the message, which is what a synchronous send waits for.
        let may_be_eager = is_short && send.mode == SendMode::Standard;
        let is_eager = may_be_eager && state.credit.spend(len);
        let (label, credit) = (send.label, state.credit.pay());
        let step = if is_eager {
            let packet = Packet::Eager { label, credit };
            send_small(channel, peer, Lane::Request, &packet, Some(&send.payload))
        } else {
            let packet = Packet::Announce { label, credit, sender: id, len: len as u64 };
            send_small(channel, peer, Lane::Request, &packet, None)
        };
        match step {
            SendOutcome::Sent if is_eager => self.finish(id, RequestKind::Sent(Ok(()))),
            SendOutcome::Sent => send.stage = SendStage::Announced,
            SendOutcome::Stop | SendOutcome::Lost(_) => state.credit = before,
        }
        step
    }

    fn send_body(&mut self, id: RequestId, peer: Peer, channel: &mut dyn Channel) -> SendOutcome {
        let Some(send) = self.send_mut(id) else { return SendOutcome::Sent };
        let SendStage::Accepted { receiver } = send.stage else { return SendOutcome::Sent };
        let head = Packet::Body { receiver }.emit();
        // SAFETY: the request keeps the payload as it is while its stage is `Leaving`, which it becomes here and stays
        // until `on_body_left`.
        let body = unsafe { send.payload.body() };
        let token = BulkToken(UPPER_TOKEN | id.to_bits());
        match channel.send_bulk(peer, Lane::Request, head.as_ref(), body, token) {
            Ok(Room::Granted) => {
                send.stage = SendStage::Leaving;
                SendOutcome::Sent
            }
            Ok(Room::Full) => SendOutcome::Stop,
            Err(failure) => SendOutcome::Lost(failure),
        }
    }

    /// Says farewell to these peers, and to all that there was contact with.
    pub(super) fn say_farewell(&mut self, peers: impl Iterator<Item = Peer>) {
        self.has_said_farewell = true;
        self.decline_announced();
        let me = self.me;
        let mut all: Vec<Peer> = self.peers.keys().copied().chain(peers).filter(|peer| *peer != me).collect();
        all.sort_unstable();
        all.dedup();
        for peer in all {
            if self.peer(peer).lost.is_none() {
                self.peer(peer).requests.push_back(Outgoing::Farewell);
                self.activate(peer);
            }
        }
    }

    /// Whether a peer would not say farewell here by itself: it does so to contacts, and to those that are near.
    fn needs_greeting(&self, peer: Peer) -> bool {
        peer != self.me && !are_near(self.me.0, peer.0, self.size) && !self.peers.contains_key(&peer)
    }

    /// This process waits for a peer in a collective, in which it may make contact yet: greets it only when it sleeps otherwise.
    pub(super) fn greet_later(&mut self, peer: Peer) {
        if self.needs_greeting(peer) && !self.to_greet.contains(&peer) {
            self.to_greet.push(peer);
            self.signs.has_to_greet.store(true, Relaxed);
        }
        if self.to_greet.len() >= MOST_TO_GREET {
            self.greet_awaited();
        }
    }

    /// Greets those that were to be greeted later; says whether there is something to send.
    pub(super) fn greet_awaited(&mut self) -> bool {
        self.signs.has_to_greet.store(false, Relaxed);
        std::mem::take(&mut self.to_greet).into_iter().for_each(|peer| self.greet(peer));
        self.signs.is_due.load(Relaxed)
    }

    /// This process waits for a peer: has that say farewell here too.
    pub(super) fn greet(&mut self, peer: Peer) {
        if self.needs_greeting(peer) {
            self.peer(peer).requests.push_back(Outgoing::Greeting);
            self.activate(peer);
        }
    }

    /// The channel is done with a body.
    pub(super) fn on_body_left(&mut self, token: BulkToken) {
        let id = RequestId::from_bits(token.0 & !UPPER_TOKEN);
        if self.send_mut(id).is_some_and(|send| send.stage == SendStage::Leaving) {
            self.finish(id, RequestKind::Sent(Ok(())));
        }
    }

    /// A peer is lost, or what this process waits for never comes from it. The launcher hears of it before anything ends here because
    /// of it, so that of all failures it names the first.
    pub(super) fn note_cause(&mut self, peer: Peer, absence: Absence) {
        self.first_lost.get_or_insert(peer);
        if !self.reported_absent.contains(&peer) {
            self.reported_absent.push(peer);
            if let Some(Herald(tell)) = &self.herald {
                tell(peer, absence);
            }
        }
    }

    /// A peer cannot be reached any more: what waits for it ends in error. What a channel still holds ends when the
    /// channel says so.
    pub(super) fn on_unreachable(&mut self, peer: Peer, failure: &Failure) {
        self.note_cause(peer, Absence::Lost);
        self.signs.has_losses.store(true, Relaxed);
        let state = self.peer(peer);
        state.requests.clear();
        state.responses.clear();
        state.is_active = false;
        let why = state.lost.get_or_insert_with(|| failure.detail.clone()).clone();
        self.on_death(peer, Teller::Channel);
        let is_hopeless = |kind: &RequestKind| match kind {
            RequestKind::Send(send) => send.to == peer && send.stage != SendStage::Leaving,
            _ => false,
        };
        let all = self.requests.iter_mut();
        let hopeless: Vec<_> = all.filter(|(_, r)| is_hopeless(&r.kind)).map(|(id, _)| id).collect();
        for id in hopeless {
            self.finish(id, RequestKind::Sent(Err(lost_error("send", peer, &why))));
        }
    }
}

/// What a call that depends on a lost peer answers.
pub(super) fn lost_error(call: &'static str, peer: Peer, why: &str) -> Error {
    Error::new(ErrorClass::ProcFailed, call, format!("process {peer} is lost: {why}"))
}

impl Messenger {
    /// The process that was lost first, if one is.
    pub fn first_lost(&self) -> Option<Peer> {
        self.lock().first_lost
    }

    /// A process has left that this one still waits for.
    pub(crate) fn hear_of_departure(&self, peer: Peer) {
        self.lock().note_cause(peer, Absence::Left);
    }

    /// Whether a process has ended its part in the job, and all that it had sent before has come. Greets one that would not say so by itself.
    pub(crate) fn has_left(&self, peer: Peer) -> bool {
        let mut state = self.lock();
        state.greet(peer);
        state.peers.get(&peer).is_some_and(|peer| peer.has_left)
    }

    /// Tells `tell` of each process that is found absent from now on, before anything ends here because of it. It is called
    /// under locks: it calls neither the engine nor this messenger, and does not wait.
    pub(crate) fn set_herald(&self, tell: Box<dyn Fn(Peer, Absence) + std::marker::Send>) {
        self.lock().herald = Some(Herald(tell));
    }

    /// Why a process is lost, if it is.
    pub fn lost(&self, peer: Peer) -> Option<String> {
        self.lock().peers.get(&peer).and_then(|peer| peer.lost.clone())
    }
}

/// What a call answers that waits for a peer which will not send, or receive, any more.
pub(crate) fn left_error(call: &'static str, peer: Peer) -> Error {
    let cause = format!("process {peer} has ended its part in the job, and this one still waits for it");
    Error::new(ErrorClass::ProcAborted, call, cause)
}

fn send_small(
    channel: &mut dyn Channel,
    peer: Peer,
    lane: Lane,
    packet: &Packet,
    message: Option<&Payload>,
) -> SendOutcome {
    let head = packet.emit();
    let len = head.as_ref().len() + message.map_or(0, Payload::len);
    match channel.reserve(peer, lane, len) {
        Ok(Room::Granted) => {
            channel.fill(Source::Bytes(head.as_ref()));
            if let Some(message) = message {
                message.fill(channel);
            }
            channel.commit();
            SendOutcome::Sent
        }
        Ok(Room::Full) => SendOutcome::Stop,
        Err(failure) => SendOutcome::Lost(failure),
    }
}
