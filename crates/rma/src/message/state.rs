//! What the messenger knows: requests, the matching tables, and one record per contacted peer.
//!
//! Invariants: a send request lies in exactly one place (its peer's queue, the receiver's hands, a channel's hands, or
//! done), named by its stage; so does a receive request. Requests whose handle was dropped end like others and then free
//! themselves. [`super::sending`] and [`super::delivery`] change the state; this file holds what both need.

use super::absent::Absences;
use super::agreement::Agreements;
use super::config::MessageConfig;
use super::credit::Credit;
use super::deaths::Deaths;
use super::lent::LentState;
use super::matching::{Matcher, Pattern};
use super::memory::{Landing, Payload, Sink};
use super::notice::NoticePacket;
use super::packet::{Label, Packet, Scope};
use super::quits::Quits;
use super::request::{RequestId, Requests};
use super::revoked::are_of;
use parking_lot::Mutex;
use rma_core::channel::Lane;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A message that has been received.
#[derive(Debug)]
pub struct Received {
    /// Its sender.
    pub source: Peer,
    /// Its tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The message, unless it was stored in the receiver's memory.
    pub data: Option<Vec<u8>>,
}

/// A message that waits for its receiver; see [`super::Messenger::probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its sender.
    pub source: Peer,
    /// Its tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// Why nothing comes from a peer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It cannot be reached.
    Lost,
    /// It has said that it ends its part in the job, or in a collective.
    Left,
}

/// Takes the peers from which nothing comes.
pub(super) struct Herald(pub(super) Box<dyn Fn(Peer, Absence) + std::marker::Send>);

#[derive(Debug)]
pub(super) struct MessengerState {
    pub(super) me: Peer,
    pub(super) size: u32,
    pub(super) eager_max: usize,
    pub(super) window: usize,
    pub(super) requests: Requests<RequestState>,
    pub(super) matcher: Matcher,
    /// The receive that stands in matching without a request.
    pub(super) lent: Option<LentState>,
    pub(super) peers: FxHashMap<Peer, PeerState>,
    /// Peers to which something is to be sent.
    pub(super) active: Vec<Peer>,
    /// Memory for the list of them that a step works through; empty between steps.
    pub(super) turn: Vec<Peer>,
    /// The peer that was lost first, as a channel or another process has told.
    pub(super) first_lost: Option<Peer>,
    /// Takes each peer that is found lost, before anything ends because of it.
    pub(super) herald: Option<Herald>,
    /// Peers that it has taken.
    pub(super) reported_absent: Vec<Peer>,
    /// Peers that this process waits for in collectives, without contact to them yet.
    pub(super) to_greet: Vec<Peer>,
    /// Whether this process ends its part.
    pub(super) has_said_farewell: bool,
    /// Those of whose end this process knows.
    pub(super) deaths: Deaths,
    /// Collectives that were left with an error.
    pub(super) quits: Quits,
    /// Contexts of communicators that were revoked.
    pub(super) revoked: FxHashSet<u64>,
    /// Communicators that some of their ranks have not got.
    pub(super) absences: Absences,
    /// Agreements that others may still ask about.
    pub(super) agreements: Agreements,
    /// What the next step tells others of these.
    pub(super) notices: VecDeque<(Peer, NoticePacket)>,
    /// What a step looks at without the state's lock.
    pub(super) signs: Arc<Signs>,
    /// Packets that were given to channels, heads of bodies included.
    pub(super) packets_sent: u64,
    /// The message whose body arrives now.
    pub(super) arriving: HashMap<(Peer, Lane), RequestId>,
}

/// What a step of the engine has to know of the state, and most steps is all of it: without the state's lock.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// How often something has happened that may be waited for: the end of a request, or a message to
    /// oneself.
    pub(super) events: AtomicU64,
    /// Whether there is something to send. The thread that begins a message steps the engine afterwards, and
    /// sees it then.
    pub(super) is_active: AtomicBool,
    /// Whether some of it came after the last step.
    pub(super) is_due: AtomicBool,
    /// Whether the lent receive is not posted any more: a wait for it asks the state only then. Written under
    /// the state's lock; without meaning while there is no such receive.
    pub(super) lent_has_moved: AtomicBool,
    /// Dead processes that no step has seen yet, and whether their machines are lost. Its lock is held for no longer than to add or take them.
    pub(super) reported: Mutex<Vec<(Peer, bool)>>,
    /// Whether any process is known to be dead or lost, or any communicator revoked.
    pub(super) has_losses: AtomicBool,
    /// Whether a thread that is about to sleep is to greet others first.
    pub(super) has_to_greet: AtomicBool,
    /// Whether any collective was left with an error.
    pub(super) has_quits: AtomicBool,
    /// Whether ranks outnumber cores: collectives choose their way by it.
    pub(super) is_oversubscribed: AtomicBool,
}

/// What is kept for a contacted peer.
#[derive(Debug)]
pub(super) struct PeerState {
    pub(super) requests: VecDeque<Outgoing>,
    pub(super) responses: VecDeque<Packet>,
    pub(super) credit: Credit,
    pub(super) is_active: bool,
    /// Why the peer is lost.
    pub(super) lost: Option<String>,
    /// Whether it has said farewell.
    pub(super) has_left: bool,
}

/// What waits in a peer's request queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outgoing {
    /// A message: to be sent at once or announced, as is decided when it leaves.
    Message(RequestId),
    /// The body that the peer has asked for.
    Body(RequestId),
    /// That this announced message is to be forgotten, if no receive has taken it.
    Withdraw(RequestId),
    /// That there will be no more messages.
    Farewell,
    Greeting,
    /// That this process has died.
    Death(Peer),
    /// That this process has left a collective.
    Quit {
        scope: Scope,
        number: u64,
        why: ErrorClass,
    },
}

#[derive(Debug)]
pub(super) struct RequestState {
    pub(super) kind: RequestKind,
    /// No call will ask how it ended.
    pub(super) is_abandoned: bool,
}

#[derive(Debug)]
pub(super) enum RequestKind {
    Send(Send),
    Receive(ReceiveState),
    /// A send that has ended.
    Sent(Result<()>),
    /// A send that was taken back.
    Withdrawn,
    /// A receive that has ended.
    Received(Result<Received>),
    /// A receive that has ended without its message, which does not fit.
    Refused(Waiting, Error),
}

/// When a send has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// When its memory is free again.
    Standard,
    /// When, besides, a receive has taken the message (`MPI_Ssend`).
    Synchronous,
}

#[derive(Debug)]
pub(super) struct Send {
    pub(super) to: Peer,
    pub(super) label: Label,
    pub(super) payload: Payload,
    pub(super) mode: SendMode,
    pub(super) stage: SendStage,
    /// Whether the receiver was asked to forget it.
    pub(super) is_asked_back: bool,
}

/// Queued → (left at once) done, or Queued → Announced → Accepted → Leaving → done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendStage {
    /// In the peer's queue.
    Queued,
    /// The peer knows of it (or, to oneself, it waits for its receive).
    Announced,
    /// In the peer's queue as a body for this request of the peer.
    Accepted { receiver: RequestId },
    /// The channel has it.
    Leaving,
}

/// Posted → done, or Posted → Awaiting → Arriving → done.
#[derive(Debug)]
pub(super) enum ReceiveState {
    /// In the matching tables.
    Posted { pattern: Pattern, sink: Sink },
    /// The sender has been asked to send.
    Awaiting { from: Peer, tag: u64, len: u64, sink: Sink },
    /// A channel stores it.
    Arriving { from: Peer, tag: u64, len: u64, landing: Landing },
}

impl fmt::Debug for Herald {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Herald")
    }
}

impl MessengerState {
    pub(super) fn new(me: Peer, size: u32, config: &MessageConfig) -> Self {
        Self {
            me,
            size,
            eager_max: config.eager_bytes as usize,
            window: config.window_bytes as usize,
            requests: Requests::new(),
            matcher: Matcher::default(),
            lent: None,
            peers: FxHashMap::default(),
            active: Vec::new(),
            turn: Vec::new(),
            first_lost: None,
            herald: None,
            reported_absent: Vec::new(),
            to_greet: Vec::new(),
            has_said_farewell: false,
            deaths: Deaths::default(),
            quits: Quits::default(),
            revoked: FxHashSet::default(),
            absences: Absences::default(),
            agreements: Agreements::default(),
            notices: VecDeque::new(),
            signs: Arc::default(),
            packets_sent: 0,
            arriving: HashMap::new(),
        }
    }

    /// The record of a peer, made at the first contact.
    #[inline]
    pub(super) fn peer(&mut self, peer: Peer) -> &mut PeerState {
        if !self.peers.contains_key(&peer) {
            self.add_peer(peer);
        }
        self.peers.get_mut(&peer).expect("it is there, or was just made")
    }

    #[cold]
    pub(super) fn add_peer(&mut self, peer: Peer) {
        let window = self.window;
        let state = PeerState {
            requests: VecDeque::new(),
            responses: VecDeque::new(),
            credit: Credit::new(window),
            is_active: false,
            lost: None,
            has_left: false,
        };
        self.peers.insert(peer, state);
    }

    /// Sees to it that the next step sends what waits for the peer.
    pub(super) fn activate(&mut self, peer: Peer) {
        let state = self.peer(peer);
        if state.lost.is_some() {
            return;
        }
        let was_active = std::mem::replace(&mut state.is_active, true);
        if !was_active {
            self.active.push(peer);
        }
        self.signs.is_active.store(true, Relaxed);
        self.signs.is_due.store(true, Relaxed);
    }

    pub(super) fn check_peer(&self, peer: Peer, call: &'static str) -> Result<()> {
        if peer.0 < self.size {
            return Ok(());
        }
        Err(Error::rank_outside(call, "process", peer.0.into(), self.size))
    }

    /// The send request of this name.
    pub(super) fn send_mut(&mut self, id: RequestId) -> Option<&mut Send> {
        match &mut self.requests.get_mut(id)?.kind {
            RequestKind::Send(send) => Some(send),
            _ => None,
        }
    }

    /// Ends a request: its handle finds how, or it is gone.
    pub(super) fn finish(&mut self, id: RequestId, end: RequestKind) {
        self.note_event();
        match self.requests.get_mut(id) {
            Some(request) if request.is_abandoned => drop(self.requests.remove(id)),
            Some(request) => request.kind = end,
            None => {}
        }
    }

    pub(super) fn finish_receive(
        &mut self,
        id: RequestId,
        source: Peer,
        tag: u64,
        len: u64,
        data: Result<Option<Vec<u8>>>,
    ) {
        let end = match data {
            Ok(data) => RequestKind::Received(Ok(Received { source, tag, len, data })),
            Err(error) => RequestKind::Refused(Waiting { source, tag, len }, error),
        };
        self.finish(id, end);
    }

    /// Whether a request has not ended.
    pub(super) fn is_under_way(&self, id: RequestId) -> bool {
        let request = self.requests.get(id);
        request.is_some_and(|request| matches!(request.kind, RequestKind::Send(_) | RequestKind::Receive(_)))
    }

    /// Takes the end of a request out, if it has come.
    pub(super) fn take_end(&mut self, id: RequestId) -> Option<RequestKind> {
        match self.requests.get(id)?.kind {
            RequestKind::Sent(_)
            | RequestKind::Withdrawn
            | RequestKind::Received(_)
            | RequestKind::Refused(..) => self.requests.remove(id).map(|request| request.kind),
            RequestKind::Send(_) | RequestKind::Receive(_) => None,
        }
    }

    /// The handle of a request is gone. A posted receive is withdrawn; everything else ends by itself.
    pub(super) fn abandon(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        match &request.kind {
            RequestKind::Sent(_)
            | RequestKind::Withdrawn
            | RequestKind::Received(_)
            | RequestKind::Refused(..) => {
                drop(self.requests.remove(id));
            }
            RequestKind::Receive(ReceiveState::Posted { .. }) => {
                self.cancel(id);
            }
            RequestKind::Send(_) | RequestKind::Receive(_) => request.is_abandoned = true,
        }
    }

    /// Lets go of the caller's memory that a request uses; says whether it has. While a channel has the memory it cannot: that
    /// ends when the peer has got, or given, all bytes, or is lost. The request is to be abandoned next.
    pub(super) fn release(&mut self, id: RequestId) -> bool {
        let Some(request) = self.requests.get_mut(id) else { return true };
        match &mut request.kind {
            RequestKind::Send(Send { stage: SendStage::Leaving, payload: Payload::Memory(_), .. }) => false,
            RequestKind::Send(Send { payload, stage, .. }) => {
                if *stage != SendStage::Leaving {
                    payload.detach();
                }
                true
            }
            RequestKind::Receive(ReceiveState::Arriving { landing: Landing::Memory, .. }) => false,
            RequestKind::Receive(ReceiveState::Awaiting { sink, .. }) => {
                *sink = Sink::Owned { limit: 0 };
                true
            }
            RequestKind::Receive(ReceiveState::Posted { .. }) => {
                self.cancel(id);
                true
            }
            RequestKind::Receive(ReceiveState::Arriving { .. }) => true,
            RequestKind::Sent(_)
            | RequestKind::Withdrawn
            | RequestKind::Received(_)
            | RequestKind::Refused(..) => true,
        }
    }

    /// Takes a posted receive back for good; says whether it was still posted.
    pub(super) fn cancel(&mut self, id: RequestId) -> bool {
        let scope = match self.requests.get(id).map(|request| &request.kind) {
            Some(RequestKind::Receive(ReceiveState::Posted { pattern, .. })) => pattern.scope,
            _ => return false,
        };
        self.matcher.withdraw(scope, id);
        self.requests.remove(id);
        self.note_event();
        true
    }

    /// Something has happened that may be waited for.
    pub(super) fn note_event(&self) {
        // It is written under the state's lock alone, so no step is lost between the two.
        self.signs.events.store(self.signs.events.load(Relaxed) + 1, Relaxed);
    }

    /// Whether everything that was sent has left.
    pub(super) fn has_sent_all(&mut self) -> bool {
        let Self { me, quits, requests, active, notices, revoked, .. } = self;
        let is_under_way = |request: &RequestState| match &request.kind {
            // No receive asks for it any more.
            RequestKind::Send(Send { stage: SendStage::Announced, label, .. })
                if quits.are_of(*label) || are_of(revoked, label.scope) =>
            {
                false
            }
            RequestKind::Send(send) => send.to != *me,
            _ => false,
        };
        active.is_empty()
            && notices.is_empty()
            && !requests.iter_mut().any(|(_, request)| is_under_way(request))
    }
}

impl Drop for MessengerState {
    fn drop(&mut self) {
        // A channel may outlive this state for a moment; what it can still touch is left where it is.
        for (_, request) in self.requests.iter_mut() {
            match &mut request.kind {
                RequestKind::Send(Send { stage: SendStage::Leaving, payload, .. }) => {
                    std::mem::forget(std::mem::replace(payload, Payload::Owned(Vec::new())));
                }
                RequestKind::Receive(ReceiveState::Arriving { landing, .. }) => {
                    std::mem::forget(std::mem::replace(landing, Landing::Memory));
                }
                _ => {}
            }
        }
    }
}
