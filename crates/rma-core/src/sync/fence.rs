//! Fence: complete what this rank issued, then meet all ranks (design note, "Algorithm for FENCE").
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
//! How the ranks meet is chosen when the window is made ([`FenceProtocol`]), by facts that all know alike:
//! which ranks map which, their number, and `RMA_FENCE_PACKETS`.
//!
//! * *Memory*: a count in shared memory (`control/meeting.rs`), where all ranks map each other.
//! * *Words*: each rank sends each other one a packet, its word that it has come, and goes on when all words
//!   have come (`state/arrivals.rs`). Of two ranks neither waits for acknowledgements before: the word is on
//!   the last packet of the epoch or on one of its own.
//! * *Barrier*: the host's, behind the acknowledgements.
//!
//! A fence that nothing precedes waits for the ranks that are mapped, in shared memory, and lets the words or the host's barrier go on
//! behind: packets wait for that. Two ranks and their words:
//!
//! ```text
//!    rank 0                                    rank 1
//!    put, put and fence ──────────╲   ╱─────── fence
//!                                  ╲ ╱
//!    all have come ◀────────────────╳────────▶ carried out in order: all have come
//! ```
//!
//! Rank 0 may be out of its fence when its puts are not carried out yet. Of two ranks that cannot be seen:
//! rank 1 is in its own fence until they are, and only the end of that one promises them at the target (MPI
//! 3.1 §11.5.1). A third rank could see it: with both words it might look at rank 1 before the put is there.
//! So of more than two each waits for its acknowledgements before it sends its word. Where a put may be
//! outside the window, which the origin does not know unless all ranks have equal windows, it asks for the
//! acknowledgement besides, and waits for it, so that this fence raises the error.

use super::fence_memory::{attends, wake_sleepers};
use super::fence_words::{has_notified, have_arrived, notify, notify_at_once};
use crate::channel::Channel;
use crate::epoch::{AccessEvent, Assert, Epoch};
use crate::error::Result;
use crate::host::{Host, HostRequest};
use crate::origin::lost::abandon_unopened;
use crate::origin::post::free_idle_far_targets;
use crate::state::{FenceProtocol, Opening, State, WindowState};
use std::sync::atomic::{Ordering::SeqCst, fence};

#[derive(Debug)]
pub(crate) struct FenceSync {
    assert: Assert,
    phase: FencePhase,
}

#[derive(Debug)]
enum FencePhase {
    /// Waiting for the barrier of an earlier fence that did not wait for it.
    Opening,
    /// Waiting for this rank's operations.
    Completing,
    /// Waiting for the others, by the host's barrier.
    Meeting(HostRequest),
    /// Waiting for this rank's operations, and for its words of fence `number` to leave.
    Notifying(u64),
    /// Waiting for the packets of the others.
    MeetingByPackets(u64),
    /// Waiting in shared memory for meeting `number`: of all ranks, or of those that are mapped.
    MeetingInMemory { number: u64, is_watching: bool, later: Option<Opening> },
    /// All of them are there; the sleeping ones are being woken.
    Met { later: Option<Opening> },
}

impl FenceSync {
    /// Begins: where ranks meet by words, and nothing is before, the words leave now or with the next step. `is_fenced` as for [`notify_at_once`].
    pub(crate) fn begin(
        assert: Assert,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
        is_fenced: bool,
    ) -> Self {
        // SYNC POINT F1
        fence(SeqCst);
        // Of more than two ranks each needs its acknowledgements before it sends its word.
        let is_first = window.notifies_one() && window.opening.is_none() && !window.has_lost;
        let phase = match is_first.then(|| notify_at_once(assert, channel, state, window, is_fenced)) {
            None => FencePhase::Opening,
            Some(Some((number, true))) => FencePhase::MeetingByPackets(number),
            Some(Some((number, false))) => FencePhase::Notifying(number),
            Some(None) => notify(state, window).map_or(FencePhase::Opening, FencePhase::Notifying),
        };
        Self { assert, phase }
    }

    /// Whether a poll changes nothing that calls see outside the engine: it waits for packets of the others,
    /// and an epoch like the one before follows.
    pub(crate) fn keeps(&self, window: &WindowState) -> bool {
        matches!(self.phase, FencePhase::MeetingByPackets(_))
            && window.access().epoch() == Epoch::FenceGranted
            && self.opens()
            && window.error.is_none()
            && !window.has_lost
    }

    /// Whether packets of others have not come that the fence waits for.
    #[inline]
    pub(super) fn waits(&self, window: &WindowState) -> bool {
        let FencePhase::MeetingByPackets(number) = self.phase else { return false };
        window.target.arrivals.as_ref().is_some_and(|arrivals| !arrivals.are_complete(number))
    }

    /// A fence that has arrived at meeting `number` in shared memory.
    pub(crate) fn arrived(assert: Assert, number: u64) -> Self {
        Self { assert, phase: FencePhase::MeetingInMemory { number, is_watching: false, later: None } }
    }

    /// Leaves the fence of a window that was revoked.
    pub(crate) fn abandon(&self, host: &dyn Host) {
        if let FencePhase::Meeting(request)
        | FencePhase::MeetingInMemory { later: Some(Opening::Barrier(request)), .. }
        | FencePhase::Met { later: Some(Opening::Barrier(request)) } = self.phase
        {
            host.abandon(request);
        }
    }

    /// Whether the ranks meet by words.
    pub(crate) fn is_by_packets(&self) -> bool {
        matches!(self.phase, FencePhase::Notifying(_) | FencePhase::MeetingByPackets(_))
    }

    /// Advances; answers whether the fence is over.
    ///
    /// # Errors
    /// When a rank cannot come. What this rank has begun is complete then wherever a rank lives, so the epoch
    /// may be replaced like one that nothing was done in.
    pub(crate) fn poll(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool> {
        let is_over = self.advance(state, window, host);
        if is_over.is_err() && is_complete(state, window) {
            window.shared.fence_gate.renew();
        }
        is_over
    }

    fn advance(&mut self, state: &mut State, window: &mut WindowState, host: &dyn Host) -> Result<bool> {
        if let Some(is_over) = self.come(state, window, host)? {
            return Ok(is_over);
        }
        match &mut self.phase {
            FencePhase::Opening | FencePhase::Completing | FencePhase::Notifying(_) => return Ok(false),
            // Sleeping ranks must be woken before this one goes on: it may compute for long.
            FencePhase::Met { .. } if !state.wake_ups.is_empty() => return Ok(false),
            FencePhase::Met { later } => {
                let later = *later;
                self.leave(window, later);
                return Ok(true);
            }
            FencePhase::Meeting(request) => {
                if host.poll(*request)?.is_none() {
                    return Ok(false);
                }
            }
            FencePhase::MeetingByPackets(number) => {
                let have_arrived = have_arrived(state, window, *number);
                // The error that a step has noted of the same loss comes first.
                if !have_arrived.map_err(|error| window.error.take().unwrap_or(error))? {
                    return Ok(false);
                }
            }
            FencePhase::MeetingInMemory { number, is_watching, later } => {
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
        if matches!(self.phase, FencePhase::Opening) {
            let is_open = is_open(state, window, host);
            // Elements of an epoch that never opened are free again, and no step says so.
            state.must_notify |= is_open.is_err();
            if !is_open? {
                return Ok(Some(false));
            }
            self.phase = begin_to_complete(state, window)?;
        }
        if let FencePhase::Notifying(number) = self.phase {
            if !has_notified(state, window) {
                return Ok(Some(false));
            }
            for key in window.table.keys(&state.pools.targets) {
                state.pools.targets[key].on_notified();
            }
            free_idle_far_targets(state, window);
            return self.meet(state, window, Opening::Packets(number));
        }
        if matches!(self.phase, FencePhase::Completing) {
            if !is_complete(state, window) {
                return Ok(Some(false));
            }
            match window.fence_protocol() {
                FenceProtocol::Memory => {
                    free_idle_far_targets(state, window);
                    return self.arrive(state, window, None).map(Some);
                }
                FenceProtocol::Words => {
                    // The operations on live ranks are complete, so another epoch may follow.
                    if let Some(error) = state.any_lost_error(window, "fence") {
                        return Err(window.error.take().unwrap_or(error));
                    }
                    state.needs_step = true;
                    let number = notify(state, window);
                    self.phase = number.map_or(FencePhase::Completing, FencePhase::Notifying);
                    return Ok(Some(false));
                }
                FenceProtocol::Barrier => {
                    free_idle_far_targets(state, window);
                    state.needs_step = true;
                    let request = host.begin_barrier(&window.shared.group)?;
                    let met = self.meet(state, window, Opening::Barrier(request));
                    return met.inspect_err(|_| host.abandon(request));
                }
            }
        }
        Ok(None)
    }

    /// Meets the others, which know of this rank, in the way that `opening` says. Answers as
    /// [`FenceSync::come`].
    fn meet(
        &mut self,
        state: &mut State,
        window: &mut WindowState,
        opening: Opening,
    ) -> Result<Option<bool>> {
        if self.assert.has(Assert::NO_PRECEDE) {
            // Direct accesses come past the engine, so the mapped ranks are waited for.
            return self.arrive(state, window, Some(opening)).map(Some);
        }
        if window.shared.maps_others() {
            // Counted in each fence, waited for or not.
            let number = window.shared.own().control.meeting().arrive();
            if window.shared.absent(number, 0).is_none() {
                wake_sleepers(state, window);
            }
        }
        self.phase = match opening {
            Opening::Barrier(request) => FencePhase::Meeting(request),
            Opening::Packets(number) => FencePhase::MeetingByPackets(number),
        };
        Ok(None)
    }

    /// Ends a fence that does not wait for all: when nothing precedes it the others only have to come before the first operation leaves
    /// (MPI 3.1 §11.5.1).
    fn go_ahead(&self, window: &mut WindowState, opening: Opening) {
        window.opening = Some(opening);
        // A fence that no epoch follows is waited for by the next one, if there is one.
        window.on(if self.opens() { AccessEvent::FenceAhead } else { AccessEvent::FenceLast });
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
            if wake_sleepers(state, window) {
                // They are woken by the step that comes before the next look.
                self.phase = FencePhase::Met { later };
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
        self.phase = FencePhase::MeetingInMemory { number, is_watching, later };
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

    /// All ranks are in the fence.
    fn end(&self, window: &mut WindowState) {
        window.on(if self.opens() { AccessEvent::FenceMet } else { AccessEvent::FenceLast });
        self.open_direct(window);
        // SYNC POINT F2
        fence(SeqCst);
    }

    /// Whether an epoch follows.
    fn opens(&self) -> bool {
        !self.assert.has(Assert::NO_SUCCEED)
    }

    fn open_direct(&self, window: &WindowState) {
        window.shared.fence_gate.set_open(self.opens());
    }
}

/// Whether the barrier of an earlier fence is over; moves the window from issued to granted when it is. When
/// it fails, some rank never opens the epoch: it ends, with the operations that waited for it.
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
    window.needs_issue = true;
    if window.access().epoch() == Epoch::FenceIssued {
        if outcome.is_ok() {
            window.on(AccessEvent::FenceMet);
        } else {
            abandon_unopened(window, &mut state.pools);
            window.shared.fence_gate.set_open(false);
            window.on(AccessEvent::FenceLast);
        }
    }
    outcome
}

/// Has everything that was begun leave, and be answered for in the way in which the ranks of the window meet.
fn begin_to_complete(state: &mut State, window: &mut WindowState) -> Result<FencePhase> {
    if window.notifies_one() {
        if let Some(error) = state.any_lost_error(window, "fence") {
            return Err(window.error.take().unwrap_or(error));
        }
        if let Some(number) = notify(state, window) {
            return Ok(FencePhase::Notifying(number));
        }
    }
    for key in window.table.keys(&state.pools.targets) {
        state.pools.targets[key].push(true);
    }
    window.needs_issue = true;
    Ok(FencePhase::Completing)
}

fn is_complete(state: &State, window: &WindowState) -> bool {
    window.table.keys(&state.pools.targets).into_iter().all(|key| {
        let target = &state.pools.targets[key];
        target.is_complete(&state.pools.ops, target.ack_to)
    })
}
