//! What a wait that lasts reports of itself: to the host when its time has come, and to inquiries.
//!
//! ```text
//!    an inquiry                               a wait
//!    the number of inquiries + 1              looks before it sleeps: a number that it has not answered?
//!    wakes all sleepers                       says what it waits for, with the engine locked
//!    waits until all long waits have said     sleeps on
//! ```
//!
//! Invariants: a wait counts as long from its first look on, which comes when it has spun in vain, to its
//! end; it costs nothing before that. Each long wait has a number that no other one of the process has, so
//! two inquiries show whether it is the same wait still. One inquiry at a time.

use super::step::Core;
use super::wait::Wait;
use crate::host::{Awaited, LongWait};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What long waits and inquiries share.
#[derive(Debug, Default)]
pub(crate) struct Inquiries {
    asked: AtomicU64,
    since: AtomicU64,
    waiting: AtomicU32,
    turn: Mutex<()>,
    answers: Mutex<Vec<LastingWait>>,
    has_answered: Condvar,
}

/// A wait that has spun in vain, as it was at an inquiry.
#[derive(Clone, Debug)]
pub struct LastingWait {
    /// Its number among those of the process.
    pub number: u64,
    /// The call that waits.
    pub call: &'static str,
    /// For how long so far.
    pub waited: Duration,
    /// What for.
    pub awaited: Awaited,
}

/// When a wait reports: after the limit, then each time that it has lasted twice as long.
pub(super) struct Reports<'a> {
    inquiries: &'a Inquiries,
    /// Zero is never.
    after: Duration,
    /// When it was found to last, and its number.
    since: Option<(Duration, u64)>,
    /// The last inquiry that it has answered, or that came before it.
    answered: u64,
}

impl Inquiries {
    /// Asks all long waits, and answers what they have said by the time `limit`, and whether that is all of
    /// them. `wake` makes sleeping threads look again.
    pub(crate) fn ask(&self, limit: Duration, wake: impl FnOnce()) -> (Vec<LastingWait>, bool) {
        let _turn = self.turn.lock();
        let deadline = Instant::now() + limit;
        let mut answers = self.answers.lock();
        answers.clear();
        // A wait that sees this number finds the answers empty.
        self.asked.fetch_add(1, SeqCst);
        drop(answers);
        wake();
        let mut answers = self.answers.lock();
        let is_missing = |answers: &Vec<LastingWait>| answers.len() < self.waiting.load(SeqCst) as usize;
        while is_missing(&answers) && !self.has_answered.wait_until(&mut answers, deadline).timed_out() {}
        let is_complete = !is_missing(&answers);
        (std::mem::take(&mut *answers), is_complete)
    }
}

impl<'a> Reports<'a> {
    pub(super) fn new(inquiries: &'a Inquiries, after: Duration) -> Self {
        Self { inquiries, after, since: None, answered: 0 }
    }

    /// Answers an inquiry, reports if it is time to, and says how long it is until the next report. The wait
    /// counts from the first look, which comes when it spins in vain.
    pub(super) fn look(
        &mut self,
        wait: &Wait<'_>,
        core: &Core,
        now: Duration,
        describe: &dyn Fn(&Core) -> Awaited,
    ) -> Option<Duration> {
        let (since, number) = match self.since {
            Some(since) => since,
            None => self.begin(now),
        };
        let waited = now.saturating_sub(since);
        let asked = self.inquiries.asked.load(Relaxed);
        if asked != self.answered {
            self.answered = asked;
            let awaited = describe(core);
            self.inquiries.answers.lock().push(LastingWait { number, call: wait.call, waited, awaited });
            self.inquiries.has_answered.notify_one();
        }
        if self.after.is_zero() {
            return None;
        }
        if waited >= self.after {
            let waits_for = describe(core).text;
            // The host says it aloud.
            tracing::info!(call = wait.call, waits_for, ?waited, "still waiting");
            wait.host.report(&LongWait { call: wait.call, waited, waits_for: &waits_for });
            while waited >= self.after {
                self.after *= 2;
            }
        }
        Some(self.after - waited)
    }

    #[cold]
    fn begin(&mut self, now: Duration) -> (Duration, u64) {
        let number = self.inquiries.since.fetch_add(1, Relaxed);
        self.inquiries.waiting.fetch_add(1, SeqCst);
        self.answered = self.inquiries.asked.load(SeqCst);
        *self.since.insert((now, number))
    }
}

impl Drop for Reports<'_> {
    fn drop(&mut self) {
        if self.since.is_some() {
            self.inquiries.waiting.fetch_sub(1, SeqCst);
        }
    }
}
