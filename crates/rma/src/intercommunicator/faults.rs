//! What survivors do with an intercommunicator whose members have died; see `communicator/faults.rs`.
//!
//! The processes of both groups agree together, as those of one communicator. What a group gives, the other one gets, as in other
//! collectives between two groups: so the flags of the first group are those of the first ballot, and the flags of the other one
//! those of the second, which there is also where one has room for all ranks.

use super::handle::{Intercommunicator, Sides};
use crate::collective::{Link, Machine};
use crate::communicator::{Agreed, Agreeing, accept, has_ended, is_held_for_dead, propose};
use crate::message::Ballot;
use crate::runtime::CollectiveRequest;
use crate::runtime::Runtime;
use rma_core::Result;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

/// An agreement for the flags of the remote group.
struct RemoteFlagAgreement {
    agreeing: Agreeing,
    remote: usize,
}

/// The making of an intercommunicator of the living ranks, under way.
struct IntercommunicatorShrinking {
    runtime: Weak<Runtime>,
    agreeing: Agreeing,
    sides: Sides,
}

impl Intercommunicator {
    /// Agrees with all living ranks of both groups on which ranks have failed, and on the flags that all of
    /// the remote group have given. Works when it is revoked, and while ranks die.
    ///
    /// # Errors
    /// Of this process alone.
    pub fn agree(&self, flags: u32) -> Result<Agreed> {
        self.begin_agree(flags).wait()
    }

    /// Begins to agree; see [`Intercommunicator::agree`].
    pub fn begin_agree(&self, flags: u32) -> CollectiveRequest<Agreed> {
        let local = u32::from(!self.is_first());
        let agreeing = self.vote(|at| if at == local { flags } else { u32::MAX }, 0);
        self.runtime()
            .begin("comm_agree", RemoteFlagAgreement { agreeing, remote: usize::from(self.is_first()) })
    }

    /// Makes an intercommunicator of the living ranks of both groups, in their order here; `None` when one of
    /// the groups has none left. Works when this one is revoked, and while ranks die.
    ///
    /// # Errors
    /// When the process that was to name it has no name left.
    pub fn shrink(&self) -> Result<Option<Self>> {
        self.begin_shrink().wait()
    }

    /// Begins to make an intercommunicator of the living ranks; see [`Intercommunicator::shrink`].
    pub fn begin_shrink(&self) -> CollectiveRequest<Option<Self>> {
        let agreeing = self.vote(|_| 0, propose(self.runtime()));
        let runtime = Arc::downgrade(self.runtime());
        self.runtime()
            .begin("comm_shrink", IntercommunicatorShrinking { runtime, agreeing, sides: self.sides() })
    }

    fn vote(&self, flags: impl Fn(u32) -> u32, context: u64) -> Agreeing {
        let ballots = Agreeing::blocks(&self.both()).max(2);
        let first = self.agreements.fetch_add(ballots.into(), Relaxed);
        Agreeing::begin(self.runtime(), self.both(), first, ballots, |at| Ballot::new(flags(at), context))
    }
}

impl Machine for RemoteFlagAgreement {
    type Output = Agreed;

    fn step(&mut self) -> Result<Option<Agreed>> {
        let Some(ballots) = self.agreeing.step() else { return Ok(None) };
        let flags = ballots[self.remote].flags;
        Ok(Some(Agreed { flags, unacknowledged: self.agreeing.unacknowledged() }))
    }

    fn link(&self) -> Option<&Link> {
        None
    }
}

impl Machine for IntercommunicatorShrinking {
    type Output = Option<Intercommunicator>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        let Some(ballots) = self.agreeing.step() else { return Ok(None) };
        let context = accept(ballots.first().map_or(0, |ballot| ballot.context))?;
        let (failed, Sides { local, remote, is_first, .. }) = (self.agreeing.failed(), &self.sides);
        let (local, remote) = (local.difference(&failed), remote.difference(&failed));
        let runtime = self.runtime.upgrade().ok_or_else(has_ended)?;
        local.rank(runtime.me()).ok_or_else(is_held_for_dead)?;
        if remote.size() == 0 {
            return Ok(Some(None));
        }
        let sides = Sides { context, local, remote, is_first: *is_first };
        Ok(Some(Some(Intercommunicator::new(runtime, sides)?.made_by("MPIX_Comm_shrink"))))
    }

    fn link(&self) -> Option<&Link> {
        None
    }
}
