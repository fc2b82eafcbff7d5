//! Communicators that some of their ranks have, and others have not.
//!
//! A rank whose part in the making of a communicator fails, mostly because another one has died, does not get it, though others may
//! have it by then. It will never join what they begin there, and by itself nobody would know. So it tells the members, and they take
//! it for *absent* on that communicator: agreements and shrinking go on without it, as without one who has died; collectives, and
//! messages to and from it, end in error.
//!
//! ```text
//!   rank whose making fails                    rank that has the communicator, or will
//!            ── absent: parent, number ───────▶ looks for what it has made then; else keeps the word until it has
//! ```
//!
//! Invariants: a making is named by the parent's context and the number of the collective there, the same on all ranks; who is absent
//! stays so. What is kept of a making goes with the communicator, or with the parent.

use super::messenger::Messenger;
use super::notice::Notice;
use super::state::State;
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::Relaxed;

/// The making of a communicator: the parent's context, and the number of the collective there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Making {
    pub(crate) parent: u64,
    pub(crate) number: u64,
}

#[derive(Debug, Default)]
pub(super) struct Absences {
    /// What this process has made, by the making and by the context.
    made: FxHashMap<Making, u64>,
    makings: FxHashMap<u64, Making>,
    /// Who has failed in makings that this process has not ended.
    failed: FxHashMap<Making, Vec<Peer>>,
    /// Who is absent on a communicator.
    of: FxHashMap<u64, Vec<Peer>>,
}

impl Absences {
    pub(super) fn has(&self, context: u64, peer: Peer) -> bool {
        !self.of.is_empty() && self.of.get(&context).is_some_and(|absent| absent.contains(&peer))
    }

    /// A communicator is not in use any more.
    pub(super) fn forget(&mut self, context: u64) {
        self.of.remove(&context);
        if let Some(making) = self.makings.remove(&context) {
            self.made.remove(&making);
        }
        self.failed.retain(|making, _| making.parent != context);
    }
}

impl State {
    /// A peer has failed in a making.
    pub(super) fn on_absent(&mut self, from: Peer, making: Making) {
        match self.absences.made.get(&making).copied() {
            Some(context) => self.note_absent(context, vec![from]),
            None => self.absences.failed.entry(making).or_default().push(from),
        }
    }

    /// Those who are none of its members, since one collective may make several, were in the making of another one.
    fn note_absent(&mut self, context: u64, mut absent: Vec<Peer>) {
        let Some(members) = self.deaths.circle(context) else { return };
        absent.retain(|peer| members.rank(*peer).is_some());
        if absent.is_empty() {
            return;
        }
        self.absences.of.entry(context).or_default().extend(absent);
        self.signs.has_losses.store(true, Relaxed);
        self.move_lent(&|pattern, _| pattern.scope.context == context);
        self.review_agreements();
        // Whoever waits there looks again.
        self.note_event();
    }

    /// Why collectives of a communicator fail, if somebody is absent there.
    pub(super) fn absence_in(&self, context: u64) -> Option<Error> {
        let first = self.absences.of.get(&context)?.first()?;
        Some(absent_error("collective", *first))
    }

    /// Why messages to or from a peer fail on a communicator, if it is absent there.
    pub(super) fn absence_of(&self, context: u64, peer: Peer) -> Option<Error> {
        self.absences.has(context, peer).then(|| absent_error("message", peer))
    }
}

impl Messenger {
    /// This process's part in a making has failed; these may have what is made. The engine is to be stepped afterwards.
    pub(crate) fn fail_making(&self, making: Making, members: impl Iterator<Item = Peer>) {
        let mut state = self.state.lock();
        members.for_each(|peer| state.tell(peer, Notice::Absent(making)));
    }

    /// This process has made the communicator of this context, which is open by now.
    pub(crate) fn note_made(&self, making: Making, context: u64) {
        let mut state = self.state.lock();
        state.absences.made.insert(making, context);
        state.absences.makings.insert(context, making);
        if let Some(absent) = state.absences.failed.remove(&making) {
            state.note_absent(context, absent);
        }
    }
}

fn absent_error(call: &'static str, peer: Peer) -> Error {
    let cause = format!("process {peer} has not got this communicator: its part in the making has failed");
    Error::new(ErrorClass::ProcFailed, call, cause)
}
