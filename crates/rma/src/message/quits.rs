//! Collectives that a rank has left with an error, and what becomes of their messages.
//!
//! A rank that leaves sends no more messages of the collective and takes none. So it says so to the ranks
//! that may wait for it (*quit*), behind all that it has sent; what they wait for ends in error, and they
//! leave as well. One that has not come to the collective yet finds it quit. Where a member has died no
//! *quit* is needed: all learn of the death, and leave because of it ([`super::deaths`]).
//!
//! ```text
//!   rank that leaves                            rank that may wait
//!   messages that lie here are dropped,         receives from it end in error, now and when they are posted
//!   their credit is given back                  (messages that it had sent before are still received)
//!   announced ones are declined ──────────────▶ the send ends in error
//!   so are those that come later
//! ```
//!
//! Invariants: a collective is named by its scope and its number, which its messages have in their tags;
//! every rank counts one that has failed like others, so the numbers of those that follow stay the same on
//! all. A rank quits a collective once. Sends that were announced in a collective that is quit here keep no
//! rank from ending its part: their receiver may be gone.

use super::matching::{Arrived, Content};
use super::messenger::Messenger;
use super::packet::{Label, Packet, Plane, Scope};
use super::request::RequestId;
use super::revoked::revoked_error;
use super::sending::left_error;
use super::state::{Absence, MessengerState, Outgoing, RequestKind, Send, SendStage};
use rma_core::host::Group;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Bits of a tag below the number of its collective.
const PARTS: u32 = 16;

/// The tag of a part of collective `number`.
pub(crate) fn tag_of(number: u64, part: u16) -> u64 {
    number << PARTS | u64::from(part)
}

/// The number of the collective of a tag; `None` of one that is no part of a collective's.
pub(super) fn number_of(tag: u64) -> Option<u64> {
    (tag != u64::MAX).then_some(tag >> PARTS)
}

/// What has been quit, by this process and by others.
#[derive(Debug, Default)]
pub(super) struct Quits {
    own: FxHashMap<Scope, QuitNumbers>,
    /// Because of whose death, where it is one.
    dead: FxHashMap<Scope, Peer>,
    /// Of peers, as long as this process is not through with the collective.
    of_peers: FxHashMap<(Peer, Scope), QuitNumbers>,
}

/// Numbers of collectives, as ranges from the first to the last that were quit with errors of one class.
#[derive(Debug, Default)]
struct QuitNumbers(BTreeMap<u64, (u64, ErrorClass)>);

impl Quits {
    /// Whether this process has quit the collective of a message.
    pub(super) fn are_of(&self, label: Label) -> bool {
        !self.own.is_empty()
            && self.own.get(&label.scope).is_some_and(|numbers| numbers.has(label.tag >> PARTS))
    }

    /// With which error a peer has quit the collective of a message that it might send, if it has.
    pub(super) fn why_of_peer(&self, peer: Peer, scope: Scope, tag: u64) -> Option<ErrorClass> {
        if self.of_peers.is_empty() {
            return None;
        }
        self.of_peers.get(&(peer, scope))?.why(tag >> PARTS)
    }

    fn forget(&mut self, scope: Scope, number: u64) {
        self.of_peers.retain(|(_, of), numbers| {
            if *of == scope {
                numbers.remove(number);
            }
            !numbers.0.is_empty()
        });
    }
}

impl QuitNumbers {
    fn range_of(&self, number: u64) -> Option<(u64, u64, ErrorClass)> {
        let (first, (last, why)) = self.0.range(..=number).next_back()?;
        (number <= *last).then_some((*first, *last, *why))
    }

    fn why(&self, number: u64) -> Option<ErrorClass> {
        self.range_of(number).map(|(_, _, why)| why)
    }

    fn has(&self, number: u64) -> bool {
        self.range_of(number).is_some()
    }

    /// Whether it was not among them.
    fn add(&mut self, number: u64, why: ErrorClass) -> bool {
        if self.has(number) {
            return false;
        }
        let of_the_same = |range: Option<(u64, u64, ErrorClass)>| range.filter(|(_, _, of)| *of == why);
        let before = of_the_same(number.checked_sub(1).and_then(|before| self.range_of(before)));
        let after = of_the_same(number.checked_add(1).and_then(|after| self.range_of(after)));
        if let Some((first, ..)) = after {
            self.0.remove(&first);
        }
        let first = before.map_or(number, |(first, ..)| first);
        let last = after.map_or(number, |(_, last, _)| last);
        self.0.insert(first, (last, why));
        true
    }

    fn remove(&mut self, number: u64) {
        let Some((first, last, why)) = self.range_of(number) else { return };
        self.0.remove(&first);
        if first < number {
            self.0.insert(first, (number - 1, why));
        }
        if number < last {
            self.0.insert(number + 1, (last, why));
        }
    }
}

impl MessengerState {
    /// Leaves a collective, and tells these peers; nothing is done the second time.
    fn quit(&mut self, scope: Scope, number: u64, why: ErrorClass, tell: impl Iterator<Item = Peer>) {
        self.signs.has_quits.store(true, Relaxed);
        self.quits.forget(scope, number);
        if !self.quits.own.entry(scope).or_default().add(number, why) {
            return;
        }
        let is_of = |tag: u64| tag >> PARTS == number;
        for arrived in self.matcher.take_all_arrived(scope, is_of) {
            self.drop_arrived(scope, arrived);
        }
        let is_queued = |send: &Send| {
            send.label.scope == scope && is_of(send.label.tag) && send.stage == SendStage::Queued
        };
        let all = self.requests.iter_mut();
        let queued =
            all.filter(|(_, request)| matches!(&request.kind, RequestKind::Send(send) if is_queued(send)));
        // Their places in the queues are passed over.
        for (id, to) in queued
            .filter_map(|(id, request)| match &request.kind {
                RequestKind::Send(send) => Some((id, send.to)),
                _ => None,
            })
            .collect::<Vec<_>>()
        {
            self.finish(id, RequestKind::Sent(Err(quit_error("send", self.me, to, why))));
        }
        let me = self.me;
        for peer in tell.filter(|peer| *peer != me) {
            let state = self.peer(peer);
            if state.lost.is_some() || state.has_left {
                continue;
            }
            state.requests.push_back(Outgoing::Quit { scope, number, why });
            self.activate(peer);
        }
    }

    /// Drops a message that was kept for a collective which is quit now, or a communicator that is revoked.
    pub(super) fn drop_arrived(&mut self, scope: Scope, Arrived { source, content, tag, .. }: Arrived) {
        match content {
            Content::Kept(bytes) if source != self.me => self.on_taken(source, bytes.len()),
            Content::Kept(_) => {}
            Content::Announced { sender, .. } => self.decline(source, Label { scope, tag }, sender),
            Content::Own { send, .. } => {
                let why = self.why_left(Label { scope, tag });
                let error = self.leaving_error("send", scope, source, why);
                self.finish(send, RequestKind::Sent(Err(error)));
            }
        }
    }

    /// With which error this process takes a message no more.
    fn why_left(&self, label: Label) -> ErrorClass {
        if self.is_revoked(label.scope) {
            return ErrorClass::Revoked;
        }
        let numbers = self.quits.own.get(&label.scope);
        numbers.and_then(|numbers| numbers.why(label.tag >> PARTS)).unwrap_or(ErrorClass::ProcAborted)
    }

    /// What a call answers whose message another process does not take any more.
    fn leaving_error(&self, call: &'static str, scope: Scope, by: Peer, why: ErrorClass) -> Error {
        // Of a revocation that process may know first.
        if why == ErrorClass::Revoked || self.is_revoked(scope) {
            return revoked_error(call);
        }
        match scope.plane == Plane::User || scope.plane == Plane::Partitioned {
            // There is no collective to leave.
            true => left_error(call, by),
            false => quit_error(call, by, by, why),
        }
    }

    /// Takes no message that was announced.
    pub(super) fn decline(&mut self, source: Peer, label: Label, sender: RequestId) {
        if self.peer(source).lost.is_none() {
            let (dead, why) = (self.quits.dead.get(&label.scope).copied(), self.why_left(label));
            self.peer(source).responses.push_back(Packet::Decline { sender, dead, why });
            self.activate(source);
        }
    }

    /// A peer has left the collective for which it was announced a message.
    pub(super) fn on_decline(
        &mut self,
        from: Peer,
        sender: RequestId,
        dead: Option<Peer>,
        why: ErrorClass,
    ) -> Result<(), &'static str> {
        let send = self.send_mut(sender).filter(|send| send.to == from && send.stage == SendStage::Announced);
        let Some((scope, is_asked_back)) = send.map(|send| (send.label.scope, send.is_asked_back)) else {
            return Err("declines a message that was not announced");
        };
        if is_asked_back {
            self.finish(sender, RequestKind::Withdrawn);
            return Ok(());
        }
        let error = match dead {
            Some(dead) => {
                self.on_reported_death(dead);
                self.death_error("collective", dead)
            }
            None => {
                if why == ErrorClass::ProcAborted {
                    self.note_cause(from, Absence::Left);
                }
                self.leaving_error("send", scope, from, why)
            }
        };
        self.finish(sender, RequestKind::Sent(Err(error)));
        Ok(())
    }

    /// A peer has left a collective: waits for a message of it are in vain.
    pub(super) fn on_quit(
        &mut self,
        from: Peer,
        scope: Scope,
        number: u64,
        why: ErrorClass,
    ) -> Result<(), &'static str> {
        if scope.plane == Plane::User {
            return Err("quits what is no collective");
        }
        if self.quits.are_of(Label { scope, tag: tag_of(number, 0) }) {
            return Ok(());
        }
        self.signs.has_quits.store(true, Relaxed);
        self.quits.of_peers.entry((from, scope)).or_default().add(number, why);
        for id in self.matcher.take_posted_of(scope, from, |tag| tag >> PARTS == number) {
            self.note_cause(from, Absence::Left);
            self.finish(id, RequestKind::Received(Err(quit_error("receive", from, from, why))));
        }
        Ok(())
    }
}

impl Messenger {
    /// This process begins a collective: one of the same name that it has quit is another one.
    pub(crate) fn enter(&self, scope: Scope, number: u64) {
        if self.signs().has_quits.load(Relaxed)
            && let Some(numbers) = self.lock().quits.own.get_mut(&scope)
        {
            numbers.remove(number);
        }
    }

    /// This process leaves a collective of `circle` with an error of class `why`; `tell` are those that may wait for it.
    pub(crate) fn quit(
        &self,
        scope: Scope,
        number: u64,
        circle: &Group,
        why: ErrorClass,
        tell: impl Iterator<Item = Peer>,
    ) {
        let mut state = self.lock();
        // Of a death all hear by themselves, and of a revocation.
        let dead = state.dead_in(circle);
        if let Some(dead) = dead {
            state.quits.dead.insert(scope, dead);
        }
        let must_tell = dead.is_none() && !state.is_revoked(scope);
        state.quit(scope, number, why, tell.filter(|_| must_tell));
    }

    /// This process is through with a collective.
    pub(crate) fn leave(&self, scope: Scope, number: u64) {
        if self.signs().has_quits.load(Relaxed) {
            self.lock().quits.forget(scope, number);
        }
    }
}

/// What a call of a collective answers when another rank has left it: all of its ranks learn the same class.
pub(super) fn quit_error(call: &'static str, by: Peer, to: Peer, why: ErrorClass) -> Error {
    let cause = match by == to {
        true => format!("process {by} has left this collective because of an error of class {why}"),
        false => format!("this process has left the collective before its message to process {to}"),
    };
    Error::new(why, call, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_a_set_of_numbers_does() {
        let mut dice = crate::testing::Dice::new(7);
        let (mut numbers, mut set) = (QuitNumbers::default(), BTreeMap::new());
        for _ in 0..5000 {
            let number = match dice.below(12) as u64 {
                11 => u64::MAX,
                10 => u64::MAX - 1,
                small => small,
            };
            if dice.below(2) == 0 {
                let why = [ErrorClass::Truncate, ErrorClass::Other][dice.below(2)];
                assert_eq!(numbers.add(number, why), !set.contains_key(&number));
                set.entry(number).or_insert(why);
            } else {
                numbers.remove(number);
                set.remove(&number);
            }
            for at in (0..12).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]) {
                assert_eq!(numbers.why(at), set.get(&at).copied(), "{at} in {numbers:?}");
            }
        }
        let mut numbers = QuitNumbers::default();
        (0..1000).for_each(|number| {
            numbers.add(number, ErrorClass::Other);
        });
        assert!(numbers.0.len() == 1, "{numbers:?}");
    }
}
