//! Gather up a binomial tree: a rank collects from its children, and hands all it has to its parent. Blocks may have any
//! lengths.

use super::frames::{join, split};
use super::link::{Link, Machine, Sends};
use super::tree::Tree;
use crate::message::ReceiveRequest;
use rma_core::Result;

/// A gather under way; gives the root every rank's block in rank order, and the others nothing.
#[derive(Debug)]
pub struct Gather {
    link: Link,
    tree: Tree,
    /// Blocks of consecutive places from this rank's on.
    blocks: Vec<Vec<u8>>,
    bit: u64,
    receive: Option<ReceiveRequest>,
    sends: Sends,
    is_collected: bool,
}

impl Gather {
    /// Begins with this rank's block.
    pub fn new(link: Link, root: u32, block: Vec<u8>) -> Self {
        Self {
            tree: Tree::new(&link, root),
            link,
            blocks: vec![block],
            bit: 1,
            receive: None,
            sends: Sends::default(),
            is_collected: false,
        }
    }

    /// Collects from one more child, or hands over; says whether it is worth going on.
    fn collect(&mut self) -> Result<bool> {
        let (tree, size) = (self.tree, u64::from(self.link.size()));
        let place = tree.place();
        let round = self.bit.trailing_zeros();
        if let Some(receive) = &mut self.receive {
            let Some(end) = receive.test() else { return Ok(false) };
            self.receive = None;
            let message = end?.data.unwrap_or_default();
            let count = (place + 2 * self.bit).min(size) - (place + self.bit);
            self.blocks.extend(split(&message, count as u32)?);
        } else if self.bit >= size {
            self.is_collected = true;
            return Ok(true);
        } else if place & self.bit != 0 {
            let message = join(&std::mem::take(&mut self.blocks));
            self.sends.push(self.link.send(tree.parent(), round, message)?);
            self.is_collected = true;
            return Ok(true);
        } else if tree.has(place + self.bit) {
            self.receive = Some(self.link.receive(tree.rank(place + self.bit), round, u64::MAX)?);
            return Ok(true);
        }
        self.bit <<= 1;
        Ok(true)
    }
}

impl Machine for Gather {
    type Output = Option<Vec<Vec<u8>>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        while !self.is_collected {
            if !self.collect()? {
                return Ok(None);
            }
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        if self.tree.place() != 0 {
            return Ok(Some(None));
        }
        // Blocks are in order of places, that is, of ranks from the root on.
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.rotate_right(self.tree.root() as usize % self.link.size() as usize);
        Ok(Some(Some(blocks)))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn root(&self) -> Option<u32> {
        Some(self.tree.root())
    }
}
