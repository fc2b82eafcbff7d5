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

#[allow(dead_code)] // as the replaced one
impl AtomicU64 {
    #[cfg(not(loom))]
    pub(super) const fn new(value: u64) -> Self {
        Self(Word::new(value))
    }

    #[cfg(loom)]
    pub(super) fn new(value: u64) -> Self {
        Self(Word::new(value))
    }

    pub(super) fn load(&self, order: Ordering) -> u64 {
        step();
        self.0.load(order)
    }

    pub(super) fn store(&self, value: u64, order: Ordering) {
        step();
        self.0.store(value, order);
    }

    pub(super) fn swap(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.swap(value, order)
    }

    pub(super) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.fetch_add(value, order)
    }

    pub(super) fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.fetch_sub(value, order)
    }

    pub(super) fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.fetch_or(value, order)
    }

    pub(super) fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.fetch_and(value, order)
    }

    pub(super) fn fetch_xor(&self, value: u64, order: Ordering) -> u64 {
        step();
        self.0.fetch_xor(value, order)
    }

    pub(super) fn compare_exchange(
        &self,
        from: u64,
        to: u64,
        order: Ordering,
        failed: Ordering,
    ) -> Result<u64, u64> {
        step();
        self.0.compare_exchange(from, to, order, failed)
    }

    pub(super) fn compare_exchange_weak(
        &self,
        from: u64,
        to: u64,
        order: Ordering,
        failed: Ordering,
    ) -> Result<u64, u64> {
        step();
        self.0.compare_exchange_weak(from, to, order, failed)
    }
}
