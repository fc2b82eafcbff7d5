//! The target's part of post/start/complete/wait: whether an exposure epoch is open, and which of its origins are not done.
//!
//! ```text
//!               fast post                        wait, on the slow path
//!    closed ──────────────▶ changing ──▶ fast ──────────────────────────▶ open ──▶ closed, by wait
//!      │                                  └──▶ closed, by the fast wait    ▲
//!      └── post, on the slow path ─────────────────────────────────────────┘
//! ```
//!
//! One word says in which of these states the window is, on every path; it counts the epochs above its flags, so that one is not ended in
//! the place of another. A fast epoch's origins are places of marks in shared memory, which all of them set when they are done. Of an open
//! one those that are not done are a set under the engine's lock.
//!
//! An origin's "done" rides on its last packet, and counts when every answer queued before it has left, large
//! bodies included (lessons, fixed 3): after the wait call no reply reads the window any more. Each exposure
//! epoch has a number, which its events carry, so that a late one cannot complete the next epoch (lessons,
//! decision 4).

use super::{ThreadLevel, WindowState};
use crate::control::{KeptPlaces, Places};
use crate::ids::Rank;
use crate::strategy::{Next, rest};
use smallvec::SmallVec;
use std::sync::atomic::{
    AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// No exposure epoch waits for a process that says it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotExposed;

/// Whether an exposure epoch is open, and the origins of one that was opened past the engine.
#[derive(Debug)]
pub(crate) struct ExposureEpoch {
    level: ThreadLevel,
    word: AtomicU64,
    /// As `word` says, which is read before and changed after.
    origins: KeptPlaces,
}

/// An exposure epoch that was opened past the engine, as it was seen.
#[derive(Debug)]
pub(crate) struct FastExposure {
    word: u64,
    pub(crate) origins: Places,
}

const IS_OPEN: u64 = 1;
/// The origins are being written, which waits for nothing.
const IS_CHANGING: u64 = 2;
/// Opened past the engine.
const IS_FAST: u64 = 4;
const ONE_EPOCH: u64 = 8;

impl ExposureEpoch {
    pub(crate) fn new(level: ThreadLevel) -> Self {
        Self { level, word: AtomicU64::new(0), origins: KeptPlaces::default() }
    }

    /// Whether an exposure epoch is open, or being opened.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.word.load(Relaxed) & (IS_OPEN | IS_CHANGING) != 0
    }

    /// Whether one is open of which the engine has the origins.
    pub(super) fn is_engines(&self) -> bool {
        self.word.load(Relaxed) & (IS_OPEN | IS_FAST) == IS_OPEN
    }

    /// Number of the newest exposure epoch.
    pub(crate) fn number(&self) -> u64 {
        self.word.load(Relaxed) / ONE_EPOCH
    }

    /// The exposure epoch that is open past the engine.
    #[inline]
    pub(crate) fn fast(&self) -> Option<FastExposure> {
        let word = self.word.load(Acquire);
        (word & IS_FAST != 0).then(|| FastExposure { word, origins: self.origins.get() })
    }

    /// Opens one to these origins past the engine; `false`, and nothing done, when one is open.
    #[inline]
    pub(crate) fn try_open(&self, origins: &Places) -> bool {
        let Some(word) = self.begin() else { return false };
        self.origins.set(origins);
        self.word.store(word.wrapping_add(ONE_EPOCH) | IS_OPEN | IS_FAST, Release);
        true
    }

    /// Ends one that was opened past the engine; `false`, and nothing done, when that is not the one that is open any more.
    #[inline]
    pub(crate) fn try_close(&self, seen: &FastExposure) -> bool {
        self.change(seen.word, seen.word & !(IS_OPEN | IS_FAST))
    }

    /// Opens one of the engine's; `false`, and nothing done, when one is open.
    fn open(&self) -> bool {
        let Some(word) = self.begin() else { return false };
        self.word.store(word.wrapping_add(ONE_EPOCH) | IS_OPEN, Release);
        true
    }

    /// Makes a fast one the engine's, and gives its origins.
    fn take_over(&self) -> Option<Places> {
        loop {
            // Another thread's post call may be under way; it ends without waiting for anything.
            while self.word.load(Acquire) & IS_CHANGING != 0 {
                rest(Next::Yield);
            }
            let fast = self.fast()?;
            if self.change(fast.word, fast.word & !IS_FAST) {
                return Some(fast.origins);
            }
        }
    }

    /// Ends one of the engine's.
    fn close(&self) {
        let word = self.word.load(Relaxed);
        let _same = self.change(word, word & !(IS_OPEN | IS_FAST));
    }

    /// Begins to open one: the word without flags.
    #[inline]
    fn begin(&self) -> Option<u64> {
        let word = self.word.load(Relaxed);
        let is_closed = word & (IS_OPEN | IS_CHANGING) == 0;
        (is_closed && self.change(word, word | IS_CHANGING)).then_some(word)
    }

    /// Changes the word, if it is what it was seen to be.
    #[inline]
    fn change(&self, from: u64, to: u64) -> bool {
        if self.level == ThreadLevel::Serialized {
            let is_so = self.word.load(Relaxed) == from;
            if is_so {
                self.word.store(to, Relaxed);
            }
            return is_so;
        }
        self.word.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }
}

impl WindowState {
    /// Whether an exposure epoch is open.
    pub(crate) fn is_exposed(&self) -> bool {
        self.shared.active.exposure.is_open()
    }

    /// Opens an exposure epoch to `group`; `false`, and nothing done, when another thread's call has opened one.
    pub(crate) fn open_exposure(&mut self, group: &[Rank]) -> bool {
        let is_open = self.shared.active.exposure.open();
        if is_open {
            self.target.undone.open(group, |_| true);
        }
        is_open
    }

    /// A wait call looks at each origin of the open epoch by itself.
    pub(crate) fn look_at_origins(&mut self) {
        if let Some(origins) = self.shared.active.exposure.take_over() {
            let group = self.shared.ranks_of(&origins).collect::<SmallVec<[_; 8]>>();
            self.target.undone.open(&group, |_| true);
        }
    }

    /// Ends the exposure epoch.
    pub(crate) fn close_exposure(&mut self) {
        self.shared.active.exposure.close();
        self.target.undone.clear();
    }

    /// An origin says that it is done; gives the number to count it with.
    ///
    /// # Errors
    /// When it is not in the epoch, or was done before.
    pub(crate) fn begin_done(&self, from: Option<Rank>) -> Result<u64, NotExposed> {
        let is_undone = from.is_some_and(|rank| self.target.undone.is_awaited(rank));
        if is_undone { Ok(self.shared.active.exposure.number()) } else { Err(NotExposed) }
    }

    /// Counts an origin of epoch `number` as done.
    pub(crate) fn on_done(&mut self, from: Rank, number: u64) {
        if number == self.shared.active.exposure.number() {
            self.target.undone.remove(from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(origins: &[usize]) -> Places {
        Places::of(origins.iter().copied().map(Some)).unwrap()
    }

    #[test]
    fn an_exposure_epoch_is_ended_once_and_not_in_the_place_of_another() {
        for level in [ThreadLevel::Serialized, ThreadLevel::Multiple] {
            let exposure = ExposureEpoch::new(level);
            assert!(!exposure.is_open() && exposure.fast().is_none() && exposure.take_over().is_none());
            assert!(exposure.try_open(&places(&[3, 200])) && !exposure.try_open(&places(&[1])));
            let seen = exposure.fast().unwrap();
            assert!(exposure.is_open() && !exposure.is_engines() && seen.origins.iter().eq([3, 200]));
            assert!(exposure.take_over().is_some() && exposure.take_over().is_none());
            assert!(exposure.is_engines() && !exposure.try_close(&seen), "it is the engine's");
            exposure.close();
            assert!(!exposure.is_open() && exposure.try_open(&places(&[3, 200])));
            assert!(!exposure.try_close(&seen), "it was another one");
            assert!(exposure.try_close(&exposure.fast().unwrap()) && !exposure.is_open());
            assert!(
                exposure.open() && !exposure.open() && exposure.is_engines() && exposure.fast().is_none()
            );
            assert_eq!(exposure.number(), 3);
        }
    }
}
