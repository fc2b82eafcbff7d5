//! A block for the model checker: every eight bytes are one of its atomics.
//!
//! The checker treats sequentially consistent accesses as acquire and release ones, which is weaker than they are; so this
//! file puts its full ordering, which it does model, after such a store and before such a load.

use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::{Ordering, fence as full_ordering};
use rma_core::datatype::{Gather, Scatter};

const WORD: usize = size_of::<u64>();

/// Shared memory that rings lie in.
#[derive(Debug)]
pub(crate) struct Block {
    words: Vec<AtomicU64>,
}

impl Block {
    /// A block of zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self { words: (0..len / WORD).map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len() * WORD
    }

    pub(crate) fn load(&self, offset: usize, ordering: Ordering) -> u64 {
        if ordering == Ordering::SeqCst {
            full_ordering(Ordering::SeqCst);
        }
        self.words[offset / WORD].load(ordering)
    }

    pub(crate) fn store(&self, offset: usize, value: u64, ordering: Ordering) {
        self.words[offset / WORD].store(value, ordering);
        if ordering == Ordering::SeqCst {
            full_ordering(Ordering::SeqCst);
        }
    }

    pub(crate) fn swap(&self, offset: usize, value: u64, ordering: Ordering) -> u64 {
        self.words[offset / WORD].swap(value, ordering)
    }

    pub(crate) fn write(&self, offset: usize, from: &[u8]) {
        for (i, byte) in from.iter().enumerate() {
            let (at, shift) = ((offset + i) / WORD, (offset + i) % WORD * 8);
            let word = &self.words[at];
            let rest = word.load(Ordering::Relaxed) & !(0xff << shift);
            word.store(rest | u64::from(*byte) << shift, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) {
        for (i, byte) in into.iter_mut().enumerate() {
            let (at, shift) = ((offset + i) / WORD, (offset + i) % WORD * 8);
            *byte = (self.words[at].load(Ordering::Relaxed) >> shift) as u8;
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
