//! Exchange of all with all: in round k every rank sends to the one k after it and receives from the one k before it. A few
//! rounds are under way at a time, so that what is outstanding does not grow with the number of ranks. Blocks may have any
//! lengths.

use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::{Error, ErrorClass, Result};
use smallvec::SmallVec;

/// An exchange under way; gives every rank's block for this one in rank order.
#[derive(Debug)]
pub struct AllToAll {
    link: Link,
    /// What is still to be sent, by rank.
    blocks: Vec<Vec<u8>>,
    received: Vec<Vec<u8>>,
    /// The next round.
    round: u32,
    receives: SmallVec<[(u32, ReceiveRequest); ROUNDS_AT_ONCE]>,
    sends: Sends,
}

/// Enough to hide the way of a message behind others.
const ROUNDS_AT_ONCE: usize = 8;

impl AllToAll {
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
        let mut received = vec![Vec::new(); size];
        let me = link.me() as usize;
        received[me] = std::mem::take(&mut blocks[me]);
        let (receives, sends) = (SmallVec::new(), Sends::default());
        Ok(Self { link, blocks, received, round: 1, receives, sends })
    }

    /// Takes what has arrived; says whether something has.
    fn collect(&mut self) -> Result<bool> {
        let mut failed = None;
        let (before, received) = (self.receives.len(), &mut self.received);
        self.receives.retain(|(from, receive)| match receive.test() {
            None => true,
            Some(Ok(end)) => {
                received[*from as usize] = end.data.unwrap_or_default();
                false
            }
            Some(Err(error)) => {
                failed = Some(error);
                false
            }
        });
        failed.map_or(Ok(self.receives.len() < before), Err)
    }

    /// Begins rounds while there may be more under way.
    fn begin(&mut self) -> Result<()> {
        while self.round < self.link.size()
            && self.receives.len() < ROUNDS_AT_ONCE
            && self.sends.len() < ROUNDS_AT_ONCE
        {
            let (to, from) = (self.link.after(self.round), self.link.before(self.round));
            self.round += 1;
            // First the room, then the message: one that comes at once need not be kept.
            self.receives.push((from, self.link.receive(from, 0, u64::MAX)?));
            let block = std::mem::take(&mut self.blocks[to as usize]);
            self.sends.push(self.link.send(to, 0, block)?);
        }
        Ok(())
    }
}

impl Machine for AllToAll {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        loop {
            let has_left = self.sends.have_left()?;
            let has_arrived = self.collect()?;
            let round = self.round;
            self.begin()?;
            if has_left && self.receives.is_empty() && round == self.link.size().max(1) {
                return Ok(Some(std::mem::take(&mut self.received)));
            }
            if !has_arrived && self.round == round {
                return Ok(None);
            }
        }
    }
}
