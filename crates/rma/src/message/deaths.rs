//! Which processes have ended without a word, as far as this one knows, and what that does to collectives.
//!
//! Two ways lead here: a channel finds that a peer is lost, or the launcher tells of a death ([`Messenger::hear_of_death`]). What
//! is told is not acted upon by messages and windows: this process makes contact with the dead, and the channel finds out,
//! behind everything that the dead had sent. So a process learns of the end also of a peer that it was never in contact with.
//!
//! Collectives are more than their messages. A rank that depends on the dead leaves with an error, and those that wait for that
//! rank would wait in vain. So each message of a collective belongs to a *circle*, the processes of the collective, and is given
//! up when one of them is told to be dead, whoever it comes from or goes to. All members are told, so all leave. A loss that only a
//! channel of this process has found ends what depends on that peer, and nothing else: others may not know of it.
//!
//! Invariant: a message that has ended before its circle is looked at keeps its end; a collective may succeed on some ranks and
//! fail on others, but ends on all.

use super::messenger::{Messenger, ReceiveRequest, SendRequest};
use super::request::RequestId;
use super::sending::lost_error;
use super::state::{Kind, State};
use rma_core::channel::Channel;
use rma_core::host::Group;
use rma_core::ids::Peer;
use rma_core::{Error, Result};
use std::sync::atomic::Ordering::Relaxed;

/// Those who have died, as this process was told, and those of them that the channels are still to be asked about.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    told: Vec<Peer>,
    to_ask: Vec<Peer>,
}

impl State {
    /// A peer is dead, as all processes are told. One that has ended its part in order before is not.
    fn on_death(&mut self, peer: Peer) {
        let has_left = self.peers.get(&peer).is_some_and(|peer| peer.has_left);
        if has_left || self.deaths.told.contains(&peer) {
            return;
        }
        self.deaths.told.push(peer);
        self.deaths.to_ask.push(peer);
        self.signs.has_losses.store(true, Relaxed);
        // Whoever waits in a collective looks again.
        self.note_event();
    }

    /// Takes over what was told since the last step, and makes contact with those that are said to be dead; says whether there
    /// were any.
    pub(super) fn look_after_dead(&mut self, channel: &mut dyn Channel) -> bool {
        self.hear();
        if self.deaths.to_ask.is_empty() {
            return false;
        }
        for peer in std::mem::take(&mut self.deaths.to_ask) {
            // A channel that refuses has told why before.
            let _ = channel.connect(peer);
        }
        true
    }

    pub(super) fn hear(&mut self) {
        let told = std::mem::take(&mut *self.signs.told.lock());
        let (size, me) = (self.size, self.me);
        for peer in told.into_iter().filter(|peer| peer.0 < size && *peer != me) {
            self.first_lost.get_or_insert(peer);
            self.on_death(peer);
        }
    }

    /// How a request ended, once, if it has, or why one of a collective is given up.
    pub(super) fn end_of(&mut self, id: RequestId, circle: Option<&Group>) -> Option<Result<Kind>> {
        match self.take_end(id) {
            Some(end) => Some(Ok(end)),
            None => self.give_up(id, circle?).map(Err),
        }
    }

    /// Gives a request of a collective up, if one of its circle has died and no channel has its memory now.
    fn give_up(&mut self, id: RequestId, circle: &Group) -> Option<Error> {
        let error = self.death_in(circle)?;
        if !self.release(id) {
            return None;
        }
        self.abandon(id);
        Some(error)
    }

    fn death_in(&self, circle: &Group) -> Option<Error> {
        let dead = self.deaths.told.iter().copied().find(|peer| circle.rank(*peer).is_some())?;
        let why = self.peers.get(&dead).and_then(|peer| peer.lost.as_deref());
        Some(lost_error("collective", dead, why.unwrap_or("it has died, as the launcher tells")))
    }
}

impl Messenger {
    /// The launcher tells that a process has died. Whoever calls this makes the engine step afterwards, and may hold any lock:
    /// a step that makes contact asks the launcher for an address, with the state's lock held, and may read of a death then.
    pub(crate) fn hear_of_death(&self, peer: Peer) {
        self.signs.told.lock().push(peer);
        // The step that takes this back looks into the list afterwards.
        self.signs.is_due.store(true, Relaxed);
    }

    /// That no process of a collective has died; one load while nobody has.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED`, with one that has.
    pub(crate) fn check_circle(&self, circle: &Group) -> Result<()> {
        if !self.signs.has_losses.load(Relaxed) {
            return Ok(());
        }
        self.state.lock().death_in(circle).map_or(Ok(()), Err)
    }

    /// That a message of this process may still come.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when it is lost.
    pub fn check_source(&self, source: Option<Peer>) -> Result<()> {
        let lost = source.filter(|_| self.signs.has_losses.load(Relaxed)).and_then(|source| {
            let why = self.lost(source)?;
            Some(lost_error("probe", source, &why))
        });
        lost.map_or(Ok(()), Err)
    }
}

impl SendRequest {
    /// The same as a part of a collective of these processes, which fails when one of them has died.
    pub(crate) fn among(mut self, circle: &Group) -> Self {
        self.circle = Some(circle.clone());
        self
    }
}

impl ReceiveRequest {
    /// As [`SendRequest::among`].
    pub(crate) fn among(mut self, circle: &Group) -> Self {
        self.circle = Some(circle.clone());
        self
    }
}
