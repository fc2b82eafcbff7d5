//! Operations on mapped memory, counted where the engine keeps statistics ([`crate::Engine::keep_statistics`]).
//!
//! The fast path has no instruction for it: a window that counts gives it no ranks ([`super::shared::Shared::silent`]), so
//! communication calls look for their target once more, are counted there, and go on to the same copies and atomic steps.
//! Synchronization calls keep their fast paths.

use crate::stats::Counters;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the calls on one window have done in mapped memory.
#[derive(Debug, Default)]
pub(crate) struct MappedCounts {
    puts: AtomicU64,
    gets: AtomicU64,
    accumulates: AtomicU64,
    bytes: AtomicU64,
}

impl MappedCounts {
    /// A call has reached `len` bytes of mapped memory.
    pub(crate) fn count(&self, call: &str, len: usize) {
        let operations = match call {
            "put" => &self.puts,
            "get" => &self.gets,
            _ => &self.accumulates,
        };
        operations.fetch_add(1, Relaxed);
        self.bytes.fetch_add(len as u64, Relaxed);
    }

    /// Adds this window's counts.
    pub(crate) fn add_to(&self, counters: &mut Counters) {
        counters.on_mapped_puts(self.puts.load(Relaxed));
        counters.on_mapped_gets(self.gets.load(Relaxed));
        counters.on_mapped_accumulates(self.accumulates.load(Relaxed));
        counters.on_mapped_bytes(self.bytes.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_what_they_do() {
        let counts = MappedCounts::default();
        for (call, len) in [("put", 8), ("put", 1), ("get", 4), ("accumulate", 16), ("fetch_and_op", 8)] {
            counts.count(call, len);
        }
        let mut counters = Counters::default();
        counts.add_to(&mut counters);
        assert_eq!((counters.mapped_puts, counters.mapped_gets, counters.mapped_accumulates), (2, 1, 2));
        assert_eq!(counters.mapped_bytes, 37);
    }
}
