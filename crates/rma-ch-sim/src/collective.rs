//! Collectives without messages: ranks meet at counters in shared memory.
//!
//! A meeting is named by the group's context and part, and the number of the call in it. Invariants: each
//! member arrives once and takes the outcome once; the last to take it removes the meeting; a meeting that
//! has failed fails for all its members. Cost: O(1) per rank and meeting, besides one bit per rank, and a
//! walk over the members by the last to arrive.

use crate::memory::Region;
use parking_lot::Mutex;
use rma_core::host::{
    Combine, Group, Outcome, SegmentControl, SegmentKind, SegmentPart, SegmentRequest, SegmentSet,
};
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

const CONTROL_ALIGN: usize = 64;

/// Name of a meeting: context, part of the group, and number of the call.
pub(crate) type Key = (u64, Option<u32>, u64);

/// What a rank brings to a meeting.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Barrier,
    Reduce(Combine, SmallVec<[u64; 8]>),
    Segment(SegmentRequest),
}

/// All meetings of a job that a rank has come to and a rank has not left.
#[derive(Debug, Default)]
pub(crate) struct Collectives(Mutex<HashMap<Key, Meeting>>);

#[derive(Debug)]
struct Meeting {
    call: Call,
    group: Group,
    arrived: Vec<u64>,
    arrivals: u32,
    taken: u32,
    parts: HashMap<Rank, Part>,
    /// Ranks of each node in ascending order, once all have arrived.
    nodes: HashMap<u32, Vec<Rank>>,
    failure: Option<Error>,
}

/// One rank's part of a segment.
#[derive(Debug)]
struct Part {
    control: Arc<Region>,
    control_len: u64,
    data: Arc<Region>,
    data_offset: u64,
    data_len: u64,
    data_align: usize,
}

impl Collectives {
    /// A rank comes to a meeting. Answers the ranks to wake: all members, if it was the last.
    pub(crate) fn arrive(&self, key: Key, group: &Group, call: Call, ranks_per_node: u32) -> Option<Group> {
        let mut meetings = self.0.lock();
        let meeting = meetings.entry(key).or_insert_with(|| Meeting::new(group, &call));
        meeting.arrive(group.me(), call);
        if meeting.arrivals < group.size() && meeting.failure.is_none() {
            return None;
        }
        meeting.complete(ranks_per_node);
        Some(meeting.group.clone())
    }

    /// Whether the meeting is over; if so, the rank takes its outcome. `dead` ranks that have not come never will.
    pub(crate) fn take(
        &self,
        key: Key,
        me: Rank,
        ranks_per_node: u32,
        dead: &[Peer],
    ) -> Result<Option<Outcome>> {
        let mut meetings = self.0.lock();
        let Some(meeting) = meetings.get_mut(&key) else {
            return Err(Error::new(ErrorClass::Intern, "host", format!("no meeting {key:?}")));
        };
        meeting.fail_for(dead);
        if meeting.arrivals < meeting.group.size() && meeting.failure.is_none() {
            return Ok(None);
        }
        let outcome = match &meeting.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(Some(meeting.outcome(me, ranks_per_node))),
        };
        meeting.taken += 1;
        if meeting.taken == meeting.group.size() {
            meetings.remove(&key);
        }
        outcome
    }

    /// Number of meetings that are remembered.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Meeting {
    fn new(group: &Group, call: &Call) -> Self {
        Self {
            call: match call {
                // The first to arrive adds its values like all others.
                Call::Reduce(combine, _) => Call::Reduce(*combine, SmallVec::new()),
                other => other.clone(),
            },
            group: group.clone(),
            arrived: vec![0; (group.size() as usize).div_ceil(64)],
            arrivals: 0,
            taken: 0,
            parts: HashMap::new(),
            nodes: HashMap::new(),
            failure: None,
        }
    }

    fn arrive(&mut self, me: Rank, call: Call) {
        if self.has_arrived(me) {
            return self.fail(ErrorClass::Intern, format!("rank {me} called a collective twice"));
        }
        self.arrived[me.0 as usize / 64] |= 1 << (me.0 % 64);
        self.arrivals += 1;
        match (&mut self.call, call) {
            (Call::Barrier, Call::Barrier) => {}
            (Call::Reduce(combine, sum), Call::Reduce(other, values)) if *combine == other => {
                if self.arrivals == 1 {
                    *sum = values;
                } else if sum.len() == values.len() {
                    sum.iter_mut().zip(values).for_each(|(a, b)| *a = combine.apply(*a, b));
                } else {
                    let what = format!("rank {me} reduces {} values, others {}", values.len(), sum.len());
                    self.fail(ErrorClass::Count, what);
                }
            }
            (Call::Segment(first), Call::Segment(request)) if first.kind == request.kind => {
                match Part::new(request) {
                    Some(part) => drop(self.parts.insert(me, part)),
                    None => {
                        let what = format!(
                            "no memory for a segment of {} + {} bytes at rank {me}",
                            request.control_len, request.data_len
                        );
                        self.fail(ErrorClass::NoMem, what);
                    }
                }
            }
            (first, other) => {
                let what = format!("rank {me} calls {other:?} where others call {first:?}");
                self.fail(ErrorClass::Other, what);
            }
        }
    }

    fn has_arrived(&self, rank: Rank) -> bool {
        self.arrived[rank.0 as usize / 64] >> (rank.0 % 64) & 1 != 0
    }

    fn fail(&mut self, class: ErrorClass, cause: String) {
        self.failure.get_or_insert_with(|| Error::new(class, "collective", cause));
    }

    fn fail_for(&mut self, dead: &[Peer]) {
        if self.arrivals == self.group.size() {
            return;
        }
        for peer in dead {
            if self.group.rank(*peer).is_some_and(|rank| !self.has_arrived(rank)) {
                self.fail(ErrorClass::ProcFailed, format!("rank {peer} is dead"));
            }
        }
    }

    /// All are here: what has to be done once.
    fn complete(&mut self, ranks_per_node: u32) {
        let Call::Segment(SegmentRequest { kind, .. }) = self.call else { return };
        if self.failure.is_some() || kind == SegmentKind::Private {
            return;
        }
        for rank in (0..self.group.size()).map(Rank) {
            self.nodes.entry(node(self.group.peer(rank), ranks_per_node)).or_default().push(rank);
        }
        if kind.must_be_shared() && self.nodes.len() > 1 {
            let what =
                format!("the ranks of the group are on {} nodes and cannot share memory", self.nodes.len());
            return self.fail(ErrorClass::RmaShared, what);
        }
        if kind == SegmentKind::Contiguous {
            self.place_contiguously();
        }
    }

    fn place_contiguously(&mut self) {
        let total = self.parts.values().try_fold(0u64, |sum, part| sum.checked_add(part.data_len));
        let align = self.parts.values().map(|part| part.data_align).max().unwrap_or(1);
        let Some(data) = total.and_then(|total| Region::new(total, align)).map(Arc::new) else {
            let what = format!("no memory for a segment of {} ranks", self.group.size());
            return self.fail(ErrorClass::NoMem, what);
        };
        let mut offset = 0;
        for rank in (0..self.group.size()).map(Rank) {
            let part = self.parts.get_mut(&rank).expect("every rank has arrived with its part");
            (part.data, part.data_offset) = (Arc::clone(&data), offset);
            offset += part.data_len;
        }
    }

    fn outcome(&self, me: Rank, ranks_per_node: u32) -> Outcome {
        let kind = match &self.call {
            Call::Barrier => return Outcome::Met,
            Call::Reduce(_, values) => return Outcome::Values(values.clone()),
            Call::Segment(request) => request.kind,
        };
        let own = [me];
        let sharers = match kind {
            SegmentKind::Given | SegmentKind::Control | SegmentKind::Private => &own[..],
            SegmentKind::Separate | SegmentKind::Scattered | SegmentKind::Contiguous => {
                self.node_of(me, ranks_per_node)
            }
        };
        // Control memory of the others on the node, where data are not shared.
        let near = match kind {
            SegmentKind::Given | SegmentKind::Control => self.node_of(me, ranks_per_node),
            SegmentKind::Separate
            | SegmentKind::Scattered
            | SegmentKind::Contiguous
            | SegmentKind::Private => &[],
        };
        let mut regions = Vec::with_capacity(2 * sharers.len() + near.len());
        let members = sharers.iter().map(|rank| {
            let part = &self.parts[rank];
            regions.extend([Arc::clone(&part.control), Arc::clone(&part.data)]);
            SegmentPart {
                rank: *rank,
                control: part.control.span(0, part.control_len),
                data: part.data.span(part.data_offset, part.data_len),
            }
        });
        let members = members.collect();
        let neighbors = near.iter().filter(|rank| **rank != me).map(|rank| {
            let part = &self.parts[rank];
            regions.push(Arc::clone(&part.control));
            SegmentControl { rank: *rank, control: part.control.span(0, part.control_len) }
        });
        let neighbors = neighbors.collect();
        // SAFETY: the spans lie in `regions`, which live until the set is dropped; no references to them are
        // formed.
        let set = unsafe { SegmentSet::new(members, Box::new(regions)).with_controls(neighbors) };
        Outcome::Segment(set.counted())
    }

    /// The ranks of the group that are on the node of one of them.
    fn node_of(&self, rank: Rank, ranks_per_node: u32) -> &[Rank] {
        &self.nodes[&node(self.group.peer(rank), ranks_per_node)]
    }
}

impl Part {
    fn new(request: SegmentRequest) -> Option<Self> {
        let own_len = if request.kind == SegmentKind::Contiguous { 0 } else { request.own_len() };
        let data_align = request.data_align as usize;
        Some(Self {
            control: Arc::new(Region::new(request.control_len, CONTROL_ALIGN)?),
            control_len: request.control_len,
            data: Arc::new(Region::new(own_len, if own_len == 0 { 1 } else { data_align })?),
            data_offset: 0,
            data_len: request.own_len(),
            data_align,
        })
    }
}

/// The virtual node of a process.
pub(crate) fn node(peer: Peer, ranks_per_node: u32) -> u32 {
    peer.0.checked_div(ranks_per_node).unwrap_or(0)
}
