//! Reduction to one rank up a binomial tree.
//!
//! Ranks are counted from the root where the operation is commutative; elsewhere from rank 0, which hands the result to the
//! root. So every rank's values stand for consecutive ranks, and are combined in their order.

use super::combine::Combine;
use super::link::{Link, Machine, Sends};
use super::same_length::SameLength;
use super::tree::Tree;
use crate::message::ReceiveRequest;
use rma_core::Result;
use std::fmt;
use std::sync::Arc;

/// A reduction under way; gives the root the combined values, and the others nothing.
pub struct Reduce {
    link: Link,
    operation: Arc<dyn Combine>,
    root: u32,
    tree: Tree,
    values: Vec<u8>,
    lengths: SameLength,
    stage: ReduceStage,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReduceStage {
    /// Combine with the place across this bit, or hand over to it.
    Collect(u64),
    /// The root waits for the result of the first place.
    Await,
    /// Wait for what was sent to leave.
    Leave,
}

const RESULT: u32 = 100;

impl Reduce {
    /// Begins; the first step sends. `values` are packed elements, as many on every rank.
    pub fn new(link: Link, root: u32, operation: Arc<dyn Combine>, values: Vec<u8>) -> Self {
        let first = if operation.is_commutative() { root } else { 0 };
        let tree = Tree::new(&link, first);
        let link = link.toward(root);
        let (stage, sends, lengths) = (ReduceStage::Collect(1), Sends::default(), SameLength::new(&values));
        Self { link, operation, root, tree, values, lengths, stage, receive: None, sends }
    }

    fn send(&mut self, to: u32, round: u32) -> Result<()> {
        let values = std::mem::take(&mut self.values);
        self.sends.push(self.link.send(to, round, values)?);
        Ok(())
    }

    /// Does what this place does for a bit; says whether it begins to wait for a message.
    fn collect(&mut self, bit: u64) -> Result<ReduceStage> {
        let (tree, round) = (self.tree, bit.trailing_zeros());
        if !tree.has(bit) {
            // The first place has everything.
            if tree.root() != self.root {
                self.send(self.root, RESULT)?;
            }
            return Ok(ReduceStage::Leave);
        }
        let limit = self.lengths.limit();
        if tree.place() & bit != 0 {
            self.send(tree.parent(), round)?;
            if self.link.me() != self.root {
                return Ok(ReduceStage::Leave);
            }
            self.receive = Some(self.link.receive(tree.root(), RESULT, limit)?);
            return Ok(ReduceStage::Await);
        }
        if tree.has(tree.place() + bit) {
            self.receive = Some(self.link.receive(tree.rank(tree.place() + bit), round, limit)?);
            return Ok(ReduceStage::Collect(bit));
        }
        Ok(ReduceStage::Collect(bit << 1))
    }
}

impl Machine for Reduce {
    type Output = Option<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        loop {
            if self.receive.is_some() {
                let Some(other) = self.lengths.until(&self.link, &mut self.sends, &mut self.receive)? else {
                    return Ok(None);
                };
                self.stage = match self.stage {
                    ReduceStage::Collect(bit) => {
                        self.values = match other {
                            Some(mut other) => {
                                self.operation.combine(&self.values, &mut other);
                                other
                            }
                            None => Vec::new(),
                        };
                        ReduceStage::Collect(bit << 1)
                    }
                    ReduceStage::Await | ReduceStage::Leave => {
                        self.values = other.unwrap_or_default();
                        ReduceStage::Leave
                    }
                };
            }
            let ReduceStage::Collect(bit) = self.stage else { break };
            self.stage = self.collect(bit)?;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        self.lengths.end()?;
        let is_root = self.link.me() == self.root;
        Ok(Some(is_root.then(|| std::mem::take(&mut self.values))))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }

    fn root(&self) -> Option<u32> {
        Some(self.root)
    }
}

impl fmt::Debug for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reduce").field("link", &self.link).field("stage", &self.stage).finish_non_exhaustive()
    }
}
