//! What survivors do with a communicator whose members have died: find the dead, revoke it, agree, and make
//! one of the living. Names and meaning are those of the MPI Forum's fault chapter to be, and of ULFM.
//!
//! Invariant: the number of an agreement is the same on all ranks, because they begin them in the same order; one of more than 64
//! ranks is made of several, with the numbers that follow.

use super::context::{accept, propose};
use super::handle::Communicator;
use crate::collective::{Link, Machine};
use crate::group::Group;
use crate::message::{Ballot, Messenger};
use crate::runtime::CollectiveRequest;
use crate::runtime::Runtime;
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result, host};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

/// What ranks that live have agreed upon; the same on all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The flags that all have given.
    pub flags: u32,
    /// Ranks that have failed, as one of them knows, and whose failure not all have acknowledged.
    pub unacknowledged: Group,
}

/// An agreement under way: one ballot for each 64 ranks at least.
#[derive(Debug)]
pub(crate) struct Agreeing {
    messenger: Messenger,
    group: host::Group,
    first: u64,
    ballots: Vec<Option<Ballot>>,
}

/// The making of a communicator of the living ranks, under way.
#[derive(Debug)]
struct Shrinking {
    /// As for other communicators that are made.
    runtime: Weak<Runtime>,
    agreeing: Agreeing,
}

impl Communicator {
    /// The ranks that have failed, as far as this process knows, in the order in which it has heard of it: a later answer begins
    /// with an earlier one.
    pub fn failed(&self) -> Group {
        self.runtime().failed_among(&self.group())
    }

    /// Acknowledges the first `most` of [`Communicator::failed`]; answers how many are acknowledged now. Receives from any source
    /// do not fail because of them any more, and neither does an agreement when all ranks have done so.
    pub fn acknowledge_failed(&self, most: u32) -> u32 {
        self.runtime().acknowledge_among(&self.group(), most)
    }

    /// The ranks whose failure this process has acknowledged.
    pub fn acknowledged_failed(&self) -> Group {
        self.runtime().acknowledged_among(&self.group())
    }

    /// Makes every call on this communicator an error of class `MPIX_ERR_REVOKED`, on all ranks: those that wait, and those to
    /// come, but for the calls of this kind and questions about the communicator. Returns at once, and cannot be taken back.
    /// Windows and communicators that were made of it go on.
    pub fn revoke(&self) {
        self.runtime().revoke(self.context());
    }

    /// Whether it was revoked, as far as this process has heard.
    pub fn is_revoked(&self) -> bool {
        self.engine().poll();
        self.runtime().messenger().is_revoked(self.context())
    }

    /// Agrees with all living ranks on the flags that all have given, and on which ranks have failed. Works
    /// on a revoked communicator, and while ranks die.
    ///
    /// # Errors
    /// Of this process alone.
    pub fn agree(&self, flags: u32) -> Result<Agreed> {
        self.begin_agree(flags).wait()
    }

    /// Begins to agree; see [`Communicator::agree`].
    pub fn begin_agree(&self, flags: u32) -> CollectiveRequest<Agreed> {
        let agreeing = self.vote(flags, 0);
        self.runtime().begin("comm_agree", FlagAgreement(agreeing))
    }

    /// Makes a communicator of the ranks that live, in their order here. Works on a revoked communicator, and
    /// while ranks die. All get the same one, without each rank whose failure one of them knew before.
    ///
    /// # Errors
    /// When the process that was to name it has no name left.
    pub fn shrink(&self) -> Result<Self> {
        self.begin_shrink().wait()
    }

    /// Begins to make a communicator of the ranks that live; see [`Communicator::shrink`].
    pub fn begin_shrink(&self) -> CollectiveRequest<Self> {
        let agreeing = self.vote(0, propose(self.runtime()));
        let shrinking = Shrinking { runtime: Arc::downgrade(self.runtime()), agreeing };
        self.runtime().begin("comm_shrink", shrinking)
    }

    fn vote(&self, flags: u32, context: u64) -> Agreeing {
        let blocks = Agreeing::blocks(&self.group());
        let first = self.agreements.fetch_add(blocks.into(), Relaxed);
        Agreeing::begin(self.runtime(), self.group(), first, blocks, |_| Ballot::new(flags, context))
    }
}

impl Agreeing {
    /// How many ballots there are at least.
    pub(crate) fn blocks(group: &host::Group) -> u32 {
        group.size().div_ceil(Ballot::RANKS)
    }

    /// Gives this process's votes in so many ballots of a group, which have the numbers from `first` on.
    pub(crate) fn begin(
        runtime: &Runtime,
        group: host::Group,
        first: u64,
        ballots: u32,
        vote: impl Fn(u32) -> Ballot,
    ) -> Self {
        let messenger = runtime.messenger().clone();
        for at in 0..ballots {
            messenger.vote(&group, first + u64::from(at), at * Ballot::RANKS, vote(at));
        }
        Self { messenger, group, first, ballots: vec![None; ballots as usize] }
    }

    /// All ballots, once they are decided.
    pub(crate) fn step(&mut self) -> Option<Vec<Ballot>> {
        for (number, ballot) in (self.first..).zip(&mut self.ballots) {
            *ballot = ballot.or_else(|| self.messenger.take_agreed(self.group.context(), number));
        }
        self.ballots.iter().copied().collect()
    }

    /// Those of the processes that have failed, as one of them knows.
    pub(crate) fn failed(&self) -> Group {
        Group::of(self.peers(|ballot| ballot.failed))
    }

    /// Those of them whose failure not all have acknowledged.
    pub(crate) fn unacknowledged(&self) -> Group {
        Group::of(self.peers(|ballot| ballot.failed & !ballot.acknowledged))
    }

    /// The processes whose bits `of` answers for a ballot.
    fn peers(&self, of: impl Fn(&Ballot) -> u64) -> Vec<Peer> {
        let bits: Vec<_> = self.ballots.iter().flatten().map(of).collect();
        let is_set = |rank: &u32| bits[(rank / Ballot::RANKS) as usize] >> (rank % Ballot::RANKS) & 1 == 1;
        (0..self.group.size()).filter(is_set).map(|rank| self.group.peer(Rank(rank))).collect()
    }
}

/// An agreement for its flags.
#[derive(Debug)]
struct FlagAgreement(Agreeing);

impl Machine for FlagAgreement {
    type Output = Agreed;

    fn step(&mut self) -> Result<Option<Agreed>> {
        let Some(ballots) = self.0.step() else { return Ok(None) };
        let flags = ballots.iter().fold(u32::MAX, |flags, ballot| flags & ballot.flags);
        Ok(Some(Agreed { flags, unacknowledged: self.0.unacknowledged() }))
    }

    fn link(&self) -> Option<&Link> {
        None
    }
}

impl Machine for Shrinking {
    type Output = Communicator;

    fn step(&mut self) -> Result<Option<Communicator>> {
        let Some(ballots) = self.agreeing.step() else { return Ok(None) };
        let context = accept(ballots.first().map_or(0, |ballot| ballot.context))?;
        let living = Group::from(&self.agreeing.group).difference(&self.agreeing.failed());
        let runtime = self.runtime.upgrade().ok_or_else(has_ended)?;
        let me = living.rank(runtime.me()).ok_or_else(is_held_for_dead)?;
        Ok(Some(Communicator::new(runtime, living.with_context(context, me)).made_by("MPIX_Comm_shrink")))
    }

    fn link(&self) -> Option<&Link> {
        None
    }
}

/// The error of a process that shrinks a communicator when it ends its part in the job.
pub(crate) fn has_ended() -> Error {
    Error::new(ErrorClass::Intern, "comm_shrink", "the process has ended its part in the job")
}

/// The error of one that the others take for dead.
pub(crate) fn is_held_for_dead() -> Error {
    Error::new(ErrorClass::ProcFailed, "comm_shrink", "the other ranks hold this process for dead")
}

impl Runtime {
    /// Those of some processes that have failed; see [`Communicator::failed`].
    pub fn failed_among(&self, group: &host::Group) -> Group {
        self.engine().poll();
        Group::of(self.messenger().failed(group))
    }

    /// Those of a group that have failed; see [`Communicator::failed`].
    pub fn failed_of(&self, group: &Group) -> Group {
        self.engine().poll();
        Group::of(self.messenger().failed_of(&|peer| group.rank(peer).is_some()))
    }

    /// Acknowledges failures among the processes of a communicator; see [`Communicator::acknowledge_failed`].
    pub fn acknowledge_among(&self, group: &host::Group, most: u32) -> u32 {
        self.messenger().acknowledge(group, most as usize) as u32
    }

    /// Those of the failed of a communicator that are acknowledged; see [`Communicator::acknowledged_failed`].
    pub fn acknowledged_among(&self, group: &host::Group) -> Group {
        Group::of(self.messenger().acknowledged(group))
    }

    /// Revokes the communicator of this context; see [`Communicator::revoke`].
    pub fn revoke(&self, context: u64) {
        self.messenger().revoke(context);
        self.engine().poll();
        // Another thread may wait on the communicator.
        self.engine().wake_handle().wake();
    }
}
