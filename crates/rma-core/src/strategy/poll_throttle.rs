//! When calls that need no packet drive the engine: one in so many, fewer the longer there is nothing to do.
//!
//! Counted by the calling threads, without a lock: counts that they lose do not matter. Knows neither clock
//! nor channel; the engine decides what a poll is.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// When calls that need no packet poll next.
#[derive(Default)]
pub(crate) struct PollThrottle {
    /// Calls until then.
    left: AtomicU32,
    /// Calls between the last two polls.
    interval: AtomicU32,
    /// Polls in a row that have moved nothing.
    idle: AtomicU32,
    /// Short calls since the last of them that polled.
    short: AtomicU32,
}

/// Where ranks outnumber cores, the polls in a row that move nothing before a yield: a program that tests in
/// a loop keeps the awaited process from running, and one that tests between pieces of work is not delayed by
/// every test.
const IDLE_POLLS_PER_YIELD: u32 = 8;

/// Calls between the end of a wait, which has served the peers, and the next poll. They take less than a
/// microsecond, and are more than an epoch of one operation has, which would pay for the look and, after a
/// time away, for calling the agent back.
const CALLS_BEHIND_A_WAIT: u32 = 8;

impl PollThrottle {
    /// Notes a poll; answers whether it is time to yield.
    pub(crate) fn on_poll(&self, moved: bool) -> bool {
        // Threads that poll at once may count one poll less.
        let idle = if moved { 0 } else { self.idle.load(Relaxed) + 1 };
        self.idle.store(idle % IDLE_POLLS_PER_YIELD, Relaxed);
        idle == IDLE_POLLS_PER_YIELD
    }

    /// Whether a call that needs no packet may go by without a poll; it is counted then.
    #[inline(always)]
    pub(crate) fn pass(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        }
        left > 0
    }

    /// Says when the next poll is, behind one that has moved something or not, with so many calls between two at the most.
    pub(crate) fn put_off(&self, moved: bool, most: u32) {
        let next = if moved { 1 } else { self.interval.load(Relaxed).saturating_mul(2).clamp(1, most) };
        self.interval.store(next, Relaxed);
        self.left.store(next - 1, Relaxed);
    }

    /// A wait is over, with so many calls between two polls at the most: the next one is not due at once.
    pub(crate) fn on_waited(&self, most: u64) {
        let due = u64::from(CALLS_BEHIND_A_WAIT).min(most).saturating_sub(1) as u32;
        if self.left.load(Relaxed) < due {
            self.left.store(due, Relaxed);
        }
    }

    /// Counts a call that sends or receives without waiting; answers which it is of a row of so many.
    pub(crate) fn on_short_call(&self, row: u32) -> u32 {
        let short = self.short.load(Relaxed) + 1;
        self.short.store(short % row, Relaxed);
        short
    }

    /// Puts the next poll off by a call, up to the longest time between two.
    pub(crate) fn spare(&self, most: u64) {
        let more = u64::from(self.left.load(Relaxed)) + 1;
        self.left.store(u32::try_from(more.min(most)).unwrap_or(u32::MAX), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_polls_in_vain_yields() {
        let throttle = PollThrottle::default();
        let yields = |polls: u32, moved| (0..polls).filter(|_| throttle.on_poll(moved)).count();
        assert_eq!(yields(3 * IDLE_POLLS_PER_YIELD, false), 3);
        assert_eq!(yields(IDLE_POLLS_PER_YIELD - 1, false), 0);
        assert_eq!(yields(100, true), 0, "a poll that moves something does not yield");
        assert_eq!(yields(IDLE_POLLS_PER_YIELD - 1, false), 0, "and it is counted from there");
        assert_eq!(yields(1, false), 1);
    }

    #[test]
    fn the_longer_nothing_moves_the_more_calls_go_by() {
        let throttle = PollThrottle::default();
        let passed = |moved| {
            throttle.put_off(moved, 4);
            std::iter::from_fn(|| throttle.pass().then_some(())).count()
        };
        assert_eq!([passed(false), passed(false), passed(false), passed(false)], [0, 1, 3, 3]);
        assert_eq!([passed(true), passed(false)], [0, 1]);
    }

    #[test]
    fn behind_a_wait_some_calls_go_by_and_no_fewer_than_would_have() {
        let throttle = PollThrottle::default();
        let passed = |most| {
            throttle.on_waited(most);
            std::iter::from_fn(|| throttle.pass().then_some(())).count()
        };
        assert_eq!([passed(32), passed(8), passed(4), passed(1)], [7, 7, 3, 0]);
        (0..5).for_each(|_| throttle.put_off(false, 32));
        assert_eq!(passed(32), 15);
    }

    #[test]
    fn polls_are_put_off_by_a_call_each_and_not_for_ever() {
        let throttle = PollThrottle::default();
        let left = |spared: u32| {
            (0..spared).for_each(|_| throttle.spare(3));
            throttle.left.load(Relaxed)
        };
        assert_eq!([left(1), left(1), left(1), left(100)], [1, 2, 3, 3]);
    }
}
