//! What a window knows of its end, if its ranks do not leave it together ([`crate::sync`], `parting.rs`).

use super::{Flavor, OutOfRange, WindowState};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use crate::state::gone;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

/// What there is of the end of a window; most have none of it.
#[derive(Debug, Default)]
pub(crate) struct Parting {
    /// The program has freed the window: it is a ghost.
    pub(crate) has_left: bool,
    pub(crate) is_revoked: bool,
    /// Ranks that have sent this one word that they have left. They get an answer when it is over.
    pub(crate) left: BTreeSet<Rank>,
    /// Ranks that have ended their part in the job.
    pub(crate) away: BTreeSet<Rank>,
    /// The rank that gathers, once it knows that this one has left.
    pub(crate) notified: Option<Rank>,
    /// Where this rank gathers: ranks below know that it has left.
    pub(crate) next_to_tell: u32,
    /// Ranks below know of the revocation.
    pub(crate) next_to_warn: u32,
    /// Ranks of other nodes that get their locks back.
    pub(crate) releases: Vec<Rank>,
}

impl Parting {
    #[cold]
    fn check_memory(&self, flavor: Flavor) -> std::result::Result<(), OutOfRange> {
        match flavor {
            Flavor::Create | Flavor::Dynamic if self.has_left => Err(OutOfRange::LEFT),
            Flavor::Create | Flavor::Dynamic | Flavor::Allocate | Flavor::Shared => Ok(()),
        }
    }
}

impl WindowState {
    /// Whether the program has freed the window.
    pub(crate) fn has_left(&self) -> bool {
        self.parting.as_ref().is_some_and(|parting| parting.has_left)
    }

    /// Whether the window was revoked, as far as this process knows.
    pub(crate) fn is_revoked(&self) -> bool {
        self.parting.as_ref().is_some_and(|parting| parting.is_revoked)
    }

    /// Whether all calls on the window fail.
    pub(crate) fn is_closed(&self) -> bool {
        self.has_left() || self.is_revoked()
    }

    /// That calls on the window do not all fail.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`; `MPI_ERR_WIN` when it was freed.
    pub(crate) fn check_open(&self, call: &'static str) -> Result<()> {
        match &self.parting {
            Some(parting) if parting.has_left => Err(gone(call)),
            Some(parting) if parting.is_revoked => Err(revoked(call)),
            Some(_) | None => Ok(()),
        }
    }

    /// That the memory of this rank may be accessed for others: what the program has given may be gone once it has left.
    #[inline]
    pub(crate) fn check_memory(&self) -> std::result::Result<(), OutOfRange> {
        match &self.parting {
            None => Ok(()),
            Some(parting) => parting.check_memory(self.shared.flavor),
        }
    }

    /// Closes all ways past the engine, for good: an error that no call takes keeps them closed.
    pub(crate) fn close(&mut self, error: Error) {
        let shared = &self.shared;
        shared.fence_gate.set_open(false);
        shared.access.own();
        shared.node_ranks().for_each(|node_rank| shared.access.bar(&node_rank.gate));
        shared.has_pack.store(false, Relaxed);
        self.packing = None;
        shared.notification.end_waits(error.clone());
        self.error = Some(error);
        self.needs_issue = true;
    }

    /// A rank says that it has left.
    pub(crate) fn on_left(&mut self, rank: Rank) {
        self.parting.get_or_insert_default().left.insert(rank);
        self.needs_issue = true;
    }

    /// A target grants a lock that no call waits for any more.
    pub(crate) fn on_late_grant(&mut self, rank: Rank) {
        if !self.epoch.on_answered(rank) && self.epoch.lock(rank).is_some() {
            self.remove_lock(rank);
        }
        self.parting.get_or_insert_default().releases.push(rank);
        self.needs_issue = true;
    }
}

/// What calls on a revoked window answer.
#[cold]
pub(crate) fn revoked(call: &'static str) -> Error {
    Error::new(ErrorClass::Revoked, call, "the window was revoked")
}
