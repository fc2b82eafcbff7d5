//! What the engine needs from above: small collectives, locality, shared segments and the clock.
//!
//! The runtime of this project is one host; a larger MPI is another (design §6). All methods are nonblocking: what takes
//! time is begun, answered by a [`HostRequest`], and polled. They may be called from any thread, with or without the
//! engine's lock held, so a host never calls the engine back.

pub mod clock;
mod need;
mod private;

pub use need::{Awaited, HeldLock, Instance, Need, Place, Way};

use crate::error::Result;
use crate::ids::{Peer, Rank};
use crate::mem::WriteSpan;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What the engine asks of the library it is embedded in.
pub trait Host: Send + Sync {
    /// Starts a barrier over the group. Collective calls on one group, and on one part of it ([`Group::part`]), are made in
    /// the same order on all its ranks; nothing is said about the order between parts, which threads of their own may use.
    ///
    /// # Errors
    /// When a member is known to have failed.
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest>;

    /// The group with this context makes no collectives any more, but those of its parts: what is kept for it can go.
    fn forget(&self, _context: u64) {}

    /// Starts a reduction of `values`, element by element, whose result every rank gets.
    ///
    /// # Errors
    /// As for [`Host::begin_barrier`].
    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest>;

    /// Whether a collective has ended: its result once (empty for a barrier and a segment), after which the request is
    /// gone.
    ///
    /// # Errors
    /// When a member has failed; the request is gone then too.
    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>>;

    /// Nobody asks for the end of a collective any more: this rank leaves it, and what others wait for of this rank fails.
    fn abandon(&self, _request: HostRequest) {}

    /// Starts a collective that gives every rank of the group a segment, shared with as many ranks as possible.
    ///
    /// # Errors
    /// As for [`Host::begin_barrier`].
    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest>;

    /// Whether two processes can share memory with this one, by place. Peers on other nodes are [`Locality::Remote`].
    fn locality(&self, peer: Peer) -> Locality;

    /// Time since a fixed moment, which is the same to all processes that share memory with this one: `CLOCK_MONOTONIC` is such
    /// a clock.
    fn now(&self) -> Duration;

    /// How long the calling thread has had a processor, on a clock that goes as fast as that of [`Host::now`]; `None` when that
    /// cannot be told. `CLOCK_THREAD_CPUTIME_ID` is such a clock. Without it waits guess by its length alone whether somebody else has
    /// had a turn that they have given away.
    fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// For whom the collectives that are under way wait next, as far as the host knows: a clause such as `process 3`. Called
    /// with the engine's lock held.
    fn waits_for(&self) -> Option<String> {
        None
    }

    /// A wait lasts long: tells whoever watches the job. Called with the engine's lock held, and rarely.
    fn report(&self, wait: &LongWait<'_>) {
        eprintln!("rma: {wait}");
    }

    /// How processes that share memory order the steps of small accumulates against bulk ones.
    fn barriers(&self) -> Barriers {
        Barriers::Even
    }

    /// How a process of this node that only spins, and hears nothing of its peers, finds out that one of them has ended.
    fn vitals(&self) -> Vitals {
        Vitals::default()
    }
}

/// A sign of life between the processes of a node, without messages: each tells its own number, and asks with those of others.
#[derive(Clone, Copy, Debug)]
pub struct Vitals {
    /// This process, for the others to ask with; 0 when they cannot.
    pub own: u64,
    /// Whether the process that has told this number has ended. `false` when that is not certain; the number may be any.
    pub has_ended: fn(u64) -> bool,
}

impl Default for Vitals {
    /// Nothing can be asked: everybody lives.
    fn default() -> Self {
        Self { own: 0, has_ended: |_| false }
    }
}

/// A wait that has lasted longer than `RMA_WAIT_REPORT` says.
#[derive(Clone, Copy, Debug)]
pub struct LongWait<'a> {
    /// The call that waits.
    pub call: &'static str,
    /// For how long so far.
    pub waited: Duration,
    /// For whom, in which window and epoch: a clause behind "for".
    pub waits_for: &'a str,
}

impl fmt::Display for LongWait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has waited {} s for {}", self.call, self.waited.as_secs(), self.waits_for)
    }
}

/// Who pays for the full memory ordering between two words of shared memory, one written and then the other read, of which
/// the other side does the same the other way round.
#[derive(Clone, Copy, Debug)]
pub enum Barriers {
    /// Either side orders for itself. All processes that share memory with this one answer the same.
    Even,
    /// The rare side: the function makes every thread that runs in any process with which this one shares memory pass a full
    /// ordering, and answers `false` if that is not to be had just now. The frequent side pays nothing. Other processes may
    /// answer `Own`.
    Remote(fn() -> bool),
    /// The frequent side, and this process cannot take part as the rare one: others may answer `Remote`.
    Own,
}

/// Name of a collective under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostRequest(pub u64);

/// What a collective gave.
#[derive(Debug)]
pub enum Outcome {
    /// A barrier is over.
    Met,
    /// The reduced values.
    Values(SmallVec<[u64; 8]>),
    /// The segment.
    Segment(SegmentSet),
}

/// How a reduction combines two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Combine {
    Min,
    Max,
    Sum,
    BitAnd,
    BitOr,
}

impl Combine {
    /// Combines two values; sums wrap.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Sum => a.wrapping_add(b),
            Self::BitAnd => a & b,
            Self::BitOr => a | b,
        }
    }
}

/// Where a peer is, seen from this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// This process.
    Own,
    /// A process that can map the same memory.
    Node,
    /// Any other process.
    Remote,
}

/// What a rank asks of [`Host::begin_segment`]. `kind` is the same on all ranks, but for a rank whose arguments are wrong: it
/// asks for private memory, upon which no rank waits for ever, and nobody uses what comes of it. The lengths are each rank's
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRequest {
    /// Bytes of control memory, zeroed, aligned to 64.
    pub control_len: u64,
    /// Bytes of window memory, zeroed, aligned to a page or to the end of the previous rank's.
    pub data_len: u64,
    /// How the ranks' data lie to each other, and who shares.
    pub kind: SegmentKind,
    /// The memory that the data are, for [`SegmentKind::Given`]; otherwise empty.
    pub given: WriteSpan,
}

impl SegmentRequest {
    /// Bytes of window memory that the host has to find.
    pub fn own_len(&self) -> u64 {
        if self.kind == SegmentKind::Given { 0 } else { self.data_len }
    }
}

/// Who shares a segment, and how its data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Ranks of a node share, each rank's data at a page of its own; ranks that cannot share get private memory.
    Separate,
    /// All ranks must share; data are contiguous in rank order (`MPI_Win_allocate_shared`).
    Contiguous,
    /// All ranks must share, each rank's data at a page of its own.
    Scattered,
    /// The ranks have their data already. Ranks of a node share if the data of all of them are memory that the host can
    /// map there; otherwise nobody's data are shared, members' data are empty, and it is as with [`SegmentKind::Control`].
    Given,
    /// Nobody shares: private memory.
    Private,
    /// There are no data. Ranks of a node may share their control memory, as neighbors of each other
    /// ([`SegmentSet::neighbors`]).
    Control,
}

impl SegmentKind {
    /// Whether there is no segment unless all ranks of the group share it.
    pub fn must_be_shared(self) -> bool {
        matches!(self, Self::Contiguous | Self::Scattered)
    }
}

/// A segment as mapped in this process: control and data of every rank that shares it, this one included.
pub struct SegmentSet {
    members: Vec<SegmentMember>,
    neighbors: Vec<SegmentNeighbor>,
    mapping: Box<dyn Any + Send + Sync>,
    is_counted: bool,
}

/// One rank's part of a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentMember {
    /// Whose part it is.
    pub rank: Rank,
    /// Its control memory.
    pub control: WriteSpan,
    /// Its window memory; empty when the rank asked for none.
    pub data: WriteSpan,
}

/// A rank of the node that shares its control memory, but no data.
#[derive(Clone, Copy, Debug)]
pub struct SegmentNeighbor {
    /// Whose control memory it is.
    pub rank: Rank,
    /// Its control memory.
    pub control: WriteSpan,
}

impl SegmentSet {
    /// A segment of `members` in ascending rank order, the caller's own among them.
    ///
    /// # Safety
    /// Every span must stay mapped, readable and writable until `mapping` is dropped, and no reference to its bytes may be
    /// used meanwhile.
    pub unsafe fn new(members: Vec<SegmentMember>, mapping: Box<dyn Any + Send + Sync>) -> Self {
        Self { members, neighbors: Vec::new(), mapping, is_counted: false }
    }

    /// The same with ranks beside the members, in ascending rank order, of which only control memory is mapped: their locks are
    /// taken there, and packets do the rest. Every one of them must have been given this rank's.
    ///
    /// # Safety
    /// As [`SegmentSet::new`].
    #[must_use]
    pub unsafe fn with_neighbors(self, neighbors: Vec<SegmentNeighbor>) -> Self {
        Self { neighbors, ..self }
    }

    /// The same, of memory that lives until the last rank has dropped its set: dropping one takes nothing from the others.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    /// Gives the segment up, while others may still use this rank's part: the memory that they would miss stays until the process ends.
    pub fn leave(self) {
        if !self.is_counted {
            std::mem::forget(self);
        }
    }

    /// The parts, in ascending rank order. Valid as long as this value lives.
    pub fn members(&self) -> &[SegmentMember] {
        &self.members
    }

    /// The ranks of which only control memory is mapped, in ascending rank order. Valid as long as this value lives.
    pub fn neighbors(&self) -> &[SegmentNeighbor] {
        &self.neighbors
    }
}

impl fmt::Debug for SegmentSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = &self.mapping;
        f.debug_struct("SegmentSet")
            .field("members", &self.members)
            .field("neighbors", &self.neighbors)
            .finish_non_exhaustive()
    }
}

/// The processes of a window, and the host's name for their communicator.
#[derive(Clone, Debug)]
pub struct Group {
    context: u64,
    me: Rank,
    map: RankMap,
    part: Option<Part>,
}

/// What the clones of a part's group share.
#[derive(Clone, Debug)]
struct Part {
    name: u32,
    calls: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
enum RankMap {
    Stride { first: u32, stride: u32, count: u32 },
    List(Arc<[Peer]>),
}

impl Group {
    /// The group of `count` processes `first`, `first + stride`, … in that order; `me` is the caller's rank in it.
    ///
    /// # Panics
    /// When `me` is not in the group, or a peer number overflows.
    pub fn strided(context: u64, me: Rank, first: Peer, stride: u32, count: u32) -> Self {
        assert!(me.0 < count, "rank {me} is not in a group of {count}");
        assert!((count - 1).checked_mul(stride).and_then(|d| d.checked_add(first.0)).is_some());
        Self { context, me, map: RankMap::Stride { first: first.0, stride, count }, part: None }
    }

    /// The group of these processes in this order, kept as a stride where it is one.
    ///
    /// # Panics
    /// When `me` is not in the group.
    pub fn of(context: u64, me: Rank, peers: &[Peer]) -> Self {
        assert!((me.0 as usize) < peers.len(), "rank {me} is not in a group of {}", peers.len());
        let stride = match peers {
            [a, b, ..] => b.0.wrapping_sub(a.0),
            _ => 1,
        };
        let is_strided = (1..1 << 31).contains(&stride)
            && peers.windows(2).all(|w| w[0].0.checked_add(stride) == Some(w[1].0));
        if is_strided {
            return Self::strided(context, me, peers[0], stride, peers.len() as u32);
        }
        Self { context, me, map: RankMap::List(peers.into()), part: None }
    }

    /// The host's name for the communicator: what its collectives are told apart by.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// The same processes, for collectives that are in order among themselves only: those of a window, whose name this is.
    /// Clones of what this gives count their collectives together.
    #[must_use]
    pub fn part(&self, name: u32) -> Self {
        Self { part: Some(Part { name, calls: Arc::default() }), ..self.clone() }
    }

    /// For hosts, which call it once for each collective: the name of the part that this group is for, and the number of the
    /// collective in it, from 0; the same on all ranks. `None` for the group itself, whose collectives a host counts by
    /// context.
    pub fn next_call_of_part(&self) -> Option<(u32, u64)> {
        self.part.as_ref().map(|part| (part.name, part.calls.fetch_add(1, Relaxed)))
    }

    /// The caller's rank.
    pub fn me(&self) -> Rank {
        self.me
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        match &self.map {
            RankMap::Stride { count, .. } => *count,
            RankMap::List(list) => list.len() as u32,
        }
    }

    /// The process of a rank.
    ///
    /// # Panics
    /// When the rank is not in the group; callers have checked ranks that come from users.
    pub fn peer(&self, rank: Rank) -> Peer {
        match &self.map {
            RankMap::Stride { first, stride, count } => {
                assert!(rank.0 < *count, "rank {rank} is not in a group of {count}");
                Peer(first + stride * rank.0)
            }
            RankMap::List(list) => list[rank.0 as usize],
        }
    }

    /// The rank of a process, if it is in the group.
    pub fn rank(&self, peer: Peer) -> Option<Rank> {
        match &self.map {
            RankMap::Stride { first, stride, count } => {
                let distance = peer.0.checked_sub(*first)?;
                (distance % stride == 0 && distance / stride < *count).then(|| Rank(distance / stride))
            }
            RankMap::List(list) => list.iter().position(|p| *p == peer).map(|i| Rank(i as u32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_strides_when_they_can_be() {
        let even = Group::of(1, Rank(1), &[Peer(2), Peer(4), Peer(6)]);
        assert!(matches!(even.map, RankMap::Stride { .. }));
        let odd = Group::of(1, Rank(0), &[Peer(5), Peer(1), Peer(2)]);
        assert!(matches!(odd.map, RankMap::List(_)));
        for (group, peers) in [(&even, [2, 4, 6]), (&odd, [5, 1, 2])] {
            assert_eq!(group.size(), 3);
            for (i, peer) in peers.into_iter().enumerate() {
                assert_eq!(group.peer(Rank(i as u32)), Peer(peer));
                assert_eq!(group.rank(Peer(peer)), Some(Rank(i as u32)));
            }
            for stranger in [0, 3, 7, 8] {
                assert_eq!(group.rank(Peer(stranger)), None);
            }
        }
        assert_eq!(Group::of(1, Rank(0), &[Peer(9)]).peer(Rank(0)), Peer(9));
    }

    #[test]
    fn clones_of_a_part_count_together_and_parts_do_not() {
        let group = Group::strided(1, Rank(0), Peer(0), 1, 2);
        let (one, other) = (group.part(7), group.part(8));
        assert_eq!(one.next_call_of_part(), Some((7, 0)));
        assert_eq!(one.clone().next_call_of_part(), Some((7, 1)));
        assert_eq!(other.next_call_of_part(), Some((8, 0)));
        assert_eq!(group.next_call_of_part(), None);
    }

    #[test]
    fn memory_that_ranks_count_ends_with_a_set_that_is_left_and_other_memory_does_not() {
        for is_counted in [false, true] {
            let memory = std::sync::Arc::new(());
            // SAFETY: there are no spans.
            let set = unsafe { SegmentSet::new(Vec::new(), Box::new(std::sync::Arc::clone(&memory))) };
            let set = if is_counted { set.counted() } else { set };
            set.leave();
            assert_eq!(std::sync::Arc::strong_count(&memory), if is_counted { 1 } else { 2 });
        }
    }
}
