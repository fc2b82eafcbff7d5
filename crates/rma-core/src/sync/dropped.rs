//! Goes on with synchronization calls that were given up (`window/dropped.rs` says which).

use crate::channel::Channel;
use crate::control::Ticket;
use crate::error::{Error, ErrorClass, Result};
use crate::host::Host;
use crate::ids::Rank;
use crate::state::{Dropped, Shared, State, WindowState};
use crate::target::locks;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Drives what was given up; answers whether anything moved.
pub(crate) fn advance(
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    host: &dyn Host,
) -> bool {
    if window.dropped.is_empty() {
        return false;
    }
    let shared = Arc::clone(&window.shared);
    let Dropped { tickets, mut steps } = std::mem::take(&mut window.dropped);
    let before = tickets.len() + steps.len();
    let tickets = tickets.into_iter().filter_map(|(rank, ticket)| {
        let waits = pass_on(state, &shared, rank, ticket);
        waits.map(|ticket| (rank, ticket))
    });
    let tickets = tickets.collect();
    steps.retain_mut(|step| match step.advance(channel, state, window, host) {
        Ok(is_over) => !is_over,
        Err(error) => {
            window.note_error(error);
            false
        }
    });
    let now = Dropped { tickets, steps };
    let moved = now.tickets.len() + now.steps.len() != before;
    shared.has_dropped.store(now.has_steps(), Relaxed);
    window.dropped = now;
    // Blocking calls wait for the end of the last step.
    state.must_notify |= moved;
    moved
}

/// Tries a ticket, and gives the lock back when its turn has come; the ticket, when it has to wait on.
fn pass_on(state: &mut State, shared: &Shared, rank: Rank, ticket: Ticket) -> Option<Ticket> {
    let node_rank = shared.node_rank(rank)?;
    if state.lost.contains_key(&shared.group.peer(rank)) {
        node_rank.give_up();
        return None;
    }
    let (kind, holder) = (ticket.kind(), ticket.holder());
    match node_rank.try_turn(ticket) {
        Err(ticket) => Some(ticket),
        Ok(grant) => {
            locks::wake(&mut state.wake_ups, &mut state.counters, shared, grant.wake);
            let next = node_rank.release(kind, holder).ok().flatten();
            locks::wake(&mut state.wake_ups, &mut state.counters, shared, next);
            None
        }
    }
}

impl WindowState {
    /// Whether a call may begin: no fence goes on that was given up.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub(crate) fn check_dropped(&self, name: &'static str) -> Result<()> {
        if !self.dropped.steps.iter().any(|step| step.excludes_others()) {
            return Ok(());
        }
        let cause = "a fence of the window that was begun and dropped is not over yet";
        Err(Error::new(ErrorClass::RmaSync, name, cause))
    }
}
