//! When a request that may pass the line does: it stands beside the line first, for as long as the head has waited.
//!
//! A request of a process that holds another lock of the window must not wait for those in line without end, since they may
//! wait for what it holds (lessons, decision 2). If it passed them at once, processes that come again and again would keep the
//! head waiting for ever. So it *stands beside the line*, without a ticket, and may enter
//!
//! * when all requests that stood in line before it have been served: then it has waited as long as if it had
//!   stood among them; or
//! * by *patience*: it may pass the head that it has been waiting for, while no process owns the lock, for as
//!   long as the head had waited when it came, and for [`PATIENCE`] at least.
//!
//! # Why it is right
//! *No deadlock.* How long a request stands beside a head is fixed when it meets that head, and a request
//! meets no more heads than stood in line before it. So none waits without end for others in line: all that
//! wait for each other in a circle pass, each after the age that its head had when it came. Owners, which it
//! does wait for, are the program's own order.
//!
//! *Bounded passing.* A head that is `x` old when a request comes is `2x` old when that request passes it. So
//! a process that comes again and again passes a head that waits for `t` at most log2(t / 1 ms) + 2 times.
//! Let there be `n` others, of which none holds the lock for longer than `d` at a time. Once the head is
//! older than `n · d`, each of them is beside the line, or away, for longer than `n` times as long as it
//! holds. So they cannot hold the lock by turns without a gap, and in a gap the head enters: after a small
//! multiple of the `n` epochs that it would wait for if all stood in line. `tests/lock_fair.rs` has the bound
//! as a number.
//!
//! The age of the head is one word in the control block: the head's number, and when a request beside the
//! line first met it without an owner in front of it. Another number means that no request has met this head
//! yet. Time is the node's ([`crate::host::Host::now`]), and read only where a request stands in line.
//! Whatever a hostile word says, a request waits beside a head no longer than [`LONGEST`].

use super::shim::AtomicU64;
use super::shim::Ordering::{AcqRel, Acquire};
use std::time::Duration;

/// The least time beside a head before it is passed: longer than a lock is given back in, and than it takes to wake the head.
pub(super) const PATIENCE: Duration = Duration::from_millis(1);
/// The longest: a head that has waited for longer waits for something else than the lock.
const LONGEST: Duration = Duration::from_secs(60);

/// The word: the number of the head plus one above, when it was met below, in units of 2^4 µs.
const TIME_BITS: u32 = 36;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const UNIT_BITS: u32 = 4;

/// A request beside the line.
#[derive(Debug)]
pub(super) struct Beside {
    /// The first ticket that was taken after it came.
    behind: u64,
    /// When it came; the beginning of time if it has not said.
    came: Duration,
    /// When it may pass the head of that number.
    due: Option<(u64, Duration)>,
}

impl Beside {
    pub(super) fn new(behind: u64) -> Self {
        Self { behind, came: Duration::ZERO, due: None }
    }

    /// Whether all requests that stood in line when it came have been served.
    pub(super) fn is_served(&self, head: u64) -> bool {
        head.wrapping_sub(self.behind) as i64 >= 0
    }

    /// Says when it came.
    pub(super) fn set_came(&mut self, now: Duration) {
        self.came = now;
    }

    /// The lock is owned: the owner's release wakes.
    pub(super) fn on_owned(&mut self) {
        self.due = None;
    }

    /// Whether it may pass the head, which waits for sharers of the lock. `since` is the word of the control
    /// block.
    pub(super) fn may_pass(&mut self, head: u64, since: &AtomicU64, now: Duration) -> bool {
        let due = match self.due {
            Some((met, due)) if met == head => due,
            _ => {
                let age = age_of(head, since, now);
                let began = now.saturating_sub(age);
                let before = self.came.saturating_sub(began).clamp(PATIENCE, LONGEST);
                let due = self.came.max(began) + before;
                self.due = Some((head, due));
                due
            }
        };
        now >= due
    }

    /// When it has to be tried again without a wake-up.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due.map(|(_, due)| due)
    }
}

/// For how long requests beside the line have met this head without an owner; notes that one does.
fn age_of(head: u64, since: &AtomicU64, now: Duration) -> Duration {
    let units = (now.as_micros() as u64) >> UNIT_BITS & TIME_MASK;
    let is_of = |word: u64| word >> TIME_BITS == head.wrapping_add(1) & (u64::MAX >> TIME_BITS);
    let mut word = since.load(Acquire);
    while !is_of(word) {
        let met = head.wrapping_add(1) << TIME_BITS | units;
        match since.compare_exchange(word, met, AcqRel, Acquire) {
            Ok(_) => return Duration::ZERO,
            Err(found) => word = found,
        }
    }
    let age = units.wrapping_sub(word) & TIME_MASK;
    // The first half of the circle is the future: processes look at the clock before they look at the word.
    if age > TIME_MASK / 2 { Duration::ZERO } else { Duration::from_micros(age << UNIT_BITS) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// When a request passes that comes at `came` and looks each 100 µs.
    fn passes(came: Duration, head: u64, since: &AtomicU64) -> Duration {
        let mut beside = Beside::new(head + 1);
        beside.set_came(came);
        let mut now = came;
        while !beside.may_pass(head, since, now) {
            now += Duration::from_micros(100);
        }
        now
    }

    #[test]
    fn a_head_is_twice_as_old_when_it_is_passed_as_when_the_request_came() {
        let since = AtomicU64::new(0);
        assert_eq!(passes(ms(1000), 7, &since), ms(1001), "the first that meets it waits for the least time");
        for (came, passed) in [(1001, 1002), (1004, 1008), (1100, 1200)] {
            let at = passes(ms(came), 7, &since);
            assert!(at <= ms(passed) && at + Duration::from_micros(200) > ms(passed), "{came}: {at:?}");
        }
        assert_eq!(passes(ms(1200), 8, &since), ms(1201), "another head is young");
    }

    #[test]
    fn one_that_was_there_first_waits_for_the_least_time_at_each_head() {
        let since = AtomicU64::new(0);
        let mut beside = Beside::new(9);
        assert!(!beside.may_pass(7, &since, ms(0)));
        assert!(!beside.may_pass(8, &since, ms(500)) && beside.may_pass(8, &since, ms(501)));
        assert!(!beside.is_served(8) && beside.is_served(9) && beside.is_served(10));
        assert_eq!(beside.due(), Some(ms(501)));
        beside.on_owned();
        assert_eq!(beside.due(), None, "the owner's release wakes");
    }

    #[test]
    fn no_word_makes_it_wait_without_end_or_panic() {
        for word in [0, 1, u64::MAX, 8 << TIME_BITS, 8 << TIME_BITS | TIME_MASK, 1 << 63] {
            for now in [Duration::ZERO, ms(5), Duration::from_secs(1 << 30)] {
                let since = AtomicU64::new(word);
                let mut beside = Beside::new(8);
                let _ = beside.may_pass(7, &since, now);
                assert!(beside.due().unwrap() <= now + LONGEST, "{word:#x} at {now:?}");
                assert!(beside.may_pass(7, &since, now + LONGEST));
            }
        }
    }
}
