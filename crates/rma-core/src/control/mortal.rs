//! Atomics whose user can die: for tests, a thread says after how many more steps on words of shared memory its process is killed.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64 as Word, Ordering};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64 as Word, Ordering};

#[cfg(not(loom))]
thread_local! {
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}
#[cfg(loom)]
loom::thread_local! {
    static LEFT: Cell<Option<u32>> = Cell::new(None);
}

/// What a killed thread unwinds with.
struct Killed;

/// Does `work`, in which the process is killed when it has made so many steps; `None` when it was.
pub(super) fn live_for<T>(steps: u32, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.with(|left| left.set(Some(steps)));
    let outcome = catch_unwind(AssertUnwindSafe(work));
    LEFT.with(|left| left.set(None));
    match outcome {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<Killed>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

fn step() {
    let is_over = LEFT.with(|left| {
        let now = left.get();
        left.set(now.map(|now| now.saturating_sub(1)));
        now == Some(0)
    });
    if is_over {
        LEFT.with(|left| left.set(None));
        resume_unwind(Box::new(Killed));
    }
}

/// An atomic word; each method but `new` is a step.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct AtomicU64(Word);

impl AtomicU64 {
    #[cfg(not(loom))]
    pub(super) const fn new(value: u64) -> Self {
        Self(Word::new(value))
    }

    #[cfg(loom)]
    pub(super) fn new(value: u64) -> Self {
        Self(Word::new(value))
    }
}

/// Methods of the replaced word, each behind a step.
macro_rules! steps {
    ($(fn $method:ident($($argument:ident: $of:ty),*) $(-> $answer:ty)?;)*) => {
        #[allow(dead_code)] // as the replaced one
        impl AtomicU64 {$(
            pub(super) fn $method(&self, $($argument: $of),*) $(-> $answer)? {
                step();
                self.0.$method($($argument),*)
            }
        )*}
    };
}

steps! {
    fn load(order: Ordering) -> u64;
    fn store(value: u64, order: Ordering);
    fn swap(value: u64, order: Ordering) -> u64;
    fn fetch_add(value: u64, order: Ordering) -> u64;
    fn fetch_sub(value: u64, order: Ordering) -> u64;
    fn fetch_or(value: u64, order: Ordering) -> u64;
    fn fetch_and(value: u64, order: Ordering) -> u64;
    fn fetch_xor(value: u64, order: Ordering) -> u64;
    fn compare_exchange(from: u64, to: u64, order: Ordering, failed: Ordering) -> Result<u64, u64>;
    fn compare_exchange_weak(from: u64, to: u64, order: Ordering, failed: Ordering) -> Result<u64, u64>;
}
