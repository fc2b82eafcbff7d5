//! What is left of synchronization calls that were given up: the engine goes on with them.

use super::{State, WindowState};
use crate::channel::Channel;
use crate::control::Ticket;
use crate::error::Result;
use crate::host::Host;
use crate::ids::Rank;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// A call that was given up and goes on: a step of one of the protocols, of which the state knows no more.
pub(crate) trait GivenUp: fmt::Debug + Send {
    /// Advances; answers whether the call is over.
    ///
    /// # Errors
    /// Those of the call.
    fn advance(
        &mut self,
        channel: &mut dyn Channel,
        state: &mut State,
        window: &mut WindowState,
        host: &dyn Host,
    ) -> Result<bool>;

    /// Ends the call where it stands: the window was revoked.
    fn end(self: Box<Self>, state: &mut State, window: &mut WindowState);

    /// Whether no other call may begin before this one is over.
    fn excludes_others(&self) -> bool;
}

/// What the engine does in the place of calls that were given up.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    /// Places in the lines of ranks of the node.
    pub(crate) tickets: Vec<(Rank, Ticket)>,
    /// Calls that go on.
    pub(crate) steps: Vec<Box<dyn GivenUp>>,
}

impl WindowState {
    /// The engine goes on with this call.
    pub(crate) fn go_on_with(&mut self, step: impl GivenUp + 'static) {
        self.dropped.steps.push(Box::new(step));
        self.shared.has_dropped.store(true, Relaxed);
    }
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

    /// The calls that go on, which no future drives any more.
    pub(crate) fn take_steps(&mut self) -> Vec<Box<dyn GivenUp>> {
        std::mem::take(&mut self.steps)
    }

    /// Takes over a place in the line of a rank of the node, unless it is none.
    pub(crate) fn keep_place(&mut self, rank: Rank, ticket: Ticket) {
        if !ticket.is_beside() && !ticket.is_outside() {
            self.tickets.push((rank, ticket));
        }
    }
}
