//! Which of the words for announcements a thread uses: one that no other thread of the process uses at the same time.
//!
//! The words are lent to threads for as long as they live, whatever the window; threads past their number (`RMA_ANNOUNCERS`) have none,
//! and lock instead. This is a fact of the process and its threads, so it is the process's and not an engine's.
//!
//! A thread finds its word by the address that the processor keeps for it: in a shared library a variable of the thread's own
//! would cost each step a call of the loader.

use super::layout::MOST_ANNOUNCERS;
use super::thread_address;
use crate::fork;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The address of the thread that has the word; 0 for none.
static OWNERS: [AtomicUsize; MOST_ANNOUNCERS] = [const { AtomicUsize::new(0) }; MOST_ANNOUNCERS];

/// How many are lent: the most that an engine of the process has asked for.
static LENT: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// Gives the word back at the thread's end, before another thread can have its address.
    static LOAN: Loan = const { Loan };
}

struct Loan;

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(word) = word_of(thread_address()) {
            // SYNC POINT lent: the next thread's announcements come after this one's.
            OWNERS[word].store(0, Release);
        }
    }
}

/// Lends so many words at least.
pub(super) fn lend(words: usize) {
    LENT.fetch_max(words.min(MOST_ANNOUNCERS), Relaxed);
}

/// The calling thread's word; `None` when all are lent.
#[inline]
pub(super) fn own_word() -> Option<usize> {
    if has_first_word() { Some(0) } else { find(thread_address()) }
}

/// Whether it is the first, which the thread that began has: in most programs the one that communicates.
#[inline]
pub(super) fn has_first_word() -> bool {
    OWNERS[0].load(Relaxed) == thread_address()
}

#[inline(never)]
fn find(thread: usize) -> Option<usize> {
    word_of(thread).or_else(|| borrow(thread))
}

/// A thread's own word does not change but by itself, so a relaxed look is enough.
fn word_of(thread: usize) -> Option<usize> {
    lent().iter().position(|owner| owner.load(Relaxed) == thread)
}

fn lent() -> &'static [AtomicUsize] {
    &OWNERS[..LENT.load(Relaxed).min(MOST_ANNOUNCERS)]
}

#[cold]
fn borrow(thread: usize) -> Option<usize> {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| fork::when_forked(disown));
    // SYNC POINT lent: as above.
    let takes = |owner: &AtomicUsize| {
        owner.load(Relaxed) == 0 && owner.compare_exchange(0, thread, Acquire, Relaxed).is_ok()
    };
    let word = lent().iter().position(takes)?;
    // A thread that is already ending has no destructor left that would return the word.
    if LOAN.try_with(|_| {}).is_err() {
        drop(Loan);
        return None;
    }
    Some(word)
}

/// In a forked child all words are the parent's threads', and none is free.
fn disown() {
    OWNERS.iter().for_each(|owner| owner.store(usize::MAX, Relaxed));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;

    #[test]
    fn no_two_living_threads_have_one_word_and_the_dead_give_theirs_back() {
        lend(8);
        // Other tests' threads have some; more rounds than words show that words come back.
        for _ in 0..50 {
            let (started, done) = (Barrier::new(12), Barrier::new(12));
            let words: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..12)
                    .map(|_| {
                        scope.spawn(|| {
                            let word = own_word();
                            started.wait();
                            assert!(word.is_none() || own_word() == word, "it stays the thread's");
                            done.wait();
                            word
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let found: Vec<_> = words.into_iter().flatten().collect();
            assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len(), "{found:?}");
        }
    }

    struct Late;

    impl Drop for Late {
        fn drop(&mut self) {
            // The thread's loan may be over; then the word must not stay lent to its address.
            own_word();
        }
    }

    thread_local! {
        static LATE: Late = const { Late };
    }

    #[test]
    fn a_thread_at_its_end_leaves_no_word_lent() {
        for _ in 0..32 {
            let address = std::thread::spawn(|| {
                LATE.with(|_| {});
                own_word();
                thread_address()
            });
            let address = address.join().unwrap();
            // Another test's thread may have the address by now, but not for ever.
            let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while word_of(address).is_some() {
                assert!(std::time::Instant::now() < end, "a word stays lent to a thread that has ended");
                std::thread::yield_now();
            }
        }
    }
}
