//! The handle to messages, and the handles of requests.

use super::config::MessageConfig;
use super::lent::{Lending, Outcome};
use super::matching::{Arrived, Pattern};
use super::memory::{Payload, ReceiveMemory, SendMemory, Sink};
use super::packet::{Label, Plane, Scope};
use super::request::RequestId;
use super::seen::SeenEvents;
use super::send_request::SendRequest;
use super::state::{MessengerState, Received, RequestKind, SendMode, Signs, Waiting};
use super::upper::MessageUpper;
use parking_lot::{Mutex, MutexGuard};
use rma_core::channel::Channel;
use rma_core::host::Group;
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::{Engine, ErrorClass, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Messages of one process. Clones are the same messenger.
///
/// Nothing here waits or sends: calls begin something, the engine's steps move it, and the request tells when it has ended.
#[derive(Clone)]
pub struct Messenger(Arc<SharedState>);

struct SharedState {
    state: Mutex<MessengerState>,
    signs: Arc<Signs>,
}

/// A message that is waited for. Dropping it withdraws it, unless the message is under way already.
#[must_use]
pub struct ReceiveRequest {
    messenger: Messenger,
    id: RequestId,
    /// As for a send.
    seen: SeenEvents,
    /// As for a send.
    pub(super) circle: Option<Arc<Group>>,
    /// As for a send.
    is_over: bool,
    /// The message that did not fit.
    refused: Option<Box<Waiting>>,
}

/// A message that was taken out of matching (`MPI_Mprobe`) and is to be received by this handle. Dropping it drops the
/// message.
#[must_use]
pub struct MatchedMessage {
    messenger: Messenger,
    waiting: Waiting,
    arrived: Option<Arrived>,
}

/// A receive into lent memory that its caller waits for within the call. Dropping it withdraws it.
#[must_use]
#[derive(Debug)]
pub(crate) struct LentReceive<'a> {
    messenger: &'a Messenger,
    is_over: bool,
}

/// How a receive within one call went on; see [`crate::raw::Runtime::try_receive`].
#[derive(Debug)]
pub enum ShortReceive {
    /// This message is in the memory.
    Message(Waiting),
    /// It has become this request, which has not ended.
    Request(ReceiveRequest),
}

impl Messenger {
    /// The messenger of process `me` in a job of `size`.
    pub fn new(me: Peer, size: u32, config: &MessageConfig) -> Self {
        let state = MessengerState::new(me, size, config);
        Self(Arc::new(SharedState { signs: Arc::clone(&state.signs), state: Mutex::new(state) }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, MessengerState> {
        self.0.state.lock()
    }

    pub(super) fn signs(&self) -> &Signs {
        &self.0.signs
    }

    /// The protocol to hand to the engine.
    pub fn upper(&self) -> MessageUpper {
        MessageUpper::new(self.clone())
    }

    /// Begins to send `message`.
    ///
    /// # Errors
    /// When there is no process `to`.
    pub fn begin_send(&self, to: Peer, scope: Scope, tag: u64, message: Vec<u8>) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Owned(message), SendMode::Standard)
    }

    /// Begins to send `message`; the request ends when a receive has taken it.
    ///
    /// # Errors
    /// As for [`Messenger::begin_send`].
    pub fn begin_synchronous_send(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: Vec<u8>,
    ) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Owned(message), SendMode::Synchronous)
    }

    /// Begins to send a message that others may be sent as well, without a copy for each.
    ///
    /// # Errors
    /// As for [`Messenger::begin_send`].
    pub fn begin_send_shared(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: Arc<Vec<u8>>,
    ) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Shared(message), SendMode::Standard)
    }

    /// Begins to send a message from where it lies, contiguous or not.
    ///
    /// # Errors
    /// As for [`Messenger::begin_send`].
    ///
    /// # Safety
    /// The memory must stay readable and unchanged until the request has ended, which [`SendRequest::test`] tells.
    pub unsafe fn begin_send_from(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: impl Into<SendMemory>,
        mode: SendMode,
    ) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Memory(message.into()), mode)
    }

    /// As [`Messenger::begin_send_from`], for memory whose gather may be used until the request has ended or
    /// [`SendRequest::release`] has let go of it.
    pub(crate) fn begin_send_lent(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: impl Into<SendMemory>,
    ) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Memory(message.into()), SendMode::Standard)
    }

    /// Sends a short message on the channel of this process at once, if nothing is before it; see
    /// [`crate::raw::Runtime::try_send`].
    pub(crate) fn try_send(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: ReadSpan,
        channel: &mut dyn Channel,
    ) -> bool {
        self.lock().try_send(to, Label { scope, tag }, message, channel)
    }

    /// The same past a step of the engine, on its channel.
    pub(crate) fn send_fast(
        &self,
        engine: &Engine,
        to: Peer,
        scope: Scope,
        tag: u64,
        message: ReadSpan,
    ) -> bool {
        engine.send_fast(&mut |channel| self.try_send(to, scope, tag, message, channel))
    }

    fn begin(
        &self,
        to: Peer,
        scope: Scope,
        tag: u64,
        payload: Payload,
        mode: SendMode,
    ) -> Result<SendRequest> {
        let mut state = self.lock();
        let id = state.begin_send(to, Label { scope, tag }, payload, mode)?;
        Ok(SendRequest::new(self, id, SeenEvents::at_begin(&state, id)))
    }

    /// Begins to receive a message of at most `limit` bytes from `source` with `tag`; `None` is any.
    ///
    /// # Errors
    /// When there is no process `source`.
    pub fn begin_receive(
        &self,
        scope: Scope,
        source: Option<Peer>,
        tag: Option<u64>,
        limit: u64,
    ) -> Result<ReceiveRequest> {
        self.begin_into(Pattern { scope, source, tag }, Sink::Owned { limit })
    }

    /// Begins to receive a message into memory, contiguous or not; a shorter one fills the beginning.
    ///
    /// # Errors
    /// As for [`Messenger::begin_receive`].
    ///
    /// # Safety
    /// The memory must stay writable, and no reference to it may be formed, until the request has ended,
    /// which [`ReceiveRequest::test`] says; dropping the request earlier does not end it.
    #[inline]
    pub unsafe fn begin_receive_into(
        &self,
        scope: Scope,
        source: Option<Peer>,
        tag: Option<u64>,
        memory: impl Into<ReceiveMemory>,
    ) -> Result<ReceiveRequest> {
        self.begin_into(Pattern { scope, source, tag }, Sink::Memory(memory.into()))
    }

    /// Begins to receive a message from `source` with `tag` into `room` if it is just as long, and otherwise, up to a limit,
    /// as [`Messenger::begin_receive`]. The scatter may be used until the request has ended or [`ReceiveRequest::release`]
    /// has let go of it.
    pub(crate) fn begin_receive_exactly(
        &self,
        scope: Scope,
        source: Peer,
        tag: u64,
        room: impl Into<ReceiveMemory>,
        limit: u64,
    ) -> Result<ReceiveRequest> {
        let pattern = Pattern { scope, source: Some(source), tag: Some(tag) };
        self.begin_into(pattern, Sink::Exact { room: room.into(), limit })
    }

    #[inline]
    fn begin_into(&self, pattern: Pattern, sink: Sink) -> Result<ReceiveRequest> {
        let mut state = self.lock();
        let id = state.begin_receive(pattern, sink)?;
        Ok(ReceiveRequest::new(self, id, SeenEvents::at_begin(&state, id)))
    }

    /// Receives a short message into lent memory, now or while the caller waits for it; see [`crate::raw::Runtime::try_receive`].
    ///
    /// # Safety
    /// As for [`Messenger::begin_receive_into`]; a [`LentReceive`] that is dropped is withdrawn.
    pub(crate) unsafe fn lend(
        &self,
        scope: Scope,
        source: Option<Peer>,
        tag: Option<u64>,
        memory: WriteSpan,
    ) -> Option<Result<Waiting, LentReceive<'_>>> {
        match self.lock().lend(Pattern { scope, source, tag }, memory) {
            Lending::Received(waiting) => Some(Ok(waiting)),
            Lending::Posted => Some(Err(LentReceive { messenger: self, is_over: false })),
            Lending::SlowPath => None,
        }
    }

    /// The first message that such a receive would take, without taking it.
    pub fn probe(&self, scope: Scope, source: Option<Peer>, tag: Option<u64>) -> Option<Waiting> {
        let state = self.lock();
        let arrived = state.matcher.peek_arrived(Pattern { scope, source, tag })?;
        Some(arrived.waiting())
    }

    /// As [`Messenger::probe`], and takes the message out of matching: only the returned handle can receive it.
    pub fn take(&self, scope: Scope, source: Option<Peer>, tag: Option<u64>) -> Option<MatchedMessage> {
        let arrived = self.lock().matcher.take_arrived(Pattern { scope, source, tag })?;
        Some(MatchedMessage { messenger: self.clone(), waiting: arrived.waiting(), arrived: Some(arrived) })
    }

    /// Says that this process begins no message any more, but for those of [`Scope::LAST`]: to `peers`, and to all that it
    /// has had contact with. Those of them that wait for a message of it get an error.
    pub fn say_farewell(&self, peers: impl Iterator<Item = Peer>) {
        self.lock().say_farewell(peers);
    }

    /// Whose messages the receives of these planes wait for: a clause such as `process 3`.
    pub(crate) fn waits_for(&self, planes: &[Plane]) -> Option<String> {
        const MOST_NAMED: usize = 8;
        let awaited = self.lock().matcher.awaited(planes);
        let name = |source: &Option<Peer>| match source {
            Some(peer) => format!("process {peer}"),
            None => "any process".to_owned(),
        };
        let names: Vec<_> = awaited.iter().take(MOST_NAMED).map(name).collect();
        let more = if awaited.len() > MOST_NAMED { " and others" } else { "" };
        (!names.is_empty()).then(|| names.join(", ") + more)
    }

    /// Whether everything that was sent to others has left this process.
    pub fn has_sent_all(&self) -> bool {
        self.lock().has_sent_all()
    }

    /// Says whether ranks outnumber cores: before the first collective, and on all processes of the job the same.
    pub(crate) fn set_oversubscribed(&self, is_oversubscribed: bool) {
        self.signs().is_oversubscribed.store(is_oversubscribed, Relaxed);
    }

    /// What [`Messenger::set_oversubscribed`] has said last.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.signs().is_oversubscribed.load(Relaxed)
    }

    /// Whether there is something to send that no step has seen yet.
    pub(crate) fn is_due(&self) -> bool {
        self.signs().is_due.load(Relaxed)
    }

    /// Packets of messages that have been given to the channels so far.
    pub fn packets_sent(&self) -> u64 {
        self.lock().packets_sent
    }
}

impl MatchedMessage {
    /// Its sender, its tag and its length.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// Begins to receive it, if it has at most `limit` bytes.
    pub fn begin_receive(self, limit: u64) -> ReceiveRequest {
        self.begin_into(Sink::Owned { limit })
    }

    /// Begins to receive it into memory.
    ///
    /// # Safety
    /// As for [`Messenger::begin_receive_into`].
    pub unsafe fn begin_receive_into(self, memory: impl Into<ReceiveMemory>) -> ReceiveRequest {
        self.begin_into(Sink::Memory(memory.into()))
    }

    fn begin_into(mut self, sink: Sink) -> ReceiveRequest {
        let arrived = self.arrived.take().expect("only this and the drop take it, once");
        let mut state = self.messenger.lock();
        let id = state.begin_receive_of(arrived, sink);
        ReceiveRequest::new(&self.messenger, id, SeenEvents::at_begin(&state, id))
    }
}

impl ReceiveRequest {
    fn new(messenger: &Messenger, id: RequestId, seen: SeenEvents) -> Self {
        Self { messenger: messenger.clone(), id, seen, circle: None, is_over: false, refused: None }
    }

    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// Takes the receive back. Gives it back when a message has been found for it, which it will receive then.
    ///
    /// # Errors
    /// The request, which goes on.
    pub fn cancel(mut self) -> Result<(), Self> {
        let is_cancelled = self.messenger.lock().cancel(self.id);
        self.is_over |= is_cancelled;
        if is_cancelled { Ok(()) } else { Err(self) }
    }

    /// Lets go of the caller's memory, if no channel writes it now; says whether the caller may do with it what it wants. The
    /// message is dropped.
    pub(crate) fn release(&mut self) -> bool {
        self.is_over || self.messenger.lock().release(self.id)
    }

    /// The message that the receive ended with, but did not take, because it is too long; known after
    /// [`ReceiveRequest::test`] has told the error.
    pub fn refused(&self) -> Option<Waiting> {
        self.refused.as_deref().copied()
    }

    /// How the receive ended, once, if it has. An error of class `MPIX_ERR_PROC_FAILED_PENDING` is no end: a
    /// possible source has failed, and each call says so until the failure is acknowledged.
    pub fn test(&mut self) -> Option<Result<Received>> {
        if !self.seen.is_news(self.messenger.signs()) {
            return None;
        }
        let end = self.messenger.lock().end_of(self.id, self.circle.as_deref())?;
        self.is_over = !matches!(&end, Err(error) if error.class() == ErrorClass::ProcFailedPending);
        match end {
            Err(error) => Some(Err(error)),
            Ok(RequestKind::Received(end)) => Some(end),
            Ok(RequestKind::Refused(waiting, error)) => {
                self.refused = Some(Box::new(waiting));
                Some(Err(error))
            }
            Ok(other) => unreachable!("a receive does not end as {other:?}"),
        }
    }
}

impl LentReceive<'_> {
    /// Whether it has gone on, as one load tells.
    pub(crate) fn has_moved(&self) -> bool {
        self.messenger.signs().lent_has_moved.load(Acquire)
    }

    /// How it went on, once, if it has.
    pub(crate) fn test(&mut self) -> Option<ShortReceive> {
        let outcome = self.messenger.lock().take_lent()?;
        self.is_over = true;
        Some(match outcome {
            Outcome::Received(waiting) => ShortReceive::Message(waiting),
            Outcome::Request(id) => {
                ShortReceive::Request(ReceiveRequest::new(self.messenger, id, SeenEvents::default()))
            }
        })
    }
}

impl Drop for LentReceive<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.messenger.lock().withdraw_lent();
        }
    }
}

impl Drop for MatchedMessage {
    /// A message that is not wanted is received and dropped, so that its sender does not wait for ever.
    fn drop(&mut self) {
        if let Some(arrived) = self.arrived.take() {
            let mut state = self.messenger.lock();
            let id = state.begin_receive_of(arrived, Sink::Owned { limit: 0 });
            state.abandon(id);
        }
    }
}

impl Drop for ReceiveRequest {
    fn drop(&mut self) {
        if !self.is_over {
            self.messenger.lock().abandon(self.id);
        }
    }
}

impl fmt::Debug for Messenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let (kept, posted) = state.matcher.counts();
        f.debug_struct("Messenger")
            .field("me", &state.me)
            .field("size", &state.size)
            .field("contacted", &state.peers.len())
            .field("requests", &state.requests.len())
            .field("kept", &kept)
            .field("posted", &posted)
            .finish()
    }
}

impl fmt::Debug for MatchedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchedMessage").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl fmt::Debug for ReceiveRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiveRequest {}.{}", self.id.index, self.id.generation)
    }
}
