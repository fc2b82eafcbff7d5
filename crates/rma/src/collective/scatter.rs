//! Scatter down a binomial tree: the way of [`super::gather`] backwards. Blocks may have any lengths.

use super::frames::{join, split};
use super::link::{Link, Machine, Sends};
use super::tree::Tree;
use crate::message::ReceiveRequest;
use rma_core::{Error, ErrorClass, Result};

/// A scatter under way; gives every rank its block.
#[derive(Debug)]
pub struct Scatter {
    link: Link,
    tree: Tree,
    /// Blocks of consecutive places from this rank's on, once they are here.
    blocks: Option<Vec<Vec<u8>>>,
    receive: Option<ReceiveRequest>,
    sends: Sends,
    has_sent: bool,
}

impl Scatter {
    /// Begins. The root gives a block for each rank, in rank order.
    ///
    /// # Errors
    /// When the root does not give as many blocks as there are ranks.
    pub fn new(link: Link, root: u32, blocks: Option<Vec<Vec<u8>>>) -> Result<Self> {
        let tree = Tree::new(&link, root);
        let blocks = blocks.filter(|_| tree.place() == 0).map(|mut blocks| {
            let len = blocks.len().max(1);
            blocks.rotate_left(root as usize % len);
            blocks
        });
        let given = blocks.as_ref().map(Vec::len);
        if tree.place() == 0 && given != Some(link.size() as usize) {
            let cause = format!("{} blocks for {} ranks", given.unwrap_or(0), link.size());
            return Err(Error::new(ErrorClass::Count, "scatter", cause));
        }
        Ok(Self { link, tree, blocks, receive: None, sends: Sends::default(), has_sent: false })
    }

    fn tell(&mut self, blocks: &mut Vec<Vec<u8>>) -> Result<()> {
        for bit in self.tree.child_bits() {
            let message = join(&blocks.split_off(bit as usize));
            self.sends.push(self.link.send(self.tree.rank(self.tree.place() + bit), 0, message)?);
        }
        Ok(())
    }
}

impl Machine for Scatter {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        if self.blocks.is_none() {
            if self.receive.is_none() {
                self.receive = Some(self.link.receive(self.tree.parent(), 0, u64::MAX)?);
            }
            let Some(end) = self.receive.as_mut().and_then(ReceiveRequest::test) else { return Ok(None) };
            let message = end?.data.unwrap_or_default();
            let count = self.tree.own_bit().min(u64::from(self.link.size()) - self.tree.place());
            self.blocks = Some(split(&message, count as u32)?);
        }
        if !self.has_sent
            && let Some(mut blocks) = self.blocks.take()
        {
            self.has_sent = true;
            self.tell(&mut blocks)?;
            self.blocks = Some(blocks);
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        Ok(self.blocks.as_mut().and_then(Vec::pop))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn root(&self) -> Option<u32> {
        Some(self.tree.root())
    }
}
