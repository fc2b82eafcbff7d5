//! A receive whose caller waits for it within the call: in memory that it lends, and without a request.
//!
//! It stands in matching among all others, under a name that no request has, so that order is kept as for them. There is one
//! at a time; a second thread that wants to receive this way takes the slow path. A short message that fits is copied and
//! that is all. Whatever else happens to it (a message that is announced or too long, one to oneself, a peer that is lost) makes
//! it a request like others first ([`MessengerState::as_request`]), which its caller then waits for.
//!
//! ```text
//!   Posted ── a short message ──▶ Received ──▶ told, gone
//!      ├───── anything else ────▶ Request(id) ──▶ told, gone; the request goes on
//!      └───── withdrawn ────────▶ gone
//! ```

use super::deaths::Deaths;
use super::matching::{Content, Pattern};
use super::memory::Sink;
use super::packet::Scope;
use super::request::RequestId;
use super::state::{MessengerState, ReceiveState, RequestKind, RequestState, Waiting};
use rma_core::ids::Peer;
use rma_core::mem::WriteSpan;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The lent receive, as the state keeps it.
#[derive(Debug)]
pub(super) struct LentState {
    pattern: Pattern,
    memory: WriteSpan,
    stage: LentStage,
}

#[derive(Clone, Copy, Debug)]
enum LentStage {
    Posted,
    Received(Waiting),
    Request(RequestId),
}

/// What an attempt to lend came to.
#[derive(Debug)]
pub(super) enum Lending {
    /// A message had arrived, and is in the memory.
    Received(Waiting),
    /// The receive is posted.
    Posted,
    /// The slow path has to be taken; nothing was done.
    SlowPath,
}

/// How a lent receive went on.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The message is in the memory.
    Received(Waiting),
    /// It is this request now.
    Request(RequestId),
}

impl MessengerState {
    /// Receives a message that has arrived, if it is short and fits, or posts a lent receive.
    pub(super) fn lend(&mut self, pattern: Pattern, memory: WriteSpan) -> Lending {
        match self.matcher.peek_arrived(pattern).map(|arrived| &arrived.content) {
            None => {}
            Some(Content::Kept(bytes)) if bytes.len() <= memory.len() => {
                let Some(arrived) = self.matcher.take_arrived(pattern) else { return Lending::SlowPath };
                if let Content::Kept(bytes) = &arrived.content {
                    memory.part(0, bytes.len()).write(bytes);
                    if arrived.source != self.me {
                        self.on_taken(arrived.source, bytes.len());
                    }
                }
                return Lending::Received(arrived.waiting());
            }
            Some(_) => return Lending::SlowPath,
        }
        // The slow path reports why a peer sends nothing.
        let is_any_in_vain = pattern.source.is_none() && self.signs.has_losses.load(Relaxed);
        let may_come = |source| {
            self.peers.get(&source).is_some_and(|peer| peer.lost.is_none() && !peer.has_left)
                && !self.absences.has(pattern.scope.context, source)
        };
        let is_in_vain =
            is_any_in_vain || !pattern.source.is_none_or(may_come) || self.is_revoked(pattern.scope);
        if self.lent.is_some() || is_in_vain || pattern.scope == Scope::LAST {
            return Lending::SlowPath;
        }
        self.lent = Some(LentState { pattern, memory, stage: LentStage::Posted });
        self.signs.lent_has_moved.store(false, Relaxed);
        self.matcher.post(pattern, RequestId::LENT);
        Lending::Posted
    }

    /// How the lent receive went on, once, if it has.
    pub(super) fn take_lent(&mut self) -> Option<Outcome> {
        let outcome = match self.lent.as_ref()?.stage {
            LentStage::Posted => return None,
            LentStage::Received(waiting) => Outcome::Received(waiting),
            LentStage::Request(id) => Outcome::Request(id),
        };
        self.lent = None;
        Some(outcome)
    }

    /// Takes the lent receive back, as [`MessengerState::abandon`] does with a request.
    pub(super) fn withdraw_lent(&mut self) {
        let Some(lent) = self.lent.take() else { return };
        match lent.stage {
            LentStage::Posted => self.matcher.withdraw(lent.pattern.scope, RequestId::LENT),
            LentStage::Received(_) => {}
            LentStage::Request(id) => self.abandon(id),
        }
    }

    /// Stores a short message in the lent memory if the receive that it belongs to is lent and has room for it.
    pub(super) fn store_lent(&mut self, id: RequestId, source: Peer, tag: u64, message: &[u8]) -> bool {
        let Some(lent) = self.lent.as_mut().filter(|_| id == RequestId::LENT) else { return false };
        if message.len() > lent.memory.len() {
            return false;
        }
        lent.memory.part(0, message.len()).write(message);
        lent.stage = LentStage::Received(Waiting { source, tag, len: message.len() as u64 });
        self.signs.lent_has_moved.store(true, Release);
        true
    }

    /// Makes the lent receive a request in its place in matching, if this is true of what it asks for: requests are given up.
    pub(super) fn move_lent(&mut self, is_due: &dyn Fn(&Pattern, &Deaths) -> bool) {
        let Some(LentState { pattern, stage: LentStage::Posted, .. }) = &self.lent else { return };
        if is_due(pattern, &self.deaths) {
            let scope = pattern.scope;
            let id = self.as_request(RequestId::LENT);
            self.matcher.rename(scope, RequestId::LENT, id);
        }
    }

    /// The request of a receive that is not in matching any more: the lent one becomes one now.
    pub(super) fn as_request(&mut self, id: RequestId) -> RequestId {
        let Some(lent) = self.lent.as_mut().filter(|_| id == RequestId::LENT) else { return id };
        let sink = Sink::Memory(lent.memory.into());
        let kind = RequestKind::Receive(ReceiveState::Posted { pattern: lent.pattern, sink });
        let id = self.requests.insert(RequestState { kind, is_abandoned: false });
        lent.stage = LentStage::Request(id);
        self.signs.lent_has_moved.store(true, Release);
        id
    }
}
