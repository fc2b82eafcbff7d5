//! Gather to all by dissemination (Bruck): in round k every rank gives what it has to the one 2ᵏ before it. Blocks may have
//! any lengths.

use super::frames::{join, split};
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::Result;

/// A gather to all under way; gives every rank's block in rank order.
#[derive(Debug)]
pub struct AllGather {
    link: Link,
    /// Blocks of consecutive ranks from this one on, counted round.
    blocks: Vec<Vec<u8>>,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

impl AllGather {
    /// Begins with this rank's block.
    pub fn new(link: Link, block: Vec<u8>) -> Self {
        Self { link, blocks: vec![block], receive: None, sends: Sends::default() }
    }

    /// Blocks that this round brings: as many as there are, but not more than are missing.
    fn due(&self) -> u32 {
        let have = self.blocks.len() as u32;
        have.min(self.link.size() - have)
    }
}

impl Machine for AllGather {
    type Output = Vec<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        loop {
            let due = self.due();
            if let Some(receive) = &mut self.receive {
                let Some(end) = receive.test() else {
                    // A message that cannot be sent is an error now: the one to be received may depend on it.
                    return self.sends.have_left().map(|_| None);
                };
                self.receive = None;
                self.blocks.extend(split(&end?.data.unwrap_or_default(), due)?);
                continue;
            }
            if due == 0 {
                break;
            }
            // Every rank has 2ᵏ blocks in round k, until all are there.
            let distance = self.blocks.len() as u32;
            let round = distance.ilog2();
            let message = join(&self.blocks[..due as usize]);
            self.sends.push(self.link.send(self.link.before(distance), round, message)?);
            self.receive = Some(self.link.receive(self.link.after(distance), round, u64::MAX)?);
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.rotate_right(self.link.me() as usize);
        Ok(Some(blocks))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
