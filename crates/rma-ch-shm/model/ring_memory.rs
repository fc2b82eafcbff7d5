//! The words of a ring for the model checker: those of the model's block.

use super::{Block, Word};
use crate::layout::{LINE, RingPlace};
use loom::sync::atomic::Ordering;
use std::sync::Arc;

/// The words of one ring: those of its control part, and the first one of each line.
#[derive(Debug)]
pub(crate) struct RingMemory {
    place: RingPlace,
    block: Arc<Block>,
}

impl RingMemory {
    pub(crate) fn new(block: Arc<Block>, place: RingPlace) -> Self {
        assert!(place.data + place.lines as usize * LINE <= block.len());
        Self { place, block }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    pub(crate) fn offset(&self, position: u64) -> usize {
        position as usize * LINE % self.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.place.lines as usize * LINE
    }

    pub(crate) fn load(&self, word: Word, ordering: Ordering) -> u64 {
        self.block.load(self.control(word), ordering)
    }

    pub(crate) fn store(&self, word: Word, value: u64, ordering: Ordering) {
        self.block.store(self.control(word), value, ordering);
    }

    pub(crate) fn swap(&self, word: Word, value: u64, ordering: Ordering) -> u64 {
        self.block.swap(self.control(word), value, ordering)
    }

    pub(crate) fn load_line(&self, position: u64, ordering: Ordering) -> u64 {
        self.block.load(self.place.data + self.offset(position), ordering)
    }

    pub(crate) fn store_line(&self, position: u64, value: u64, ordering: Ordering) {
        self.block.store(self.place.data + self.offset(position), value, ordering);
    }

    /// Nothing: there is no cache here.
    pub(crate) fn fetch_line_early(&self, _: u64) {}

    /// The copies of the block are the model's.
    pub(crate) fn write(&self, _: u64, _: usize, _: &[u8]) -> bool {
        false
    }

    pub(crate) fn read(&self, _: u64, _: usize, _: &mut [u8]) -> bool {
        false
    }

    fn control(&self, word: Word) -> usize {
        match word {
            Word::Consumed => self.place.consumed,
            Word::ConsumerAlarm => self.place.consumer_alarm,
            Word::ProducerAlarm => self.place.producer_alarm,
        }
    }
}
