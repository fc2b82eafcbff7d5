//! The handle of a send.

use super::messenger::Messenger;
use super::request::RequestId;
use super::seen::SeenEvents;
use super::state::{MessengerState, RequestKind};
use rma_core::Result;
use rma_core::host::Group;
use std::fmt;
use std::sync::Arc;

/// A message under way. Dropping it does not stop the message.
#[must_use]
pub struct SendRequest {
    messenger: Messenger,
    id: RequestId,
    /// What its last test has seen.
    seen: SeenEvents,
    /// The collective that it is a part of.
    pub(super) circle: Option<Arc<Group>>,
    /// Whether its end was taken: nothing is left of it then.
    is_over: bool,
    is_withdrawn: bool,
}

impl SendRequest {
    pub(super) fn new(messenger: &Messenger, id: RequestId, seen: SeenEvents) -> Self {
        let messenger = messenger.clone();
        Self { messenger, id, seen, circle: None, is_over: false, is_withdrawn: false }
    }

    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    pub(super) fn with_state(&self, act: impl FnOnce(&mut MessengerState, RequestId)) {
        if !self.is_over {
            act(&mut self.messenger.lock(), self.id);
        }
    }

    /// Whether it ended as [`SendRequest::withdraw`] asks; known after [`SendRequest::test`] has told the end.
    pub fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// Lets go of the caller's memory, if no channel reads it now; says whether the caller may do with it what it wants. The
    /// message goes on.
    pub(crate) fn release(&mut self) -> bool {
        self.is_over || self.messenger.lock().release(self.id)
    }

    /// How the send ended, once, if it has: the message has left, and its memory is free again.
    pub fn test(&mut self) -> Option<Result<()>> {
        if !self.seen.is_news(self.messenger.signs()) {
            return None;
        }
        let end = self.messenger.lock().end_of(self.id, self.circle.as_deref())?;
        self.is_over = true;
        match end {
            Err(error) => Some(Err(error)),
            Ok(RequestKind::Sent(end)) => Some(end),
            Ok(RequestKind::Withdrawn) => {
                self.is_withdrawn = true;
                Some(Ok(()))
            }
            Ok(other) => unreachable!("a send does not end as {other:?}"),
        }
    }
}

impl Drop for SendRequest {
    fn drop(&mut self) {
        if !self.is_over {
            self.messenger.lock().abandon(self.id);
        }
    }
}

impl fmt::Debug for SendRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendRequest {}.{}", self.id.index, self.id.generation)
    }
}
