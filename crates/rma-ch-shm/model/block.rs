//! A block for the model checker: every eight bytes are one of its atomics.
//!
//! The checker treats sequentially consistent accesses as acquire and release ones, which is weaker than they are. So this
//! file puts its full ordering, which it does model, where processors have it: after such a store (`Strong::Stores`, as on
//! x86) or before such a load (`Strong::Loads`). A protocol that is right on all of them passes with either.

use crate::segment::Mapping;
use loom::sync::atomic::{AtomicU64, Ordering, fence as full_ordering};
use rma_core::datatype::{Gather, Scatter};

const WORD: usize = size_of::<u64>();

/// Which sequentially consistent accesses carry the full ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strong {
    Stores,
    Loads,
}

/// Shared memory that rings lie in.
#[derive(Debug)]
pub(crate) struct Block {
    words: Vec<AtomicU64>,
    strong: Strong,
}

impl Block {
    /// So that the crate compiles; the model has no processes.
    pub(crate) fn new(mapping: Mapping) -> Self {
        Self::zeros(mapping.len(), Strong::Stores)
    }

    /// A block of zeros.
    pub(crate) fn zeros(len: usize, strong: Strong) -> Self {
        Self { words: (0..len / WORD).map(|_| AtomicU64::new(0)).collect(), strong }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len() * WORD
    }

    pub(crate) fn load(&self, offset: usize, ordering: Ordering) -> u64 {
        if ordering == Ordering::SeqCst && self.strong == Strong::Loads {
            full_ordering(Ordering::SeqCst);
        }
        self.words[offset / WORD].load(ordering)
    }

    pub(crate) fn store(&self, offset: usize, value: u64, ordering: Ordering) {
        self.words[offset / WORD].store(value, ordering);
        if ordering == Ordering::SeqCst && self.strong == Strong::Stores {
            full_ordering(Ordering::SeqCst);
        }
    }

    pub(crate) fn swap(&self, offset: usize, value: u64, ordering: Ordering) -> u64 {
        let before = self.words[offset / WORD].swap(value, ordering);
        if ordering == Ordering::SeqCst && self.strong == Strong::Stores {
            full_ordering(Ordering::SeqCst);
        }
        before
    }

    pub(crate) fn write(&self, offset: usize, from: &[u8]) {
        assert_eq!(offset % WORD, 0, "the model writes whole words");
        for (i, bytes) in from.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            self.words[offset / WORD + i].store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        assert_eq!(offset % WORD, 0, "the model reads whole words");
        for (i, bytes) in into.chunks_mut(WORD).enumerate() {
            let word = self.words[offset / WORD + i].load(Ordering::Relaxed).to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
    }

    pub(crate) fn write_from(&self, offset: usize, len: usize, gather: &mut Gather) {
        let mut bytes = vec![0; len];
        gather.read(&mut bytes);
        self.write(offset, &bytes);
    }

    pub(crate) fn read_to(&self, offset: usize, len: usize, scatter: &mut Scatter) {
        let mut bytes = vec![0; len];
        self.read(offset, &mut bytes);
        scatter.write(&bytes);
    }
}
