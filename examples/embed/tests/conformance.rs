//! Mini's channel keeps the contract: the whole suite.

use embed::{Boxes, MiniChannel};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::sync::Arc;

struct Mini;

impl Fixture for Mini {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let boxes = Boxes::new(count);
        let channel = |me| Box::new(MiniChannel::new(Peer(me), Arc::clone(&boxes))) as Box<dyn Channel>;
        (0..count).map(channel).collect()
    }

    fn largest_body(&self) -> usize {
        100_000
    }
}

mod mini {
    use super::*;
    rma_core::channel_conformance!(Mini);
}
