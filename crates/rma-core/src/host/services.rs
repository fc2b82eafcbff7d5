//! The services as a trait, and what its methods take and give.

use super::Group;
use crate::error::Result;
use crate::ids::{Peer, Rank};
use crate::mem::WriteSpan;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
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

    /// Starts a reduction of `values`, element by element, whose result every rank gets: at most 33 of them, or one more than a
    /// sixty-fourth of a larger `RMA_WINDOWS`.
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

    /// The end of a collective is not asked for any more: this rank leaves it, and what others wait for of
    /// this rank fails.
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

    /// How long the calling thread has had a processor, on a clock that goes as fast as that of
    /// [`Host::now`]; `None` when that is not known. `CLOCK_THREAD_CPUTIME_ID` is such a clock. Without it
    /// waits guess by the length of a yield alone whether another process used it.
    fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// What the collectives under way wait for next, as far as the host knows: a clause such as `process 3`.
    /// Called with the engine's lock held.
    fn waits_for(&self) -> Option<String> {
        None
    }

    /// A wait lasts long: reports it to the user. Called with the engine's lock held, and rarely.
    fn report(&self, wait: &LongWait<'_>) {
        wait.print();
    }

    /// How processes that share memory order the steps of small accumulates against bulk ones.
    fn barriers(&self) -> Barriers {
        Barriers::Even
    }

    /// Whether a process has ended its part in the job in order, and nothing that it has sent before is still to come: its
    /// program makes no call any more, while its engine serves others. Asked by waits that last, mostly with the engine's lock held.
    fn has_left(&self, _peer: Peer) -> bool {
        false
    }

    /// A call of this process fails because it waits for one that has ended its part. Called as [`Host::has_left`].
    fn on_vain_wait(&self, _peer: Peer) {}

    /// How a process of this node that only spins, and hears nothing of its peers, finds out that one of them has ended.
    fn vitals(&self) -> Vitals {
        Vitals::default()
    }
}

/// A sign of life between the processes of a node, without messages: each publishes its own number, and asks
/// with those of others.
#[derive(Clone, Copy, Debug)]
pub struct Vitals {
    /// This process, for the others to ask with; 0 when they cannot.
    pub own: u64,
    /// Whether the process that published this number has ended. `false` when that is not certain; the number
    /// may be any.
    pub has_ended: fn(u64) -> bool,
}

impl Default for Vitals {
    /// Nothing can be asked: every process counts as alive.
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
    /// For which ranks, in which window and epoch: a clause behind "for".
    pub waits_for: &'a str,
}

impl LongWait<'_> {
    /// A line on standard error.
    pub fn print(&self) {
        eprintln!("rma: {self}");
    }
}

impl fmt::Display for LongWait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has waited {} s for {}", self.call, self.waited.as_secs(), self.waits_for)
    }
}

/// Which side pays for the full memory ordering between two words of shared memory, one written and then the
/// other read, of which the other side does the same the other way round.
#[derive(Clone, Copy, Debug)]
pub enum Barriers {
    /// Either side orders for itself. All processes that share memory with this one answer the same.
    Even,
    /// The rare side: the function makes every running thread of any process that shares memory with this one
    /// pass a full ordering, and answers `false` if that is not possible just now. The frequent side pays
    /// nothing. Other processes may answer `Own`.
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

/// What a rank asks of [`Host::begin_segment`]. `kind` is the same on all ranks, but for a rank whose
/// arguments are wrong: it asks for private memory, upon which no rank waits for ever, and what comes of it
/// is not used. The lengths and the alignment are each rank's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRequest {
    /// Bytes of control memory, zeroed, aligned to 64.
    pub control_len: u64,
    /// Bytes of window memory, zeroed, aligned to `data_align` or to the end of the previous rank's.
    pub data_len: u64,
    /// What the data are aligned to in the process of each rank that has them; of contiguous data the first that there are, to the
    /// most that any rank asks: a power of two from [`SegmentRequest::PAGE`] to [`SegmentRequest::HUGE_PAGE`], the latter of which asks for huge pages.
    pub data_align: u64,
    /// How the ranks' data lie to each other, and which ranks share.
    pub kind: SegmentKind,
    /// The memory that the data are, for [`SegmentKind::Given`]; otherwise empty.
    pub given: WriteSpan,
}

impl SegmentRequest {
    /// What data are aligned to where the program asks for no more.
    pub const PAGE: u64 = 4096;
    /// The largest alignment there is.
    pub const HUGE_PAGE: u64 = 2 << 20;

    /// Bytes of window memory that the host has to find.
    pub fn own_len(&self) -> u64 {
        if self.kind == SegmentKind::Given { 0 } else { self.data_len }
    }
}

/// Which ranks share a segment, and how its data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Ranks of a node share, each rank's data at pages of its own; ranks that cannot share get private memory.
    Separate,
    /// All ranks must share; data are contiguous in rank order (`MPI_Win_allocate_shared`).
    Contiguous,
    /// All ranks must share, each rank's data at pages of its own.
    Scattered,
    /// The ranks have their data already. Ranks of a node share if the data of all of them are memory that
    /// the host can map there; otherwise no rank's data are shared, the data of all parts are empty, and it is as
    /// with [`SegmentKind::Control`].
    Given,
    /// No rank shares: private memory.
    Private,
    /// There are no data. Ranks of a node may share their control memory all the same
    /// ([`SegmentSet::controls`]).
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
    parts: Vec<SegmentPart>,
    controls: Vec<SegmentControl>,
    mapping: Box<dyn Any + Send + Sync>,
    is_counted: bool,
}

/// One rank's part of a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentPart {
    /// Whose part it is.
    pub rank: Rank,
    /// Its control memory.
    pub control: WriteSpan,
    /// Its window memory; empty when the rank asked for none.
    pub data: WriteSpan,
}

/// A rank of the node that shares its control memory, but no data.
#[derive(Clone, Copy, Debug)]
pub struct SegmentControl {
    /// Whose control memory it is.
    pub rank: Rank,
    /// Its control memory.
    pub control: WriteSpan,
}

impl SegmentSet {
    /// A segment of `parts` in ascending rank order, the caller's own among them.
    ///
    /// # Safety
    /// Every span must stay mapped, readable and writable until `mapping` is dropped, and no reference to its bytes may be
    /// used meanwhile.
    pub unsafe fn new(parts: Vec<SegmentPart>, mapping: Box<dyn Any + Send + Sync>) -> Self {
        Self { parts, controls: Vec::new(), mapping, is_counted: false }
    }

    /// The same with further ranks, in ascending rank order, of which only control memory is
    /// mapped: their locks are taken there, and packets do the rest. Each of them must have this rank's
    /// mapped as well.
    ///
    /// # Safety
    /// As [`SegmentSet::new`].
    #[must_use]
    pub unsafe fn with_controls(self, controls: Vec<SegmentControl>) -> Self {
        Self { controls, ..self }
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
    pub fn parts(&self) -> &[SegmentPart] {
        &self.parts
    }

    /// The ranks of which only control memory is mapped, in ascending rank order. Valid as long as this value lives.
    pub fn controls(&self) -> &[SegmentControl] {
        &self.controls
    }
}

impl fmt::Debug for SegmentSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = &self.mapping;
        f.debug_struct("SegmentSet")
            .field("parts", &self.parts)
            .field("controls", &self.controls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
