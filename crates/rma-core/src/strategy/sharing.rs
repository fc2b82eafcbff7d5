//! Whether what this process waits for needs the very core that it runs on.
//!
//! A scheduler may leave two processes that answer each other on one core, above all where others keep the
//! rest busy. Then a wait that spins keeps its own answer from being made. No process can ask where the other
//! one is, but yields show it: a short one that another process used, and that had brought packets when it
//! came back, went to the awaited process. After [`ENOUGH`] of these a wait does not spin but yields at once,
//! and sleeps when that is of no use.
//! After a yield that no process used the other process is probably elsewhere by now; so it is after a long
//! one, which went to a process that computes, and when news come while a wait spins. A sleep, which yields
//! should have made needless, is evidence too: so waits try spinning again also where some process uses every
//! yield.
//!
//! Where there is a core for each rank, a shared one is the scheduler's oversight. It looks for a free core when it wakes a process, and
//! seldom otherwise. So of the waits that yield at once some sleep instead, ever fewer as long as that is of no use.
//!
//! Whether another process used a yield shows in its length: two switches and an answer take longer than a
//! call of the system alone. How long such a call takes is the machine's, and on a virtual one changes by the
//! minute. So some yields are measured, those that could change the guess first: a thread that has had the
//! processor all the while was not replaced, and other yields as long as that were not used either.
//!
//! Only a guess of one process about itself: wrong, it costs a yield or a sleep, never news.

use super::yield_history::Yielded;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// A shorter yield was used by no other process, on any machine.
const TAKEN_YIELD: Duration = Duration::from_micros(2);
/// A longer yield went to a process that computes, or to more than one.
const LONG_YIELD: Duration = Duration::from_micros(200);
/// Evidence from which on a wait acts, and the most that is kept, so that little is needed to change its mind.
const ENOUGH: u32 = 2;
const MOST: u32 = 4;
/// Of waits that yield at once so many until the first one sleeps, and most between two that do.
const PARTS_AFTER: u32 = 8;
const PARTS_SELDOM: u32 = 64;
/// Of so many yields one is measured while a wait acts on the guess, and of so many while it does not.
const MEASURED: u32 = 8;
const RARELY_MEASURED: u32 = 64;

/// What speaks for a shared core. Waits of several threads change it without a lock: one that is lost comes again.
#[derive(Debug)]
pub(crate) struct Sharing {
    evidence: AtomicU32,
    /// Nanoseconds: a shorter yield was used by no other process, as far as has been measured.
    taken_from: AtomicU32,
    yields: AtomicU32,
    /// Waits since the last one that was to sleep, and how many there are between two.
    waits: AtomicU32,
    parts_after: AtomicU32,
}

impl Sharing {
    pub(crate) fn new() -> Self {
        let taken_from = AtomicU32::new(TAKEN_YIELD.as_nanos() as u32);
        let [evidence, yields, waits] = [0; 3].map(AtomicU32::new);
        Self { evidence, taken_from, yields, waits, parts_after: AtomicU32::new(PARTS_AFTER) }
    }

    /// Whether waits act on it.
    pub(crate) fn is_likely(&self) -> bool {
        self.evidence.load(Relaxed) >= ENOUGH
    }

    /// Counts a wait that would spin for so long, but yields; says whether it is to sleep.
    pub(crate) fn parts(&self, spin: Duration) -> bool {
        // Ranks that outnumber cores do not spin.
        if spin.is_zero() || !self.is_likely() {
            return false;
        }
        let (waits, parts_after) = (self.waits.load(Relaxed) + 1, self.parts_after.load(Relaxed));
        let parts = waits >= parts_after;
        self.waits.store(if parts { 0 } else { waits }, Relaxed);
        if parts {
            self.parts_after.store((2 * parts_after).min(PARTS_SELDOM), Relaxed);
        }
        parts
    }

    /// Counts a yield that is about to come, and says whether it is to be measured.
    pub(crate) fn count_yield(&self) -> bool {
        let yields = self.yields.load(Relaxed).wrapping_add(1);
        self.yields.store(yields, Relaxed);
        match self.evidence.load(Relaxed) {
            ENOUGH.. => yields.is_multiple_of(MEASURED),
            // The next one could be enough.
            1.. => true,
            0 => yields.is_multiple_of(RARELY_MEASURED),
        }
    }

    /// A wait has made a step, behind a yield or without one; `was_idle` says that the step before had moved
    /// nothing, and no sleep was in between.
    pub(crate) fn on_step(&self, yielded: Option<Yielded>, has_moved: bool, was_idle: bool) {
        match yielded {
            Some(yielded) => self.on_yield(yielded, has_moved),
            None if has_moved && was_idle => self.on_elsewhere(),
            None => {}
        }
    }

    fn on_yield(&self, Yielded { length, was_own }: Yielded, has_news: bool) {
        match was_own {
            Some(true) => {
                self.evidence.store(0, Relaxed);
                return self.learn(self.taken_from().max(length * 2));
            }
            Some(false) => self.learn(self.taken_from().min(length)),
            None => {}
        }
        if !(self.taken_from()..=LONG_YIELD).contains(&length) {
            self.on_elsewhere();
        } else if has_news {
            self.evidence.store((self.evidence.load(Relaxed) + 1).min(MOST), Relaxed);
        }
    }

    fn taken_from(&self) -> Duration {
        Duration::from_nanos(self.taken_from.load(Relaxed).into())
    }

    fn learn(&self, taken_from: Duration) {
        let taken_from = taken_from.clamp(TAKEN_YIELD, LONG_YIELD);
        self.taken_from.store(taken_from.as_nanos() as u32, Relaxed);
    }

    /// Yields have not brought what a wait waits for, or news came without one.
    pub(crate) fn on_elsewhere(&self) {
        let evidence = self.evidence.load(Relaxed);
        if evidence > 0 {
            self.evidence.store(evidence - 1, Relaxed);
        }
        if evidence == 1 {
            self.waits.store(0, Relaxed);
            self.parts_after.store(PARTS_AFTER, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: Yielded = unmeasured(Duration::from_micros(10));
    const OWN: Yielded = unmeasured(Duration::from_nanos(400));
    const LONG: Yielded = unmeasured(Duration::from_micros(201));

    const fn unmeasured(length: Duration) -> Yielded {
        Yielded { length, was_own: None }
    }

    fn measured(micros: u64, was_own: bool) -> Yielded {
        Yielded { length: Duration::from_micros(micros), was_own: Some(was_own) }
    }

    #[test]
    fn where_a_yield_takes_long_by_itself_a_measured_one_decides() {
        let sharing = Sharing::new();
        // The system takes five microseconds for a yield that no process uses, and news come all the time.
        (0..100).for_each(|_| sharing.on_yield(unmeasured(Duration::from_micros(5)), true));
        assert!(sharing.is_likely(), "not knowing better");
        let mut yields = 0;
        while sharing.is_likely() {
            yields += 1;
            let was_own = sharing.count_yield().then_some(true);
            sharing.on_yield(Yielded { was_own, ..unmeasured(Duration::from_micros(5)) }, true);
        }
        assert!(yields <= MEASURED, "{yields} yields");
        (0..100).for_each(|_| sharing.on_yield(unmeasured(Duration::from_micros(9)), true));
        assert!(!sharing.is_likely(), "others about as long were not taken either");
        (0..2).for_each(|_| sharing.on_yield(TAKEN, true));
        assert!(sharing.is_likely(), "longer ones were");
    }

    #[test]
    fn what_was_learned_is_forgotten_when_a_shorter_yield_was_taken() {
        let sharing = Sharing::new();
        sharing.on_yield(measured(50, true), true);
        (0..10).for_each(|_| sharing.on_yield(TAKEN, true));
        assert!(!sharing.is_likely());
        sharing.on_yield(measured(6, false), true);
        sharing.on_yield(TAKEN, true);
        assert!(sharing.is_likely());
        let measures = (0..10 * RARELY_MEASURED).filter(|_| Sharing::new().count_yield()).count();
        assert_eq!(measures, 0, "the first yield of a process is not measured");
        let sharing = Sharing::new();
        assert_eq!((0..10 * RARELY_MEASURED).filter(|_| sharing.count_yield()).count(), 10);
        sharing.on_yield(TAKEN, true);
        assert!(sharing.count_yield(), "before a wait acts on it");
    }

    #[test]
    fn nothing_is_learned_past_the_length_of_a_yield_that_went_to_a_computing_process() {
        let sharing = Sharing::new();
        sharing.on_yield(measured(10_000, true), true);
        assert_eq!(sharing.taken_from(), LONG_YIELD);
        sharing.on_yield(measured(1, false), true);
        assert_eq!(sharing.taken_from(), TAKEN_YIELD);
    }

    #[test]
    fn waits_part_ever_less_often_until_nothing_speaks_for_a_shared_core() {
        let sharing = Sharing::new();
        let spin = Duration::from_micros(30);
        let parting = |waits: u32| (1..=waits).filter(|_| sharing.parts(spin)).count();
        assert_eq!(parting(10 * PARTS_SELDOM), 0);
        (0..MOST).for_each(|_| sharing.on_yield(TAKEN, true));
        assert!(!sharing.parts(Duration::ZERO));
        assert_eq!((parting(PARTS_AFTER - 1), parting(1)), (0, 1));
        assert_eq!((parting(2 * PARTS_AFTER - 1), parting(1)), (0, 1));
        assert_eq!(parting(4 * PARTS_AFTER + 9 * PARTS_SELDOM), 10);
        (0..MOST - 1).for_each(|_| sharing.on_elsewhere());
        sharing.on_yield(TAKEN, true);
        assert_eq!(parting(PARTS_SELDOM - 1), 0, "something does");
        (0..MOST).for_each(|_| sharing.on_elsewhere());
        (0..MOST).for_each(|_| sharing.on_yield(TAKEN, true));
        assert_eq!(parting(PARTS_AFTER), 1);
    }

    #[test]
    fn yields_that_bring_news_make_a_shared_core_likely() {
        let sharing = Sharing::new();
        sharing.on_yield(TAKEN, true);
        assert!(!sharing.is_likely(), "once may be chance");
        sharing.on_yield(TAKEN, false);
        sharing.on_yield(TAKEN, true);
        assert!(sharing.is_likely());
    }

    #[test]
    fn unused_and_long_yields_and_news_without_one_make_it_unlikely() {
        let contrary: [fn(&Sharing); 3] = [
            |sharing| sharing.on_yield(OWN, true),
            |sharing| sharing.on_yield(LONG, true),
            Sharing::on_elsewhere,
        ];
        for contradict in contrary {
            let sharing = Sharing::new();
            (0..100).for_each(|_| sharing.on_yield(TAKEN, true));
            assert_eq!((0..3).map(|_| contradict(&sharing)).filter(|()| sharing.is_likely()).count(), 2);
            (0..100).for_each(|_| contradict(&sharing));
            (0..2).for_each(|_| sharing.on_yield(TAKEN, true));
            assert!(sharing.is_likely());
        }
    }
}
