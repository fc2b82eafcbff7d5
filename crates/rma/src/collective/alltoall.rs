//! Exchange of all with all: an [`Exchange`] in which every rank gives a block to each, packed.

use super::exchange::{Exchange, Take};
use super::given::Given;
use super::link::{Link, Machine};
use rma_core::Result;

/// An exchange under way; gives every rank's block for this one in rank order.
#[derive(Debug)]
pub struct AllToAll(Exchange);

impl AllToAll {
    /// Begins with a block for each rank, in rank order; the first step sends.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks.
    pub fn new(link: Link, blocks: Vec<Vec<u8>>) -> Result<Self> {
        let takes = (0..link.size()).map(|_| Some(Take::Bytes)).collect();
        let gives = blocks.into_iter().map(|block| Some(Given::Bytes(block))).collect();
        Exchange::new(link, gives, takes).map(Self)
    }
}

impl Machine for AllToAll {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        let received = self.0.step()?;
        Ok(received.map(|blocks| blocks.into_iter().map(Option::unwrap_or_default).collect()))
    }

    fn link(&self) -> Option<&Link> {
        self.0.link()
    }
}
