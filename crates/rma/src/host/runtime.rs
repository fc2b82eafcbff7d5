//! The host as the engine sees it.
//!
//! Invariants: a collective of a context, or of a window, has the same number on all its ranks, because ranks begin them in the
//! same order;
//! a request is gone when it has been answered.

use super::node_memory::NodeMemory;
use super::places::Places;
use super::segment::{SegmentMachine, private};
use crate::collective::{AllReduce, Barrier, Link, Machine, drive};
use crate::message::{Messenger, Plane, Scope};
use parking_lot::Mutex;
use rma_core::datatype::BasicType;
use rma_core::host::{
    Barriers, Combine, Group, Host, HostRequest, Locality, LongWait, Outcome, SegmentRequest, SegmentSet,
    Vitals, barrier, clock, vitals,
};
use rma_core::ids::{Peer, Rank};
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::{Error, ErrorClass, Result};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What a host is made from.
pub struct HostSettings {
    /// Where the processes are.
    pub places: Places,
    /// The way to the node's other processes; `None` when nothing can be shared with them.
    pub node_memory: Option<Arc<NodeMemory>>,
    /// Whether windows may be shared where they need not be.
    pub direct: bool,
    /// Tells the launcher, if it watches the whole job, that a wait lasts long; `false` when none does.
    /// Without it this process reports the wait itself.
    pub tell_stuck: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for HostSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSettings")
            .field("places", &self.places)
            .field("direct", &self.direct)
            .field("is_watched", &self.tell_stuck.is_some())
            .finish_non_exhaustive()
    }
}

/// The host of one process.
pub struct RuntimeHost {
    messenger: Messenger,
    places: Places,
    pub(super) node_memory: Option<Arc<NodeMemory>>,
    direct: bool,
    barriers: Barriers,
    tell_stuck: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    running: Mutex<RunningCollectives>,
}

#[derive(Default)]
struct RunningCollectives {
    collectives: FxHashMap<u64, Collective>,
    next: u64,
    /// Number of the next collective of each context.
    numbers: FxHashMap<u64, u64>,
}

enum Collective {
    Barrier(Barrier),
    Reduce(AllReduce),
    Segment(Box<SegmentMachine>),
    /// Over before it was asked for.
    Ready(SegmentSet),
}

impl Collective {
    fn link(&self) -> Option<&Link> {
        match self {
            Self::Barrier(barrier) => barrier.link(),
            Self::Reduce(reduction) => reduction.link(),
            Self::Segment(segment) => segment.link(),
            Self::Ready(_) => None,
        }
    }
}

impl RuntimeHost {
    /// A host whose collectives go through `messenger`.
    pub fn new(messenger: Messenger, settings: HostSettings) -> Self {
        let HostSettings { places, node_memory, direct, tell_stuck } = settings;
        Self {
            messenger,
            places,
            node_memory,
            direct,
            barriers: barrier::register(),
            tell_stuck,
            running: Mutex::default(),
        }
    }

    /// Where the processes are.
    pub fn places(&self) -> &Places {
        &self.places
    }

    fn link(&self, running: &mut RunningCollectives, group: &Group) -> Link {
        let context = group.context();
        let (plane, number) = match group.next_call_of_part() {
            // A rank is never a whole round of the number ahead of another: each collective waits for all.
            Some((part, number)) => (Plane::Window, u64::from(part) << 16 | number & 0xffff),
            None => {
                let number = running.numbers.entry(context).or_default();
                *number += 1;
                (Plane::Host, *number)
            }
        };
        Link::new(self.messenger.clone(), group.clone(), Scope { context, plane }, number)
    }

    fn begin(&self, make: impl FnOnce(&mut RunningCollectives) -> Result<Collective>) -> Result<HostRequest> {
        let mut running = self.running.lock();
        let collective = make(&mut running)?;
        let id = running.next;
        running.next += 1;
        running.collectives.insert(id, collective);
        Ok(HostRequest(id))
    }

    /// The ranks of a group that are on this node, in ascending order.
    fn node_ranks(&self, group: &Group) -> Vec<Rank> {
        let ranks = (0..group.size()).map(Rank);
        ranks.filter(|rank| self.places.locality(group.peer(*rank)) != Locality::Remote).collect()
    }
}

impl Host for RuntimeHost {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.begin(|running| Ok(Collective::Barrier(Barrier::new(self.link(running, group)))))
    }

    fn forget(&self, context: u64) {
        self.running.lock().numbers.remove(&context);
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.begin(|running| {
            let link = self.link(running, group);
            Ok(Collective::Reduce(AllReduce::new(link, Arc::new(kernel(combine)), bytes)))
        })
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        let mut running = self.running.lock();
        let Some(collective) = running.collectives.get_mut(&request.0) else {
            let cause = format!("host request {} is not under way", request.0);
            return Err(Error::new(ErrorClass::Intern, "progress", cause));
        };
        let outcome = match collective {
            Collective::Barrier(barrier) => drive(barrier).map(|end| end.map(|()| Outcome::Met)),
            Collective::Reduce(reduction) => drive(reduction).map(|end| end.map(|bytes| values(&bytes))),
            Collective::Segment(segment) => drive(&mut **segment).map(|end| end.map(Outcome::Segment)),
            Collective::Ready(_) => match running.collectives.remove(&request.0) {
                Some(Collective::Ready(segment)) => Ok(Some(Outcome::Segment(segment))),
                _ => unreachable!("looked up above"),
            },
        };
        if !matches!(outcome, Ok(None)) {
            running.collectives.remove(&request.0);
        }
        outcome
    }

    fn abandon(&self, request: HostRequest) {
        let Some(collective) = self.running.lock().collectives.remove(&request.0) else { return };
        if let Some(link) = collective.link() {
            link.quit(ErrorClass::ProcAborted);
        }
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        let ranks = self.node_ranks(group);
        self.begin(|running| {
            // The number is used up on every rank, whatever its neighbours.
            let link = self.link(running, group);
            if ranks.len() == 1 {
                if request.kind.must_be_shared() && group.size() > 1 {
                    let cause = format!("only 1 of {} ranks is on this node", group.size());
                    return Err(Error::new(ErrorClass::RmaShared, "win_allocate_shared", cause));
                }
                return private(group.me(), &request).map(Collective::Ready);
            }
            // Whatever is asked for, all ranks of the node hear of it: one that asks for something else finds out.
            let (link, node_memory) = (link.among(&ranks), self.node_memory.clone());
            let machine = SegmentMachine::new(group, ranks, link, node_memory, request, self.direct);
            Ok(Collective::Segment(Box::new(machine)))
        })
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.places.locality(peer)
    }

    fn has_left(&self, peer: Peer) -> bool {
        self.messenger.has_left(peer)
    }

    fn on_vain_wait(&self, peer: Peer) {
        self.messenger.hear_of_departure(peer);
    }

    fn vitals(&self) -> Vitals {
        vitals::vitals()
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }

    fn now(&self) -> Duration {
        clock::machine_time()
    }

    fn processor_time(&self) -> Option<Duration> {
        clock::processor_time()
    }

    fn waits_for(&self) -> Option<String> {
        self.messenger.waits_for(&Plane::OF_THE_ENGINE)
    }

    fn report(&self, wait: &LongWait<'_>) {
        if self.tell_stuck.as_ref().is_some_and(|tell| tell()) {
            return;
        }
        eprintln!("rma: rank {}: {wait}, since {} UTC", self.places.me(), time_of_day(wait.waited));
    }
}

/// What a clock on the wall showed so long ago.
fn time_of_day(ago: Duration) -> String {
    let then = (SystemTime::now() - ago).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = then.as_secs() % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn kernel(combine: Combine) -> Kernel {
    let op = match combine {
        Combine::Min => ReduceOp::Min,
        Combine::Max => ReduceOp::Max,
        Combine::Sum => ReduceOp::Sum,
        Combine::BitAnd => ReduceOp::BitAnd,
        Combine::BitOr => ReduceOp::BitOr,
    };
    Kernel::new(op, BasicType::U64).expect("all of these are defined on integers")
}

fn values(bytes: &[u8]) -> Outcome {
    let (words, _) = bytes.as_chunks::<8>();
    Outcome::Values(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

impl fmt::Debug for RuntimeHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeHost")
            .field("places", &self.places)
            .field("direct", &self.direct)
            .finish_non_exhaustive()
    }
}
