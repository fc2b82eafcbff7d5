//! A program as a tree: phases → rounds → one body per actor → epochs and operations.
//!
//! An actor is a thread of a rank. All actors take part in every phase and every round, with empty bodies if need be; that is
//! what makes collective calls agree whatever is taken out of the tree.

use super::makings::Making;
use crate::random::Random;
use crate::types::{Listed, random_type};
use rma_core::datatype::BasicType;
use rma_core::epoch::LockKind;
use rma_core::kernel::ReduceOp;

/// Cells whose order of changes is found out.
pub const CELLS: u64 = 4;
/// Cells that only their owner stores to.
pub const STORES: u64 = 4;
/// Equal numbers that are changed under an exclusive lock.
pub const EQUALS: u64 = 48;
/// What regions are aligned to.
const ALIGN: u64 = 32;

/// How a window comes by its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Of the library.
    Allocate,
    /// Of the user.
    Create,
    /// Of the library, mapped by all ranks of the node, which must be the only one.
    Shared {
        /// Without gaps between ranks.
        is_contiguous: bool,
    },
    /// Attached, in several pieces side by side, and attached anew between phases.
    Dynamic,
}

/// A window.
#[derive(Clone, Debug)]
pub struct WindowPlan {
    /// Where the memory comes from.
    pub flavor: Flavor,
    /// Displacement unit by rank.
    pub units: Vec<u64>,
    /// Unused bytes at the end, by rank.
    pub pads: Vec<u64>,
    /// Bytes of an actor's own area.
    pub own: u64,
    /// Elements of an actor's ordered accumulates.
    pub ordered: u64,
    /// Their type.
    pub basic: BasicType,
    /// Elements that all actors change, by one operation that may come in any order.
    pub shared: u64,
    /// Their type.
    pub shared_basic: BasicType,
    /// The operation.
    pub shared_op: ReduceOp,
}

/// A part of each rank's window memory, with its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// One actor puts and gets; others get in rounds in which it does not put. No access overlaps one under way.
    Own(u32),
    /// One actor accumulates: its accumulates on one location happen in order, without any synchronization.
    Ordered(u32),
    /// All actors accumulate with an operation that commutes.
    Shared,
    /// All actors increment and fetch.
    Counter,
    /// All actors replace and swap, with values that no other actor uses.
    Cells,
    /// Equal numbers that are changed under an exclusive lock and read under any.
    Equals,
    /// The owner stores between rounds, all actors get.
    Stores,
}

/// Elements of one basic type in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What they are.
    pub basic: BasicType,
    /// How many.
    pub elements: u64,
    /// From what the datatype is drawn; 0 is side by side.
    pub seed: u64,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the arguments of the calls
pub enum Action {
    Put {
        region: Region,
        at: u64,
        area: Shape,
        origin: Shape,
        data: u64,
    },
    Get {
        region: Region,
        at: u64,
        area: Shape,
        result: Shape,
    },
    Accumulate {
        region: Region,
        op: ReduceOp,
        at: u64,
        area: Shape,
        origin: Shape,
        data: u64,
    },
    GetAccumulate {
        region: Region,
        op: ReduceOp,
        at: u64,
        area: Shape,
        origin: Shape,
        result: Shape,
        data: u64,
    },
    FetchOp {
        region: Region,
        op: ReduceOp,
        at: u64,
        data: u64,
    },
    /// Compares with what is there, or with something else.
    CompareSwap {
        at: u64,
        hits: bool,
        data: u64,
    },
    /// Increments the counter.
    Count,
    /// Replaces cells by get-accumulate, or one by fetch-and-op.
    Swap {
        cell: u64,
        len: u64,
        is_single: bool,
    },
    /// Replaces a cell if it is what the actor has seen last.
    SwapIf {
        cell: u64,
    },
    /// Reads cells atomically.
    Peek {
        cell: u64,
        len: u64,
        is_single: bool,
    },
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// On this window.
    pub window: usize,
    /// At this rank.
    pub target: u32,
    /// What it does.
    pub action: Action,
    /// Whether it is one with a request.
    pub has_request: bool,
}

/// A lock to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockPlan {
    /// Of this rank.
    pub target: u32,
    /// How.
    pub kind: LockKind,
    /// With no-check.
    pub is_unchecked: bool,
}

/// Which requests are waited for, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// All, one after the other.
    InTurn,
    /// All, together.
    All,
    /// One, whichever ends first.
    Any,
    /// At least one, and all that have ended then.
    Some,
}

/// What an actor does, one thing after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // calls
pub enum Item {
    Op(Op),
    /// The operation as it is, but to no process: nothing changes.
    Nowhere(Op),
    Flush {
        window: usize,
        target: u32,
        is_local: bool,
    },
    FlushAll {
        window: usize,
        is_local: bool,
    },
    Sync {
        window: usize,
    },
    /// Waits for requests of the actor, in an order drawn from the seed.
    Requests {
        how: Awaited,
        seed: u64,
    },
    /// Gets the equal numbers, checks them, and puts their successors; under an exclusive lock.
    Increment {
        window: usize,
        target: u32,
    },
    /// Gets the equal numbers, which are checked when they have come; under a lock.
    ReadEquals {
        window: usize,
        target: u32,
    },
    /// Takes locks in this order, does the items, and releases in an order drawn from the seed.
    Locks {
        window: usize,
        locks: Vec<LockPlan>,
        items: Vec<Item>,
        seed: u64,
    },
    /// A lock_all epoch of its own.
    LockAll {
        window: usize,
        is_unchecked: bool,
        items: Vec<Item>,
    },
}

/// How the rounds of a phase are separated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    /// Fences.
    Fence { window: usize, no_precede: bool, no_succeed: bool },
    /// One lock_all epoch of each rank for all rounds; flush_all, and all meet.
    LockAll { window: usize, is_unchecked: bool },
    /// Post, start, complete and wait; by round, and origin × ranks + target, whether the origin accesses the target.
    Active { window: usize, edges: Vec<Vec<bool>>, no_check: bool },
    /// Epochs of each actor's own; all meet.
    Passive,
    /// A fence that nothing precedes, and that is not waited for.
    FenceAhead { window: usize },
}

/// Rounds of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What separates them.
    pub kind: Kind,
    /// Bodies by round and actor.
    pub rounds: Vec<Vec<Vec<Item>>>,
    /// By round and thread: what is made and freed meanwhile, together with the same thread of the other ranks.
    pub makings: Vec<Vec<Vec<Making>>>,
    /// By round: whether each rank looks at its memory at the end.
    pub looks: Vec<bool>,
    /// From what the owners' stores at the begin of each round are drawn; 0 is none.
    pub stores: u64,
    /// Begins without a meeting: no actor waits for what others do before their first call of the phase.
    pub is_tight: bool,
}

/// What a job does.
#[derive(Clone, Debug)]
pub struct Program {
    /// Ranks of the job.
    pub ranks: u32,
    /// Threads of each rank.
    pub threads: u32,
    /// Its windows.
    pub windows: Vec<WindowPlan>,
    /// What happens.
    pub phases: Vec<Phase>,
}

impl Program {
    /// Threads of the job.
    pub fn actors(&self) -> u32 {
        self.ranks * self.threads
    }

    /// Operations and calls in the bodies.
    pub fn items(&self) -> usize {
        let bodies = self.phases.iter().flat_map(|phase| &phase.rounds).flatten();
        let makings = self.phases.iter().flat_map(|phase| &phase.makings).flatten();
        bodies.map(|body| body.iter().map(Item::weight).sum::<usize>()).sum::<usize>()
            + makings.map(Vec::len).sum::<usize>()
    }
}

impl Item {
    /// The ranks that are locked in it.
    pub(super) fn locked(&self) -> Vec<u32> {
        let Self::Locks { locks, items, .. } = self else { return Vec::new() };
        let inner = items.iter().flat_map(Self::locked);
        let mut ranks = locks.iter().map(|lock| lock.target).chain(inner).collect::<Vec<_>>();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Operations and calls in it.
    fn weight(&self) -> usize {
        match self {
            Self::Locks { items, .. } | Self::LockAll { items, .. } => {
                1 + items.iter().map(Self::weight).sum::<usize>()
            }
            _ => 1,
        }
    }
}

impl Shape {
    /// Elements side by side.
    pub fn dense(basic: BasicType, elements: u64) -> Self {
        Self { basic, elements, seed: 0 }
    }

    /// The datatype, and where its elements are.
    pub fn listed(&self) -> Listed {
        let step = self.basic.extent() as i64;
        match self.seed {
            0 => {
                let base = rma_core::datatype::Datatype::basic(self.basic);
                let ty = rma_core::datatype::Datatype::contiguous(self.elements, &base).expect("small");
                Listed { ty, places: (0..self.elements as i64).map(|at| at * step).collect() }
            }
            seed => random_type(&mut Random::new(seed), self.basic, self.elements),
        }
    }

    /// Lowest byte, and the one behind the highest.
    pub fn bounds(&self) -> (i64, i64) {
        self.listed().bounds(self.basic.extent() as u64)
    }
}

impl WindowPlan {
    /// Where a region begins, and its length.
    pub fn place(&self, region: Region, actors: u32) -> (u64, u64) {
        let padded = |len: u64| len.next_multiple_of(ALIGN);
        let own = padded(self.own);
        let ordered = padded(self.ordered * self.basic.extent() as u64);
        let shared = padded(self.shared * self.shared_basic.extent() as u64);
        let actors = u64::from(actors);
        let mut start = 0;
        let mut take = |len: u64| {
            start += len;
            start - len
        };
        let (cells, counter) = (take(padded(CELLS * 8)), take(ALIGN));
        let (equals, stores) = (take(padded(EQUALS * 8)), take(padded(STORES * 8)));
        let (all_shared, all_own, all_ordered) = (take(shared), take(own * actors), take(ordered * actors));
        match region {
            Region::Cells => (cells, CELLS * 8),
            Region::Counter => (counter, 8),
            Region::Equals => (equals, EQUALS * 8),
            Region::Stores => (stores, STORES * 8),
            Region::Shared => (all_shared, self.shared * self.shared_basic.extent() as u64),
            Region::Own(actor) => (all_own + own * u64::from(actor), self.own),
            Region::Ordered(actor) => {
                (all_ordered + ordered * u64::from(actor), self.ordered * self.basic.extent() as u64)
            }
        }
    }

    /// Bytes that are used, which is the same on all ranks.
    pub fn used(&self, actors: u32) -> u64 {
        let (start, _) = self.place(Region::Ordered(actors), actors);
        start
    }

    /// Bytes of the window at a rank.
    pub fn len(&self, rank: u32, actors: u32) -> u64 {
        self.used(actors) + self.pads[rank as usize]
    }
}
