//! Start and complete: the origin's side of general active target synchronization (MPI 3.1 §11.5.2).
//!
//! Synchronization is as weak as the standard allows where that costs nothing: start returns at once for packet targets,
//! whose operations leave as each has posted, and waits for the posts of mapped ranks, because direct accesses happen inside
//! the calls. Complete tells every target once that this origin is done: on its last operation, or in a packet of its own;
//! it does not wait for the targets to apply stores, which is what their wait calls are for.
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

use super::expose::{ring, watch};
use super::state::Stage;
use super::transition::{Epoch, Event};
use crate::control::Sleep;
use crate::error::{Error, Result};
use crate::ids::Rank;
use crate::origin::lost::error_of;
use crate::origin::post::{free_idle_targets, free_target};
use crate::origin::round::AccessRound;
use crate::progress::State;
use crate::table::Closing;
use crate::window::WindowState;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// A start call under way.
#[derive(Debug)]
pub(crate) struct StartSync {
    /// Contact with the targets has been made, so that their death is noticed.
    is_watching: bool,
}

impl StartSync {
    /// Begins a start call whose legality has been checked.
    pub(crate) fn begin(
        state: &mut State,
        window: &mut WindowState,
        group: Box<[Rank]>,
        no_check: bool,
    ) -> Self {
        window.shared.door.set_open(false);
        free_idle_targets(state, window);
        window.epoch.on(Event::Start);
        window.epoch.set_stage(Stage::Opening);
        window.epoch.access.open(group, no_check);
        let (shared, me) = (Arc::clone(&window.shared), window.shared.group.me());
        let by_packet = |rank: &Rank| *rank != me && shared.marked(*rank).is_none();
        window.rounds.meet = window.epoch.access.missing().filter(by_packet).collect();
        on_posted(window);
        Self { is_watching: false }
    }

    /// Answers whether every mapped rank of the group has posted.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when one of them is lost; no epoch is open then.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let shared = Arc::clone(&window.shared);
        let own = &shared.own().control;
        if !state.is_spinning {
            own.set_asleep(Sleep::Start);
        }
        for rank in window.epoch.access.missing().collect::<Vec<_>>() {
            if let Some((place, _)) = shared.marked(rank)
                && own.posts().take(place, &shared.active.posts)
            {
                window.epoch.access.on_seen_post(rank);
                on_posted(window);
            }
        }
        let mapped = |rank: &Rank| window.shared.member(*rank).is_some();
        let missing = window.epoch.access.missing().filter(mapped).collect::<Vec<_>>();
        if let Some(error) = lost_among(state, window, missing.iter().copied(), "start") {
            own.set_awake(Sleep::Start);
            window.epoch.access.abandon();
            window.epoch.on(Event::Complete);
            return Err(error);
        }
        if !missing.is_empty() {
            if !state.is_spinning && !std::mem::replace(&mut self.is_watching, true) {
                watch(state, window, missing.into_iter());
            }
            return Ok(false);
        }
        own.set_awake(Sleep::Start);
        window.epoch.set_stage(Stage::Open);
        // SYNC POINT P2
        fence(SeqCst);
        for rank in window.epoch.access.group() {
            if let Some(member) = window.shared.member(*rank) {
                member.gate.set_started();
            }
        }
        Ok(true)
    }
}

/// A post has come, or needs not to: the window's state follows when it was the last.
pub(crate) fn on_posted(window: &mut WindowState) {
    if window.epoch.state() == Epoch::PscwIssued && window.epoch.access.missing().next().is_none() {
        window.epoch.on(Event::Posted);
    }
    window.dirty = true;
}

/// A complete call under way.
#[derive(Debug)]
pub(crate) struct CompleteSync;

impl CompleteSync {
    /// Begins a complete call whose legality has been checked: everything leaves as soon as its target has posted.
    pub(crate) fn begin(state: &mut State, window: &mut WindowState) -> Self {
        window.epoch.set_stage(Stage::Closing);
        window.shared.members.iter().for_each(|member| member.gate.close());
        // SYNC POINT P3
        fence(SeqCst);
        let shared = Arc::clone(&window.shared);
        let mut bare = Vec::new();
        for rank in window.epoch.access.group().iter().copied() {
            match shared.marked(rank) {
                _ if window.table.find(&state.pools.targets, rank).is_some() => {}
                // Everything on it is done, and start has seen its post.
                Some((_, member)) => {
                    member.control.dones().set(shared.own);
                    ring(state, &shared, member, Sleep::Wait);
                }
                None if rank == shared.group.me() && window.epoch.access.has_posted(rank) => {
                    window.target.exposure.on_seen_done(rank);
                    state.told = true;
                }
                None => bare.push(rank),
            }
        }
        for key in window.table.keys(&state.pools.targets) {
            let target = &mut state.pools.targets[key];
            target.push(false);
            target.closing = Closing::Wanted;
        }
        window.dirty |= !bare.is_empty() || window.table.len() > 0;
        window.rounds.access = (!bare.is_empty()).then_some(AccessRound::Done(bare));
        Self
    }

    /// Answers whether every target has been told and this origin's buffers are its own again.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` when a target is lost; the epoch is over then too.
    pub(crate) fn poll(&self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        for rank in window.epoch.access.missing().collect::<Vec<_>>() {
            if state.lost.contains_key(&window.shared.group.peer(rank)) {
                window.rounds.forget(rank);
            }
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
                && target.closing != Closing::Wanted
        });
        if window.rounds.access.is_some() || !is_over {
            return Ok(false);
        }
        for key in keys {
            free_target(state, window, key);
        }
        let error = lost_among(state, window, window.epoch.access.group().iter().copied(), "complete");
        window.epoch.access.close();
        window.epoch.on(Event::Complete);
        error.map_or(Ok(true), Err)
    }
}

fn lost_among(
    state: &State,
    window: &WindowState,
    mut ranks: impl Iterator<Item = Rank>,
    call: &'static str,
) -> Option<Error> {
    ranks.find_map(|rank| {
        let failure = state.lost.get(&window.shared.group.peer(rank))?;
        Some(error_of(rank, call, failure))
    })
}
