//! From the channel, or from a receive call, to the receiver's buffer. Handlers take notes and queue replies; nothing is
//! sent here.
//!
//! Nothing received is trusted: names are looked up by generation, and must belong to the peer that uses them and be in the
//! stage in which the packet makes sense; anything else refuses the peer.

use super::matching::{Arrived, Content, Pattern};
use super::memory::Sink;
use super::packet::{Label, Packet, Plane, Scope};
use super::quits::quit_error;
use super::request::RequestId;
use super::sending::{left_error, lost_error};
use super::state::{Absence, MessengerState, Outgoing, ReceiveState, RequestKind, RequestState, SendStage};
use rma_core::channel::{Delivery, Failure, Lane, Placement};
use rma_core::ids::Peer;
use rma_core::{Error, Result};

impl MessengerState {
    /// Starts to receive; the end is found under the answered name.
    pub(super) fn begin_receive(&mut self, pattern: Pattern, sink: Sink) -> Result<RequestId> {
        if let Some(source) = pattern.source {
            self.check_peer(source, "receive")?;
        }
        if let Some(error) = self.revocation(pattern.scope, "receive") {
            let kind = RequestKind::Received(Err(error));
            return Ok(self.requests.insert(RequestState { kind, is_abandoned: false }));
        }
        Ok(match self.matcher.take_arrived(pattern) {
            Some(arrived) => self.begin_receive_of(arrived, sink),
            None => self.post(pattern, sink),
        })
    }

    /// Starts to receive a message that is not in matching any more.
    pub(super) fn begin_receive_of(&mut self, arrived: Arrived, sink: Sink) -> RequestId {
        let kind = RequestKind::Sent(Ok(())); // replaced below
        let id = self.requests.insert(RequestState { kind, is_abandoned: false });
        let Arrived { source, tag, content } = arrived;
        let len = content.len();
        match content {
            Content::Kept(bytes) => {
                if source != self.me {
                    self.on_taken(source, bytes.len());
                }
                let data = match sink {
                    Sink::Owned { limit } if len <= limit => Ok(Some(bytes)),
                    mut sink => sink.store(&bytes),
                };
                self.finish_receive(id, source, tag, len, data);
            }
            Content::Announced { sender, len } => {
                // Only a message that was taken out of matching before can be left of a lost peer.
                let lost = self.peers.get(&source).and_then(|peer| peer.lost.as_deref());
                match lost.map(|why| lost_error("receive", source, why)) {
                    Some(error) => self.finish(id, RequestKind::Received(Err(error))),
                    None => self.accept(id, source, tag, sender, len, sink),
                }
            }
            Content::Own { send, .. } => {
                if let Some(RequestKind::Send(own)) = self.take_kind(send) {
                    let data = own.payload.copy_to(sink);
                    self.finish(send, RequestKind::Sent(Ok(())));
                    self.finish_receive(id, source, tag, len, data);
                }
            }
        }
        id
    }

    fn post(&mut self, pattern: Pattern, sink: Sink) -> RequestId {
        let in_vain = pattern.source.and_then(|source| self.sends_no_more("receive", source, pattern));
        match (pattern.source, &in_vain) {
            (Some(source), Some((absence, _))) => self.note_cause(source, *absence),
            (Some(source), None) => match pattern.scope {
                Scope::LAST => {}
                Scope { plane: Plane::User | Plane::Partitioned, .. } => self.greet(source),
                _ => self.greet_later(source),
            },
            _ => {}
        }
        let kind = match in_vain {
            Some((_, error)) => RequestKind::Received(Err(error)),
            None => RequestKind::Receive(ReceiveState::Posted { pattern, sink }),
        };
        let is_posted = matches!(kind, RequestKind::Receive(_));
        let id = self.requests.insert(RequestState { kind, is_abandoned: false });
        if is_posted {
            self.matcher.post(pattern, id);
        }
        id
    }

    /// Why no message that such a receive takes will come from a peer, if that is so.
    pub(super) fn sends_no_more(
        &self,
        call: &'static str,
        source: Peer,
        pattern: Pattern,
    ) -> Option<(Absence, Error)> {
        if let Some(state) = self.peers.get(&source) {
            match &state.lost {
                Some(why) => return Some((Absence::Lost, lost_error(call, source, why))),
                None if state.has_left && pattern.scope != Scope::LAST => {
                    return Some((Absence::Left, left_error(call, source)));
                }
                None => {}
            }
        }
        let why = self.quits.why_of_peer(source, pattern.scope, pattern.tag?)?;
        Some((Absence::Left, quit_error(call, source, source, why)))
    }

    /// Takes a small packet.
    pub(super) fn on_packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        match self.try_packet(from, lane, bytes) {
            Ok(()) => Delivery::Accepted,
            Err(reason) => Delivery::Refused(reason),
        }
    }

    fn try_packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Result<(), &'static str> {
        let (packet, at) = Packet::parse(bytes)?;
        // A peer that has sent anything does not greet any more; the most frequent packet sees to that itself.
        if !matches!(packet, Packet::Eager { .. }) || self.has_said_farewell {
            self.on_contact(from);
        }
        match (packet, lane) {
            (Packet::Eager { label, credit }, Lane::Request) => {
                self.on_eager(from, label, credit, &bytes[at..])
            }
            (Packet::Announce { label, credit, sender, len }, Lane::Request) => {
                self.on_credit(from, credit)?;
                self.on_announce(from, label, sender, len);
                Ok(())
            }
            (Packet::Accept { sender, receiver }, Lane::Response) => self.on_accept(from, sender, receiver),
            (Packet::Credit { credit }, Lane::Response) => self.on_credit(from, credit),
            (Packet::Decline { sender, dead, why }, Lane::Response) => {
                self.on_decline(from, sender, dead, why)
            }
            (Packet::Quit { scope, number, why }, Lane::Request) => self.on_quit(from, scope, number, why),
            (Packet::Death { peer }, Lane::Request) => {
                self.on_reported_death(peer);
                Ok(())
            }
            (Packet::Withdraw { sender }, Lane::Request) => {
                self.on_withdraw(from, sender);
                Ok(())
            }
            (Packet::Withdrawn { sender }, Lane::Response) => self.on_withdrawn(from, sender),
            (Packet::Farewell, Lane::Request) => {
                self.on_farewell(from);
                Ok(())
            }
            // It has made the contact that it is for.
            (Packet::Greeting, Lane::Request) => Ok(()),
            (Packet::Notice, Lane::Response) => self.on_notice(from, bytes),
            (Packet::Body { .. }, _) => Err("head of a message body without its body"),
            _ => Err("message packet in the wrong lane"),
        }
    }

    /// At the first contact a peer has not been told that this process has left, if it has.
    fn on_contact(&mut self, from: Peer) {
        let is_first = !self.peers.contains_key(&from);
        self.peer(from);
        if is_first && self.has_said_farewell {
            self.peer(from).requests.push_back(Outgoing::Farewell);
            self.activate(from);
        }
    }

    fn on_credit(&mut self, from: Peer, credit: u32) -> Result<(), &'static str> {
        self.peer(from).credit.on_returned(credit)
    }

    fn on_eager(
        &mut self,
        from: Peer,
        label: Label,
        credit: u32,
        message: &[u8],
    ) -> Result<(), &'static str> {
        let Self { peers, matcher, quits, .. } = self;
        let Some(peer) = peers.get_mut(&from) else {
            self.add_peer(from);
            return self.on_eager(from, label, credit, message);
        };
        let account = &mut peer.credit;
        account.on_returned(credit)?;
        account.on_received(message.len())?;
        let Some(id) = matcher.take_posted(label, from) else {
            if quits.are_of(label) {
                self.on_taken(from, message.len());
                return Ok(());
            }
            let content = Content::Kept(message.to_vec());
            self.keep(from, label, content);
            return Ok(());
        };
        account.on_taken(message.len());
        if account.is_pressing() {
            self.activate(from);
        }
        if self.store_lent(id, from, label.tag, message) {
            return Ok(());
        }
        let id = self.as_request(id);
        let kind = self.requests.get_mut(id).map(|request| &mut request.kind);
        if let Some(RequestKind::Receive(ReceiveState::Posted { sink, .. })) = kind {
            let data = sink.store(message);
            self.finish_receive(id, from, label.tag, message.len() as u64, data);
        }
        Ok(())
    }

    fn on_announce(&mut self, from: Peer, label: Label, sender: RequestId, len: u64) {
        match self.matcher.take_posted(label, from) {
            Some(id) => {
                let id = self.as_request(id);
                if let Some(RequestKind::Receive(ReceiveState::Posted { sink, .. })) = self.take_kind(id) {
                    self.accept(id, from, label.tag, sender, len, sink);
                }
            }
            None if self.quits.are_of(label) => self.decline(from, label, sender),
            None => self.keep(from, label, Content::Announced { sender, len }),
        }
    }

    /// Keeps a message that no receive has asked for, unless none ever will.
    fn keep(&mut self, source: Peer, label: Label, content: Content) {
        let arrived = Arrived { source, tag: label.tag, content };
        match self.is_revoked(label.scope) || self.takes_no_more(label.scope, &arrived) {
            true => self.drop_arrived(label.scope, arrived),
            false => self.matcher.keep(label.scope, arrived),
        }
    }

    /// Whether this process has ended its part, and so takes a message no more that its sender waits to send.
    fn takes_no_more(&self, scope: Scope, arrived: &Arrived) -> bool {
        let is_waited_for = matches!(arrived.content, Content::Announced { .. });
        self.has_said_farewell && is_waited_for && scope != Scope::LAST
    }

    /// Ends the sends of others that no receive of this process will ask for, as it ends its part.
    pub(super) fn decline_announced(&mut self) {
        for scope in self.matcher.scopes() {
            for arrived in self.matcher.take_all_arrived(scope, |_| true) {
                match self.takes_no_more(scope, &arrived) {
                    true => self.drop_arrived(scope, arrived),
                    false => self.matcher.keep(scope, arrived),
                }
            }
        }
    }

    /// Asks the sender for an announced message.
    fn accept(&mut self, id: RequestId, from: Peer, tag: u64, sender: RequestId, len: u64, mut sink: Sink) {
        self.peer(from).responses.push_back(Packet::Accept { sender, receiver: id });
        self.activate(from);
        if len == 0 {
            let data = sink.store(&[]);
            return self.finish_receive(id, from, tag, 0, data);
        }
        if let Some(request) = self.requests.get_mut(id) {
            request.kind = RequestKind::Receive(ReceiveState::Awaiting { from, tag, len, sink });
        }
    }

    fn on_accept(&mut self, from: Peer, sender: RequestId, receiver: RequestId) -> Result<(), &'static str> {
        let send = self.send_mut(sender).filter(|send| send.to == from && send.stage == SendStage::Announced);
        let send = send.ok_or("accepts a message that was not announced")?;
        if send.payload.len() == 0 {
            self.finish(sender, RequestKind::Sent(Ok(())));
            return Ok(());
        }
        send.stage = SendStage::Accepted { receiver };
        self.peer(from).requests.push_back(Outgoing::Body(sender));
        self.activate(from);
        Ok(())
    }

    /// Messages come in order: one of this peer that has not come yet never will, so waits for it end.
    fn on_farewell(&mut self, from: Peer) {
        self.peer(from).has_left = true;
        self.review_agreements();
        for id in self.matcher.on_left(from) {
            self.note_cause(from, Absence::Left);
            let id = self.as_request(id);
            self.finish(id, RequestKind::Received(Err(left_error("receive", from))));
        }
    }

    /// Takes the head of a body; answers where the body goes.
    pub(super) fn on_body(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        let receiver = match Packet::parse(head) {
            Ok((Packet::Body { receiver }, _)) if lane == Lane::Request => receiver,
            Ok(_) => return Placement::Refused("body behind a message packet that has none"),
            Err(reason) => return Placement::Refused(reason),
        };
        let expected = match self.requests.get(receiver).map(|request| &request.kind) {
            Some(RequestKind::Receive(ReceiveState::Awaiting { from: peer, len, .. })) => {
                *peer == from && *len == body_len
            }
            _ => false,
        };
        if !expected {
            return Placement::Refused("body of a message that was not asked for");
        }
        let Some(RequestKind::Receive(ReceiveState::Awaiting { tag, len, sink, .. })) =
            self.take_kind(receiver)
        else {
            unreachable!("looked up above");
        };
        let (landing, scatter) = sink.land(len);
        if let Some(request) = self.requests.get_mut(receiver) {
            request.kind = RequestKind::Receive(ReceiveState::Arriving { from, tag, len, landing });
        }
        self.arriving.insert((from, lane), receiver);
        Placement::Into(scatter)
    }

    /// The body of the last head is in place.
    pub(super) fn on_body_received(&mut self, from: Peer, lane: Lane) {
        let Some(id) = self.arriving.remove(&(from, lane)) else { return };
        if let Some(RequestKind::Receive(ReceiveState::Arriving { from, tag, len, landing })) =
            self.take_kind(id)
        {
            self.finish_receive(id, from, tag, len, landing.finish());
        }
    }

    /// The peer is lost, and no channel touches memory for it any more.
    pub(super) fn on_lost(&mut self, peer: Peer, failure: &Failure) {
        self.on_unreachable(peer, failure);
        self.arriving.retain(|(from, _), _| *from != peer);
        let why = failure.detail.as_str();
        let mut in_vain = self.matcher.on_lost(peer);
        in_vain.iter_mut().for_each(|id| *id = self.as_request(*id));
        let waits_for_peer = |kind: &RequestKind| match kind {
            RequestKind::Receive(
                ReceiveState::Awaiting { from, .. } | ReceiveState::Arriving { from, .. },
            ) => *from == peer,
            _ => false,
        };
        let all = self.requests.iter_mut();
        in_vain.extend(all.filter(|(_, r)| waits_for_peer(&r.kind)).map(|(id, _)| id));
        for id in in_vain {
            self.finish(id, RequestKind::Received(Err(lost_error("receive", peer, why))));
        }
    }

    /// A message of `from` has left our keeping.
    pub(super) fn on_taken(&mut self, from: Peer, len: usize) {
        let credit = &mut self.peer(from).credit;
        credit.on_taken(len);
        if credit.is_pressing() {
            self.activate(from);
        }
    }
}
