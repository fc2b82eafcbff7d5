//! What an implementation states to the suite: how to make channels, how to kill one, and what it cannot do.

use crate::channel::Channel;
use crate::ids::Peer;
use crate::poller::{Poller, Registrar};
use std::fmt;
use std::io;
use std::time::Duration;

/// An implementation under test, in one configuration. Tests are skipped by what a fixture answers here, never by name.
pub trait Fixture {
    /// Makes the channels of a new job of the peers `0 .. count`, in that order, none of them connected yet. They live in
    /// this process and may be moved to threads. Called again for every job that a test needs.
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>>;

    /// Kills a peer of the newest job: what its process would leave behind when it dies without a word. An implementation
    /// that takes the drop of a channel for a death needs nothing else.
    fn kill(&mut self, peer: Peer, channel: Box<dyn Channel>) {
        let _ = peer;
        drop(channel);
    }

    /// Whether [`Fixture::kill`] works.
    fn can_kill(&self) -> bool {
        true
    }

    /// Whether a peer notices that another is dead which it contacts for the first time.
    fn notices_death_before_contact(&self) -> bool {
        true
    }

    /// Whether the channels wake a sleeper, which a channel in virtual time has no use for.
    fn can_sleep(&self) -> bool {
        true
    }

    /// Called when no channel had anything to do: lets a moment pass. It is called hundreds of times in a row, so it keeps the
    /// processor: on a busy machine others would have it for milliseconds each time.
    fn idle(&mut self) {
        for _ in 0..100 {
            std::hint::spin_loop();
        }
    }

    /// Largest bulk body to try, in bytes.
    fn largest_body(&self) -> usize {
        (4 << 20) + 3
    }

    /// Most bytes that one lane takes while the receiver does not poll. The suite sends that many before it says that the
    /// lane never fills up.
    fn most_unread_bytes(&self) -> usize {
        64 << 20
    }

    /// After this time a test fails and says which rank waited for what.
    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// A poller for a channel crate's own tests: what the engine sleeps in.
pub struct Sleeper(pub(super) Poller);

impl Sleeper {
    /// A poller, and what channels register with.
    #[allow(clippy::new_ret_no_self)] // the two belong together
    pub fn new() -> (Self, Registrar) {
        let (poller, registrar) = Poller::new();
        (Self(poller), registrar)
    }

    /// Sleeps until something registered wakes it, or the time is over.
    ///
    /// # Errors
    /// When the system refuses to wait.
    pub fn sleep(&mut self, limit: Duration) -> io::Result<()> {
        self.0.sleep(Some(limit))
    }
}

impl fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleeper")
    }
}
