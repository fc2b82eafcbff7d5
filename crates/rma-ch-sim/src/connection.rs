//! One rank's side of one pair: what it has under way, and what arrives.
//!
//! Life: live → (failed | left). A failed peer is reported after its last packet, and after `bulk_sent` for every body that
//! it still had; a peer that said goodbye gives the bodies back without a report.

use crate::adversary::Link;
use crate::dice::Moment;
use crate::exposed::{Buffer, Transfer, Transfers};
use crate::hub::Hub;
use crate::pair::{Body, Pair, Parcel, SideState, Wire, broken};
use rma_core::channel::{
    BulkToken, Delivery, Failure, FailureKind, Issued, Lane, Placement, RemotePlace, Room, Sink,
    TransferError, TransferToken,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use std::collections::VecDeque;
use std::sync::Arc;

/// A rank's state for one peer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pair: Arc<Pair>,
    side: usize,
    phase: Phase,
    lanes: [LaneState; 2],
    transfers: Transfers,
}

#[derive(Debug)]
enum Phase {
    Live,
    /// Failed; the report is still due.
    Doomed(Failure),
    Failed(Failure),
    /// The peer said goodbye and is gone.
    Left,
}

#[derive(Debug, Default)]
struct LaneState {
    /// Bodies that the peer has not taken, in commit order.
    sent: VecDeque<(BulkToken, Arc<Body>)>,
    wants_room: bool,
    /// The next packet, popped but perhaps not due.
    next: Option<Parcel>,
    landing: Option<Box<Landing>>,
    /// The peer took back a body, so nothing after it counts.
    has_ended: bool,
}

/// A body on its way into place.
#[derive(Debug)]
struct Landing {
    body: Arc<Body>,
    target: Scatter,
    head_len: usize,
}

/// What came out of a lane.
pub(crate) enum Received {
    Nothing,
    Packet { bytes: usize },
}

impl Connection {
    pub(crate) fn new(me: Peer, pair: Arc<Pair>) -> Self {
        let side = pair.side(me);
        let peer = pair.ends[1 - side];
        Self {
            peer,
            pair,
            side,
            phase: Phase::Live,
            lanes: Default::default(),
            transfers: Transfers::default(),
        }
    }

    /// A peer that could not be reached.
    pub(crate) fn doomed(me: Peer, peer: Peer, failure: Failure, hub: &Hub) -> Self {
        let pair = Arc::new(Pair::new(me, peer, &hub.config));
        Self { phase: Phase::Doomed(failure), ..Self::new(me, pair) }
    }

    fn me(&self) -> Peer {
        self.pair.ends[self.side]
    }

    /// The connection breaks, although the peer lives: what is under way either way may be lost.
    pub(crate) fn cut(&mut self, hub: &Hub) {
        if matches!(self.phase, Phase::Live) {
            self.phase = Phase::Doomed(broken(self.peer));
            self.pair.advance(self.side, SideState::Cut);
            hub.ring(self.peer, self.me());
        }
    }

    /// Whether packets can be sent.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.phase {
            Phase::Live => Ok(()),
            Phase::Doomed(failure) | Phase::Failed(failure) => Err(failure.clone()),
            Phase::Left => {
                let detail = format!("rank {} has closed its channel and left", self.peer);
                Err(Failure { kind: FailureKind::Unreachable, detail })
            }
        }
    }

    /// Whether a packet has room; if not, `writable` will follow.
    pub(crate) fn room(&mut self, lane: Lane) -> Room {
        if self.out(lane).has_room_or_starves() {
            return Room::Granted;
        }
        self.lanes[lane as usize].wants_room = true;
        Room::Full
    }

    /// Sends a packet that has room.
    pub(crate) fn push(
        &mut self,
        hub: &Hub,
        lane: Lane,
        bytes: Box<[u8]>,
        body: Option<(BulkToken, Gather)>,
    ) {
        let body = body.map(|(token, source)| {
            let body = Arc::new(Body::new(source));
            self.lanes[lane as usize].sent.push_back((token, Arc::clone(&body)));
            body
        });
        let wire = self.out(lane);
        let link = Link { from: Some((self.me(), lane)), to: self.peer };
        let due = hub.time.arrival(link, wire.last_due());
        wire.push(Parcel { due, bytes, body });
        hub.ring_at(due, self.peer, self.me());
    }

    /// Begins a transfer with memory of the peer.
    pub(crate) fn transfer(
        &mut self,
        hub: &Hub,
        buffer: Buffer,
        place: RemotePlace,
        token: TransferToken,
    ) -> Issued {
        if self.transfers.len() as u64 >= hub.config.transfers {
            return Issued::Full;
        }
        let link = Link { from: Some((self.me(), Lane::Request)), to: self.peer };
        let due = hub.time.arrival(link, Moment(0));
        let is_counted = hub.exposed.begin(place.key);
        self.transfers.begin(Transfer { token, due, place, buffer, is_counted });
        hub.ring_at(due, self.me(), self.peer);
        Issued::Yes
    }

    /// Carries out and answers the transfers that are due.
    pub(crate) fn poll_transfers(&mut self, hub: &Hub, sink: &mut dyn Sink) -> bool {
        if !matches!(self.phase, Phase::Live) || self.transfers.len() == 0 {
            return false;
        }
        // The state after the memory: a leaving side says so before it withdraws what it has exposed.
        let is_leaving = || self.pair.state(1 - self.side) > SideState::Closed;
        let moved = self.transfers.poll(&hub.exposed, &hub.time, self.peer, is_leaving, sink);
        self.wake_owner(hub);
        moved
    }

    /// Wakes the peer if it waits for a transfer that is over.
    fn wake_owner(&mut self, hub: &Hub) {
        if self.transfers.take_awaited() {
            hub.ring(self.peer, self.me());
        }
    }

    /// Bytes of packets that the peer has not read.
    pub(crate) fn unread_bytes(&self) -> usize {
        if self.is_over() {
            return 0;
        }
        Lane::ALL.iter().map(|lane| self.out(*lane).unread_bytes()).sum()
    }

    /// Whether nothing will happen here any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Failed(_) | Phase::Left)
    }

    /// Whether bodies or transfers are under way to the peer.
    pub(crate) fn has_buffers_under_way(&self) -> bool {
        self.transfers.len() > 0 || self.lanes.iter().any(|lane| !lane.sent.is_empty())
    }

    /// Says goodbye, unless the peer is gone.
    pub(crate) fn say_goodbye(&self, hub: &Hub) {
        if !self.is_over() && self.pair.state(self.side) == SideState::Here {
            self.pair.advance(self.side, SideState::Closed);
            hub.ring(self.peer, self.me());
        }
    }

    /// Leaves: no memory that this side lent is read after this.
    pub(crate) fn leave(&mut self, hub: &Hub, state: SideState) {
        for (_, body) in self.lanes.iter_mut().flat_map(|lane| lane.sent.drain(..)) {
            body.revoke();
        }
        self.transfers.forget(&hub.exposed);
        self.wake_owner(hub);
        if !matches!(self.phase, Phase::Failed(_)) {
            self.pair.advance(self.side, state);
            hub.ring(self.peer, self.me());
        }
    }

    /// Reports bodies that have left and room that has come.
    pub(crate) fn poll_sent(&mut self, sink: &mut dyn Sink) -> bool {
        if self.is_over() {
            return false;
        }
        let mut moved = false;
        for lane in Lane::ALL {
            let has_room = self.out(lane).has_room();
            let state = &mut self.lanes[lane as usize];
            while state.sent.front().is_some_and(|(_, body)| body.is_taken()) {
                let (token, _) = state.sent.pop_front().expect("just seen");
                sink.bulk_sent(token);
                moved = true;
            }
            if state.wants_room && has_room {
                state.wants_room = false;
                sink.writable(self.peer, lane);
                moved = true;
            }
        }
        moved
    }

    /// Moves the body of a lane a step towards its place; says how many bytes moved.
    pub(crate) fn place_body(&mut self, hub: &Hub, lane: Lane, sink: &mut dyn Sink) -> usize {
        let state = &mut self.lanes[lane as usize];
        let Some(landing) = &mut state.landing else { return 0 };
        let step = hub.config.body_step_bytes as usize;
        let Ok(moved) = landing.body.copy_into(&mut landing.target, step) else {
            // The end of the peer is reported when everything before it has been handed over.
            self.end_lane(lane);
            return 0;
        };
        if let Some(landed) = state.landing.take_if(|l| l.target.remaining() == 0) {
            let Landing { body, head_len, .. } = *landed;
            body.take();
            sink.bulk_received(self.peer, lane);
            self.finish_packet(hub, lane, head_len);
            hub.ring(self.peer, self.me());
        }
        moved
    }

    /// Hands over the next packet of a lane.
    pub(crate) fn receive(&mut self, hub: &Hub, lane: Lane, sink: &mut dyn Sink) -> Received {
        if !self.has_packet(hub, lane) {
            return Received::Nothing;
        }
        let Some(parcel) = self.lanes[lane as usize].next.take() else { return Received::Nothing };
        let len = parcel.bytes.len();
        let Some(body) = parcel.body else {
            if let Delivery::Refused(reason) = sink.packet(self.peer, lane, &parcel.bytes) {
                self.refuse(hub, reason);
            }
            self.finish_packet(hub, lane, len);
            return Received::Packet { bytes: len };
        };
        match sink.bulk(self.peer, lane, &parcel.bytes, body.len()) {
            Placement::Into(target) => {
                assert_eq!(target.remaining(), body.len(), "a placement has the length of its body");
                self.lanes[lane as usize].landing = Some(Box::new(Landing { body, target, head_len: len }));
            }
            Placement::Refused(reason) => self.refuse(hub, reason),
        }
        Received::Packet { bytes: len }
    }

    /// Reports the end of the peer, once everything it sent has been handed over.
    pub(crate) fn poll_end(&mut self, hub: &Hub, sink: &mut dyn Sink) -> bool {
        if self.is_over() {
            return false;
        }
        if let Phase::Doomed(failure) = &self.phase {
            let failure = failure.clone();
            self.give_up(hub, Phase::Failed(failure.clone()), sink);
            sink.failed(self.peer, failure);
            return true;
        }
        // The state first: whatever the peer pushed before it left is then seen by `is_drained`.
        let state = self.pair.state(1 - self.side);
        if state <= SideState::Closed || !self.is_drained() {
            return false;
        }
        let peer = self.peer;
        let (kind, detail) = match state {
            SideState::Here | SideState::Closed => return false,
            SideState::Left => {
                self.give_up(hub, Phase::Left, sink);
                return true;
            }
            SideState::Dead => (FailureKind::Dead, format!("rank {peer} is dead")),
            SideState::Refused => {
                (FailureKind::Protocol, format!("rank {peer} refused a packet of this rank"))
            }
            SideState::Cut => {
                let Failure { kind, detail } = broken(peer);
                (kind, detail)
            }
        };
        // The other way ends as well.
        self.pair.advance(self.side, SideState::Refused);
        hub.ring(peer, self.me());
        let failure = Failure { kind, detail };
        self.give_up(hub, Phase::Failed(failure.clone()), sink);
        sink.failed(peer, failure);
        true
    }

    /// Whether a poll would do anything.
    pub(crate) fn has_work(&mut self, hub: &Hub) -> bool {
        match self.phase {
            Phase::Failed(_) | Phase::Left => false,
            Phase::Doomed(_) => true,
            Phase::Live => {
                let state = self.pair.state(1 - self.side);
                let has_due = self.transfers.has_due(&hub.time);
                has_due
                    || Lane::ALL.into_iter().any(|lane| {
                        let has_room = self.out(lane).has_room();
                        let this = &self.lanes[lane as usize];
                        this.landing.is_some()
                            || (this.wants_room && has_room)
                            || this.sent.front().is_some_and(|(_, body)| body.is_taken())
                            || self.has_packet(hub, lane)
                    })
                    || (state > SideState::Closed && self.is_drained())
            }
        }
    }

    /// Whether nothing is left to look at before the peer rings again.
    pub(crate) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Failed(_) | Phase::Left => true,
            Phase::Doomed(_) => false,
            Phase::Live => {
                self.pair.state(1 - self.side) <= SideState::Closed
                    && self.transfers.len() == 0
                    && Lane::ALL.into_iter().all(|lane| {
                        let this = &self.lanes[lane as usize];
                        this.next.is_none()
                            && this.landing.is_none()
                            && self.pair.wire_from(1 - self.side, lane).is_empty()
                            && !(this.wants_room && self.out(lane).has_room())
                            && !this.sent.front().is_some_and(|(_, body)| body.is_taken())
                    })
            }
        }
    }

    /// Whether a packet of this lane can be handed over now.
    pub(crate) fn has_packet(&mut self, hub: &Hub, lane: Lane) -> bool {
        if !matches!(self.phase, Phase::Live) {
            return false;
        }
        let wire = self.pair.wire_from(1 - self.side, lane);
        let state = &mut self.lanes[lane as usize];
        if state.has_ended || state.landing.is_some() {
            return false;
        }
        if state.next.is_none() {
            state.next = wire.pop();
        }
        match &state.next {
            // A body that its sender took back: this packet and all after it were never sent.
            Some(Parcel { body: Some(body), .. }) if body.is_revoked() => {
                self.end_lane(lane);
                false
            }
            Some(parcel) => hub.time.has_come(parcel.due),
            None => false,
        }
    }

    fn finish_packet(&self, hub: &Hub, lane: Lane, len: usize) {
        if self.pair.wire_from(1 - self.side, lane).finish(len) {
            hub.ring(self.peer, self.me());
        }
    }

    fn refuse(&mut self, hub: &Hub, reason: &'static str) {
        let peer = self.peer;
        let detail = format!("rank {peer} sent a packet that is not of this job: {reason}");
        self.phase = Phase::Doomed(Failure { kind: FailureKind::Protocol, detail });
        self.pair.advance(self.side, SideState::Refused);
        hub.ring(peer, self.me());
    }

    fn end_lane(&mut self, lane: Lane) {
        let state = &mut self.lanes[lane as usize];
        (state.has_ended, state.next, state.landing) = (true, None, None);
    }

    /// Whether everything that the peer sent has been handed over.
    fn is_drained(&self) -> bool {
        Lane::ALL.into_iter().all(|lane| {
            let state = &self.lanes[lane as usize];
            let wire = self.pair.wire_from(1 - self.side, lane);
            state.has_ended || (state.next.is_none() && state.landing.is_none() && wire.is_empty())
        })
    }

    /// Ends: takes all bodies back and says so.
    fn give_up(&mut self, hub: &Hub, phase: Phase, sink: &mut dyn Sink) {
        let has_left = matches!(phase, Phase::Left);
        let error = if has_left { TransferError::Refused } else { TransferError::Lost };
        self.transfers.give_up(&hub.exposed, error, sink);
        self.wake_owner(hub);
        self.phase = phase;
        for lane in &mut self.lanes {
            for (token, body) in lane.sent.drain(..) {
                body.revoke();
                sink.bulk_sent(token);
            }
            *lane = LaneState { has_ended: true, ..LaneState::default() };
        }
    }

    fn out(&self, lane: Lane) -> &Wire {
        self.pair.wire_from(self.side, lane)
    }
}
