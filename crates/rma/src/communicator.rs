//! Communicators: groups of ranks whose messages and collectives do not meet those of others.
//!
//! Invariants: a context is the same number on all ranks of a communicator, and two communicators that share two processes
//! have different ones; collectives of a communicator are called in the same order on all its ranks.

use crate::collective::{AllGather, Barrier, Broadcast, Gather, Link, Reduction};
use crate::elements::{as_bytes, copy_into, from_bytes};
use crate::message::{Plane, Scope};
use crate::runtime::Runtime;
use crate::window::{Element, Number, ReduceOp};
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::kernel::Kernel;
use rma_core::{Engine, Error, ErrorClass, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A group of ranks.
///
/// All its methods except [`Communicator::rank`] and [`Communicator::size`] are collective: every rank of the communicator
/// calls them, in the same order.
pub struct Communicator {
    runtime: Arc<Runtime>,
    group: Group,
    /// Collectives begun so far.
    begun: AtomicU64,
}

impl Communicator {
    /// Meets all ranks for the last time, after which nobody waits for this one any more. Who still does gets an error.
    pub(crate) fn meet_last(&self) -> Result<()> {
        let peer = |rank: u32| self.group.peer(Rank(rank));
        let distances =
            (0..u32::BITS).map(|bit| 1u64 << bit).take_while(|distance| *distance < u64::from(self.size()));
        let (me, size) = (u64::from(self.rank()), u64::from(self.size()));
        // Those that collectives make wait for this rank, also where there was no contact yet.
        let near = distances.flat_map(|distance| [(me + distance) % size, (me + size - distance) % size]);
        self.runtime.messenger.say_farewell(near.map(|rank| peer(rank as u32)));
        let link = Link::new(self.runtime.messenger.clone(), self.group.clone(), Scope::LAST, 0);
        self.runtime.run("finalize", Barrier::new(link))
    }

    /// The communicator of all processes.
    pub(crate) fn world(runtime: Arc<Runtime>) -> Self {
        let group = Group::strided(0, Rank(runtime.me.0), Peer(0), 1, runtime.size);
        Self::new(runtime, group)
    }

    fn new(runtime: Arc<Runtime>, group: Group) -> Self {
        Self { runtime, group, begun: AtomicU64::new(0) }
    }

    /// The caller's rank, from 0.
    pub fn rank(&self) -> u32 {
        self.group.me().0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn barrier(&self) -> Result<()> {
        self.runtime.run("barrier", Barrier::new(self.link()))
    }

    /// Gives every rank the values of rank `root`. All ranks give as many.
    ///
    /// # Errors
    /// When there is no rank `root`, when a rank gives another number of values, or a rank is lost.
    pub fn broadcast<T: Element>(&self, root: u32, values: &mut [T]) -> Result<()> {
        self.check_root(root, "broadcast")?;
        let own = (self.rank() == root).then(|| as_bytes(values).to_vec());
        let machine = Broadcast::new(self.link(), root, own, size_of_val(values) as u64);
        let bytes = self.runtime.run("broadcast", machine)?;
        if self.rank() == root { Ok(()) } else { copy_into(&bytes, values, "broadcast") }
    }

    /// Combines the values of all ranks element by element, and gives every rank the result: the same bits everywhere, and
    /// in every run with as many ranks.
    ///
    /// # Errors
    /// When the operation is not defined on the type, a rank gives another number of values, or a rank is lost.
    pub fn allreduce<T: Number>(&self, op: ReduceOp, values: &[T]) -> Result<Vec<T>> {
        let kernel = Kernel::new(op, T::BASIC).filter(|_| is_reduction(op)).ok_or_else(|| {
            let cause = format!("{op} is not a reduction of {} values", T::BASIC);
            Error::new(ErrorClass::Op, "allreduce", cause)
        });
        let kernel = self.runtime.noted(kernel)?;
        let machine = Reduction::new(self.link(), kernel, as_bytes(values).to_vec())?;
        from_bytes(&self.runtime.run("allreduce", machine)?, "allreduce")
    }

    /// Gives rank `root` the values of all ranks in rank order, one list for each; the others get `None`. Ranks may give
    /// different numbers of values.
    ///
    /// # Errors
    /// When there is no rank `root`, or a rank is lost.
    pub fn gather<T: Element>(&self, root: u32, values: &[T]) -> Result<Option<Vec<Vec<T>>>> {
        self.check_root(root, "gather")?;
        let machine = Gather::new(self.link(), root, as_bytes(values).to_vec());
        let blocks = self.runtime.run("gather", machine)?;
        blocks.map(|blocks| blocks.iter().map(|block| from_bytes(block, "gather")).collect()).transpose()
    }

    /// Gives every rank the values of all ranks in rank order, one list for each. Ranks may give different numbers of
    /// values.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn allgather<T: Element>(&self, values: &[T]) -> Result<Vec<Vec<T>>> {
        let blocks = self.gather_bytes("allgather", as_bytes(values).to_vec())?;
        blocks.iter().map(|block| from_bytes(block, "allgather")).collect()
    }

    /// Makes a communicator of the same ranks.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn duplicate(&self) -> Result<Self> {
        let made = self.split(Some(0), 0)?;
        Ok(made.expect("every rank has the same color"))
    }

    /// Makes a communicator for each color, of the ranks that give it, ordered by `key` and then by rank. A rank that gives
    /// `None` is in none of them.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>> {
        let context = self.runtime.next_context.load(Relaxed);
        let color_word = color.map_or(u64::MAX, u64::from);
        let mine = [color_word, key as u64, context];
        let blocks = self.gather_bytes("split", as_bytes(&mine).to_vec())?;
        let all = blocks.iter().map(|block| from_bytes::<u64>(block, "split")).collect::<Result<Vec<_>>>()?;
        if all.iter().any(|words| words.len() != mine.len()) {
            return Err(Error::new(ErrorClass::Intern, "split", "a rank called another collective"));
        }
        // Higher than any context of any rank of this group, so no two of them have it already. The groups of different
        // colors share no process and can have the same.
        let context = all.iter().map(|words| words[2]).fold(context, u64::max);
        self.runtime.next_context.fetch_max(context + 1, Relaxed);
        if color.is_none() {
            return Ok(None);
        }
        let same = all.iter().enumerate().filter(|(_, words)| words[0] == color_word);
        let mut members: Vec<(i64, u32)> = same.map(|(rank, words)| (words[1] as i64, rank as u32)).collect();
        members.sort_unstable();
        let me = members.iter().position(|(_, rank)| *rank == self.rank()).unwrap_or_default();
        let peers: Vec<Peer> = members.iter().map(|(_, rank)| self.group.peer(Rank(*rank))).collect();
        let group = Group::of(context, Rank(me as u32), &peers);
        Ok(Some(Self::new(Arc::clone(&self.runtime), group)))
    }

    /// The engine, for windows and for hosts of other kinds.
    pub fn engine(&self) -> &Engine {
        &self.runtime.engine
    }

    /// The processes, as the engine knows them.
    pub fn group(&self) -> Group {
        self.group.clone()
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    fn gather_bytes(&self, call: &'static str, block: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.runtime.run(call, AllGather::new(self.link(), block))
    }

    /// The link of the next collective.
    fn link(&self) -> Link {
        let number = self.begun.fetch_add(1, Relaxed);
        let scope = Scope { context: self.group.context(), plane: Plane::Collective };
        Link::new(self.runtime.messenger.clone(), self.group.clone(), scope, number)
    }

    fn check_root(&self, root: u32, call: &'static str) -> Result<()> {
        if root < self.size() {
            return Ok(());
        }
        let cause = format!("root {root} is not in 0..{}", self.size());
        self.runtime.noted(Err(Error::new(ErrorClass::Root, call, cause)))
    }
}

/// Whether an operation can be used in a reduction: `REPLACE` and `NO_OP` are for windows only (MPI 3.1 §11.3.4).
fn is_reduction(op: ReduceOp) -> bool {
    !matches!(op, ReduceOp::Replace | ReduceOp::NoOp)
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("context", &self.group.context())
            .finish_non_exhaustive()
    }
}
