//! Sends that are taken back (`MPI_Cancel`): each ends withdrawn, or as it would have ended.
//!
//! A message that has not left is taken out of its place here. One that was announced lies in the receiver's matching, where
//! alone it is decided whether a receive has taken it: the sender asks, behind the announcement.
//!
//! ```text
//!   sender                                     receiver
//!            ── announce ────────────────────▶ kept
//!            ── withdraw ────────────────────▶ still kept: forgets it
//!            ◀───────────────────── withdrawn
//!                                              taken before: nothing to say, its accept is the answer
//! ```
//!
//! An eager message has ended when it left. A receiver that is lost ends the send as it ends others.

use super::matching::Content;
use super::packet::Packet;
use super::request::RequestId;
use super::send_request::SendRequest;
use super::state::{MessengerState, Outgoing, RequestKind, SendStage};
use rma_core::ids::Peer;

impl MessengerState {
    /// Takes a send back if it can be, now or by asking its receiver.
    fn withdraw_send(&mut self, id: RequestId) {
        let me = self.me;
        let Some(send) = self.send_mut(id) else { return };
        let (to, stage) = (send.to, send.stage);
        match stage {
            // Its place in the queue is passed over.
            SendStage::Queued => self.finish(id, RequestKind::Withdrawn),
            SendStage::Announced if to == me => {
                let is_it = |content: &Content| matches!(content, Content::Own { send, .. } if *send == id);
                if self.matcher.remove_arrived(me, is_it) {
                    self.finish(id, RequestKind::Withdrawn);
                }
            }
            SendStage::Announced => {
                if !std::mem::replace(&mut send.is_asked_back, true) {
                    self.peer(to).requests.push_back(Outgoing::Withdraw(id));
                    self.activate(to);
                }
            }
            SendStage::Accepted { .. } | SendStage::Leaving => {}
        }
    }

    /// A peer asks for an announced message back.
    pub(super) fn on_withdraw(&mut self, from: Peer, sender: RequestId) {
        let is_it =
            |content: &Content| matches!(content, Content::Announced { sender: of, .. } if *of == sender);
        if self.matcher.remove_arrived(from, is_it) {
            self.peer(from).responses.push_back(Packet::Withdrawn { sender });
            self.activate(from);
        }
    }

    /// A peer has forgotten an announced message.
    pub(super) fn on_withdrawn(&mut self, from: Peer, sender: RequestId) -> Result<(), &'static str> {
        let is_asked = |send: &mut super::state::Send| {
            send.to == from && send.stage == SendStage::Announced && send.is_asked_back
        };
        if !self.send_mut(sender).is_some_and(is_asked) {
            return Err("gives a message back that was not asked for");
        }
        self.finish(sender, RequestKind::Withdrawn);
        Ok(())
    }
}

impl SendRequest {
    /// Takes the message back, if no receive has taken it. The request ends in any case, perhaps by the answer of the receiver;
    /// [`SendRequest::is_withdrawn`] tells then. The engine is to be stepped afterwards.
    pub fn withdraw(&mut self) {
        self.with_state(|state, id| state.withdraw_send(id));
    }
}
