//! What an intercommunicator is: two groups, and a context.

use crate::collective::{CollectiveNumbers, Link, PersistentStart};
use crate::communicator::{Communicator, Created};
use crate::group::{Comparison, Group};
use crate::message::{Making, Plane, Scope};
use crate::runtime::Runtime;
use rma_core::ids::{Peer, Rank};
use rma_core::{Below, Error, ErrorClass, Result, host};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A communicator between two groups. The caller is in one of them, the local one; ranks that calls name are those of the
/// other one, the remote group.
pub struct Intercommunicator {
    runtime: Arc<Runtime>,
    local: host::Group,
    remote: Group,
    /// Both groups, the first one first: the ranks of collectives.
    both: host::Group,
    is_first: bool,
    numbers: CollectiveNumbers,
    /// Ballots of agreements begun so far.
    pub(super) agreements: AtomicU64,
    /// The remote group's part of its making, if the groups made it each for itself.
    beside: Option<Making>,
}

/// What the ranks of both groups know of each other.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) context: u64,
    pub(super) local: Group,
    pub(super) remote: Group,
    /// Whether the local group counts as the first.
    pub(super) is_first: bool,
}

impl Intercommunicator {
    pub(super) fn new(runtime: Arc<Runtime>, sides: Sides) -> Result<Self> {
        let Sides { context, local, remote, is_first } = sides;
        let me = runtime.me;
        let outside = || {
            let cause = format!("process {me} is not in exactly one of the groups");
            Error::new(ErrorClass::Group, "intercomm_create", cause)
        };
        let both = if is_first { local.union(&remote) } else { remote.union(&local) };
        if both.size() != local.size() + remote.size() || remote.size() == 0 {
            let cause = "the groups have processes in common, or one is empty";
            return Err(Error::new(ErrorClass::Comm, "intercomm_create", cause));
        }
        let known =
            |group: &Group| group.rank(me).map(|rank| group.with_context(context, rank)).ok_or_else(outside);
        let (local, both) = (known(&local)?, known(&both)?);
        runtime.messenger.open(&both);
        let (numbers, agreements) = (CollectiveNumbers::default(), AtomicU64::new(0));
        Ok(Self { runtime, local, remote, both, is_first, numbers, agreements, beside: None })
    }

    /// Notes the call that has made it, as reports have it.
    pub(super) fn made_by(self, call: &'static str) -> Self {
        self.runtime.note_maker(self.context(), call);
        self
    }

    /// Notes the other group's part of its making.
    pub(super) fn made_beside(mut self, making: Making) -> Self {
        self.beside = Some(making);
        self
    }

    /// Lets go of it; see [`Communicator::disown`].
    pub fn disown(&self) {
        self.runtime.messenger.disown(self.context());
        self.runtime.engine.poll();
    }

    /// What it is made of.
    pub(super) fn sides(&self) -> Sides {
        let (context, local, remote) = (self.context(), self.members(), self.remote.clone());
        Sides { context, local, remote, is_first: self.is_first }
    }

    /// The caller's rank in the local group.
    pub fn rank(&self) -> u32 {
        self.local.me().0
    }

    /// Number of ranks of the local group.
    pub fn size(&self) -> u32 {
        self.local.size()
    }

    /// The local group.
    pub fn members(&self) -> Group {
        Group::from(&self.local)
    }

    /// The local group as a communicator, to ask about its ranks. It has no context of its own: nothing must be sent on it.
    pub fn local_ranks(&self) -> Communicator {
        Communicator::new(Arc::clone(&self.runtime), self.local.clone())
    }

    /// The processes of both groups.
    pub fn both(&self) -> host::Group {
        self.both.clone()
    }

    /// The group that calls reach.
    pub fn remote(&self) -> &Group {
        &self.remote
    }

    /// The process of a rank of the remote group.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank.
    pub fn peer(&self, rank: u32) -> Result<Peer> {
        self.remote.peer(rank).ok_or_else(|| {
            let among = Below(self.remote.size().into());
            let cause = format!("rank {rank} is not in {among} of the remote group");
            Error::new(ErrorClass::Rank, "comm_rank", cause)
                .about(Rank(rank))
                .with_limit(self.remote.size().into())
        })
    }

    /// The rank of a process in the remote group.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        self.remote.rank(peer)
    }

    /// How this intercommunicator and another one of this process relate: both groups count (MPI 4.1 §7.6.1).
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.context() == other.context() {
            return Comparison::Identical;
        }
        match (self.members().compare(&other.members()), self.remote.compare(&other.remote)) {
            (Comparison::Identical, Comparison::Identical) => Comparison::Congruent,
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            _ => Comparison::Similar,
        }
    }

    /// The number that tells this communicator from all others of the job; the same on all ranks of both groups.
    pub fn context(&self) -> u64 {
        self.local.context()
    }

    /// A plane of this communicator's messages.
    pub fn scope(&self, plane: Plane) -> Scope {
        Scope { context: self.context(), plane }
    }

    /// What all communicators of this process share.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// The link of the next collective, to the ranks of both groups.
    pub(super) fn link(&self) -> Link {
        self.link_of(None)
    }

    /// As [`Intercommunicator::link`], or that of a start of a persistent collective.
    pub(super) fn link_of(&self, start: Option<PersistentStart>) -> Link {
        let (messenger, scope) = (self.runtime.messenger.clone(), self.scope(Plane::Collective));
        Link::new(messenger, self.both.clone(), scope, self.numbers.of(start))
    }

    /// The number of a persistent collective that is made now; as [`Communicator::next_persistent`], on the ranks of both groups.
    pub fn next_persistent(&self) -> u64 {
        self.numbers.next_persistent()
    }

    /// Part of a collective among the local group.
    pub(super) fn local(&self, link: &Link, step: u8) -> Link {
        link.within(self.local.clone()).step(step)
    }

    /// The place of a remote rank among both groups.
    pub(super) fn place(&self, remote: u32) -> u32 {
        if self.is_first { self.size() + remote } else { remote }
    }

    /// The partner of the rank that stands for the local group: only that rank has one.
    pub(super) fn partner(&self) -> Option<u32> {
        (self.rank() == 0).then(|| self.place(0))
    }

    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }
}

impl Created for Intercommunicator {
    fn made(&self) -> Option<u64> {
        Some(self.context())
    }

    fn beside(&self) -> Option<(Making, Vec<Peer>)> {
        Some((self.beside?, self.remote.peers().collect()))
    }
}

impl Drop for Intercommunicator {
    fn drop(&mut self) {
        self.runtime.messenger.close(self.context());
        self.runtime.forget_names(self.context());
    }
}

impl fmt::Debug for Intercommunicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercommunicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("remote", &self.remote)
            .field("context", &self.context())
            .finish_non_exhaustive()
    }
}
