//! Reduction whose result is scattered: every rank gets all ranks' blocks for it, and combines them in rank order.
//!
//! Every byte is sent once, and every rank computes its own part of the result only.

use super::alltoall::AllToAll;
use super::combine::Combine;
use super::link::{Link, Machine};
use rma_core::{Error, ErrorClass, Result};
use std::fmt;
use std::sync::Arc;

/// A scattered reduction under way; gives every rank the combined values of its block.
pub struct ReduceScatter {
    exchange: AllToAll,
    operation: Arc<dyn Combine>,
}

impl ReduceScatter {
    /// Begins with this rank's values, cut into the ranks' blocks; a rank's block is as long on every rank.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks.
    pub fn new(link: Link, operation: Arc<dyn Combine>, blocks: Vec<Vec<u8>>) -> Result<Self> {
        Ok(Self { exchange: AllToAll::new(link, blocks)?, operation })
    }
}

impl Machine for ReduceScatter {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(blocks) = self.exchange.step()? else { return Ok(None) };
        Self::combine(&*self.operation, blocks).map(Some)
    }

    fn link(&self) -> Option<&Link> {
        self.exchange.link()
    }
}

impl ReduceScatter {
    /// Combines all ranks' blocks for this one, in rank order.
    pub(crate) fn combine(operation: &dyn Combine, blocks: Vec<Vec<u8>>) -> Result<Vec<u8>> {
        let mut blocks = blocks.into_iter().enumerate();
        let mut lower = blocks.next().map(|(_, block)| block).unwrap_or_default();
        for (rank, mut block) in blocks {
            if block.len() != lower.len() {
                let cause = format!("rank 0 reduces {} bytes here, rank {rank} {}", lower.len(), block.len());
                return Err(Error::new(ErrorClass::Truncate, "reduce_scatter", cause));
            }
            operation.combine(&lower, &mut block);
            lower = block;
        }
        Ok(lower)
    }
}

impl fmt::Debug for ReduceScatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReduceScatter").field("exchange", &self.exchange).finish_non_exhaustive()
    }
}
