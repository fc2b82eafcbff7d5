//! Fence: complete what this rank issued, then meet everybody (design note, "Algorithm for FENCE").
//!
//! Order between the two kinds of memory access, by position in the call (design note, "RMA + shared memory"):
//!
//! ```text
//!    rank 0                                    rank 1
//!    direct and local stores                   direct and local stores
//!    full ordering            (SYNC POINT F1)  full ordering
//!    own packets acknowledged                  own packets acknowledged
//!    barrier ────────────────────────────────── barrier
//!    full ordering            (SYNC POINT F2)  full ordering
//!    direct and local loads                    direct and local loads
//! ```
//!
//! A load after F2 on one rank sees every store before F1 on the other, because the barrier orders F1 before F2. Replies
//! that this rank owes need no wait of their own: their origins enter the barrier only with the data in hand.
//!
//! When all ranks map each other the barrier is a count in shared memory (`control/meeting.rs`), else it is the host's. A fence that nothing
//! precedes waits for the ranks that are mapped, in shared memory, and lets the host's barrier go on behind: packets wait for that. Only in
//! windows of two ranks nobody waits for acknowledgements and a barrier one after the other: each rank tells the other one, on
//! the last packet of the epoch or on one of its own, that it has come, and goes on when it has been told so
//! (`state/arrivals.rs`):
//!
//! ```text
//!    rank 0                                    rank 1
//!    put, put and fence ──────────╲   ╱─────── fence
//!                                  ╲ ╱
//!    everybody has come ◀───────────╳────────▶ carried out in order: everybody has come
//! ```
//!
//! Rank 0 may be out of its fence when its puts are not carried out yet. Nobody can tell: rank 1 is in its own fence until they
//! are, and only the end of that one promises them at the target (MPI 3.1 §11.5.1). A third rank could tell: told by both, it might
//! look at rank 1 before the put is there. Where a put may be outside the window, which
//! the origin does not know unless all ranks have equal windows, it asks for the acknowledgement besides, and waits for it, so
//! that this fence raises the error.

use crate::channel::Channel;
use crate::control::{Attendance, Sleep, attendance};
use crate::epoch::{Assert, Epoch, Event};
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Host, HostRequest};
use crate::ids::Rank;
use crate::origin::issue::{Issuer, longest_short_store};
use crate::origin::lost::{abandon_unopened, error_of};
use crate::origin::post::free_idle_far_targets;
use crate::state::{AccessRound, Opening, Permission, State, WindowState};
use crate::table::{Closing, Target};
use crate::target::locks;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// A fence under way.
#[derive(Debug)]
pub(crate) struct FenceSync {
    assert: Assert,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the barrier of an earlier fence that did not wait for it.
    Opening,
    /// Waiting for this rank's operations.
    Completing,
    /// Waiting for the others, by the host's barrier.
    Meeting(HostRequest),
    /// Waiting for this rank's operations, and for the packets that tell the others of fence `number`.
    Telling(u64),
    /// Waiting for the packets of the others.
    MeetingByPackets(u64),
    /// Waiting for the others in shared memory, for meeting `number`: all ranks of the window, or those that are mapped, when the rest may
    /// come later.
    MeetingInMemory { number: u64, is_watching: bool, later: Option<Opening> },
    /// All of them are there; those who sleep are being rung.
    Met { later: Option<Opening> },
}

impl FenceSync {
    /// Begins: where ranks tell each other by packets, and nothing is before that, the packets leave now or with the next step.
    pub(crate) fn begin(
        assert: Assert,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
    ) -> Self {
        // SYNC POINT F1
        fence(SeqCst);
        let is_first = window.opening.is_none() && !window.has_lost;
        let phase = match is_first {
            true => tell_at_once(assert, channel, state, window)
                .or_else(|| tell(state, window).map(Phase::Telling))
                .unwrap_or(Phase::Opening),
            false => Phase::Opening,
        };
        Self { assert, phase }
    }

    /// Whether a poll changes nothing that is known of the window outside the engine: it waits for packets of the others, and an epoch
    /// like the one before follows.
    pub(crate) fn keeps(&self, window: &WindowState) -> bool {
        matches!(self.phase, Phase::MeetingByPackets(_))
            && window.epoch.state() == Epoch::FenceGranted
            && self.opens()
            && window.error.is_none()
            && !window.has_lost
    }

    /// Whether packets of others have not come that the fence waits for.
    #[inline]
    pub(super) fn waits(&self, window: &WindowState) -> bool {
        let Phase::MeetingByPackets(number) = self.phase else { return false };
        window.target.arrivals.as_ref().is_some_and(|arrivals| !arrivals.are_complete(number))
    }

    /// A fence that has arrived at meeting `number` in shared memory.
    pub(crate) fn arrived(assert: Assert, number: u64) -> Self {
        Self { assert, phase: Phase::MeetingInMemory { number, is_watching: false, later: None } }
    }

    /// Leaves the fence of a window that was revoked.
    pub(crate) fn abandon(&self, host: &dyn Host) {
        if let Phase::Meeting(request)
        | Phase::MeetingInMemory { later: Some(Opening::Barrier(request)), .. }
        | Phase::Met { later: Some(Opening::Barrier(request)) } = self.phase
        {
            host.abandon(request);
        }
    }

    /// Whether the others are told by packets, and tell so themselves.
    pub(crate) fn is_by_packets(&self) -> bool {
        matches!(self.phase, Phase::Telling(_) | Phase::MeetingByPackets(_))
    }

    /// Advances; answers whether the fence is over.
    pub(crate) fn poll(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        if let Some(is_over) = self.come(state, window, host)? {
            return Ok(is_over);
        }
        match &mut self.phase {
            Phase::Opening | Phase::Completing | Phase::Telling(_) => return Ok(false),
            // Who sleeps must be rung before this rank goes on: it may compute for long.
            Phase::Met { .. } if !state.nudges.is_empty() => return Ok(false),
            Phase::Met { later } => {
                let later = *later;
                self.leave(window, later);
                return Ok(true);
            }
            Phase::Meeting(request) => {
                if host.poll(*request)?.is_none() {
                    return Ok(false);
                }
            }
            Phase::MeetingByPackets(number) => {
                let have_arrived = have_arrived(state, window, *number);
                // What a step has noted of the same loss is told with it.
                if !have_arrived.map_err(|error| window.error.take().unwrap_or(error))? {
                    return Ok(false);
                }
            }
            Phase::MeetingInMemory { number, is_watching, later } => {
                let later = *later;
                match attends(state, window, *number, is_watching) {
                    Ok(true) => {}
                    Ok(false) => return Ok(false),
                    Err(error) => {
                        self.abandon(host);
                        return Err(error);
                    }
                }
                self.leave(window, later);
                return Ok(true);
            }
        }
        self.end(window);
        Ok(true)
    }

    /// Brings this rank to where the others are met, and then answers nothing; else whether the fence is over.
    fn come(&mut self, state: &mut State, window: &mut WindowState, host: &dyn Host) -> Result<Option<bool>> {
        if matches!(self.phase, Phase::Opening) {
            let is_open = is_open(state, window, host);
            // Elements of an epoch that never opened are free again, and no step tells it.
            state.told |= is_open.is_err();
            if !is_open? {
                return Ok(Some(false));
            }
            self.phase = begin_to_complete(state, window)?;
        }
        if let Phase::Telling(number) = self.phase {
            if !has_told(state, window) {
                return Ok(Some(false));
            }
            for key in window.table.keys(&state.pools.targets) {
                state.pools.targets[key].on_told();
            }
            free_idle_far_targets(state, window);
            if self.assert.has(Assert::NO_PRECEDE) {
                self.go_ahead(window, Opening::Packets(number));
                return Ok(Some(true));
            }
            self.phase = Phase::MeetingByPackets(number);
        }
        if matches!(self.phase, Phase::Completing) {
            if !is_complete(state, window) {
                return Ok(Some(false));
            }
            free_idle_far_targets(state, window);
            if !window.shared.has_packet_targets() {
                return self.arrive(state, window, None).map(Some);
            }
            state.begun = true;
            let request = host.begin_barrier(&window.shared.group)?;
            if self.assert.has(Assert::NO_PRECEDE) {
                // Direct accesses come past the engine, so the mapped ranks are waited for.
                let arrived = self.arrive(state, window, Some(Opening::Barrier(request)));
                return arrived.map(Some).inspect_err(|_| host.abandon(request));
            }
            if window.shared.maps_others() {
                // Counted in each fence, waited for or not.
                let number = window.shared.own().control.meeting().arrive();
                if window.shared.absent(number, 0).is_none() {
                    ring_sleepers(state, window);
                }
            }
            self.phase = Phase::Meeting(request);
        }
        Ok(None)
    }

    /// Ends a fence that does not wait for all: when nothing precedes it the others only have to come before the first operation leaves
    /// (MPI 3.1 §11.5.1).
    fn go_ahead(&self, window: &mut WindowState, opening: Opening) {
        window.opening = Some(opening);
        // A fence that no epoch follows is waited for by the next one, or by nobody.
        window.epoch.on(if self.opens() { Event::FenceAhead } else { Event::FenceLast });
        self.open_direct(window);
    }

    /// Arrives where the ranks meet that are mapped; the others are waited for `later`, if there are any.
    fn arrive(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        later: Option<Opening>,
    ) -> Result<bool> {
        let number = window.shared.own().control.meeting().arrive();
        if window.shared.absent(number, 0).is_none() {
            // This may be the rank that came last.
            if ring_sleepers(state, window) {
                // They are rung by the step that comes before the next look.
                self.phase = Phase::Met { later };
                return Ok(false);
            }
            self.leave(window, later);
            return Ok(true);
        }
        let mut is_watching = false;
        if attends(state, window, number, &mut is_watching)? {
            self.leave(window, later);
            return Ok(true);
        }
        self.phase = Phase::MeetingInMemory { number, is_watching, later };
        Ok(false)
    }

    /// All ranks that are mapped are in the fence.
    fn leave(&self, window: &mut WindowState, later: Option<Opening>) {
        match later {
            None => self.end(window),
            Some(opening) => {
                self.go_ahead(window, opening);
                // SYNC POINT F2
                fence(SeqCst);
            }
        }
    }

    /// Everybody is in the fence.
    fn end(&self, window: &mut WindowState) {
        window.epoch.on(if self.opens() { Event::FenceMet } else { Event::FenceLast });
        self.open_direct(window);
        // SYNC POINT F2
        fence(SeqCst);
    }

    /// Whether an epoch follows.
    fn opens(&self) -> bool {
        !self.assert.has(Assert::NO_SUCCEED)
    }

    fn open_direct(&self, window: &WindowState) {
        window.shared.door.set_open(self.opens());
    }
}

/// Whether the barrier of an earlier fence is over; moves the window from issued to granted when it is. When it fails, not
/// everybody has opened the epoch or ever will: it ends, with the operations that waited for it.
pub(crate) fn is_open(state: &mut State, window: &mut WindowState, host: &dyn Host) -> Result<bool> {
    let outcome = match window.opening {
        None => return Ok(true),
        Some(Opening::Barrier(request)) => host.poll(request).map(|outcome| outcome.is_some()),
        Some(Opening::Packets(number)) => have_arrived(state, window, number),
    };
    if matches!(outcome, Ok(false)) {
        return Ok(false);
    }
    window.opening = None;
    window.dirty = true;
    if window.epoch.state() == Epoch::FenceIssued {
        if outcome.is_ok() {
            window.epoch.on(Event::FenceMet);
        } else {
            abandon_unopened(window, &mut state.pools);
            window.shared.door.set_open(false);
            window.epoch.on(Event::FenceLast);
        }
    }
    outcome
}

/// Has everything that was begun leave, and be answered for in the way in which the ranks of the window meet.
fn begin_to_complete(state: &mut State, window: &mut WindowState) -> Result<Phase> {
    if window.target.arrivals.is_some()
        && let Some(error) = lost_rank(state, window)
    {
        return Err(window.error.take().unwrap_or(error));
    }
    if let Some(number) = tell(state, window) {
        return Ok(Phase::Telling(number));
    }
    for key in window.table.keys(&state.pools.targets) {
        state.pools.targets[key].push(true);
    }
    window.dirty = true;
    Ok(Phase::Completing)
}

/// Tells the only other rank, of the same node, that this one has come, if nothing is under way to it but what is held back: that takes
/// the word along.
fn tell_at_once(
    assert: Assert,
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
) -> Option<Phase> {
    let State { pools, bulks, by_channel, config, lost, begun, .. } = state;
    if window.dirty || !lost.is_empty() || assert.has(Assert::NO_PRECEDE) {
        return None;
    }
    let rank = window.shared.neighbors.first()?.rank;
    let key = window.table.find(&pools.targets, rank)?;
    let is_first = pools.targets[key].holds_a_store_at_most(&pools.ops, longest_short_store(config));
    if !is_first || window.permission(rank) != Permission::Fenced {
        return None;
    }
    let number = window.target.arrivals.as_mut()?.enter();
    if (Issuer { window, pools, bulks, channel, by_channel, config }).close_to(key) {
        return Some(Phase::MeetingByPackets(number));
    }
    (window.dirty, *begun) = (true, true);
    Some(Phase::Telling(number))
}

/// Has every other rank told that this one has come, behind the last operation to it; gives the number of the fence. `None` when
/// the ranks of the window meet otherwise.
fn tell(state: &mut State, window: &mut WindowState) -> Option<u64> {
    let number = window.target.arrivals.as_mut()?.enter();
    // Where nothing can be out of bounds unnoticed the fences of the others say all that an acknowledgement would.
    let acknowledge = window.shared.uniform.is_none();
    let can_ride = window.epoch.state() == Epoch::FenceGranted;
    let group = &window.shared.group;
    let mut bare = Vec::new();
    for rank in (0..group.size()).map(Rank).filter(|rank| *rank != group.me()) {
        let element = window.table.find(&state.pools.targets, rank).filter(|_| can_ride);
        match element.map(|key| &mut state.pools.targets[key]) {
            Some(target) => {
                target.push(acknowledge);
                target.closing = Closing::Wanted;
            }
            None => bare.push(rank),
        }
    }
    window.rounds.access = (!bare.is_empty()).then_some(AccessRound::Fence(bare));
    window.dirty = true;
    Some(number)
}

/// Whether everybody has been told, and this rank's operations need nothing any more.
fn has_told(state: &State, window: &WindowState) -> bool {
    let is_over = |target: &Target| {
        target.is_locally_complete(&state.pools.ops, target.push_to)
            && target.closing != Closing::Wanted
            // One that was asked for when elements ran short is waited for, because it would find no element.
            && target.asked.is_empty()
    };
    let are_told = !matches!(&window.rounds.access, Some(AccessRound::Fence(ranks)) if !ranks.is_empty());
    let keys = window.table.keys(&state.pools.targets);
    are_told && keys.into_iter().all(|key| is_over(&state.pools.targets[key]))
}

/// Whether every rank's word of fence `number` has come. While one has not, nobody may be lost: who is lost may have told this
/// rank and not others, and those who know of it tell nobody any more.
fn have_arrived(state: &State, window: &WindowState, number: u64) -> Result<bool> {
    let Some(arrivals) = &window.target.arrivals else { return Ok(true) };
    if arrivals.are_complete(number) {
        return Ok(true);
    }
    lost_rank(state, window).map_or(Ok(false), Err)
}

/// What to say of a rank of the window that is lost.
fn lost_rank(state: &State, window: &WindowState) -> Option<Error> {
    if !window.has_lost {
        return None;
    }
    let group = &window.shared.group;
    let mut ranks = (0..group.size()).map(Rank);
    ranks.find_map(|rank| Some(error_of(rank, "fence", state.lost.get(&group.peer(rank))?)))
}

/// Whether everybody has come to a meeting in shared memory. While some have not, and this process may sleep, it says so, and
/// watches the rank behind it: every rank is watched by another one, and whoever sees one die tells all.
fn attends(state: &mut State, window: &mut WindowState, number: u64, is_watching: &mut bool) -> Result<bool> {
    let shared = Arc::clone(&window.shared);
    let size = shared.group.size();
    let may_sleep = !state.is_spinning;
    if may_sleep {
        shared.own().control.set_asleep(Sleep::Fence);
        if !std::mem::replace(is_watching, true) {
            window.rounds.meet = vec![shared.members[(shared.own + 1) % shared.members.len()].rank];
            (window.dirty, state.begun) = (true, true);
        }
        if !state.lost.is_empty()
            && let Some(dead) =
                (0..size).map(Rank).find(|rank| state.lost.contains_key(&shared.group.peer(*rank)))
        {
            shared.members[0].control.meeting().break_up(dead);
            ring_sleepers(state, window);
        }
    }
    match attendance(shared.members.iter().map(|member| member.control.meeting()), number) {
        Attendance::Waiting => Ok(false),
        Attendance::Complete => {
            shared.own().control.set_awake(Sleep::Fence);
            Ok(true)
        }
        Attendance::Broken(dead) => {
            shared.own().control.set_awake(Sleep::Fence);
            let cause = format!("rank {dead} cannot be reached any more, and was not in the fence");
            Err(Error::new(ErrorClass::ProcFailed, "fence", cause))
        }
    }
}

/// Makes those who sleep look again; answers whether there are any.
fn ring_sleepers(state: &mut State, window: &WindowState) -> bool {
    let shared = &window.shared;
    for member in shared.members.iter().filter(|member| member.control.is_asleep(Sleep::Fence)) {
        locks::ring(&mut state.nudges, &mut state.counters, shared, shared.group.peer(member.rank));
    }
    state.begun |= !state.nudges.is_empty();
    !state.nudges.is_empty()
}

fn is_complete(state: &State, window: &WindowState) -> bool {
    window.table.keys(&state.pools.targets).into_iter().all(|key| {
        let target = &state.pools.targets[key];
        target.is_complete(&state.pools.ops, target.ack_to)
    })
}
