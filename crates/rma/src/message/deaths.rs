//! The processes that are known to have died, and what follows from a death: the only owner of that fact.
//!
//! | source | what is done besides noting it |
//! | --- | --- |
//! | a channel that has lost the peer | what waits for that peer ends |
//! | the launcher ([`Messenger::hear_of_death`]) | contact is made with the dead |
//! | another process, by packet or a collective slot ([`Messenger::hear_of_loss`]) | contact is made with the dead |
//!
//! Messages and windows of the dead end when the channel says so, behind everything that the dead had sent.
//! So contact is made with a process that is only reported dead; but where its machine is lost, so is what had not
//! arrived, and the channel is told to give it up. Where the launcher does not report a death
//! to all, each process passes it on once, to those that are powers of two away: all learn of it while fewer
//! have died than each has such peers.
//!
//! Collectives are more than their messages. A rank that depends on the dead leaves with an error, and those
//! that wait for that rank would wait in vain. So each message of a collective belongs to a *circle*, the
//! processes of the collective, and is given up when one of them is known to be dead, whatever its source and
//! destination. All members learn of it, so all leave.
//!
//! A receive from any source may wait for the dead in vain, if those are of its communicator. Each test of it
//! says so until the program has acknowledged these failures there. It is not over: a living member may still
//! send.
//!
//! Invariant: a message that has ended before its circle is looked at keeps its end; a collective may succeed on some ranks and
//! fail on others, but ends on all.

use super::matching::Pattern;
use super::messenger::{Messenger, ReceiveRequest};
use super::near::near;
use super::packet::Scope;
use super::request::RequestId;
use super::revoked::revoked_error;
use super::send_request::SendRequest;
use super::sending::lost_error;
use super::state::{Absence, MessengerState, Outgoing, ReceiveState, RequestKind};
use rma_core::channel::Channel;
use rma_core::host::Group;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The processes known to have died, and what is still to be done about it.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    /// In the order in which this process has heard of them.
    known: Vec<Peer>,
    /// Those that the channels are to be asked about.
    to_ask: Vec<Peer>,
    /// Those that the channels are not to wait for: their machines are lost.
    to_give_up: Vec<Peer>,
    /// Whether others hear of a death by this process.
    passes_on: bool,
    /// The processes of each communicator in use, and how many handles it has.
    circles: FxHashMap<u64, (Group, usize)>,
    /// How many of the dead of a communicator its program has acknowledged.
    acknowledged: FxHashMap<u64, usize>,
}

/// The source of the report of a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    Channel,
    Others,
}

impl Deaths {
    pub(super) fn is_known(&self, peer: Peer) -> bool {
        self.known.contains(&peer)
    }

    /// The processes of a communicator in use.
    pub(super) fn circle(&self, context: u64) -> Option<&Group> {
        self.circles.get(&context).map(|(circle, _)| circle)
    }

    fn acknowledged_of(&self, context: u64) -> usize {
        self.acknowledged.get(&context).copied().unwrap_or_default()
    }

    /// Whether a peer that has died might have sent a message to receives from any source on a communicator.
    pub(super) fn might_send(&self, context: u64, peer: Peer) -> bool {
        self.circle(context).is_none_or(|circle| circle.rank(peer).is_some())
    }
}

impl MessengerState {
    /// A peer is dead. One that has ended its part in order before is not.
    pub(super) fn on_death(&mut self, peer: Peer, teller: Teller) {
        let is_other = peer.0 < self.size && peer != self.me;
        let has_left = self.peers.get(&peer).is_some_and(|peer| peer.has_left);
        if !is_other || has_left || self.deaths.known.contains(&peer) {
            return;
        }
        self.deaths.known.push(peer);
        if teller == Teller::Others && self.peers.get(&peer).is_none_or(|peer| peer.lost.is_none()) {
            self.deaths.to_ask.push(peer);
            self.signs.is_due.store(true, Relaxed);
        }
        self.signs.has_losses.store(true, Relaxed);
        if self.deaths.passes_on {
            self.pass_on(peer);
        }
        self.move_lent(&|pattern, deaths| {
            pattern.source.is_none() && deaths.might_send(pattern.scope.context, peer)
        });
        self.ask_groups_of(peer);
        self.review_agreements();
        // Waits in a collective, and for any source, look again.
        self.note_event();
    }

    /// Has the channels look after a peer, if there was no contact with it yet.
    pub(super) fn ask_after(&mut self, peer: Peer) {
        if !self.peers.contains_key(&peer) {
            self.deaths.to_ask.push(peer);
            self.signs.is_due.store(true, Relaxed);
        }
    }

    fn pass_on(&mut self, dead: Peer) {
        let mut near: Vec<_> = near(self.me.0, self.size).map(Peer).collect();
        near.sort_unstable();
        near.dedup();
        near.retain(|peer| !self.deaths.known.contains(peer));
        for peer in near {
            let state = self.peer(peer);
            if state.lost.is_none() && !state.has_left {
                state.requests.push_back(Outgoing::Death(dead));
                self.activate(peer);
            }
        }
    }

    /// Takes over the deaths reported since the last step, and makes contact with those processes; says
    /// whether there were any.
    pub(super) fn look_after_dead(&mut self, channel: &mut dyn Channel) -> bool {
        self.hear();
        let Deaths { to_ask, to_give_up, .. } = &mut self.deaths;
        if to_ask.is_empty() && to_give_up.is_empty() {
            return false;
        }
        for peer in std::mem::take(to_give_up) {
            channel.give_up(peer, "its host is lost, as the launcher tells");
        }
        for peer in std::mem::take(to_ask) {
            // A channel that refuses has told why before.
            let _ = channel.connect(peer);
        }
        true
    }

    pub(super) fn hear(&mut self) {
        let reported = std::mem::take(&mut *self.signs.reported.lock());
        let (size, me) = (self.size, self.me);
        for (peer, is_cut_off) in reported.into_iter().filter(|(peer, _)| peer.0 < size && *peer != me) {
            self.first_lost.get_or_insert(peer);
            if is_cut_off {
                self.deaths.to_give_up.push(peer);
            }
            self.on_death(peer, Teller::Others);
        }
    }

    /// Another process tells of a death.
    pub(super) fn on_reported_death(&mut self, peer: Peer) {
        if peer.0 < self.size && peer != self.me {
            self.note_cause(peer, Absence::Lost);
            self.on_death(peer, Teller::Others);
        }
    }

    /// How a request ended, once, if it has, or why it is given up. An error of class `MPIX_ERR_PROC_FAILED_PENDING` is no end.
    pub(super) fn end_of(&mut self, id: RequestId, circle: Option<&Group>) -> Option<Result<RequestKind>> {
        match self.take_end(id) {
            Some(end) => Some(Ok(end)),
            None if self.signs.has_losses.load(Relaxed) => self.fault_of(id, circle).map(Err),
            None => None,
        }
    }

    fn fault_of(&mut self, id: RequestId, circle: Option<&Group>) -> Option<Error> {
        let (scope, partner) = match self.requests.get(id).map(|request| &request.kind) {
            Some(RequestKind::Send(send)) => (Some(send.label.scope), Some(send.to)),
            Some(RequestKind::Receive(ReceiveState::Posted { pattern, .. })) => {
                (Some(pattern.scope), pattern.source)
            }
            // What is asked for comes, or its sender is lost.
            _ => (None, Some(self.me)),
        };
        if scope.is_some_and(|scope| self.is_revoked(scope)) {
            return self.give_up(id, revoked_error("message"));
        }
        let Some(partner) = partner else {
            return self.dead_source(scope?.context, ErrorClass::ProcFailedPending);
        };
        let absence = scope.and_then(|scope| self.absence_of(scope.context, partner));
        let fault = absence.or_else(|| {
            let circle = circle?;
            self.death_in(circle).or_else(|| self.absence_in(circle))
        });
        self.give_up(id, fault?)
    }

    /// Gives a request up, unless a channel has its memory now.
    fn give_up(&mut self, id: RequestId, error: Error) -> Option<Error> {
        if !self.release(id) {
            return None;
        }
        self.abandon(id);
        Some(error)
    }

    /// Why a receive from any source on this communicator may wait in vain, if it may.
    fn dead_source(&self, context: u64, class: ErrorClass) -> Option<Error> {
        let deaths = &self.deaths;
        let mut dead = deaths.known.iter().copied().filter(|peer| deaths.might_send(context, *peer));
        let dead = dead.nth(deaths.acknowledged_of(context))?;
        let cause = format!("process {dead}, which may be the source, has failed: {}", self.why(dead));
        Some(Error::new(class, "receive", cause))
    }

    /// Whether a failure among the processes of a communicator is one that its program has acknowledged.
    pub(super) fn has_acknowledged(&self, group: &Group, peer: Peer) -> bool {
        let of_group = self.deaths.known.iter().filter(|dead| group.rank(**dead).is_some());
        of_group.take(self.deaths.acknowledged_of(group.context())).any(|dead| *dead == peer)
    }

    /// One of these processes that has died.
    pub(super) fn dead_in(&self, circle: &Group) -> Option<Peer> {
        self.deaths.known.iter().copied().find(|peer| circle.rank(*peer).is_some())
    }

    fn death_in(&self, circle: &Group) -> Option<Error> {
        Some(self.death_error("collective", self.dead_in(circle)?))
    }

    pub(super) fn death_error(&self, call: &'static str, dead: Peer) -> Error {
        lost_error(call, dead, self.why(dead))
    }

    fn why(&self, dead: Peer) -> &str {
        let why = self.peers.get(&dead).and_then(|peer| peer.lost.as_deref());
        why.unwrap_or("it has died, as others tell")
    }
}

impl Messenger {
    /// The launcher reports that a process has died, perhaps with its machine. The caller makes the engine step afterwards, and may
    /// hold any lock: a step that makes contact asks the launcher for an address, with the state's lock held,
    /// and may read of a death then.
    pub(crate) fn hear_of_death(&self, peer: Peer, is_cut_off: bool) {
        self.signs().reported.lock().push((peer, is_cut_off));
        // The step that takes this back looks into the list afterwards.
        self.signs().is_due.store(true, Relaxed);
    }

    /// Others than a channel or the launcher have found a process dead.
    pub fn hear_of_loss(&self, peer: Peer) {
        let mut state = self.lock();
        state.on_reported_death(peer);
    }

    /// Others hear of deaths by this process, because no launcher tells them.
    pub(crate) fn pass_deaths_on(&self) {
        self.lock().deaths.passes_on = true;
    }

    /// A communicator of these processes is in use from now on: receives from any source wait for them.
    pub(crate) fn open(&self, group: &Group) {
        let mut state = self.lock();
        let context = group.context();
        let entry = state.deaths.circles.entry(context);
        let handles = &mut entry.or_insert_with(|| (group.clone(), 0)).1;
        *handles += 1;
        // Another process was ready with it before this one, and has revoked it already.
        if *handles == 1 && state.revoked.contains(&context) {
            state.spread(context);
        }
    }

    /// One handle of a communicator is gone.
    pub(crate) fn close(&self, context: u64) {
        let mut state = self.lock();
        if let Entry::Occupied(mut entry) = state.deaths.circles.entry(context) {
            entry.get_mut().1 -= 1;
            if entry.get().1 == 0 {
                entry.remove();
                state.deaths.acknowledged.remove(&context);
                state.absences.forget(context);
            }
        }
    }

    /// The failed among these processes, in the order in which this one has heard of it.
    pub(crate) fn failed(&self, group: &Group) -> Vec<Peer> {
        self.failed_of(&|peer| group.rank(peer).is_some())
    }

    /// As [`Messenger::failed`], of the peers for which this is true.
    pub(crate) fn failed_of(&self, is_of: &dyn Fn(Peer) -> bool) -> Vec<Peer> {
        if !self.signs().has_losses.load(Relaxed) {
            return Vec::new();
        }
        let mut state = self.lock();
        state.hear();
        state.deaths.known.iter().copied().filter(|peer| is_of(*peer)).collect()
    }

    /// Acknowledges the first of the failed of a communicator, at most so many; those that were before stay so. Answers how
    /// many are.
    pub(crate) fn acknowledge(&self, group: &Group, most: usize) -> usize {
        let failed = self.failed(group).len().min(most);
        let acknowledged = &mut self.lock().deaths.acknowledged;
        if failed == 0 {
            return acknowledged.get(&group.context()).copied().unwrap_or_default();
        }
        let known = acknowledged.entry(group.context()).or_default();
        *known = (*known).max(failed);
        *known
    }

    /// Those of the failed of a communicator that are acknowledged.
    pub(crate) fn acknowledged(&self, group: &Group) -> Vec<Peer> {
        let mut failed = self.failed(group);
        failed.truncate(self.lock().deaths.acknowledged_of(group.context()));
        failed
    }

    /// That no process of a collective has died, and its communicator was not revoked; one load while there is neither.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`; `MPIX_ERR_PROC_FAILED`, with one that has died.
    pub(crate) fn check_circle(&self, circle: &Group) -> Result<()> {
        if !self.signs().has_losses.load(Relaxed) {
            return Ok(());
        }
        let state = self.lock();
        if state.revoked.contains(&circle.context()) {
            return Err(revoked_error("collective"));
        }
        let fault = state.death_in(circle).or_else(|| state.absence_in(circle));
        fault.map_or(Ok(()), Err)
    }

    /// That a message of this process, which has not come, may still come; without one, of any of the communicator.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`; `MPIX_ERR_PROC_FAILED` when it is lost; `MPI_ERR_PROC_ABORTED` when it has ended its part.
    pub fn check_source(&self, scope: Scope, source: Option<Peer>) -> Result<()> {
        if source.is_none() && !self.signs().has_losses.load(Relaxed) {
            return Ok(());
        }
        let mut state = self.lock();
        let fault = state.revocation(scope, "probe").or_else(|| match source {
            Some(source) => {
                state.greet(source);
                let pattern = Pattern { scope, source: Some(source), tag: None };
                let in_vain = state.sends_no_more("probe", source, pattern);
                in_vain.iter().for_each(|(absence, _)| state.note_cause(source, *absence));
                in_vain.map(|(_, error)| error).or_else(|| state.absence_of(scope.context, source))
            }
            None => state.dead_source(scope.context, ErrorClass::ProcFailed),
        });
        fault.map_or(Ok(()), Err)
    }
}

impl SendRequest {
    /// The same as a part of a collective of these processes, which fails when one of them has died.
    pub(crate) fn among(mut self, circle: &Arc<Group>) -> Self {
        self.circle = Some(Arc::clone(circle));
        self
    }
}

impl ReceiveRequest {
    /// As [`SendRequest::among`].
    pub(crate) fn among(mut self, circle: &Arc<Group>) -> Self {
        self.circle = Some(Arc::clone(circle));
        self
    }
}
