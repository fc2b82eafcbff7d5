//! Notes: what each thread of a process is changing on mapped memory by more than one store, for survivors of
//! the process.
//!
//! A process that is killed leaves its current operation half done, and its engine cannot report it any more.
//! So each thread notes in its process's own control block what it changes, before the first store, and takes
//! that back behind the last one. A store of the processor is whole or not there at all, so what is one store
//! needs no note.
//!
//! Threads note in the slot of the number that is lent to them for announcements ([`super::announcer`]). Those past that number of
//! threads are only counted: then something was being changed somewhere.
//!
//! The target's engine looks at the notes of a process once that is dead (`state/pieces.rs`). A killed process has made the stores
//! before some point of its program, in that order, and none behind it; the release fence says the same to processors and compilers that
//! could do otherwise. So memory that is half changed has its note, and one that is noted may still be whole.

use super::announcer;
use super::domain::CALL;
use super::shim::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence};
use super::unfinished::{OperationKind, Unfinished};
use crate::fork;
use crate::ids::Rank;
use crate::mem::WriteSpan;

/// Where the kind stands in the first word of a note; below it is the target's name.
const KIND_SHIFT: u32 = 32;
const NAME_MASK: u64 = (1 << KIND_SHIFT) - 1;
/// Above it is the length, if it is one of 1 to [`MOST_SHORT`] bytes: a flush behind a store waits for each store of the note.
const LEN_SHIFT: u32 = 40;
const MOST_SHORT: u64 = (1 << (u64::BITS - LEN_SHIFT)) - 1;

/// The notes of one process in one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notes<'a> {
    pub(super) slots: &'a [NoteSlot],
    /// Threads without a slot that are changing something.
    pub(super) others: &'a AtomicU64,
}

/// Of one thread.
#[derive(Debug)]
#[repr(C)]
pub(super) struct NoteSlot {
    /// Target, kind and a short length; 0 for nothing.
    what: AtomicU64,
    /// The first byte that may be changed, from the beginning of the target's memory.
    start: AtomicU64,
    /// A length that is not short.
    len: AtomicU64,
    _unused: AtomicU64,
}

/// While it lives, the thread's note stands.
#[derive(Debug)]
pub(crate) struct Note<'a> {
    word: &'a AtomicU64,
    is_counted: bool,
}

impl Drop for Note<'_> {
    #[inline]
    fn drop(&mut self) {
        // SYNC POINT note: behind the last store.
        if self.is_counted {
            self.word.fetch_sub(1, Release);
        } else {
            self.word.store(0, Release);
        }
    }
}

/// What announcements and notes of a window call the memory of a rank; never 0.
pub(super) fn name_of(rank: Rank) -> u64 {
    u64::from(rank.0) + 1
}

/// Whether these bytes are one aligned word of the processor, which changes in one store.
#[inline]
pub(crate) fn is_word(place: WriteSpan) -> bool {
    let (address, len) = (place.as_mut_ptr().addr(), place.len());
    len <= size_of::<u64>() && (address | len) & len.wrapping_sub(1) == 0
}

impl NoteSlot {
    /// [`Notes::begin`] of the thread whose slot it is.
    #[inline]
    pub(super) fn begin(&self, name: u64, kind: OperationKind, start: u64, len: u64) -> Note<'_> {
        self.start.store(start, Relaxed);
        let short = if len.wrapping_sub(1) < MOST_SHORT { len } else { self.keep(len) };
        self.what.store(short << LEN_SHIFT | u64::from(kind.code()) << KIND_SHIFT | name, Release);
        // SYNC POINT note: before the first store.
        fence(Release);
        Note { word: &self.what, is_counted: false }
    }

    /// A length that is not short; answers what the note says instead.
    #[cold]
    fn keep(&self, len: u64) -> u64 {
        self.len.store(len, Relaxed);
        0
    }
}

impl<'a> Notes<'a> {
    /// Says that the thread is changing `len` bytes from `start` on of the memory with this name.
    #[inline]
    pub(super) fn begin(self, name: u64, kind: OperationKind, start: u64, len: u64) -> Note<'a> {
        match announcer::own_word().and_then(|word| self.slots.get(word)) {
            Some(slot) => slot.begin(name, kind, start, len),
            None => self.count(kind),
        }
    }

    #[cold]
    fn count(self, kind: OperationKind) -> Note<'a> {
        // A forked child, which has no slot, is refused these before it counts.
        if kind != OperationKind::Put {
            fork::check(CALL);
        }
        self.others.fetch_add(1, Relaxed);
        // SYNC POINT note: as above.
        fence(Release);
        Note { word: self.others, is_counted: true }
    }

    /// What a process, which must be dead, was changing on the memory with this name: it is asked for once, by the memory's owner.
    pub(super) fn take_of_dead(self, name: u64, dead: Rank) -> impl Iterator<Item = Unfinished> + 'a {
        // SYNC POINT note: sees what was said before each store that was made.
        let noted = move |slot: &NoteSlot| {
            let what = slot.what.load(Acquire);
            if what & NAME_MASK != name {
                return None;
            }
            slot.what.store(0, Relaxed);
            let kind = OperationKind::of_code((what >> KIND_SHIFT) as u8);
            let len = match what >> LEN_SHIFT {
                0 => slot.len.load(Relaxed),
                short => short,
            };
            Some(Unfinished { origin: dead, kind, start: slot.start.load(Relaxed), len })
        };
        let has_others = self.others.load(Acquire) > 0;
        let others = has_others.then(|| Unfinished::unknown(dead));
        self.slots.iter().filter_map(noted).chain(others)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::mortal::live_for;
    use super::*;
    use crate::mem::testing::memory;
    use std::mem::ManuallyDrop;

    const TARGET: u64 = 4;

    struct Kept(Vec<NoteSlot>, AtomicU64);

    impl Kept {
        fn new() -> Self {
            let slot = || NoteSlot {
                what: AtomicU64::new(0),
                start: AtomicU64::new(0),
                len: AtomicU64::new(0),
                _unused: AtomicU64::new(0),
            };
            announcer::lend(8);
            Self((0..8).map(|_| slot()).collect(), AtomicU64::new(0))
        }

        fn notes(&self) -> Notes<'_> {
            Notes { slots: &self.0, others: &self.1 }
        }
    }

    /// Runs a test in a thread that has a slot of its own: threads of other tests may have all of them for a moment.
    fn with_a_slot(test: impl Fn() + Sync) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let run = || announcer::own_word().is_some().then(&test).is_some();
        while !std::thread::scope(|scope| scope.spawn(run).join().unwrap()) {
            assert!(std::time::Instant::now() < end, "no thread has had a slot");
            std::thread::yield_now();
        }
    }

    #[test]
    fn wherever_a_process_is_killed_memory_that_is_half_changed_has_a_note() {
        with_a_slot(|| {
            let expected = Unfinished { origin: Rank(2), kind: OperationKind::Put, start: 16, len: 40 };
            let (mut half, mut whole) = (0, 0);
            for steps in 0.. {
                let (kept, memory) = (Kept::new(), std::array::from_fn::<_, 5, _>(|_| AtomicU64::new(0)));
                let notes = kept.notes();
                let is_over = live_for(steps, || {
                    // A thread that is killed drops nothing.
                    let note = ManuallyDrop::new(notes.begin(TARGET, OperationKind::Put, 16, 40));
                    memory.iter().for_each(|word| word.store(7, Relaxed));
                    drop(ManuallyDrop::into_inner(note));
                });
                let changed = memory.iter().filter(|word| word.load(Relaxed) == 7).count();
                let found: Vec<_> = notes.take_of_dead(TARGET, Rank(2)).collect();
                if changed > 0 && changed < memory.len() {
                    assert_eq!(found, [expected], "killed behind {steps} steps");
                    half += 1;
                }
                whole += usize::from(found.is_empty());
                if is_over.is_some() {
                    assert!(found.is_empty(), "nothing is under way behind the last step");
                    break;
                }
            }
            assert!(half == 4 && whole > 1, "{half} {whole}");
        });
    }

    #[test]
    fn notes_are_of_one_target_each_and_threads_without_a_slot_are_counted() {
        with_a_slot(|| {
            let kept = Kept::new();
            let notes = kept.notes();
            drop(notes.begin(TARGET, OperationKind::Put, 0, 9));
            assert_eq!(notes.take_of_dead(TARGET, Rank(1)).count(), 0);
            for len in [1, 16, 0, MOST_SHORT, MOST_SHORT + 1, 1 << 48] {
                std::mem::forget(notes.begin(TARGET, OperationKind::Accumulate, 8, len));
                assert_eq!(notes.take_of_dead(TARGET + 1, Rank(1)).count(), 0, "of another target");
                let found: Vec<_> = notes.take_of_dead(TARGET, Rank(1)).collect();
                let expected = Unfinished { origin: Rank(1), kind: OperationKind::Accumulate, start: 8, len };
                assert_eq!(found, [expected]);
            }
            drop(notes.count(OperationKind::Put));
            assert_eq!(notes.take_of_dead(TARGET, Rank(1)).count(), 0);
            std::mem::forget(notes.count(OperationKind::Put));
            for name in [TARGET, TARGET + 1] {
                let found: Vec<_> = notes.take_of_dead(name, Rank(1)).collect();
                assert_eq!(found, [Unfinished::unknown(Rank(1))], "anything on the memory of any rank");
            }
        });
    }

    #[test]
    fn aligned_words_are_one_store_and_nothing_else_is() {
        let memory = memory(64);
        let place = |offset: usize, len| memory.part(offset, len);
        for (offset, len) in [(0, 1), (3, 1), (2, 2), (4, 4), (8, 8), (0, 8)] {
            assert!(is_word(place(offset, len)), "{offset}+{len}");
        }
        for (offset, len) in [(0, 3), (1, 2), (2, 4), (4, 8), (0, 16), (0, 6)] {
            assert!(!is_word(place(offset, len)), "{offset}+{len}");
        }
    }
}
