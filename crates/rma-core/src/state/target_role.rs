//! What a window knows as a target: its lock's holders by packets, the waiting line, and bodies being
//! received.

use super::{Arrivals, AwaitedRanks, Line, OpenOperations, Shared};
use crate::control::{Holder, LockKind, OfEngine};
use crate::ids::Peer;
use std::collections::HashMap;
use std::time::Duration;

/// Entries of the book of locks whose memory an idle window keeps.
const KEPT_ENTRIES: usize = 16;

/// What a window knows as a target.
#[derive(Default)]
pub(crate) struct TargetRole {
    /// Packet origins in line, and the places of the dead.
    pub(crate) line: Line,
    /// How many sharers the lock word counts in the name of packet origins.
    pub(crate) sharers: u32,
    /// A process of the node has died, and the holders of the lock have yet to be recounted
    /// (`target/recovery.rs`).
    pub(crate) is_recounting: bool,
    /// Packet origins that hold a shared lock; the exclusive holder stands in the lock word.
    pub(crate) shared_holders: HashMap<Peer, u32>,
    /// The exclusive holder has unlocked, but answers queued before the release have not left.
    pub(crate) releasing: Option<Peer>,
    /// Origins of the exposure epoch of post/wait that are not done.
    pub(crate) undone: AwaitedRanks,
    /// Which ranks have come to fences, where ranks notify each other by packets.
    pub(crate) arrivals: Option<Arrivals>,
    /// Bodies being received into the window.
    pub(crate) receiving: u32,
    /// Operations of which more is to come.
    pub(crate) pieces: OpenOperations,
}

impl TargetRole {
    /// Of a window that has not been used; with counts of fences where ranks notify each other by packets.
    pub(crate) fn new(arrivals: Option<Arrivals>) -> Self {
        Self { arrivals, ..Self::default() }
    }

    /// Whether the lock is held, or the release has yet to be carried out.
    pub(crate) fn is_locked(&self, shared: &Shared) -> bool {
        !self.shared_holders.is_empty()
            || self.releasing.is_some()
            || shared.own().control.lock_state().owner().is_some()
    }

    /// Packet origins that hold a shared lock, in no order.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = Peer> + '_ {
        self.shared_holders.keys().copied()
    }

    /// Whether the engine waits for the lock on behalf of others, or recounts its holders.
    pub(crate) fn has_waiters(&self) -> bool {
        !self.line.is_empty() || self.is_recounting
    }

    /// What the lock word and the line have of the engine.
    pub(crate) fn of_engine(&self) -> OfEngine {
        OfEngine {
            sharers: self.sharers + self.line.counted() as u32,
            tickets: self.line.numbers().collect(),
        }
    }

    /// A packet origin has the lock, by a step on its word.
    pub(crate) fn count_grant(&mut self, kind: LockKind) {
        self.sharers += u32::from(kind == LockKind::Shared);
    }

    /// When a packet origin has to be looked after again though nothing arrives.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.line.due()
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self, shared: &Shared) -> Result<(), String> {
        self.line.invariants()?;
        let (word, shared_holders) =
            (shared.own().control.lock_state(), self.shared_holders.values().sum::<u32>());
        if word.owner().is_none() && word.shared() < shared_holders {
            return Err(format!("{shared_holders} processes share the lock, {} in its word", word.shared()));
        }
        if self.releasing.is_some() && word.owner() != self.releasing {
            return Err("a process releases the lock that it does not hold".to_owned());
        }
        Ok(())
    }

    /// Checks that `from` holds a lock that it may release, and takes it off the books.
    pub(crate) fn begin_release(&mut self, shared: &Shared, from: Peer) -> Result<LockKind, &'static str> {
        if let Some(count) = self.shared_holders.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.shared_holders.remove(&from);
                self.trim();
            }
            return Ok(LockKind::Shared);
        }
        if self.holds_exclusive(shared, from) {
            self.releasing = Some(from);
            return Ok(LockKind::Exclusive);
        }
        Err("unlock by a process that holds no lock")
    }

    /// [`Bug::UncheckedForgotten`](crate::bugs::Bug::UncheckedForgotten): releases the lock without asking
    /// for its holder.
    pub(crate) fn release_any(&mut self, shared: &Shared) {
        let control = &shared.own().control;
        let (holder, kind) = match control.lock_state().owner() {
            Some(owner) => (Some(owner), LockKind::Exclusive),
            None => (self.shared_holders.keys().min().copied(), LockKind::Shared),
        };
        if let Some(holder) = holder.and_then(Holder::new) {
            let shares = self.shared_holders.remove(&holder.peer()).unwrap_or_default();
            self.sharers -= shares.min(1);
            let _ = control.release(kind, holder);
        }
    }

    /// Gives memory back that only many origins have needed: an idle window weighs the same whatever was done on it.
    pub(crate) fn trim(&mut self) {
        self.line.trim();
        if self.shared_holders.is_empty() && self.shared_holders.capacity() > KEPT_ENTRIES {
            self.shared_holders = HashMap::new();
        }
    }

    pub(crate) fn holds_exclusive(&self, shared: &Shared, from: Peer) -> bool {
        self.releasing != Some(from) && shared.own().control.lock_state().owner() == Some(from)
    }
}
