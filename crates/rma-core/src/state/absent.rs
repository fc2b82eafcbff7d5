//! Ranks that answer no more: lost ones, and those that have ended their part in the job.
//!
//! A lost rank ([`State::lost`]) does nothing any more. One that has ended its part in order serves its windows until the last rank has,
//! and makes no call on them: accesses to it go on, and what waits for a call of it ends, that is a fence, a post, the end of an epoch. Where
//! the call would change a word of shared memory the rank says in its control block there that it has left
//! ([`ControlBlock::set_left`](crate::control::ControlBlock::set_left)); where it would send a packet, the host hears of it behind all packets
//! ([`Host::has_left`](crate::host::Host::has_left)). Either way a waiter looks for this first, and then for what it waits for: a rank that
//! has left before the second look has done before all that it ever does.
//!
//! Looks for ranks that have left cost more than those for their words, so a wait that spins leaves them out.

use super::{Shared, State, WindowState};
use crate::channel::Failure;
use crate::error::{Error, ErrorClass};
use crate::host::Host;
use crate::ids::Rank;

impl State {
    /// The error of a call that depends on a rank, if that is lost.
    #[inline]
    pub(crate) fn lost_error(&self, shared: &Shared, rank: Rank, call: &'static str) -> Option<Error> {
        if self.lost.is_empty() {
            return None;
        }
        let failure = self.lost.get(&shared.group.peer(rank))?;
        Some(error_of(rank, call, failure))
    }

    /// The error of a call that depends on all ranks of a window, if one is lost.
    pub(crate) fn any_lost_error(&self, window: &WindowState, call: &'static str) -> Option<Error> {
        if !window.has_lost {
            return None;
        }
        let mut ranks = (0..window.shared.group.size()).map(Rank);
        ranks.find_map(|rank| self.lost_error(&window.shared, rank, call))
    }

    /// Whether no packet of a call of this rank comes any more.
    pub(crate) fn sends_no_more(&self, shared: &Shared, rank: Rank) -> bool {
        !self.is_spinning && self.host.has_left(shared.group.peer(rank))
    }

    /// Whether this rank neither posts nor completes any more, by a mark in shared memory or else by a packet.
    pub(crate) fn has_left(&self, shared: &Shared, rank: Rank) -> bool {
        match shared.marked(rank) {
            Some((_, mapped)) => !self.is_spinning && mapped.control.has_left(),
            None => self.sends_no_more(shared, rank),
        }
    }

    /// The error of a call that waits for one of a rank that has left.
    pub(crate) fn left_error(&self, shared: &Shared, rank: Rank, call: &'static str) -> Error {
        left_error(&*self.host, shared, rank, call)
    }
}

/// [`State::left_error`], without the engine's lock.
pub(crate) fn left_error(host: &dyn Host, shared: &Shared, rank: Rank, call: &'static str) -> Error {
    host.on_vain_wait(shared.group.peer(rank));
    let cause = format!("rank {rank} has ended its part in the job, and this one still waits for it");
    Error::new(ErrorClass::ProcAborted, call, cause).about(rank)
}

/// The error of a call that depends on a lost rank.
pub(crate) fn error_of(rank: Rank, call: &'static str, failure: &Failure) -> Error {
    let cause = format!("rank {rank} cannot be reached any more: {failure}");
    Error::new(ErrorClass::ProcFailed, call, cause).about(rank)
}
