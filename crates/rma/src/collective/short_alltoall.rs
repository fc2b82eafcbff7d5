//! Exchange of short blocks of all with all in few messages (Bruck): a block travels the distance to its rank by powers of
//! two, together with all others that have the same step to make. Every rank sends ⌈log2 P⌉ messages, where a message for
//! each block would be P - 1, and each block is sent up to ⌈log2 P⌉ times.

use super::frames::{join, split};
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::{Error, ErrorClass, Result};

/// Such an exchange under way; gives every rank's block for this one in rank order.
#[derive(Debug)]
pub struct ShortAllToAll {
    link: Link,
    /// At place `d`, the block that has to go `d` ranks further in all, counted from the rank that gave it.
    blocks: Vec<Vec<u8>>,
    round: u32,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

/// From so many ranks on it is worth the second copy of the blocks.
const FEWEST_RANKS: usize = 5;
/// Longest block that is cheaper to copy a few times than to send in a message of its own.
const LONGEST: usize = 256;

impl ShortAllToAll {
    /// Whether this way is the better one for blocks of `len` bytes among `ranks` ranks. All ranks must come to the same
    /// answer, so it is for exchanges whose blocks have one length, known to all.
    pub fn is_better(ranks: usize, len: usize) -> bool {
        ranks >= FEWEST_RANKS && len <= LONGEST
    }

    /// Begins with a block for each rank, in rank order; the first step sends.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks.
    pub fn new(link: Link, mut blocks: Vec<Vec<u8>>) -> Result<Self> {
        let size = link.size() as usize;
        if blocks.len() != size {
            let cause = format!("{} blocks for {size} ranks", blocks.len());
            return Err(Error::new(ErrorClass::Count, "alltoall", cause));
        }
        blocks.rotate_left(link.me() as usize);
        Ok(Self { link, blocks, round: 0, receive: None, sends: Sends::default() })
    }

    /// The places whose blocks make a step of `distance`.
    fn places(&self, distance: u32) -> impl Iterator<Item = usize> + use<> {
        (0..self.blocks.len()).filter(move |place| place & distance as usize != 0)
    }
}

impl Machine for ShortAllToAll {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        loop {
            let distance = 1u32.checked_shl(self.round).filter(|distance| *distance < self.link.size());
            let Some(distance) = distance else { break };
            if let Some(receive) = &mut self.receive {
                let Some(end) = receive.test() else {
                    // A message that cannot be sent is an error now: the one to be received may depend on it.
                    return self.sends.have_left().map(|_| None);
                };
                self.receive = None;
                let came = split(&end?.data.unwrap_or_default(), self.places(distance).count() as u32)?;
                self.places(distance).zip(came).for_each(|(place, block)| self.blocks[place] = block);
                self.round += 1;
                continue;
            }
            let leaving: Vec<_> = self.places(distance).map(|place| &self.blocks[place]).collect();
            let message = join(&leaving);
            self.sends.push(self.link.send(self.link.after(distance), self.round, message)?);
            self.receive = Some(self.link.receive(self.link.before(distance), self.round, u64::MAX)?);
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        // Place `d` has the block of the rank `d` before this one.
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.reverse();
        blocks.rotate_right(self.link.me() as usize + 1);
        Ok(Some(blocks))
    }
}
