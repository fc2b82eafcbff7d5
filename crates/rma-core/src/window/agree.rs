//! How the ranks of a group come to the index of a new window, when the first offers had none in common.
//!
//! Threads of a process may create windows on several communicators at once, and another rank may meet these creations in another
//! order, or begin one only when another is over. So two things must hold: an index is promised to one creation at a time, and no
//! creation keeps others from ending.
//!
//! ```text
//!   first offer     with the first step of the creation: a few free indices, promised until the round is over.
//!                   Other creations offer the rest meanwhile. Mostly all ranks offer the same, and this is all.
//!   line up         every rank has begun the creation by now. Its place in line is its time and its communicator,
//!                   which all of its ranks know: the time is one more than the latest that any of them had seen.
//!   wait            until it is the first in line on this rank, and none that was is promised anything.
//!                   Nothing is promised to a creation that waits.
//!   gather          a barrier: it has been first on every rank.
//!   offer           half of what is free, or all at the second try; nothing where another has come before it.
//!                   All offered, and an index is in common: taken. Nothing in common: offer all, then give up.
//!                   Not all offered: line up in the same place.
//! ```
//!
//! **Nothing hangs.** A creation in line waits for two things only. The one is a creation with an earlier
//! place. The other is an offer under way, which all ranks of its group answer at once, with their set or with nothing: it has passed its
//! barrier, so all of them are at it, and none waits before its answer. A creation without a place delays no other: all that it is
//! promised are a few indices. So the creation with the earliest place of a job goes on, and by induction all do, in whatever order
//! threads have begun them and whichever groups overlap.
//!
//! **The number of retries is bounded.** An offer is refused on a rank where an earlier creation has lined up
//! between the barrier and the offer. That one had begun there before this one's time was known there, since the time of all that begin
//! later is later; and once it has an index it is gone from the line everywhere. So each creation is refused at most once for each
//! creation that was under way on its ranks when it lined up, and there are at most as many of those as threads that create windows. None
//! of them can come again with an earlier place, so none starves.
//!
//! **What is used up.** At the second try every rank offers all that is neither in use nor promised to
//! another creation. Without a common one then, there is none.
//!
//! A rank of a group of its own finds an index with its first offer, without a word to others. When a rank is
//! lost its groups' collectives fail, and with them the creations that keep others waiting.

use super::pending::unexpected;
use crate::error::Result;
use crate::host::{Combine, Group, Host, HostRequest, Outcome};
use crate::state::indices::{Agreement, CreationOrder, Indices, OfferedPart};

/// The agreement of one creation, under way.
pub(super) struct Agreeing {
    creation: u64,
    group: Group,
    reach: OfferedPart,
    step: AgreementStep,
}

enum AgreementStep {
    Waiting,
    Gathering(HostRequest),
    Offering(HostRequest),
}

pub(super) enum Agreed {
    Index(u16),
    /// No index is free on all ranks.
    UsedUp,
}

impl Agreeing {
    /// Lines a creation up whose first offer was in vain. `group` is its own part of the group.
    pub(super) fn begin(indices: &mut Indices, creation: u64, time: u64, group: Group) -> Self {
        indices.line_up(creation, CreationOrder { time, context: group.context() });
        Self { creation, group, reach: OfferedPart::Half, step: AgreementStep::Waiting }
    }

    /// Gives up: the waits of the other ranks fail.
    pub(super) fn abandon(self, host: &dyn Host) {
        match self.step {
            AgreementStep::Waiting => {}
            AgreementStep::Gathering(request) | AgreementStep::Offering(request) => host.abandon(request),
        }
    }

    /// Goes on as far as it can.
    ///
    /// # Errors
    /// When a rank is lost.
    pub(super) fn poll(
        &mut self,
        indices: &mut Indices,
        needs_step: &mut bool,
        host: &dyn Host,
    ) -> Result<Option<Agreed>> {
        loop {
            self.step = match self.step {
                AgreementStep::Waiting if !indices.has_turn(self.creation) => return Ok(None),
                AgreementStep::Waiting => {
                    *needs_step = true;
                    AgreementStep::Gathering(host.begin_barrier(&self.group)?)
                }
                AgreementStep::Gathering(request) => {
                    if host.poll(request)?.is_none() {
                        return Ok(None);
                    }
                    *needs_step = true;
                    let offer = indices.offer(self.creation, self.reach);
                    AgreementStep::Offering(host.begin_reduce(&self.group, Combine::BitAnd, &offer)?)
                }
                AgreementStep::Offering(request) => {
                    let combined = match host.poll(request)? {
                        None => return Ok(None),
                        Some(Outcome::Values(combined)) => combined,
                        Some(outcome) => return Err(unexpected(&outcome)),
                    };
                    match (indices.agree(self.creation, &combined), self.reach) {
                        (Agreement::Index(index), _) => return Ok(Some(Agreed::Index(index))),
                        (Agreement::Disjoint, OfferedPart::All) => return Ok(Some(Agreed::UsedUp)),
                        (Agreement::Disjoint, OfferedPart::Half) => {
                            self.reach = OfferedPart::All;
                            AgreementStep::Waiting
                        }
                        (Agreement::Retry, _) => AgreementStep::Waiting,
                    }
                }
            }
        }
    }
}
