//! AllReduce to all by recursive doubling.
//!
//! ```text
//!   fold      of the first 2r ranks (r = ranks beyond a power of two), each odd one gives its values to the even one before
//!   double    the others, a power of two, exchange with the partner one bit away, bit by bit
//!   unfold    the even ones give the result back
//! ```
//!
//! A rank whose partner has another number of values tells the others by messages without values, to the last
//! round, so that no rank waits for it, and every rank whose values come from one of the two gets an error.
//!
//! Every rank's values always stand for consecutive ranks, and are combined with those of lower ranks on the left: the result
//! is that of rank order, and every rank computes the same one, bit by bit, whatever arrives first.

use super::combine::Combine;
use super::doubling::Doubling;
use super::link::{Link, Machine, Sends};
use super::same_length::SameLength;
use crate::message::ReceiveRequest;
use rma_core::Result;
use std::fmt;
use std::sync::Arc;

/// A reduction under way; gives every rank the combined values.
pub struct AllReduce {
    link: Link,
    operation: Arc<dyn Combine>,
    /// Shared with the messages under way that give them to others.
    values: Arc<Vec<u8>>,
    lengths: SameLength,
    stage: AllReduceStage,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllReduceStage {
    /// Nothing has been sent.
    Start,
    /// Wait for the values of the odd neighbour.
    Fold,
    /// Exchange with the partner across this bit.
    Double(u32),
    /// Wait for the result from the even neighbour.
    Unfold,
    /// Wait for what was sent to leave.
    Leave,
}

const FOLD: u32 = 100;
const UNFOLD: u32 = 101;

impl AllReduce {
    /// Begins; the first step sends. `values` are packed elements, as many on every rank.
    pub fn new(link: Link, operation: Arc<dyn Combine>, values: Vec<u8>) -> Self {
        let lengths = SameLength::new(&values);
        let (values, stage, sends) = (Arc::new(values), AllReduceStage::Start, Sends::default());
        Self { link, operation, values, lengths, stage, receive: None, sends }
    }

    fn start(&mut self) -> Result<()> {
        match self.link.me() {
            me if self.doubling().folds(me) => {
                self.send(me - 1, FOLD)?;
                self.enter(AllReduceStage::Unfold)
            }
            me if self.doubling().is_folded_into(me) => self.enter(AllReduceStage::Fold),
            _ => self.enter(AllReduceStage::Double(1)),
        }
    }

    fn doubling(&self) -> Doubling {
        Doubling::new(self.link.size())
    }

    /// This rank among those that double.
    fn place(&self) -> u32 {
        self.doubling().place(self.link.me())
    }

    fn send(&mut self, to: u32, round: u32) -> Result<()> {
        self.sends.push(self.link.send_shared(to, round, Arc::clone(&self.values))?);
        Ok(())
    }

    /// Enters a stage: sends what it sends, and begins to receive what it waits for.
    fn enter(&mut self, stage: AllReduceStage) -> Result<()> {
        self.stage = stage;
        let me = self.link.me();
        let limit = self.lengths.limit();
        self.receive = match stage {
            AllReduceStage::Fold => Some(self.link.receive(me + 1, FOLD, limit)?),
            AllReduceStage::Unfold => Some(self.link.receive(me - 1, UNFOLD, limit)?),
            AllReduceStage::Double(bit) if bit < self.doubling().power() => {
                let partner = self.doubling().rank(self.place() ^ bit);
                self.send(partner, bit.ilog2())?;
                Some(self.link.receive(partner, bit.ilog2(), limit)?)
            }
            AllReduceStage::Double(_) => {
                if self.doubling().is_folded_into(me) {
                    self.send(me + 1, UNFOLD)?;
                }
                self.stage = AllReduceStage::Leave;
                None
            }
            AllReduceStage::Start | AllReduceStage::Leave => None,
        };
        Ok(())
    }

    /// `other` is nothing when the numbers differ.
    fn on_received(&mut self, other: Option<Vec<u8>>) -> Result<()> {
        let Some(other) = other else {
            self.values = Arc::default();
            return self.enter(match self.stage {
                AllReduceStage::Fold => AllReduceStage::Double(1),
                AllReduceStage::Double(bit) => AllReduceStage::Double(bit << 1),
                AllReduceStage::Start | AllReduceStage::Unfold | AllReduceStage::Leave => {
                    AllReduceStage::Leave
                }
            });
        };
        match self.stage {
            AllReduceStage::Fold => {
                self.combine(other, false);
                self.enter(AllReduceStage::Double(1))
            }
            AllReduceStage::Double(bit) => {
                self.combine(other, self.place() & bit != 0);
                self.enter(AllReduceStage::Double(bit << 1))
            }
            AllReduceStage::Start | AllReduceStage::Unfold | AllReduceStage::Leave => {
                self.values = Arc::new(other);
                self.enter(AllReduceStage::Leave)
            }
        }
    }

    fn combine(&mut self, mut other: Vec<u8>, is_lower: bool) {
        if is_lower {
            // A copy is made while a message that has not left yet needs them as they are.
            let values: &mut Vec<u8> = Arc::make_mut(&mut self.values);
            self.operation.combine(&other, values);
        } else {
            self.operation.combine(&self.values, &mut other);
            self.values = Arc::new(other);
        }
    }
}

impl Machine for AllReduce {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        if self.stage == AllReduceStage::Start {
            self.start()?;
        }
        while self.receive.is_some() {
            // What has left does not hold the values any more.
            self.sends.forget_ended();
            let Some(other) = self.lengths.until(&self.link, &mut self.sends, &mut self.receive)? else {
                return Ok(None);
            };
            self.on_received(other)?;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        self.lengths.end()?;
        // All messages have left, so this is the only holder.
        let values = std::mem::take(&mut self.values);
        Ok(Some(Arc::try_unwrap(values).unwrap_or_else(|values| (*values).clone())))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

impl fmt::Debug for AllReduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllReduce")
            .field("link", &self.link)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
