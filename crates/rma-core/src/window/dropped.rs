//! What becomes of a synchronization call that was begun and is given up: a [`Sync`] that is dropped before it is over.
//!
//! The lock word, the line and the other ranks know nothing of Rust's values, so what the call has done is seen to here:
//!
//! * A call that opens an epoch is undone. A lock that was not held yet leaves the window as if it had not been called for;
//!   lock_all gives back what it held; start keeps the posts that it has seen for the next one. A place in line cannot be
//!   left, or the line would stop there: the engine waits in it, and gives the lock back in the moment in which it comes.
//! * A call that ends an epoch, and a fence, which others are in, goes on: the engine drives it, and what goes wrong is
//!   raised by a later call, as with errors that arrive. Blocking calls on the window first wait until it is over. A call that
//!   is begun is legal or not as beside any call under way; behind a fence none is, since fences have no other order.
//! * A flush and a wait have changed nothing.
//!
//! An epoch of a fence that the call has replaced stays replaced. One whose `Sync` is forgotten instead of dropped, or kept and
//! not polled, is a call that has not returned: it keeps its place.

use super::calls::{Window, gone};
use super::parting;
use super::shared::Shared;
use super::state::WindowState;
use crate::control::Ticket;
use crate::engine::WeakEngine;
use crate::epoch::{Call, StartSync, Sync, SyncStep};
use crate::error::{Error, ErrorClass, Result};
use crate::fork;
use crate::host::Host;
use crate::ids::{Rank, WindowId};
use crate::progress::State;
use crate::target::locks;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What the engine does in the place of calls that were given up.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    /// Places in the lines of ranks of the node.
    tickets: Vec<(Rank, Ticket)>,
    /// Calls that go on.
    steps: Vec<SyncStep>,
}

/// What a begun call needs to be given up.
#[derive(Debug)]
pub(crate) struct Guard {
    engine: WeakEngine,
    id: WindowId,
}

impl Dropped {
    pub(crate) fn is_empty(&self) -> bool {
        self.tickets.is_empty() && self.steps.is_empty()
    }

    /// Whether a call goes on that later calls have to come behind.
    pub(crate) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether the engine has a place in the line of a rank of the node. The process has no other one meanwhile.
    pub(crate) fn has_place(&self, rank: Rank) -> bool {
        self.tickets.iter().any(|(of, _)| *of == rank)
    }

    /// The calls that go on, which nobody drives from here on.
    pub(super) fn take_steps(&mut self) -> Vec<SyncStep> {
        std::mem::take(&mut self.steps)
    }

    /// Takes over a place in the line of a rank of the node, unless it is none.
    pub(crate) fn keep_place(&mut self, rank: Rank, ticket: Ticket) {
        if !ticket.is_beside() && !ticket.is_outside() {
            self.tickets.push((rank, ticket));
        }
    }
}

impl Sync {
    /// Gives the call up when the value is dropped before it is over.
    pub(super) fn guarded(mut self, window: &Window) -> Self {
        if !self.is_over() {
            self.2 = Some(Guard { engine: window.engine().downgrade(), id: window.id() });
        }
        self
    }
}

impl Drop for Sync {
    fn drop(&mut self) {
        // What a forked child drops goes on in its parent.
        if let Some(guard) = self.2.take()
            && !self.is_over()
            && !fork::is_child()
        {
            guard.give_up(std::mem::replace(&mut self.0, SyncStep::Done), self.1);
        }
    }
}

impl Guard {
    fn give_up(self, step: SyncStep, call: Call) {
        let Some(engine) = self.engine.upgrade() else { return };
        engine.with(|core| {
            let Some(mut window) = core.state.take_window(self.id) else { return };
            window.shared.latch.close();
            window.absorb();
            match step {
                SyncStep::Done
                | SyncStep::Held
                | SyncStep::Flush(_)
                | SyncStep::FlushAll(_)
                | SyncStep::Promised(_)
                | SyncStep::Wait(_) => {}
                step if window.is_revoked() => parting::give_up(step, &mut core.state, &mut window),
                SyncStep::Lock(lock) => lock.give_up(&mut window),
                SyncStep::LockAll(mut lock) => lock.give_up(&mut core.state, &mut window),
                SyncStep::Start(_) => StartSync::give_up(&mut window),
                SyncStep::Fence(_) | SyncStep::Unlock(_) | SyncStep::UnlockAll(_) | SyncStep::Complete(_) => {
                    window.dropped.steps.push(step);
                    window.shared.has_dropped.store(true, Relaxed);
                }
            }
            // Other threads may have waited for the window's state, and the step that follows for what was begun.
            (core.state.told, core.state.begun) = (true, true);
            engine.sight().look_at_epochs(&window, call);
            core.state.windows.put_back(window);
        });
        // Who waits for a lock that was given back hears of it now.
        engine.poll();
    }
}

/// Drives what was given up; answers whether anything moved.
pub(crate) fn advance(state: &mut State, window: &mut WindowState, host: &dyn Host) -> bool {
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
    steps.retain_mut(|step| match step.poll(state, window, host) {
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
    state.told |= moved;
    moved
}

/// Tries a ticket, and gives the lock back when its turn has come; the ticket, when it has to wait on.
fn pass_on(state: &mut State, shared: &Shared, rank: Rank, ticket: Ticket) -> Option<Ticket> {
    let near = shared.near(rank)?;
    if state.lost.contains_key(&shared.group.peer(rank)) {
        near.give_up();
        return None;
    }
    let (kind, holder) = (ticket.kind(), ticket.holder());
    match near.try_turn(ticket) {
        Err(ticket) => Some(ticket),
        Ok(grant) => {
            locks::wake(&mut state.nudges, &mut state.counters, shared, grant.wake);
            let next = near.release(kind, holder).ok().flatten();
            locks::wake(&mut state.nudges, &mut state.counters, shared, next);
            None
        }
    }
}

impl Window {
    /// Waits until no call goes on that was given up: blocking calls come behind it.
    ///
    /// # Errors
    /// When the window is gone.
    #[inline]
    pub(super) fn settle_dropped(&self, name: &'static str) -> Result<()> {
        if self.shared().has_dropped.load(Relaxed) { self.wait_for_dropped(name) } else { Ok(()) }
    }

    #[cold]
    fn wait_for_dropped(&self, name: &'static str) -> Result<()> {
        let (id, sight) = (self.id(), self.engine().sight());
        let describe = |_: &State| {
            format!("the end of a call that was begun and dropped ({})", sight.describe_window(id)).into()
        };
        self.engine().wait(name, &describe, &mut |core| match core.state.windows.get(id) {
            None => Err(gone(name)),
            Some(window) => Ok((!window.dropped.has_steps()).then_some(())),
        })
    }
}

impl WindowState {
    /// Whether a call may begin: no fence goes on that was given up.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`.
    pub(super) fn check_dropped(&self, name: &'static str) -> Result<()> {
        if !self.dropped.steps.iter().any(|step| matches!(step, SyncStep::Fence(_))) {
            return Ok(());
        }
        let cause = "a fence of the window that was begun and dropped is not over yet";
        Err(Error::new(ErrorClass::RmaSync, name, cause))
    }
}
