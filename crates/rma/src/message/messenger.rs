//! The handle to messages, and the handles of requests.

use super::config::MessageConfig;
use super::matching::Pattern;
use super::memory::{Payload, Sink};
use super::packet::{Label, Scope};
use super::request::RequestId;
use super::state::{Kind, Received, State, Waiting};
use super::upper::MessageUpper;
use parking_lot::Mutex;
use rma_core::Result;
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::fmt;
use std::sync::Arc;

/// Messages of one process. Clones are the same messenger.
///
/// Nothing here waits or sends: calls begin something, the engine's steps move it, and the request tells when it has ended.
#[derive(Clone)]
pub struct Messenger {
    state: Arc<Mutex<State>>,
}

/// A message under way. Dropping it does not stop the message.
#[must_use]
pub struct SendRequest {
    state: Arc<Mutex<State>>,
    id: RequestId,
}

/// A message that is waited for. Dropping it withdraws it, unless the message is under way already.
#[must_use]
pub struct ReceiveRequest {
    state: Arc<Mutex<State>>,
    id: RequestId,
}

impl Messenger {
    /// The messenger of process `me` in a job of `size`.
    pub fn new(me: Peer, size: u32, config: &MessageConfig) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(me, size, config))) }
    }

    /// The protocol to hand to the engine.
    pub fn upper(&self) -> MessageUpper {
        MessageUpper::new(Arc::clone(&self.state))
    }

    /// Begins to send `message`.
    ///
    /// # Errors
    /// When there is no process `to`.
    pub fn begin_send(&self, to: Peer, scope: Scope, tag: u64, message: Vec<u8>) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Owned(message))
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
        self.begin(to, scope, tag, Payload::Shared(message))
    }

    /// Begins to send a message from where it lies.
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
        message: ReadSpan,
    ) -> Result<SendRequest> {
        self.begin(to, scope, tag, Payload::Memory(message))
    }

    fn begin(&self, to: Peer, scope: Scope, tag: u64, payload: Payload) -> Result<SendRequest> {
        let id = self.state.lock().begin_send(to, Label { scope, tag }, payload)?;
        Ok(SendRequest { state: Arc::clone(&self.state), id })
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

    /// Begins to receive a message into memory.
    ///
    /// # Errors
    /// As for [`Messenger::begin_receive`].
    ///
    /// # Safety
    /// The memory must stay writable, and nobody may form a reference to it, until the request has ended, which
    /// [`ReceiveRequest::test`] tells; dropping the request earlier does not end it.
    pub unsafe fn begin_receive_into(
        &self,
        scope: Scope,
        source: Option<Peer>,
        tag: Option<u64>,
        memory: WriteSpan,
    ) -> Result<ReceiveRequest> {
        self.begin_into(Pattern { scope, source, tag }, Sink::Memory(memory))
    }

    fn begin_into(&self, pattern: Pattern, sink: Sink) -> Result<ReceiveRequest> {
        let id = self.state.lock().begin_receive(pattern, sink)?;
        Ok(ReceiveRequest { state: Arc::clone(&self.state), id })
    }

    /// The first message that such a receive would take, without taking it.
    pub fn probe(&self, scope: Scope, source: Option<Peer>, tag: Option<u64>) -> Option<Waiting> {
        let state = self.state.lock();
        let arrived = state.matcher.peek_arrived(Pattern { scope, source, tag })?;
        Some(Waiting { source: arrived.source, tag: arrived.tag, len: arrived.content.len() })
    }

    /// Says that this process begins no message any more, but for those of [`Scope::LAST`]: to `peers`, and to all that it
    /// has had contact with. Those of them that wait for a message of it get an error.
    pub fn say_farewell(&self, peers: impl Iterator<Item = Peer>) {
        self.state.lock().say_farewell(peers);
    }

    /// Whether everything that was sent to others has left this process.
    pub fn has_sent_all(&self) -> bool {
        self.state.lock().has_sent_all()
    }

    /// The process that was lost first, if one is.
    pub fn first_lost(&self) -> Option<Peer> {
        self.state.lock().first_lost
    }

    /// Why a process is lost, if it is.
    pub fn lost(&self, peer: Peer) -> Option<String> {
        self.state.lock().peers.get(&peer).and_then(|peer| peer.lost.clone())
    }
}

impl SendRequest {
    #[cfg(test)]
    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// How the send ended, once, if it has: the message has left, and its memory is free again.
    pub fn test(&mut self) -> Option<Result<()>> {
        match self.state.lock().take_end(self.id)? {
            Kind::Sent(end) => Some(end),
            other => unreachable!("a send does not end as {other:?}"),
        }
    }
}

impl ReceiveRequest {
    #[cfg(test)]
    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// How the receive ended, once, if it has.
    pub fn test(&mut self) -> Option<Result<Received>> {
        match self.state.lock().take_end(self.id)? {
            Kind::Received(end) => Some(end),
            other => unreachable!("a receive does not end as {other:?}"),
        }
    }
}

impl Drop for SendRequest {
    fn drop(&mut self) {
        self.state.lock().abandon(self.id);
    }
}

impl Drop for ReceiveRequest {
    fn drop(&mut self) {
        self.state.lock().abandon(self.id);
    }
}

impl fmt::Debug for Messenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
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

impl fmt::Debug for SendRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendRequest {}.{}", self.id.index, self.id.generation)
    }
}

impl fmt::Debug for ReceiveRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReceiveRequest {}.{}", self.id.index, self.id.generation)
    }
}
