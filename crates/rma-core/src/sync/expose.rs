//! Post, wait and test: the target's side of general active target synchronization (MPI 3.1 §11.5.2). The order of memory
//! accesses is drawn in [`super::start`].

use crate::control::Sleep;
use crate::epoch::Call;
use crate::error::{Error, Result};
use crate::ids::Rank;
use crate::state::{MappedTarget, Shared, State, WindowState};
use crate::target::locks;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};

/// Opens an exposure epoch to `group`, whose legality has been checked. The posts leave with the next steps
/// of the engine; with no-check there are none, since no origin waits for them.
///
/// # Errors
/// `MPI_ERR_RMA_SYNC` when another thread has called post; `MPI_ERR_INTERN` when the own rank would be noted
/// twice, which the table of legal calls rules out.
pub(crate) fn expose(
    state: &mut State,
    window: &mut WindowState,
    group: &[Rank],
    no_check: bool,
) -> Result<()> {
    // SYNC POINT P1
    fence(SeqCst);
    if !window.open_exposure(group) {
        return window.check(&state.pools, Call::Post, "post");
    }
    if no_check {
        return Ok(());
    }
    let me = window.shared.group.me();
    let shared = Arc::clone(&window.shared);
    for (_, mapped) in group.iter().filter_map(|rank| shared.marked(*rank)) {
        mapped.control.posts().set(shared.own);
        wake_if_asleep(state, &shared, mapped, Sleep::Start);
    }
    let needs_packet = |rank: &Rank| *rank != me && shared.marked(*rank).is_none();
    window.rounds.posts.clear();
    window.rounds.posts.extend(group.iter().copied().filter(needs_packet));
    window.needs_issue |= !window.rounds.posts.is_empty();
    if group.contains(&me) {
        let own = window.epoch.access.on_post(me);
        own.map_err(|cause| Error::new(crate::error::ErrorClass::Intern, "post", cause))?;
        window.on_posted(&state.pools, &state.config);
        state.must_notify = true;
    }
    Ok(())
}

/// Makes a rank look again, if it sleeps in a call that waits for the word just written.
pub(super) fn wake_if_asleep(state: &mut State, shared: &Shared, mapped: &MappedTarget, call: Sleep) {
    if mapped.control.is_asleep(call) {
        locks::wake_peer(&mut state.wake_ups, &mut state.counters, shared, shared.group.peer(mapped.rank));
        state.needs_step = true;
    }
}

/// Makes contact with ranks of which something is waited for in shared memory, so that their death is noticed.
pub(crate) fn watch(state: &mut State, window: &mut WindowState, ranks: impl Iterator<Item = Rank>) {
    let me = window.shared.group.me();
    window.rounds.meet.extend(ranks.filter(|rank| *rank != me));
    (window.needs_issue, state.needs_step) = (true, true);
}

#[derive(Debug)]
pub(crate) struct WaitSync {
    /// Contact with the origins has been made, so that their death is noticed.
    is_watching: bool,
}

impl WaitSync {
    pub(crate) fn begin(window: &mut WindowState) -> Self {
        window.look_at_origins();
        Self { is_watching: false }
    }

    /// Whether nothing has come for which a wait call that does not sleep waits.
    #[inline]
    pub(super) fn waits(state: &State, window: &WindowState) -> bool {
        let Shared { active, .. } = &*window.shared;
        let dones = window.shared.own().control.dones();
        let has_notified =
            |rank| window.shared.marked(rank).is_some_and(|(place, _)| dones.is_set(place, &active.dones));
        let undone = &window.target.undone;
        state.is_spinning && undone.is_any_left() && !undone.iter().any(has_notified)
    }

    /// Answers whether every origin is done, and ends the epoch then.
    ///
    /// # Errors
    /// `MPIX_ERR_PROC_FAILED` when those that are not done are lost, `MPI_ERR_PROC_ABORTED` when they have ended their part; the epoch is
    /// over then too.
    pub(crate) fn poll(&mut self, state: &mut State, window: &mut WindowState) -> Result<bool> {
        let shared = Arc::clone(&window.shared);
        let own = &shared.own().control;
        if !state.is_spinning {
            own.set_asleep(Sleep::Wait);
        }
        let marked = window.target.undone.iter().filter_map(|rank| Some((rank, shared.marked(rank)?.0)));
        let mut missing = SmallVec::<[Rank; 8]>::new();
        let has_left = |rank: &Rank| state.has_left(&shared, *rank);
        let left = window.target.undone.iter().filter(has_left).collect::<SmallVec<[Rank; 8]>>();
        for (rank, place) in marked.collect::<SmallVec<[_; 8]>>() {
            if own.dones().take(place, &shared.active.dones) {
                window.target.undone.remove(rank);
            } else {
                missing.push(rank);
            }
        }
        if !state.is_spinning && !std::mem::replace(&mut self.is_watching, true) && !missing.is_empty() {
            watch(state, window, missing.into_iter());
        }
        let mut absent = None;
        for rank in window.target.undone.iter() {
            let lost = state.lost_error(&shared, rank, "wait");
            if lost.is_none() && !left.contains(&rank) {
                return Ok(false);
            }
            absent = Some((rank, lost));
        }
        own.set_awake(Sleep::Wait);
        // What has not left by now was for the lost.
        window.rounds.posts.clear();
        window.close_exposure();
        // SYNC POINT P4
        fence(SeqCst);
        absent.map_or(Ok(true), |(rank, lost)| {
            Err(lost.unwrap_or_else(|| state.left_error(&shared, rank, "wait")))
        })
    }
}
