//! How every wait waits: what it does next is the answer of a pure state machine, and one place does it.
//!
//! A wait reports what it sees, and the answer is to look again, to spin, to yield or to sleep. [`Counted`]
//! answers by the number of looks alone: for waits of a few microseconds that read no clock, and waits for a
//! word that another process holds for a moment. [`Paced`] answers by the time, for the waits that drive the
//! engine (`progress/wait.rs`); what these have learned of the machine is [`YieldHistory`], [`Sharing`] and
//! [`AdaptiveSpin`]. [`PollThrottle`] says when calls that need no packet poll. What lets the processor or the core go is
//! [`rest`]; a thread sleeps in the poller ([`crate::poller`]), or short sleeps where nothing can wake it
//! (`control/pause.rs`).

mod adaptive_spin;
mod counted;
mod paced;
mod poll_throttle;
mod rest;
mod sharing;
mod yield_history;

pub(crate) use adaptive_spin::AdaptiveSpin;
pub(crate) use counted::Counted;
pub(crate) use paced::{Observed, Paced, begins_with_yield};
pub(crate) use poll_throttle::PollThrottle;
pub(crate) use rest::rest;
pub(crate) use sharing::Sharing;
pub(crate) use yield_history::{YieldHistory, Yielded};

/// What a wait does before it looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Look,
    /// Lets the processor rest for a moment.
    Spin,
    /// Gives the core to another thread that can run.
    Yield,
    /// It sleeps, or gives up if it is one that does not.
    Sleep,
}
