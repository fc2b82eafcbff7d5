//! Which processes have ended without a word, as far as this one knows, and what that does: the one owner of the fact.
//!
//! | who tells | what is done besides noting it |
//! | --- | --- |
//! | a channel that has lost the peer | what waits for that peer ends |
//! | the launcher ([`Messenger::hear_of_death`]) | contact is made with the dead |
//! | another process, by packet or on a board ([`Messenger::hear_of_loss`]) | contact is made with the dead |
//!
//! Messages and windows of the dead end when the channel says so, behind everything that the dead had sent; so contact is made
//! with one that this process has only been told of. Where the launcher does not tell all of a death, each process passes it on
//! once, to those that are powers of two away: all hear of it while fewer have died than each has such neighbors.
//!
//! Collectives are more than their messages. A rank that depends on the dead leaves with an error, and those that wait for that
//! rank would wait in vain. So each message of a collective belongs to a *circle*, the processes of the collective, and is given
//! up when one of them is known to be dead, whoever it comes from or goes to. All members hear of it, so all leave. A receive from
//! any source has the processes of its communicator for a circle: the one that has died might have sent.
//!
//! Invariant: a message that has ended before its circle is looked at keeps its end; a collective may succeed on some ranks and
//! fail on others, but ends on all.

use super::messenger::{Messenger, ReceiveRequest, SendRequest};
use super::request::RequestId;
use super::sending::lost_error;
use super::state::{Kind, Outgoing, State};
use rma_core::channel::Channel;
use rma_core::host::Group;
use rma_core::ids::Peer;
use rma_core::{Error, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering::Relaxed;

/// Those who have died, as far as is known, and what is still to be done about it.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    known: Vec<Peer>,
    /// Those that the channels are to be asked about.
    to_ask: Vec<Peer>,
    /// Whether others hear of a death by this process.
    passes_on: bool,
    /// The processes of each communicator in use, and how many handles it has.
    circles: FxHashMap<u64, (Group, usize)>,
}

/// Who has told of a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    Channel,
    Others,
}

impl Deaths {
    /// Whether a peer that has died might have sent a message to receives from any source on a communicator.
    pub(super) fn might_send(&self, context: u64, peer: Peer) -> bool {
        self.circles.get(&context).is_none_or(|(circle, _)| circle.rank(peer).is_some())
    }
}

impl State {
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
        // Whoever waits in a collective looks again.
        self.note_event();
    }

    fn pass_on(&mut self, dead: Peer) {
        let (me, size) = (u64::from(self.me.0), u64::from(self.size));
        let distances = (0..u32::BITS).map(|bit| 1u64 << bit).take_while(|distance| *distance < size);
        let near = distances.flat_map(|distance| [(me + distance) % size, (me + size - distance) % size]);
        let mut near: Vec<_> = near.map(|peer| Peer(peer as u32)).collect();
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
            self.on_death(peer, Teller::Others);
        }
    }

    /// Another process tells of a death.
    pub(super) fn on_told_death(&mut self, peer: Peer) {
        if peer.0 < self.size && peer != self.me {
            self.note_loss(peer);
            self.on_death(peer, Teller::Others);
        }
    }

    /// Why a receive from any source on this communicator may wait in vain, if it may.
    pub(super) fn dead_source(&self, context: u64) -> Option<Error> {
        let dead = self.deaths.known.iter().copied().find(|peer| self.deaths.might_send(context, *peer))?;
        Some(self.death_error("receive", dead))
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

    /// One of these processes that has died.
    pub(super) fn dead_in(&self, circle: &Group) -> Option<Peer> {
        self.deaths.known.iter().copied().find(|peer| circle.rank(*peer).is_some())
    }

    fn death_in(&self, circle: &Group) -> Option<Error> {
        Some(self.death_error("collective", self.dead_in(circle)?))
    }

    pub(super) fn death_error(&self, call: &'static str, dead: Peer) -> Error {
        let why = self.peers.get(&dead).and_then(|peer| peer.lost.as_deref());
        lost_error(call, dead, why.unwrap_or("it has died, as others tell"))
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

    /// Others than a channel or the launcher have found a process dead.
    pub fn hear_of_loss(&self, peer: Peer) {
        let mut state = self.state.lock();
        state.on_told_death(peer);
    }

    /// Others hear of deaths by this process, because no launcher tells them.
    pub(crate) fn pass_deaths_on(&self) {
        self.state.lock().deaths.passes_on = true;
    }

    /// A communicator of these processes is in use from now on: receives from any source wait for them.
    pub(crate) fn open(&self, group: &Group) {
        let mut state = self.state.lock();
        let entry = state.deaths.circles.entry(group.context());
        entry.or_insert_with(|| (group.clone(), 0)).1 += 1;
    }

    /// One handle of a communicator is gone.
    pub(crate) fn close(&self, context: u64) {
        let mut state = self.state.lock();
        if let Entry::Occupied(mut entry) = state.deaths.circles.entry(context) {
            entry.get_mut().1 -= 1;
            if entry.get().1 == 0 {
                entry.remove();
            }
        }
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

    /// That a message of this process may still come; `None` is any of the communicator with this context.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when it is lost.
    pub fn check_source(&self, context: u64, source: Option<Peer>) -> Result<()> {
        if !self.signs.has_losses.load(Relaxed) {
            return Ok(());
        }
        let state = self.state.lock();
        let lost = match source {
            Some(source) => {
                let why = state.peers.get(&source).and_then(|peer| peer.lost.as_deref());
                why.map(|why| lost_error("probe", source, why))
            }
            None => state.dead_source(context),
        };
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
