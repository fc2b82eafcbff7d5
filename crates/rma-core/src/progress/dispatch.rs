//! The sink of every poll: from the channel to the receiver of each packet, which is one of the engine's two sides, or the protocol
//! above. It has no way to the channel, and everything it calls only takes notes (design §4).

use super::protocol::{UPPER_TOKEN, Upper};
use crate::channel::{
    BulkToken, Delivery, Failure, Lane, Placement, RemoteKey, Sink, TransferError, TransferToken,
};
use crate::datatype::Scatter;
use crate::ids::{Peer, WindowId};
use crate::origin::lost::abandon;
use crate::origin::response::Settler;
use crate::state::{BulkOwner, Receiving, RemoteAnswer, State, WindowContext, Windows};
use crate::sync::parting::push_over;
use crate::target::{apply, bulk, locks};
use crate::wire::{
    Protocol, Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind, check_header,
};

/// The engine as a channel sees it.
pub(crate) struct Dispatch<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) windows: &'a mut Windows,
    pub(crate) upper: &'a mut dyn Upper,
}

impl Sink for Dispatch<'_> {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        self.hand_over(from, lane, bytes).unwrap_or_else(Delivery::Refused)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        match check_header(head) {
            Ok(Protocol::OneSided) => {}
            Ok(Protocol::Message) => {
                let placement = self.above(|upper| upper.bulk(from, lane, head, body_len));
                if matches!(placement, Placement::Into(_)) {
                    self.state.receiving.insert((from, lane), Receiving::Upper);
                }
                return placement;
            }
            Err(reason) => return Placement::Refused(reason),
        }
        let placed = match lane {
            Lane::Request => self.bulk_request(from, head, body_len),
            Lane::Response => self.bulk_response(from, head, body_len),
        };
        placed.unwrap_or_else(Placement::Refused)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        match self.state.receiving.remove(&(from, lane)) {
            None => {}
            Some(Receiving::Upper) => self.above(|upper| upper.bulk_received(from, lane)),
            Some(Receiving::Request(incoming)) => {
                let Some(mut context) = self.borrow(incoming.request().window) else { return };
                let (state, window) = context.split();
                // Only a forged unlock can be refused here; the peer keeps its connection and the lock its holder.
                let _ = bulk::finish(state, window, from, *incoming);
            }
            Some(Receiving::Data { response, op }) => {
                let Some(mut context) = self.borrow(response.window) else { return };
                settler(&mut context).on_bulk_data(from, &response, op);
                context.window.needs_issue |= context.window.is_closed();
            }
        }
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        if token.0 & UPPER_TOKEN != 0 {
            return self.above(|upper| upper.bulk_sent(token));
        }
        match self.state.bulks.try_remove(token.0 as usize) {
            None | Some(BulkOwner::Transfer { .. }) => {}
            Some(BulkOwner::Reply { to, memory, .. }) => self.state.replies.on_bulk_sent(to, memory),
            Some(BulkOwner::Operation { window, target, op }) => {
                let Some(mut context) = self.borrow(window) else { return };
                settler(&mut context).on_bulk_sent(target, op);
                context.window.needs_issue |= context.window.is_closed();
            }
        }
    }

    fn transferred(&mut self, token: TransferToken, outcome: Result<(), TransferError>) {
        let owner = self.state.bulks.try_remove(token.0 as usize);
        let Some(BulkOwner::Transfer { window, target, op }) = owner else { return };
        let Some(mut context) = self.borrow(window) else { return };
        settler(&mut context).on_transferred(target, op, outcome);
        context.window.needs_issue |= context.window.is_closed();
    }

    fn writable(&mut self, _: Peer, _: Lane) {
        // Windows with something due still need issue, and replies stay queued, but a protocol above may not say
        // that it waits: the next step tries them all.
        self.state.needs_step = true;
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        // Not a warning: every call that depends on the peer ends with an error that says so.
        tracing::info!(%peer, %failure, "peer lost");
        for lane in Lane::ALL {
            self.drop_receiving(peer, lane);
        }
        for id in self.windows.all() {
            let Some(mut context) = self.borrow(id) else { continue };
            let (state, window) = context.split();
            abandon(window, &mut state.pools, peer, &failure);
            locks::forget_peer(&mut state.wake_ups, &mut state.counters, window, peer);
        }
        for (window, kind) in self.state.replies.forget_peer(peer) {
            let Some(mut context) = self.borrow(window) else { continue };
            let (state, window) = context.split();
            locks::release(&mut state.wake_ups, &mut state.counters, window, peer, kind);
        }
        self.upper.failed(peer, &failure);
        self.state.needs_step = true;
        self.state.lost.insert(peer, failure);
    }
}

const NO_WINDOW: &str = "packet for a window that does not exist";
const OUTSIDE: &str = "request from a process outside the window's group";

impl Dispatch<'_> {
    /// Apart from [`Sink::packet`] in a build for debuggers, which would look for the end of its prologue among lines of other files.
    #[cfg_attr(debug_assertions, inline(never))]
    fn hand_over(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Result<Delivery, &'static str> {
        match (check_header(bytes)?, lane) {
            (Protocol::Message, _) => Ok(self.above(|upper| upper.packet(from, lane, bytes))),
            (Protocol::OneSided, Lane::Request) => self.request(from, bytes),
            (Protocol::OneSided, Lane::Response) if Response::is_wake_up(bytes) => {
                self.state.counters.on_packets_received(1);
                self.state.suspicion.on_woken();
                Ok(Delivery::Accepted)
            }
            (Protocol::OneSided, Lane::Response) => self.response(from, bytes),
        }
    }

    /// Delivers something to the protocol above.
    fn above<T>(&mut self, deliver: impl FnOnce(&mut dyn Upper) -> T) -> T {
        let answer = deliver(self.upper);
        self.state.needs_step |= self.upper.wants_advance();
        answer
    }

    fn request(&mut self, from: Peer, bytes: &[u8]) -> Result<Delivery, &'static str> {
        let (request, data) = Request::parse(bytes)?;
        let is_plain = request.kind.place().is_some() || matches!(request.kind, RequestKind::Sync);
        let plain = RequestFlags::ACK.with(RequestFlags::FENCE).with(RequestFlags::DONE);
        let plain = plain.with(RequestFlags::MORE).with(RequestFlags::NOTICE);
        if is_plain && request.flags.without(plain) == RequestFlags::NONE {
            return self.plain_request(from, &request, data);
        }
        if matches!(request.kind, RequestKind::Left | RequestKind::Revoked) {
            return self.word(from, &request);
        }
        if matches!(request.kind, RequestKind::Post)
            && data.is_empty()
            && let Some(delivery) = self.post_of_node_target(from, request.window)
        {
            return Ok(delivery);
        }
        if self.is_too_late(from, &request) {
            return Ok(Delivery::Accepted);
        }
        let mut context = self.borrow_for(from, request.window)?;
        let (state, window) = context.split();
        window.counters.on_packets_received(1);
        Ok(apply::handle(state, window, from, &request, data, bytes))
    }

    /// A post, on the window where it lies, if calls have no fast path there that early posts close.
    fn post_of_node_target(&mut self, from: Peer, id: WindowId) -> Option<Delivery> {
        let (windows, State { pools, config, .. }) = (&mut *self.windows, &mut *self.state);
        let window = windows.get_mut(id).filter(|window| !window.shared.are_all_fast())?;
        window.shared.group.rank(from)?;
        window.counters.on_packets_received(1);
        let delivery = apply::posted(pools, config, window, from);
        if window.is_active() {
            windows.note_active(id);
        }
        Some(delivery)
    }

    /// A request on the window where it lies: an access, the end of an epoch or a request for an
    /// acknowledgement, which change nothing else of the window.
    fn plain_request(
        &mut self,
        from: Peer,
        request: &Request,
        data: &[u8],
    ) -> Result<Delivery, &'static str> {
        self.check_replies(from)?;
        let (windows, State { replies, config, .. }) = (&mut *self.windows, &mut *self.state);
        let Some(window) = windows.get_mut(request.window) else {
            return if self.is_too_late(from, request) { Ok(Delivery::Accepted) } else { Err(NO_WINDOW) };
        };
        if window.shared.group.rank(from).is_none() {
            return Err(OUTSIDE);
        }
        window.counters.on_packets_received(1);
        Ok(apply::handle_access(config, replies, window, from, request, data))
    }

    /// A word about the end of a window.
    fn word(&mut self, from: Peer, request: &Request) -> Result<Delivery, &'static str> {
        if request.kind == RequestKind::Left {
            self.check_replies(from)?;
            self.state.on_left(self.windows, from, request.window)?;
        } else if !self.windows.has_been(request.window) {
            let mut context = self.borrow_for(from, request.window)?;
            let (state, window) = context.split();
            window.counters.on_packets_received(1);
            state.revoke(window);
        }
        Ok(Delivery::Accepted)
    }

    /// Whether a request is for a window that all live ranks have left: its origin waits for nothing. An
    /// origin that has not left after all gets an answer if it asks for one.
    fn is_too_late(&mut self, from: Peer, request: &Request) -> bool {
        let has_been = self.windows.has_been(request.window);
        let asks = request.flags.has(RequestFlags::ACK) || request.flags.locks();
        if has_been && (asks || request.kind.reply_to().is_some()) {
            push_over(&mut self.state.replies, from, request.window);
        }
        has_been
    }

    /// An answer to what a call has sent that was given up, because its window was revoked.
    fn late_response(context: &mut WindowContext<'_>, from: Peer, response: &Response) {
        let (state, window) = context.split();
        let Some(rank) = window.shared.group.rank(from) else { return };
        if response.flags.has(ResponseFlags::GRANT) {
            if let Some(key) = window.table.find(&state.pools.targets, rank) {
                state.pools.targets[key].is_locking = false;
            }
            window.on_late_grant(rank);
        }
    }

    fn response(&mut self, from: Peer, bytes: &[u8]) -> Result<Delivery, &'static str> {
        let (response, data) = Response::parse(bytes)?;
        if response.kind == ResponseKind::Over {
            return self.state.on_over(self.windows, from, response.window).map(|()| Delivery::Accepted);
        }
        if let Some(memory) = response.memory(data) {
            self.learn(from, response.window, memory)?;
        }
        if response.flags == ResponseFlags::NONE
            && matches!(response.kind, ResponseKind::Ack | ResponseKind::Data { .. })
        {
            return self.plain_response(from, &response, data);
        }
        if let ResponseKind::Key { key, base, size, unit } = response.kind {
            let answer = RemoteAnswer { key: RemoteKey { key, base }, size, unit };
            return self.key(from, response.window, answer);
        }
        let Some(mut context) = self.windows.borrow(self.state, response.window) else {
            // It may be on its way when its origin leaves the window.
            return if self.windows.has_been(response.window) {
                Ok(Delivery::Accepted)
            } else {
                Err(NO_WINDOW)
            };
        };
        context.window.counters.on_packets_received(1);
        context.window.counters.on_bytes_received(data.len() as u64);
        if context.window.is_closed() {
            Self::late_response(&mut context, from, &response);
            return Ok(Delivery::Accepted);
        }
        Ok(settler(&mut context).handle(from, &response, data))
    }

    /// The size and displacement unit of a target's memory.
    fn learn(&mut self, from: Peer, id: WindowId, (size, unit): (u64, u64)) -> Result<(), &'static str> {
        if let Some(window) = self.windows.get_mut(id) {
            let rank = window.shared.group.rank(from).ok_or(OUTSIDE)?;
            window.learnt.note(self.state.config.remote_keys, rank, size, unit);
        }
        Ok(())
    }

    /// The key of a target's memory.
    fn key(&mut self, from: Peer, id: WindowId, answer: RemoteAnswer) -> Result<Delivery, &'static str> {
        let Some(window) = self.windows.get_mut(id) else {
            return if self.windows.has_been(id) { Ok(Delivery::Accepted) } else { Err(NO_WINDOW) };
        };
        window.counters.on_packets_received(1);
        let rank = window.shared.group.rank(from).ok_or(OUTSIDE)?;
        let RemoteAnswer { size, unit, .. } = answer;
        window.remote.on_answer(rank, answer)?;
        if size > 0 {
            window.learnt.note(self.state.config.remote_keys, rank, size, unit);
        }
        Ok(Delivery::Accepted)
    }

    /// A response that changes nothing but a target's element and its operations, on the window where it lies.
    fn plain_response(
        &mut self,
        from: Peer,
        response: &Response,
        data: &[u8],
    ) -> Result<Delivery, &'static str> {
        let (windows, pools) = (&mut *self.windows, &mut self.state.pools);
        let Some(window) = windows.get_mut(response.window) else {
            let has_been = windows.has_been(response.window);
            return if has_been { Ok(Delivery::Accepted) } else { Err(NO_WINDOW) };
        };
        window.counters.on_packets_received(1);
        let mut delivery = Settler { window, pools }.handle(from, response, data);
        if matches!(delivery, Delivery::Refused(_)) && window.is_closed() {
            delivery = Delivery::Accepted;
        }
        window.counters.on_bytes_received(data.len() as u64);
        if window.is_active() {
            windows.note_active(response.window);
        }
        Ok(delivery)
    }

    fn bulk_request(&mut self, from: Peer, head: &[u8], len: u64) -> Result<Placement, &'static str> {
        let (request, rest) = Request::parse(head)?;
        if !rest.is_empty() {
            return Err("data behind the head of a bulk request");
        }
        if self.is_too_late(from, &request) {
            return Ok(Placement::Into(Scatter::discard(len)));
        }
        let mut context = self.borrow_for(from, request.window)?;
        let (state, window) = context.split();
        window.counters.on_packets_received(1);
        let (placement, incoming) = bulk::begin(state, window, request, len)?;
        drop(context);
        self.state.receiving.insert((from, Lane::Request), Receiving::Request(Box::new(incoming)));
        Ok(placement)
    }

    fn bulk_response(&mut self, from: Peer, head: &[u8], len: u64) -> Result<Placement, &'static str> {
        let (response, rest) = Response::parse(head)?;
        if !rest.is_empty() {
            return Err("data behind the head of a bulk response");
        }
        if self.windows.has_been(response.window) {
            return Ok(Placement::Into(Scatter::discard(len)));
        }
        let mut context = self.borrow(response.window).ok_or(NO_WINDOW)?;
        context.window.counters.on_packets_received(1);
        let (placement, op) = if context.window.is_closed() {
            Self::late_response(&mut context, from, &response);
            (Placement::Into(Scatter::discard(len)), None)
        } else {
            settler(&mut context).place_bulk(from, &response, len)
        };
        context.window.counters.on_bytes_received(if op.is_some() { len } else { 0 });
        drop(context);
        if let Some(op) = op {
            self.state.receiving.insert((from, Lane::Response), Receiving::Data { response, op });
        }
        Ok(placement)
    }

    fn borrow(&mut self, id: WindowId) -> Option<WindowContext<'_>> {
        self.windows.borrow(self.state, id)
    }

    /// The window of a request, if the peer is in its group and has not more replies outstanding than any origin would.
    fn borrow_for(&mut self, from: Peer, id: WindowId) -> Result<WindowContext<'_>, &'static str> {
        self.check_replies(from)?;
        let context = self.borrow(id).ok_or(NO_WINDOW)?;
        if context.window.shared.group.rank(from).is_none() { Err(OUTSIDE) } else { Ok(context) }
    }

    /// Whether the peer has not more replies outstanding than any origin would.
    fn check_replies(&self, from: Peer) -> Result<(), &'static str> {
        // Words about the end of windows that are gone are answered too, one for each.
        let of_window = 4 * self.state.config.credits as usize + 16;
        let most = self.windows.len() * of_window + self.state.config.windows as usize;
        if self.state.replies.len(from) > most {
            return Err("more requests under way than credits allow");
        }
        Ok(())
    }

    fn drop_receiving(&mut self, peer: Peer, lane: Lane) {
        if let Some(Receiving::Request(incoming)) = self.state.receiving.remove(&(peer, lane))
            && let Some(window) = self.windows.get_mut(incoming.request().window)
        {
            bulk::abandon(window, peer, &incoming);
        }
    }
}

fn settler<'a>(context: &'a mut WindowContext<'_>) -> Settler<'a> {
    let (state, window) = context.split();
    Settler { window, pools: &mut state.pools }
}
