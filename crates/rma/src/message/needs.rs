//! What waits for messages need of which process, as facts ([`rma_core::host::Need`]).

use super::messenger::{Messenger, ReceiveRequest};
use super::packet::{Plane, Scope};
use super::quits::number_of;
use super::request::RequestId;
use super::send_request::SendRequest;
use super::state::{ReceiveState, RequestKind, SendStage};
use rma_core::host::{Instance, Need, Place, Way};
use rma_core::ids::Peer;
use std::collections::BTreeSet;

/// Names a message under way, or waited for, to ask what it needs. It may be over.
#[derive(Clone, Copy, Debug)]
pub struct MessageId(RequestId);

impl SendRequest {
    /// Its name for [`Messenger::need_of`].
    pub fn name(&self) -> MessageId {
        MessageId(self.id())
    }
}

impl ReceiveRequest {
    /// Its name for [`Messenger::need_of`].
    pub fn name(&self) -> MessageId {
        MessageId(self.id())
    }
}

impl Messenger {
    /// What a message needs that another process has to do: `None` when nothing, or when it is over.
    pub fn need_of(&self, message: MessageId) -> Option<Need> {
        let mut state = self.lock();
        let me = state.me;
        match &state.requests.get_mut(message.0)?.kind {
            RequestKind::Receive(ReceiveState::Posted { pattern, .. }) => Some(Need::Message(pattern.source)),
            // Whether it has left is the channels' business; that it was not taken, the receiver's.
            RequestKind::Send(send) if send.stage == SendStage::Announced && send.to != me => {
                Some(Need::Receipt(send.to))
            }
            _ => None,
        }
    }

    /// What a wait for whichever of the process's messages needs: those that may bring one.
    pub(crate) fn needs_of_all(&self) -> Need {
        let awaited = self.lock().matcher.awaited(&Plane::OF_USERS);
        Need::Requests(awaited.into_iter().collect())
    }

    /// What a wait for a collective needs, if this process takes part in those of one communicator only. The root is
    /// a part of the name of its place.
    pub(crate) fn need_of_collective(&self, root: Option<u32>) -> Option<Need> {
        let state = self.lock();
        let mut awaited = state.matcher.awaited_in(Plane::Collective);
        let last = state.matcher.awaited_in(Plane::Host).into_iter();
        awaited.extend(last.filter(|(context, ..)| *context == Scope::LAST.context));
        drop(state);
        let contexts: BTreeSet<u64> = awaited.iter().map(|(context, ..)| *context).collect();
        let (Some(context), 1) = (contexts.first(), contexts.len()) else { return None };
        let sources: BTreeSet<Peer> = awaited.iter().filter_map(|(_, source, _)| *source).collect();
        let sources: Vec<Peer> = sources.into_iter().collect();
        let numbers: BTreeSet<_> = awaited.iter().map(|(.., tag)| tag.and_then(number_of)).collect();
        // Of several under way it is not known which of them is waited for.
        let number = numbers.first().copied().flatten().filter(|_| numbers.len() == 1);
        // People count from 1.
        let instance = number.map(|number| Instance { way: Way::Messages, number: number + 1 });
        let place = Place { context: *context, window: None, name: with_root(root), instance };
        (!sources.is_empty()).then_some(Need::Collective(place, sources))
    }

    /// The groups in whose collectives, of whatever kind, this process takes part now, in a call that waits or not.
    pub(crate) fn joined(&self) -> BTreeSet<u64> {
        let state = self.lock();
        let planes = [Plane::Collective, Plane::Host, Plane::Window];
        let awaited = planes.into_iter().flat_map(|plane| state.matcher.awaited_in(plane));
        awaited.map(|(context, ..)| context).collect()
    }

    /// Whether something of this process waits to be sent: others may get what they wait for without a call of its own.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.lock().active.is_empty()
    }
}

/// What a report says of the root behind the name of a communicator.
pub(crate) fn with_root(root: Option<u32>) -> String {
    root.map_or_else(String::new, |root| format!(", root {root}"))
}
