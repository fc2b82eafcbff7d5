//! What a window's owner does for its lock when a process of its node has died: it counts anew ([`crate::control::ControlBlock::recount`]),
//! in steps that never wait, and its engine takes the places of the dead in the line.
//!
//! A process that cannot reach a living owner any more takes it for dead, and freezes its lock. The owner finds that out when it waits
//! for the lock, or is woken by another that does, and counts anew as well ([`reopen`]).
//!
//! Invariant: while a recount is under way the own lock word is frozen, and requests that arrive wait outside of the line, in the
//! order in which they came; they join it when the word thaws.

use super::locks::wake;
use crate::control::{Living, LockCell, Wake};
use crate::ids::Peer;
use crate::state::{Shared, State, WindowState};
use std::sync::Arc;
use std::time::Duration;

/// From one look at processes that are in the middle of a step to the next.
const PAUSE: Duration = Duration::from_millis(1);

/// Freezes what a dead process of this node may have left half done: the own lock, until a recount is over,
/// and the dead's own lock, for ever. Says whether it was of this node.
pub(super) fn begin(window: &mut WindowState, dead: Peer) -> bool {
    let shared = &window.shared;
    let Some(node_rank) = shared.group.rank(dead).and_then(|rank| shared.node_rank(rank)) else {
        return false;
    };
    node_rank.control.freeze();
    shared.own().control.freeze();
    window.target.is_recounting = true;
    true
}

/// Has the own lock counted anew where another process has frozen it: one that took this process for dead, while it lives.
pub(crate) fn reopen(window: &mut WindowState) {
    window.target.is_recounting |= window.shared.own().control.lock_state().is_frozen();
}

/// Goes on with a recount; answers whether it is over now.
pub(crate) fn advance(state: &mut State, window: &mut WindowState) -> bool {
    if !window.target.is_recounting {
        return false;
    }
    let shared = Arc::clone(&window.shared);
    let is_dead = |peer: Peer| state.lost.contains_key(&peer);
    let cells = living_cells(&shared, is_dead);
    let living = Living { cells: &cells, ranks: shared.cells.len(), owner: shared.holder, is_dead: &is_dead };
    let control = &shared.own().control;
    let Some(voids) = control.recount(&living, &window.target.of_engine()) else {
        // Perhaps another one has died, and this is not known yet.
        state.suspicion.on_woken();
        state.look_again_by(Some(state.host.now() + PAUSE));
        return false;
    };
    window.target.is_recounting = false;
    window.target.line.thaw(shared.id, voids, |ticket| control.join_again(ticket));
    wake(&mut state.wake_ups, &mut state.counters, &shared, Some(Wake::Everyone));
    true
}

fn living_cells(shared: &Shared, is_dead: impl Fn(Peer) -> bool) -> Vec<LockCell> {
    let living = shared.cells.iter().filter(|(rank, _)| !is_dead(shared.group.peer(*rank)));
    living.map(|(_, cell)| *cell).collect()
}
