//! Broadcast down a binomial tree: a rank hears from its parent, and tells its children.
//!
//! A message that is too long for a rank is that rank's error alone: it is passed on first, so no rank waits
//! below it. A rank without ranks below it does not even store one.
//!
//! The message may come from the caller's memory and go to it ([`BroadcastInMemory`]), as [`super::given`] tells.

use super::given::Given;
use super::link::{Link, Machine, Sends};
use super::tree::Tree;
use crate::message::ReceiveRequest;
use rma_core::datatype::{Gather, Scatter};
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

const CALL: &str = "broadcast";

/// A broadcast under way; gives every rank the root's message.
#[derive(Debug)]
pub struct Broadcast {
    link: Link,
    tree: Tree,
    limit: u64,
    /// Where a message of the right length goes.
    room: Option<Scatter>,
    receive: Option<ReceiveRequest>,
    message: Option<BroadcastMessage>,
    sends: Sends,
    has_sent: bool,
    /// The error to end with when no message uses the caller's memory any more.
    failed: Option<Error>,
}

/// A broadcast from and to the memory of the ranks' callers; gives a rank the message when it is not as long as the memory, and
/// nothing when it is in place.
#[derive(Debug)]
pub struct BroadcastInMemory(Broadcast);

#[derive(Clone, Debug)]
enum BroadcastMessage {
    Bytes(Arc<Vec<u8>>),
    Memory(Gather),
}

/// That the root gives more than this rank takes.
#[cold]
pub(crate) fn too_long(root: u32, len: u64, limit: u64) -> Error {
    let cause = format!("rank {root} gives {len} bytes, more than the {limit} that this rank takes");
    Error::new(ErrorClass::Truncate, CALL, cause)
}

impl Broadcast {
    /// Begins. The root gives the message; the others the longest they take.
    pub fn new(link: Link, root: u32, message: Option<Vec<u8>>, limit: u64) -> Self {
        Self {
            tree: Tree::new(&link, root),
            link,
            limit,
            room: None,
            receive: None,
            message: message.map(|message| BroadcastMessage::Bytes(Arc::new(message))),
            sends: Sends::default(),
            has_sent: false,
            failed: None,
        }
    }

    fn tell(&mut self, message: &BroadcastMessage) -> Result<()> {
        for bit in self.tree.child_bits() {
            let child = self.tree.rank(self.tree.place() + bit);
            self.sends.push(match message {
                BroadcastMessage::Bytes(bytes) => self.link.send_shared(child, 0, Arc::clone(bytes))?,
                BroadcastMessage::Memory(memory) => {
                    self.link.send_given(child, 0, Given::Memory(memory.clone()))?
                }
            });
        }
        Ok(())
    }

    #[cold]
    fn too_long(&self, len: u64) -> Error {
        too_long(self.tree.root(), len, self.limit)
    }

    fn receive(&self) -> Result<ReceiveRequest> {
        let most = if self.tree.child_bits().next().is_none() { self.limit } else { u64::MAX };
        match &self.room {
            Some(room) => self.link.receive_exactly(self.tree.parent(), 0, room.clone(), most),
            None => self.link.receive(self.tree.parent(), 0, most),
        }
    }

    fn advance(&mut self) -> Result<Option<BroadcastMessage>> {
        if self.message.is_none() {
            if self.receive.is_none() {
                self.receive = Some(self.receive()?);
            }
            let Some(end) = self.receive.as_mut().and_then(ReceiveRequest::test) else { return Ok(None) };
            let refused = self.receive.as_ref().and_then(ReceiveRequest::refused);
            let received = match refused {
                Some(waiting) => return Err(self.too_long(waiting.len)),
                None => end.map_err(|e| e.in_call(CALL))?,
            };
            self.message = Some(match (received.data, &self.room) {
                (None, Some(room)) => BroadcastMessage::Memory(room.as_gather()),
                (data, _) => BroadcastMessage::Bytes(Arc::new(data.unwrap_or_default())),
            });
        }
        if let (Some(message), false) = (self.message.clone(), self.has_sent) {
            self.has_sent = true;
            self.tell(&message)?;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        let len = match &self.message {
            Some(BroadcastMessage::Bytes(bytes)) => bytes.len() as u64,
            Some(BroadcastMessage::Memory(_)) | None => 0,
        };
        if self.receive.is_some() && len > self.limit {
            return Err(self.too_long(len));
        }
        Ok(self.message.take())
    }

    /// As a step of the machine; the message may be in the caller's memory.
    fn go_on(&mut self) -> Result<Option<BroadcastMessage>> {
        if self.failed.is_none() {
            match self.advance() {
                Ok(end) => return Ok(end),
                Err(error) => self.failed = Some(error),
            }
        }
        let is_free = self.receive.as_mut().is_none_or(ReceiveRequest::release) & self.sends.release();
        self.failed.take_if(|_| is_free).map_or(Ok(None), Err)
    }
}

impl BroadcastInMemory {
    /// Begins. `memory` is where the root's message lies, and where it goes elsewhere.
    pub fn new(link: Link, root: u32, memory: Scatter) -> Self {
        let mut broadcast = Broadcast::new(link, root, None, memory.remaining());
        match broadcast.tree.place() {
            0 => broadcast.message = Some(BroadcastMessage::Memory(memory.as_gather())),
            _ => broadcast.room = Some(memory),
        }
        Self(broadcast)
    }
}

impl Machine for Broadcast {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.go_on()?.map(|message| message.bytes().unwrap_or_default()))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn root(&self) -> Option<u32> {
        Some(self.tree.root())
    }
}

impl Machine for BroadcastInMemory {
    type Output = Option<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        Ok(self.0.go_on()?.map(BroadcastMessage::bytes))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.0.link)
    }

    fn root(&self) -> Option<u32> {
        self.0.root()
    }
}

impl BroadcastMessage {
    /// The bytes, unless they are in the caller's memory. All messages have left, so this is the only holder.
    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(Arc::try_unwrap(bytes).unwrap_or_else(|bytes| (*bytes).clone())),
            Self::Memory(_) => None,
        }
    }
}
