//! Fences in shared memory: each rank counts its arrivals in a word of its own (`control/meeting.rs`).

use super::expose::watch;
use crate::control::{Attendance, Sleep, attendance};
use crate::error::{Error, ErrorClass, Result};
use crate::ids::Rank;
use crate::state::{MappedTarget, State, WindowState};
use crate::target::locks;
use std::iter::once;
use std::sync::Arc;

/// Whether all ranks have come to a meeting in shared memory. While some have not, and this process may
/// sleep, it says so, and watches the rank behind it: each is watched by one, which reports its death.
pub(super) fn attends(
    state: &mut State,
    window: &mut WindowState,
    number: u64,
    is_watching: &mut bool,
) -> Result<bool> {
    let shared = Arc::clone(&window.shared);
    let size = shared.group.size();
    let may_sleep = !state.is_spinning;
    let mut left = None;
    if may_sleep {
        shared.own().control.set_asleep(Sleep::Fence);
        if !std::mem::replace(is_watching, true) {
            watch(state, window, once(shared.mapped[(shared.own + 1) % shared.mapped.len()].rank));
        }
        if !state.lost.is_empty()
            && let Some(dead) =
                (0..size).map(Rank).find(|rank| state.lost.contains_key(&shared.group.peer(*rank)))
        {
            shared.mapped[0].control.meeting().break_up(dead);
            wake_sleepers(state, window);
        }
        let never_comes =
            |mapped: &&MappedTarget| mapped.control.has_left() && !mapped.control.meeting().has_come(number);
        left = shared.mapped.iter().find(never_comes).map(|mapped| mapped.rank);
    }
    let outcome = match attendance(shared.mapped.iter().map(|mapped| mapped.control.meeting()), number) {
        Attendance::Waiting => match left {
            None => return Ok(false),
            Some(rank) => Err(state.left_error(&shared, rank, "fence")),
        },
        Attendance::Complete => Ok(true),
        Attendance::Broken(dead) => {
            let cause = format!("rank {dead} cannot be reached any more, and was not in the fence");
            Err(Error::new(ErrorClass::ProcFailed, "fence", cause))
        }
    };
    shared.own().control.set_awake(Sleep::Fence);
    outcome
}

/// Makes sleeping ranks look again; answers whether there are any.
pub(super) fn wake_sleepers(state: &mut State, window: &WindowState) -> bool {
    let shared = &window.shared;
    for mapped in shared.mapped.iter().filter(|mapped| mapped.control.is_asleep(Sleep::Fence)) {
        locks::wake_peer(&mut state.wake_ups, &mut state.counters, shared, shared.group.peer(mapped.rank));
    }
    state.needs_step |= !state.wake_ups.is_empty();
    !state.wake_ups.is_empty()
}
