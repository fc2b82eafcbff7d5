//! What a test gets: the fixture, its deadline, and the worlds that it makes.

use super::fixture::Fixture;
use super::world::World;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The tools of one test.
pub struct Bench {
    pub(super) fixture: Box<dyn Fixture>,
    pub(super) deadline: Instant,
    note: Activity,
}

/// What the test is doing, readable from outside when it hangs inside a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Mutex<String>>);

impl Activity {
    pub(super) fn set(&self, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    pub(super) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Bench {
    pub(super) fn new(fixture: Box<dyn Fixture>, note: Activity) -> Self {
        let deadline = Instant::now() + fixture.time_limit();
        Self { fixture, deadline, note }
    }

    /// A new job of `count` ranks.
    pub(super) fn world(&mut self, count: u32) -> World<'_> {
        self.note(format!("making {count} channels"));
        let channels = self.fixture.channels(count);
        assert_eq!(channels.len(), count as usize, "the fixture makes as many channels as asked for");
        World::new(self, channels)
    }

    /// Notes what the test does now.
    pub(super) fn note(&self, what: String) {
        self.note.set(what);
    }

    /// Says that a test does not apply, and why.
    #[allow(clippy::print_stderr)] // this is what a test's output is for
    pub(super) fn skip(&self, why: &str) {
        eprintln!("skipped: {why}");
    }
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench").field("doing", &self.note.get()).finish_non_exhaustive()
    }
}
