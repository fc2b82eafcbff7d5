//! What a communicator is: processes in an order, and a context.

use super::blocking::SharedSlots;
use crate::collective::{Barrier, CollectiveNumbers, Link, PersistentStart};
use crate::group::{Comparison, Group};
use crate::message::{Plane, Scope, near};
use crate::runtime::Runtime;
use crate::runtime::slots::Caller;
use rma_core::ids::{Peer, Rank};
use rma_core::{Engine, Error, Result, host};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// A group of ranks that communicate.
///
/// Collective methods say so by their effect on all ranks: every rank of the communicator calls them, in the same order.
/// Methods that ask about the communicator itself ([`Communicator::rank`], [`Communicator::size`],
/// [`Communicator::members`], [`Communicator::compare`]) are local.
///
/// ```
/// use rma::ReduceOp;
///
/// rma::World::run_threads(4, |world| {
///     let rank = world.rank();
///     // The even ranks and the odd ones, each with ranks 0 and 1.
///     let half = world.split(Some(rank % 2), 0)?.expect("every rank gives a color");
///     assert_eq!((half.rank(), half.size()), (rank / 2, 2));
///     assert_eq!(half.allreduce(ReduceOp::Sum, &[rank])?, [2 + 2 * (rank % 2)]);
///
///     let mut settings = if rank == 0 { [0.5, 1.5] } else { [0.0; 2] };
///     world.broadcast(0, &mut settings)?;
///     assert_eq!(settings, [0.5, 1.5]);
///
///     let lists = world.gather(3, &vec![rank; rank as usize])?;
///     assert_eq!(lists, (rank == 3).then(|| vec![vec![], vec![1], vec![2, 2], vec![3, 3, 3]]));
///     Ok(())
/// })
/// .unwrap();
/// ```
pub struct Communicator {
    runtime: Arc<Runtime>,
    group: host::Group,
    /// Ranks by process, for groups in which they cannot be computed; made when it is asked for.
    ranks: OnceLock<Option<HashMap<Peer, u32>>>,
    numbers: CollectiveNumbers,
    /// Agreements begun so far.
    pub(super) agreements: AtomicU64,
    /// What blocking collectives have in shared memory.
    pub(super) shared: SharedSlots,
}

impl Communicator {
    /// The communicator of all processes.
    pub(crate) fn world(runtime: Arc<Runtime>) -> Self {
        let group = host::Group::strided(0, Rank(runtime.me.0), Peer(0), 1, runtime.size);
        Self::new(runtime, group)
    }

    pub(crate) fn new(runtime: Arc<Runtime>, group: host::Group) -> Self {
        runtime.messenger.open(&group);
        let (ranks, agreements) = (OnceLock::new(), AtomicU64::new(0));
        Self {
            runtime,
            group,
            ranks,
            numbers: CollectiveNumbers::default(),
            agreements,
            shared: SharedSlots::default(),
        }
    }

    /// Notes the call that has made it, as reports have it.
    pub(crate) fn made_by(self, call: &'static str) -> Self {
        self.runtime.note_maker(self.context(), call);
        self
    }

    /// The caller's rank, from 0.
    pub fn rank(&self) -> u32 {
        self.group.me().0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// The processes in rank order.
    pub fn members(&self) -> Group {
        Group::from(&self.group)
    }

    /// How this communicator and another one of this process relate (MPI 4.1 §7.4.1).
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.context() == other.context() {
            return Comparison::Identical;
        }
        match self.members().compare(&other.members()) {
            Comparison::Identical => Comparison::Congruent,
            other => other,
        }
    }

    /// The process of a rank.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank.
    pub fn peer(&self, rank: u32) -> Result<Peer> {
        if rank < self.size() {
            return Ok(self.group.peer(Rank(rank)));
        }
        Err(Error::rank_outside("comm_rank", "rank", rank.into(), self.size()))
    }

    /// The rank of a process, if it is one of this communicator's.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        // Few ranks are found sooner than a hash is computed.
        const FEW: u32 = 16;
        if self.size() <= FEW {
            return self.group.rank(peer).map(|rank| rank.0);
        }
        match self.ranks.get_or_init(|| self.members().index()) {
            Some(ranks) => ranks.get(&peer).copied(),
            None => self.group.rank(peer).map(|rank| rank.0),
        }
    }

    /// The number that tells this communicator from all others of the job; the same on all its ranks.
    #[doc(hidden)]
    pub fn context(&self) -> u64 {
        self.group.context()
    }

    /// The engine, for windows and for hosts of other kinds.
    #[doc(hidden)]
    pub fn engine(&self) -> &Engine {
        &self.runtime.engine
    }

    /// The processes, as the engine knows them: what windows are made on, while the communicator lives. Its processes count what
    /// they make together, and the count ends with it; windows that were made before stay good.
    #[doc(hidden)]
    pub fn group(&self) -> host::Group {
        self.group.clone()
    }

    /// What all communicators of this process share; for libraries on top of this one.
    #[doc(hidden)]
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// That no rank has died and the communicator was not revoked; one load while there is neither.
    pub(super) fn check_members(&self, call: &'static str) -> Result<()> {
        self.runtime.messenger.check_circle(&self.group).map_err(|error| error.in_call(call))
    }

    /// The way of the next collective to the other ranks, by which they tell it from all others. Every rank takes one for
    /// each collective, in the same order.
    #[doc(hidden)]
    pub fn link(&self) -> Link {
        self.link_of(None)
    }

    /// As [`Communicator::link`], or the way of a start of a persistent collective.
    #[doc(hidden)]
    pub fn link_of(&self, start: Option<PersistentStart>) -> Link {
        let (messenger, scope) = (self.runtime.messenger.clone(), self.scope(Plane::Collective));
        Link::new(messenger, self.group.clone(), scope, self.numbers.of(start))
    }

    /// The number of a persistent collective that is made now. Every rank takes one for each, in the same order.
    #[doc(hidden)]
    pub fn next_persistent(&self) -> u64 {
        self.numbers.next_persistent()
    }

    /// A plane of this communicator's messages.
    #[doc(hidden)]
    pub fn scope(&self, plane: Plane) -> Scope {
        Scope { context: self.context(), plane }
    }

    /// Meets all ranks for the last time. No rank waits for this one any more then, or gets an error if it
    /// does.
    pub(crate) fn meet_last(&self) -> Result<()> {
        const CALL: &str = "finalize";
        let said = self.say_farewell();
        let link = Link::new(self.runtime.messenger.clone(), self.group.clone(), Scope::LAST, 0);
        self.runtime.run(CALL, Barrier::new(link)).and(said)
    }

    /// Tells the ranks that may wait for this one that it joins nothing any more.
    ///
    /// # Errors
    /// As `Engine::notify`.
    pub(crate) fn say_farewell(&self) -> Result<()> {
        const CALL: &str = "finalize";
        let peer = |rank: u32| self.group.peer(Rank(rank));
        self.runtime.engine.leave_windows();
        let said =
            self.runtime.departures.say_left(Caller { runtime: &self.runtime, call: CALL, root: None });
        // Those that collectives make wait for this rank, also where there was no contact yet. Others that wait for it greet it.
        self.runtime.messenger.say_farewell(near(self.rank(), self.size()).map(peer));
        said
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.runtime.messenger.close(self.context());
        self.runtime.host().forget(self.context());
        self.runtime.forget_names(self.context());
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("context", &self.context())
            .finish_non_exhaustive()
    }
}
