//! Start and complete: the origin's side of general active target synchronization (MPI 3.1 §11.5.2).
//!
//! Synchronization is as weak as the standard allows where that costs nothing: start returns at once for
//! packet targets, whose operations leave as each has posted, and waits for the posts of mapped ranks,
//! because direct accesses happen inside the calls. Complete notifies every target once that this origin is
//! done: on its last operation, or in a packet of its own; it does not wait for the targets to apply stores,
//! which is what their wait calls are for.
//!
//! ```text
//!    target                                    origin
//!    direct and local stores
//!    full ordering  ┐
//!    post ──────────┘ (SYNC POINT P1) ───────▶ post seen      ┐ (SYNC POINT P2)
//!                                              full ordering  ┘
//!                                              direct stores and loads
//!                                              full ordering  ┐
//!    done seen      ┐ (SYNC POINT P4) ◀─────── done           ┘ (SYNC POINT P3)
//!    full ordering  ┘
//!    direct and local loads
//! ```

use super::expose::{wake_if_asleep, watch};
use crate::channel::Channel;
use crate::control::Sleep;
use crate::epoch::{AccessEvent, Call, Epoch, Stage};
use crate::error::Result;
use crate::ids::Rank;
use crate::origin::issue::{Issuer, longest_short_store};
use crate::origin::lost::forsake;
use crate::origin::post::free_target;
use crate::pool::PoolKey;
use crate::state::{AccessRound, State, WindowState};
use crate::table::ClosingWord;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

#[derive(Debug)]
pub(crate) struct StartSync {
    /// Contact with the targets has been made, so that their death is noticed.
    is_watching: bool,
}

impl StartSync {
    /// Begins a start call whose legality has been checked.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState, group: &[Rank], no_check: bool) -> Self {
        window.shared.fence_gate.set_open(false);
        window.on(AccessEvent::Start);
        window.epoch.access.open(group, no_check);
        let group = window.epoch.access.group();
        let are_node_targets = group.iter().all(|rank| window.shared.node_target(*rank).is_some());
        let is_of_node_targets = are_node_targets && !group.is_empty();
        window.epoch.access.set_of_node_targets(is_of_node_targets);
        let (shared, me) = (Arc::clone(&window.shared), window.shared.group.me());
        let by_packet = |rank: &Rank| *rank != me && shared.marked(*rank).is_none();
        window.rounds.meet.extend(window.epoch.access.missing().filter(by_packet));
        window.on_posted(&state.pools, &state.config);
        Self { is_watching: false }
    }

    /// Answers whether every mapped rank of the group has posted, or is lost. The epoch is then open to the
    /// others, which wait for this origin, and to packet targets; complete is the call that fails.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when a mapped rank will never post; no epoch is open then.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let shared = Arc::clone(&window.shared);
        let own = &shared.own().control;
        if !state.is_spinning {
            own.set_asleep(Sleep::Start);
        }
        for rank in window.epoch.access.missing().collect::<SmallVec<[_; 8]>>() {
            let has_left = shared.marked(rank).is_some() && state.has_left(&shared, rank);
            let has_posted = |(place, _): (usize, _)| own.posts().take(place, &shared.active.posts);
            let is_lost =
                || shared.mapped(rank).is_some() && state.lost.contains_key(&shared.group.peer(rank));
            if shared.marked(rank).is_some_and(has_posted) || is_lost() {
                window.epoch.access.on_seen_post(rank);
                window.on_posted(&state.pools, &state.config);
            } else if has_left {
                Self::give_up(window);
                return Err(state.left_error(&shared, rank, "start"));
            }
        }
        let mapped = |rank: &Rank| window.shared.mapped(*rank).is_some();
        let missing = window.epoch.access.missing().filter(mapped).collect::<SmallVec<[_; 8]>>();
        let is_opening = window.access().stage() == Stage::Opening;
        if !missing.is_empty() {
            if !is_opening {
                window.on(AccessEvent::Reach(Stage::Opening));
            }
            if !state.is_spinning && !std::mem::replace(&mut self.is_watching, true) {
                watch(state, window, missing.into_iter());
            }
            return Ok(false);
        }
        own.set_awake(Sleep::Start);
        if is_opening {
            window.on(AccessEvent::Reach(Stage::Open));
        }
        // SYNC POINT P2
        fence(SeqCst);
        for rank in window.epoch.access.group() {
            if let Some(mapped) = window.shared.mapped(*rank) {
                window.shared.access.open_started(&mapped.gate);
            }
        }
        Ok(true)
    }

    /// Undoes a call that is not over: the posts that it has seen are the next one's.
    pub(crate) fn give_up(window: &mut WindowState) {
        window.shared.own().control.set_awake(Sleep::Start);
        window.epoch.access.abandon();
        window.on(AccessEvent::Complete);
    }
}

#[derive(Debug)]
pub(crate) struct CompleteSync {
    /// The epoch is closing: nothing waits alone any more.
    is_closing: bool,
}

impl CompleteSync {
    /// Begins a complete call whose legality has been checked: everything leaves as soon as its target has posted.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState) -> Self {
        let is_target = |rank: Rank| window.is_started(rank);
        let is_ready = state.lost.is_empty()
            && held(state, window).is_some()
            && window.rounds.meet.iter().all(|rank| is_target(*rank))
            && !window.table.is_busy_but(&state.pools.targets, is_target);
        if !is_ready {
            return Self::close(state, window);
        }
        // Those that have an element have been met before.
        window.rounds.meet.clear();
        window.needs_issue = false;
        Self { is_closing: false }
    }

    /// Closes the epoch.
    fn close(state: &mut State, window: &mut WindowState) -> Self {
        window.on(AccessEvent::Reach(Stage::Closing));
        window.shared.mapped.iter().for_each(|mapped| window.shared.access.close(&mapped.gate));
        // SYNC POINT P3
        fence(SeqCst);
        let shared = Arc::clone(&window.shared);
        let mut bare = Vec::new();
        for rank in window.started().collect::<Vec<_>>() {
            match shared.marked(rank) {
                _ if window.table.find(&state.pools.targets, rank).is_some() => {}
                // Everything on it is done, and start has seen its post.
                Some((_, mapped)) => {
                    mapped.control.dones().set(shared.own);
                    wake_if_asleep(state, &shared, mapped, Sleep::Wait);
                }
                None if rank == shared.group.me() && window.epoch.access.has_posted(rank) => {
                    window.target.undone.remove(rank);
                    state.must_notify = true;
                }
                None => bare.push(rank),
            }
        }
        for key in window.table.keys(&state.pools.targets) {
            let target = &mut state.pools.targets[key];
            // Node targets keep their elements beyond an epoch.
            if window.is_started(target.rank) {
                target.close();
            }
        }
        window.needs_issue |= !bare.is_empty() || window.table.len() > 0;
        window.rounds.access = (!bare.is_empty()).then_some(AccessRound::Done(bare));
        Self { is_closing: true }
    }

    /// Whether it waits for nothing but posts of node targets, which are packets.
    pub(crate) fn waits_for_post(&self) -> bool {
        !self.is_closing
    }

    /// Whether it waits for a post, with which everything leaves: until one comes there is nothing to find out.
    #[inline]
    pub(super) fn waits(&self, window: &WindowState) -> bool {
        self.waits_for_post() && window.access().epoch() == Epoch::PscwIssued
    }

    /// Goes on with a call for node targets, to which nothing is under way but what is held back, if anything: that takes the word along when
    /// all of them have posted. Answers whether the call is over; `None` when more than that is to be done.
    fn ride(
        &mut self,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
    ) -> Option<bool> {
        let keys = held(state, window)?;
        if window.access().epoch() == Epoch::PscwIssued {
            return Some(false);
        }
        let State { pools, bulks, by_channel, config, needs_step, .. } = state;
        // SYNC POINT P3
        fence(SeqCst);
        let mut issuer = Issuer { window, pools, bulks, channel, by_channel, config };
        let mut have_left = true;
        for key in keys {
            have_left &= issuer.close_to(key);
        }
        if have_left {
            window.epoch.access.close();
            window.on(AccessEvent::Complete);
            return Some(true);
        }
        // Targets that the channel has no room for now are notified by later steps.
        window.on(AccessEvent::Reach(Stage::Closing));
        (window.needs_issue, *needs_step, self.is_closing) = (true, true, true);
        Some(false)
    }

    /// Answers whether every target has been notified and this origin's buffers are its own again.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when a target is lost; the epoch is over then too.
    pub(crate) fn poll(
        &mut self,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
    ) -> Result<bool> {
        for rank in window.epoch.access.missing().collect::<SmallVec<[_; 8]>>() {
            if state.lost.contains_key(&window.shared.group.peer(rank)) {
                window.rounds.forget(rank);
            } else if state.has_left(&window.shared, rank) {
                let error = state.left_error(&window.shared, rank, "complete");
                forsake(window, &mut state.pools, rank, &error);
                window.on_posted(&state.pools, &state.config);
            }
        }
        if !self.is_closing {
            if let Some(is_over) = self.ride(channel, state, window) {
                return Ok(is_over);
            }
            window.check(&state.pools, Call::Complete, "complete")?;
            *self = Self::close(state, window);
        }
        if matches!(&window.rounds.access, Some(AccessRound::Done(ranks)) if ranks.is_empty()) {
            window.rounds.access = None;
        }
        let keys = window.table.keys(&state.pools.targets);
        // Stores need no acknowledgement: the target counts this origin as done behind them. One that was asked for
        // when elements ran short is waited for, because it would find no element.
        let is_over = keys.iter().map(|key| &state.pools.targets[*key]).all(|target| {
            target.pending.is_empty()
                && target.issued.is_empty()
                && target.asked.is_empty()
                && target.closing != ClosingWord::Wanted
        });
        if window.rounds.access.is_some() || !is_over {
            return Ok(false);
        }
        for key in keys {
            let target = &mut state.pools.targets[key];
            if window.shared.node_target(target.rank).is_some() {
                target.on_notified();
            } else {
                free_target(state, window, key);
            }
        }
        let error = window.started().find_map(|rank| state.lost_error(&window.shared, rank, "complete"));
        window.epoch.access.close();
        window.on(AccessEvent::Complete);
        error.map_or(Ok(true), Err)
    }
}

/// The elements of the epoch's targets, all of them node targets, if nothing waits there but a short store each.
fn held(state: &State, window: &WindowState) -> Option<SmallVec<[PoolKey; 4]>> {
    if !window.has_started_node_targets() {
        return None;
    }
    let most = longest_short_store(&state.config);
    let element = |rank: &Rank| {
        let key = window.table.find(&state.pools.targets, *rank)?;
        state.pools.targets[key].holds_a_store_at_most(&state.pools.ops, most).then_some(key)
    };
    window.epoch.access.group().iter().map(element).collect()
}
