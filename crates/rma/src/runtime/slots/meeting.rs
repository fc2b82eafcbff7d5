//! The collective slots of a communicator's ranks: how a rank joins a collective, waits for others, and wakes the sleepers.

use super::departures::Departures;
use super::rank_slots::{
    AwaitedArrival, CollectiveKind, CollectiveNumber, JoinNotice, RANK_SLOTS_LEN, RankSlots, SLOTS,
};
use crate::message::{Plane, ReceiveRequest, Scope, left_error, with_root};
use crate::runtime::Runtime;
use rma_core::host::{
    Awaited, Group, Instance, Locality, Need, Outcome, Place, SegmentKind, SegmentRequest, SegmentSet, Way,
};
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass, Result, fork};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, fence};

/// The slots of the ranks of a communicator, in rank order, and which are this rank's.
pub(crate) struct MemberSlots {
    pub(super) ranks: Vec<RankSlots>,
    pub(super) own: usize,
    group: Group,
}

/// The collective slots of a communicator, as one of its ranks uses them.
pub(crate) struct CollectiveSlots {
    members: Arc<MemberSlots>,
    /// Collectives that this rank has joined, or given up before it did.
    joined: AtomicU64,
    /// All ranks are known to have joined so many.
    met: AtomicU64,
    /// Whether this rank has been in contact with all others, so that it learns of their end.
    has_contact: AtomicBool,
    /// What keeps the slots, until they are left.
    segment: Option<SegmentSet>,
    departures: Arc<Departures>,
}

/// A call of this rank.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) call: &'static str,
    /// The root that the call has named.
    pub(crate) root: Option<u32>,
}

impl Caller<'_> {
    pub(super) fn with_root(self, root: u32) -> Self {
        Self { root: Some(root), ..self }
    }
}

/// The receives by which a rank that may sleep learns of the end of awaited ranks, by rank.
type Watches = Vec<(usize, ReceiveRequest)>;

/// Every rank looks at the slots of all others: with more ranks, packets are fewer than these looks.
const MOST_RANKS: u32 = 64;
/// Looks at the slots between two checks for ranks that have ended, in a wait that never finds its process
/// idle.
const LOOKS_BETWEEN_WATCHES: u32 = 1 << 14;
/// No collective has so high a number, so no message has this tag.
const WATCH_TAG: u64 = u64::MAX;

impl CollectiveSlots {
    /// Makes the slots of a communicator; all of its ranks call this at the same point in the order of their collectives.
    /// `None`, on all of them, when they cannot share memory, or are too many.
    ///
    /// # Errors
    /// When a rank is lost.
    pub(crate) fn make(
        caller: Caller<'_>,
        group: &Group,
        departures: &Arc<Departures>,
    ) -> Result<Option<Self>> {
        let Caller { runtime, call, .. } = caller;
        let is_here = |rank| runtime.locality(group.peer(Rank(rank))) != Locality::Remote;
        if !(2..=MOST_RANKS).contains(&group.size()) || !(0..group.size()).all(is_here) {
            return Ok(None);
        }
        departures.sweep();
        let request = SegmentRequest {
            kind: SegmentKind::Separate,
            control_len: RANK_SLOTS_LEN,
            data_len: 0,
            data_align: SegmentRequest::PAGE,
            given: WriteSpan::EMPTY,
        };
        let describe = || "the other ranks of the communicator".to_owned();
        let host = runtime.host();
        let request = host.begin_segment(group, request)?;
        let outcome = runtime.wait_until(call, &describe, &mut || host.poll(request))?;
        let Outcome::Segment(segment) = outcome else { return Ok(None) };
        Ok(Self::of(segment, group, departures))
    }

    /// The slots that a segment consists of, if it has one for each rank.
    pub(super) fn of(segment: SegmentSet, group: &Group, departures: &Arc<Departures>) -> Option<Self> {
        let members = segment.parts();
        let are_all = members.len() == group.size() as usize
            && members.iter().zip(0..).all(|(member, rank)| member.rank == Rank(rank));
        if !are_all {
            return None;
        }
        let ranks: Option<Vec<_>> = members.iter().map(|member| RankSlots::new(member.control)).collect();
        let members =
            Arc::new(MemberSlots { ranks: ranks?, own: group.me().0 as usize, group: group.clone() });
        departures.enter(&members);
        Some(Self {
            members,
            joined: AtomicU64::new(0),
            met: AtomicU64::new(0),
            has_contact: AtomicBool::new(false),
            segment: Some(segment),
            departures: Arc::clone(departures),
        })
    }

    /// Leaves the slots as they are, for good: others may have begun to use them.
    pub(crate) fn abandon(mut self) {
        // Nothing is written beside the slots of others.
        self.segment.take().into_iter().for_each(SegmentSet::leave);
    }

    /// Joins the next collective; answers its number.
    pub(super) fn join<'d>(
        &self,
        caller: Caller<'_>,
        notice: JoinNotice,
        data: impl Iterator<Item = &'d [u8]>,
    ) -> Result<CollectiveNumber> {
        fork::check("a collective");
        let number = CollectiveNumber::of(self.joined.fetch_add(1, Relaxed) + 1);
        // What this rank's slot holds has been read by all ranks that have joined a later collective.
        let free = number.before(SLOTS - 1);
        if !CollectiveNumber::of(self.met.load(Relaxed)).has_reached(free) {
            self.wait(caller, AwaitedArrival { number: free, of: None }, &mut |at| {
                self.ranks[at].has_joined(free)
            })?;
            // SYNC POINT read: what others read of the slot comes before it is written anew; theirs is the release of `join`.
            fence(Acquire);
            self.met.store(free.raw(), Relaxed);
        }
        self.own().join(number, notice, data);
        if self.ranks.iter().any(|slots| slots.asleep().is_some()) {
            self.wake(caller)?;
        }
        Ok(number)
    }

    /// Waits until all have joined a collective. `check` sees what each has said, in rank order.
    pub(super) fn meet(
        &self,
        caller: Caller<'_>,
        number: CollectiveNumber,
        kind: CollectiveKind,
        mut check: impl FnMut(usize, JoinNotice),
    ) -> Result<()> {
        let mut mismatch = None;
        self.wait(
            caller,
            AwaitedArrival { number, of: None },
            &mut |at| match self.ranks[at].notice(number) {
                None => false,
                Some(notice) => {
                    match notice {
                        Ok(notice) if notice.kind == kind => check(at, notice),
                        other => mismatch = mismatch.or(Some((at, other))),
                    }
                    true
                }
            },
        )?;
        self.met.store(number.raw(), Relaxed);
        mismatch.map_or(Ok(()), |(rank, notice)| Err(self.mismatch(caller, kind, rank, notice)))
    }

    /// Waits until a rank has joined a collective; answers what it has said.
    pub(super) fn hear(
        &self,
        caller: Caller<'_>,
        number: CollectiveNumber,
        kind: CollectiveKind,
        rank: usize,
    ) -> Result<JoinNotice> {
        let mut heard = None;
        self.wait(caller, AwaitedArrival { number, of: Some(rank) }, &mut |at| {
            heard = self.ranks[at].notice(number);
            heard.is_some()
        })?;
        match heard.unwrap_or(Err(())) {
            Ok(notice) if notice.kind == kind => Ok(notice),
            other => Err(self.mismatch(caller, kind, rank, other)),
        }
    }

    /// The data of a rank that has joined.
    pub(super) fn read(&self, rank: usize, number: CollectiveNumber, into: &mut [u8]) {
        self.ranks[rank].read(number, 0, into);
    }

    /// Waits until `has_come` is true of those that are wanted. It is asked of one after the other, and not again of one of
    /// which it was true.
    fn wait(
        &self,
        caller: Caller<'_>,
        want: AwaitedArrival,
        has_come: &mut dyn FnMut(usize) -> bool,
    ) -> Result<()> {
        let Caller { runtime, call, root } = caller;
        let (mut at, end) = want.of.map_or((0, self.size()), |rank| (rank, rank + 1));
        let mut look = || {
            while at < end && has_come(at) {
                at += 1;
            }
            at == end
        };
        if runtime.engine.look_for(&mut look) {
            return Ok(());
        }
        let describe = || self.awaited(want, root);
        loop {
            let (mut watches, mut says_asleep, mut looks) = (Watches::new(), false, 0);
            let end = runtime.wait_in_memory(call, &describe, &mut |may_sleep| {
                if look() {
                    return Ok(Some(true));
                }
                // Ranks that have come may have died, and others have left because of it and will not come.
                runtime.messenger.check_circle(&self.group)?;
                looks += 1;
                // A process that is never idle may not sleep, and looks after the others all the same.
                if !may_sleep && looks % LOOKS_BETWEEN_WATCHES != 0 {
                    return Ok(None);
                }
                self.check_left(runtime, want)?;
                if !self.has_contact.load(Relaxed) {
                    return Ok(Some(false));
                }
                if !may_sleep {
                    return self.watch(runtime, want, &mut watches).map(|()| None);
                }
                says_asleep = true;
                self.own().set_asleep(want);
                if look() {
                    return Ok(Some(true));
                }
                self.check_left(runtime, want)?;
                self.watch(runtime, want, &mut watches).map(|()| None)
            });
            if says_asleep {
                self.own().set_awake();
            }
            match end {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    self.has_contact.store(true, Relaxed);
                    let others = (0..self.size()).filter(|rank| *rank != self.own);
                    runtime.engine.wake_up(others.map(|rank| self.peer(rank)));
                }
                Err(error) => {
                    if self.ranks.iter().any(|slots| slots.lost().is_some()) {
                        self.ring(caller, |_| true)?;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// What such a wait awaits: the ranks that have not come.
    fn awaited(&self, want: AwaitedArrival, root: Option<u32>) -> Awaited {
        let wanted = want.of.map_or(0..self.size(), |rank| rank..rank + 1);
        let absent = wanted.filter(|rank| !self.ranks[*rank].has_joined(want.number));
        let instance = Some(Instance { way: Way::Memory, number: want.number.raw() });
        let place = Place { context: self.group.context(), window: None, name: with_root(root), instance };
        let need = Need::Collective(place, absent.map(|rank| self.peer(rank)).collect());
        Awaited::one("the other ranks of the collective".to_owned(), need)
    }

    /// That no rank for which this one waits has left without coming.
    fn check_left(&self, runtime: &Runtime, want: AwaitedArrival) -> Result<()> {
        let mut wanted = want.of.map_or(0..self.size(), |rank| rank..rank + 1);
        // In this order: a rank joins nothing after it has left.
        let will_never_come =
            |rank: &usize| self.ranks[*rank].has_left() && !self.ranks[*rank].has_joined(want.number);
        wanted.find(will_never_come).map_or(Ok(()), |rank| {
            runtime.messenger.hear_of_departure(self.peer(rank));
            Err(left_error("wait", self.peer(rank)))
        })
    }

    /// Finds out whether a rank for which this one waits will never come. Called under the engine's lock.
    fn watch(&self, runtime: &Runtime, want: AwaitedArrival, watches: &mut Watches) -> Result<()> {
        if let Some((by, lost)) =
            self.ranks.iter().enumerate().find_map(|(by, slots)| Some((by, slots.lost()?)))
        {
            let (by, lost) = (self.peer(by), self.peer(lost.min(self.size() - 1)));
            // The launcher asks whose failure it is, perhaps before a channel tells this process.
            runtime.messenger.hear_of_loss(lost);
            let cause = format!("process {lost} is lost, as process {by} has found");
            return Err(Error::new(ErrorClass::ProcFailed, "wait", cause));
        }
        let is_absent = |rank: usize| !self.ranks[rank].has_joined(want.number);
        if watches.is_empty() {
            let absent = (0..self.size())
                .filter(|rank| *rank != self.own && want.of.is_none_or(|of| of == *rank) && is_absent(*rank));
            let scope = Scope { context: self.group.context(), plane: Plane::Collective };
            for rank in absent {
                let source = Some(self.peer(rank));
                let watch = runtime.messenger.begin_receive(scope, source, Some(WATCH_TAG), 0)?;
                watches.push((rank, watch));
            }
        }
        let mut found = Ok(());
        watches.retain_mut(|(rank, watch)| match watch.test() {
            _ if !is_absent(*rank) => false,
            Some(Err(error)) => {
                // The others take what stands there for a death; a revocation, or an end in order, is none.
                if runtime.messenger.lost(self.peer(*rank)).is_some() {
                    self.own().set_lost(*rank);
                }
                found = Err(error);
                false
            }
            // No rank sends such a message.
            Some(Ok(_)) => false,
            None => true,
        });
        found
    }

    /// Rings the ranks that sleep for what has come now.
    #[cold]
    fn wake(&self, caller: Caller<'_>) -> Result<()> {
        let has_joined =
            |rank: usize, number| self.ranks.get(rank).is_some_and(|slots| slots.has_joined(number));
        self.ring(caller, |want| match want.of {
            Some(rank) => has_joined(rank, want.number),
            None => (0..self.size()).all(|rank| has_joined(rank, want.number)),
        })
    }

    fn mismatch(
        &self,
        caller: Caller<'_>,
        kind: CollectiveKind,
        rank: usize,
        said: Result<JoinNotice, ()>,
    ) -> Error {
        let (peer, ours) = (self.peer(rank), kind.name());
        let (class, cause) = match said {
            Ok(JoinNotice { kind, .. }) => {
                (ErrorClass::Other, format!("process {peer} is in a {}, this one in a {ours}", kind.name()))
            }
            Err(()) => (ErrorClass::Intern, format!("process {peer} has joined no {ours} that can be read")),
        };
        Error::new(class, caller.call, cause)
    }
}

impl MemberSlots {
    pub(super) fn size(&self) -> usize {
        self.ranks.len()
    }

    fn own(&self) -> RankSlots {
        self.ranks[self.own]
    }

    fn peer(&self, rank: usize) -> Peer {
        self.group.peer(Rank(rank as u32))
    }

    /// Says beside this rank's slots that it joins nothing any more, and wakes the waiting ranks.
    pub(super) fn say_left(&self, caller: Caller<'_>) -> Result<()> {
        self.own().set_left();
        self.ring(caller, |_| true)
    }

    fn ring(
        &self,
        Caller { runtime, call, .. }: Caller<'_>,
        is_due: impl Fn(AwaitedArrival) -> bool,
    ) -> Result<()> {
        let sleeps = |rank: &usize| {
            let slots = self.ranks[*rank];
            *rank != self.own && slots.asleep().is_some_and(&is_due) && slots.claim()
        };
        let sleepers: Vec<_> = (0..self.size()).filter(sleeps).map(|rank| self.peer(rank)).collect();
        if sleepers.is_empty() {
            return Ok(());
        }
        runtime.engine.notify(call, sleepers.into_iter())
    }
}

impl Deref for CollectiveSlots {
    type Target = MemberSlots;

    #[inline]
    fn deref(&self) -> &MemberSlots {
        &self.members
    }
}

impl Drop for CollectiveSlots {
    /// Others may still read what this rank has written last, so the memory waits for their departure.
    fn drop(&mut self) {
        self.departures.leave(&self.members);
        // Slots that were abandoned are not left: others may not have learnt to use them.
        let Some(segment) = self.segment.take() else { return };
        // In a forked child they belong to the parent, which has not left them.
        if fork::is_child() {
            return segment.leave();
        }
        let others = self.ranks.iter().enumerate().filter(|(rank, _)| *rank != self.own);
        others.for_each(|(_, slots)| slots.depart());
        self.departures.add(segment, self.own(), self.size() as u64 - 1);
    }
}

impl fmt::Debug for CollectiveSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectiveSlots")
            .field("own", &self.own)
            .field("size", &self.size())
            .field("joined", &self.joined)
            .finish_non_exhaustive()
    }
}
