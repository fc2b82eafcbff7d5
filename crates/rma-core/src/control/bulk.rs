//! Two ways to change aligned elements of one window at one target, and the words by which they keep out of each other's way.
//!
//! A *step* is one atomic instruction of the processor for each element: best for a few elements. *Plain code* loads many
//! elements, computes and stores them, at the speed of memory: best for many, and wrong if a step comes in between. Which of
//! the two are under way is the *accumulate mode*, a word that both look at:
//!
//! ```text
//!   atomic    a step is announced in a word of its thread's own, by plain stores; plain code is not allowed
//!   draining  plain code is wanted; new steps announce nothing but lock the stripe of their elements; plain code
//!             waits until it has seen each announcement gone once
//!   bulk      steps and plain code lock the stripe of their elements
//! ```
//!
//! The window is cut in chunks of [`CHUNK`] bytes, and chunk *n* belongs to stripe *n* modulo the number of
//! stripes. A thread holds at most one stripe. The exception is the switch back to `atomic` after a time without
//! plain code: it holds all of them, taken in ascending order. So while no plain code is wanted, steps on
//! disjoint elements share no word that is written, and bulk accumulates on disjoint chunks mostly go on side
//! by side.
//!
//! Why no announced step meets plain code. Let B be the switch of the accumulate mode that the plain code relies on, and look at a step
//! that found the mode `atomic` from before B (one that found it from a switch back *after* B is ordered by that switch, which
//! held all stripes, behind the plain code and before whatever comes next):
//!
//! ```text
//!   the step                                the switch
//!   A1  announces itself                    B1  mode := draining
//!   A2  light barrier                       B2  heavy barrier
//!   A3  loads the mode                       B3  loads the announcement until it is gone
//!   A4  changes the element                 B4  mode := bulk
//!   A5  takes the announcement back
//! ```
//!
//! By the two barriers either A3 sees B1, and the step goes and locks, or B3 sees A1, and then waits until it sees A5, which
//! is a release; so what A4 did is visible to all plain code, which begins after B4. The barriers are each a full ordering, or
//! the light one costs nothing and the heavy one makes the processors of all others order for them (see [`Barriers`]).
//!
//! Every value read may be hostile: then elements come out wrong, but nothing hangs for longer than a stripe
//! is held. A thread that waits for a stripe asks now and then whether its holder has ended
//! ([`super::pause`]).

use super::layout::{BulkFields, STRIPES};
use super::pause::{AWAKE, Pause, take};
use super::shim::{AtomicU64, Ordering, fence};
use super::state::Holder;
use crate::host::Barriers;

/// Bytes of a window that one stripe's lock covers at a time: so many that the lock costs plain code nothing, so few that
/// others wait for about a microsecond.
pub(super) const CHUNK: usize = 16 << 10;

/// Looks at an announcement before the switch is given up: its maker may be dead. The elements are then changed
/// with locks and atomic instructions, which is always right.
const PATIENCE: u32 = if cfg!(all(test, loom)) { 2 } else { AWAKE };

/// Set in the accumulate mode when plain code is wanted.
const STEPS_LOCK: u64 = 1;
/// Set in the accumulate mode when all steps that announced themselves before the switch are over.
const IS_BULK: u64 = 2;
/// What the accumulate mode counts switches in.
const SWITCH: u64 = 4;

/// The mode and stripes of one target, as one process uses them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk<'a> {
    fields: &'a BulkFields,
    holder: Holder,
}

/// While it lives, no plain code of others touches the elements that it was taken for; the lock of a stripe keeps the steps
/// of others away from plain code too.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The announcement or the stripe: both are free when 0.
    word: &'a AtomicU64,
}

impl Drop for Entry<'_> {
    #[inline]
    fn drop(&mut self) {
        // SYNC POINT announced, SYNC POINT stripe: publishes what was done to the elements.
        self.word.store(0, Ordering::Release);
    }
}

impl<'a> Bulk<'a> {
    #[inline]
    pub(super) fn new(fields: &'a BulkFields, holder: Holder) -> Self {
        Self { fields, holder }
    }

    /// Announces a step on the elements of the target that `name` is, in a word that no other thread announces in; `None`
    /// when the step has to lock its stripe.
    #[inline]
    pub(super) fn announce(self, word: &'a AtomicU64, name: u64, barriers: Barriers) -> Option<Entry<'a>> {
        // A release, because a switch of another name may find this one in place of the earlier: it is to see what that did.
        word.store(name, Ordering::Release);
        light_barrier(barriers);
        // SYNC POINT mode: sees what plain code did before the accumulate mode was switched back.
        let mode = self.fields.mode.0.load(Ordering::Acquire);
        let entry = Entry { word };
        (mode & STEPS_LOCK == 0).then_some(entry)
    }

    /// Locks the stripe of the chunk that byte `offset` of the window lies in.
    pub(super) fn lock(self, offset: usize, has_ended: &dyn Fn(u64) -> bool) -> Entry<'a> {
        self.lock_stripe(offset / CHUNK % STRIPES, has_ended)
    }

    /// Whether steps lock, for some moment during the call.
    pub(super) fn steps_lock(self) -> bool {
        self.fields.mode.0.load(Ordering::Relaxed) & STEPS_LOCK != 0
    }

    /// Whether the accumulate mode allows plain code to the holder of a stripe, for as long as it holds it.
    #[inline]
    pub(super) fn allows_bulk(self) -> bool {
        // SYNC POINT plain: sees all steps that were announced before the switch.
        self.fields.mode.0.load(Ordering::Acquire) & IS_BULK != 0
    }

    /// Switches the accumulate mode so that it allows plain code; without effect when an announcement of `name` does not go away.
    /// `announcements` are those of all processes. The caller holds no stripe, and its thread has nothing announced.
    pub(super) fn switch_to_bulk(
        self,
        name: u64,
        barriers: Barriers,
        announcements: impl Iterator<Item = &'a [AtomicU64]>,
    ) {
        let mode = &self.fields.mode.0;
        let mut switched = mode.load(Ordering::Relaxed);
        while switched & STEPS_LOCK == 0 {
            let next = (switched & !(STEPS_LOCK | IS_BULK)).wrapping_add(SWITCH) | STEPS_LOCK;
            match mode.compare_exchange_weak(switched, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => switched = next,
                Err(found) => switched = found,
            }
        }
        if switched & IS_BULK != 0 || !heavy_barrier(barriers) {
            return;
        }
        for word in announcements.flatten() {
            if !is_gone(word, name) {
                return;
            }
        }
        // The number differs if the switch was undone and made again since. SYNC POINT plain.
        let _ = mode.compare_exchange(switched, switched | IS_BULK, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Switches the accumulate mode back to atomic steps, when all stripes have been given back.
    pub(super) fn switch_to_atomic(self, has_ended: &dyn Fn(u64) -> bool) {
        let stripes: [Entry<'a>; STRIPES] = std::array::from_fn(|stripe| self.lock_stripe(stripe, has_ended));
        // Switches need no stripe, so this may take back one that is just being made: it will be made again.
        // SYNC POINT mode: publishes what plain code did under the stripes.
        self.fields.mode.0.fetch_and(!(STEPS_LOCK | IS_BULK), Ordering::AcqRel);
        drop(stripes);
    }

    /// Frees the stripes that this process holds, which must be dead; says whether it held some.
    pub(super) fn clear_dead(self) -> bool {
        let clear = |stripe: &AtomicU64| {
            // SYNC POINT stripe: as the holder's own release.
            stripe.compare_exchange(self.holder.code(), 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.fields.stripes.iter().filter(|stripe| clear(stripe)).count() > 0
    }

    fn lock_stripe(self, stripe: usize, has_ended: &dyn Fn(u64) -> bool) -> Entry<'a> {
        let word = &self.fields.stripes[stripe];
        // SYNC POINT stripe: sees what the holder before did to the elements.
        take(word, self.holder, has_ended);
        Entry { word }
    }
}

/// Waits until the word does not announce a step on `name`; whether that came true.
fn is_gone(word: &AtomicU64, name: u64) -> bool {
    let mut pause = Pause::default();
    for _ in 0..PATIENCE {
        // SYNC POINT announced: sees what the step did.
        if word.load(Ordering::Acquire) != name {
            return true;
        }
        pause.wait();
    }
    false
}

/// Takes back everything that a dead process has announced.
pub(super) fn clear_announcements(words: &[AtomicU64]) {
    for word in words {
        // SYNC POINT announced: as the announcer's own release.
        word.store(0, Ordering::Release);
    }
}

#[inline]
fn light_barrier(barriers: Barriers) {
    match barriers {
        Barriers::Remote(_) => std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst),
        Barriers::Even | Barriers::Own => fence(Ordering::SeqCst),
    }
}

/// Orders the accesses of all threads that announce; `false` when the system cannot.
fn heavy_barrier(barriers: Barriers) -> bool {
    match barriers {
        Barriers::Remote(order_all) => order_all(),
        Barriers::Even => {
            fence(Ordering::SeqCst);
            true
        }
        Barriers::Own => false,
    }
}
