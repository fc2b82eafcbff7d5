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
//! When all ranks map each other the barrier is a count in shared memory (`control/meeting.rs`), else it is the host's.

use super::assert::Assert;
use super::transition::{Epoch, Event};
use crate::control::{Attendance, Sleep, attendance};
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Host, HostRequest};
use crate::ids::Rank;
use crate::origin::lost::abandon_unopened;
use crate::origin::post::free_idle_targets;
use crate::progress::{Pools, State};
use crate::target::locks;
use crate::window::WindowState;
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
    /// Waiting for the others in shared memory, for meeting `number`.
    MeetingInMemory { number: u64, is_watching: bool },
    /// Everybody is there; those who sleep are being rung.
    Met,
}

impl FenceSync {
    pub(crate) fn begin(assert: Assert) -> Self {
        // SYNC POINT F1
        fence(SeqCst);
        Self { assert, phase: Phase::Opening }
    }

    /// A fence that has arrived at meeting `number` in shared memory.
    pub(crate) fn arrived(assert: Assert, number: u64) -> Self {
        Self { assert, phase: Phase::MeetingInMemory { number, is_watching: false } }
    }

    /// Advances; answers whether the fence is over.
    pub(crate) fn poll(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        if matches!(self.phase, Phase::Opening) {
            let is_open = is_open(&mut state.pools, window, host);
            // Elements of an epoch that never opened are free again, and no step tells it.
            state.told |= is_open.is_err();
            if !is_open? {
                return Ok(false);
            }
            for key in window.table.keys(&state.pools.targets) {
                state.pools.targets[key].push(true);
            }
            window.dirty = true;
            self.phase = Phase::Completing;
        }
        if matches!(self.phase, Phase::Completing) {
            if !is_complete(state, window) {
                return Ok(false);
            }
            free_idle_targets(state, window);
            if !window.shared.has_packet_targets() {
                return self.arrive(state, window);
            }
            state.begun = true;
            let request = host.begin_barrier(&window.shared.group)?;
            let waits = !self.assert.has(Assert::NO_PRECEDE) || window.shared.maps_others();
            if !waits {
                // Nothing precedes: the barrier only has to be over before the first operation (MPI 3.1 §11.5.1).
                window.opening = Some(request);
                window.epoch.on(Event::FenceAhead);
                self.open_direct(window);
                return Ok(true);
            }
            self.phase = Phase::Meeting(request);
        }
        match &mut self.phase {
            Phase::Opening | Phase::Completing => return Ok(false),
            // Who sleeps must be rung before this rank goes on: it may compute for long.
            Phase::Met if !state.nudges.is_empty() => return Ok(false),
            Phase::Met => {}
            Phase::Meeting(request) => {
                if host.poll(*request)?.is_none() {
                    return Ok(false);
                }
            }
            Phase::MeetingInMemory { number, is_watching } => {
                if !attends(state, window, *number, is_watching)? {
                    return Ok(false);
                }
            }
        }
        self.end(window);
        Ok(true)
    }

    /// Arrives where the ranks of the window meet, which all of them map.
    fn arrive(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let number = window.shared.own().control.meeting().arrive();
        if window.shared.absent(number, 0).is_none() {
            // This may be the rank that came last.
            if ring_sleepers(state, window) {
                // They are rung by the step that comes before the next look.
                self.phase = Phase::Met;
                return Ok(false);
            }
            self.end(window);
            return Ok(true);
        }
        let mut is_watching = false;
        if attends(state, window, number, &mut is_watching)? {
            self.end(window);
            return Ok(true);
        }
        self.phase = Phase::MeetingInMemory { number, is_watching };
        Ok(false)
    }

    /// Everybody is in the fence.
    fn end(&self, window: &mut WindowState) {
        let follows = !self.assert.has(Assert::NO_SUCCEED);
        window.epoch.on(if follows { Event::FenceMet } else { Event::FenceLast });
        self.open_direct(window);
        // SYNC POINT F2
        fence(SeqCst);
    }

    fn open_direct(&self, window: &WindowState) {
        let opens = !self.assert.has(Assert::NO_SUCCEED);
        window.shared.door.set_open(opens);
    }
}

/// Whether the barrier of an earlier fence is over; moves the window from issued to granted when it is. When it fails, not
/// everybody has opened the epoch or ever will: it ends, with the operations that waited for it.
pub(crate) fn is_open(pools: &mut Pools, window: &mut WindowState, host: &dyn Host) -> Result<bool> {
    let Some(request) = window.opening else { return Ok(true) };
    let outcome = match host.poll(request) {
        Ok(None) => return Ok(false),
        Ok(Some(_)) => Ok(true),
        Err(error) => Err(error),
    };
    window.opening = None;
    window.dirty = true;
    if window.epoch.state() == Epoch::FenceIssued {
        if outcome.is_ok() {
            window.epoch.on(Event::FenceMet);
        } else {
            abandon_unopened(window, pools);
            window.shared.door.set_open(false);
            window.epoch.on(Event::FenceLast);
        }
    }
    outcome
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
            window.rounds.meet = vec![Rank((shared.group.me().0 + 1) % size)];
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
            Err(Error::new(ErrorClass::ProcAborted, "fence", cause))
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
