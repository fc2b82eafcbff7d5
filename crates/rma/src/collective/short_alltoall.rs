//! Exchange of short blocks of all with all in few messages (Bruck): a block travels the distance to its rank by powers of
//! two, together with all others that have the same step to make. Every rank sends ⌈log2 P⌉ messages, where a message for
//! each block would be P - 1, and each block is sent up to ⌈log2 P⌉ times.

use super::exchange::{LONG_TAG, SHORT_TAG, Stray, differs, goes_another_way};
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
    /// The length of all blocks, if they have one.
    even_len: Option<usize>,
    /// What has been found to differ from that.
    fault: Option<Error>,
    receive: Option<ReceiveRequest>,
    /// What the partner sends if it has gone the other way of an even exchange.
    stray: Option<Stray>,
    sends: Sends,
}

/// From so many ranks on it is worth the second copy of the blocks.
const FEWEST_RANKS: usize = 5;
/// Longest block that is cheaper to copy a few times than to send in a message of its own.
const LONGEST: usize = 256;

impl ShortAllToAll {
    /// Whether this way is the better one for blocks of `len` bytes among `ranks` ranks. All ranks should come to the
    /// same answer, so it is for exchanges whose blocks have one length, known to all.
    pub fn is_better(ranks: usize, len: usize) -> bool {
        Self::is_for(ranks) && len <= LONGEST
    }

    /// Whether among so many ranks it is the better way for some lengths: even exchanges among them check that all ranks have
    /// chosen alike.
    pub fn is_for(ranks: usize) -> bool {
        ranks >= FEWEST_RANKS
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
        let (even_len, fault) = (None, None);
        Ok(Self {
            link,
            blocks,
            round: 0,
            even_len,
            fault,
            receive: None,
            stray: None,
            sends: Sends::default(),
        })
    }

    /// Makes it an even exchange: all blocks of all ranks should have `len` bytes. Ranks where they have others get an error,
    /// whichever way they have chosen ([`super::exchange`]).
    #[must_use]
    pub fn even(self, len: usize) -> Self {
        Self { even_len: Some(len), ..self }
    }

    fn on_received(&mut self, message: &[u8], distance: u32) -> Result<()> {
        let blocks = split(message, self.places(distance).count() as u32);
        let blocks = match self.even_len {
            None => blocks?,
            Some(len) => match blocks {
                Ok(blocks) if blocks.iter().all(|block| block.len() == len) => blocks,
                _ => {
                    let from = self.link.before(distance);
                    self.fault.get_or_insert_with(|| differs(len, from, message.len() as u64));
                    return Ok(());
                }
            },
        };
        self.places(distance).zip(blocks).for_each(|(place, block)| self.blocks[place] = block);
        Ok(())
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
            if let (Some(len), Some(stray)) = (self.even_len, &mut self.stray)
                && stray.has_come()
            {
                let from = self.link.before(distance);
                self.fault.get_or_insert_with(|| goes_another_way(len, from));
                (self.stray, self.receive) = (None, None);
                self.round += 1;
                continue;
            }
            if let Some(receive) = &mut self.receive {
                let Some(end) = receive.test() else {
                    // A message that cannot be sent is an error now: the one to be received may depend on it.
                    return self.sends.have_left().map(|_| None);
                };
                (self.stray, self.receive) = (None, None);
                self.on_received(&end?.data.unwrap_or_default(), distance)?;
                self.round += 1;
                continue;
            }
            let leaving: Vec<_> = self.places(distance).map(|place| &self.blocks[place]).collect();
            // A message without bytes says that blocks differ.
            let message = if self.fault.is_none() { join(&leaving) } else { Vec::new() };
            let (to, from, tag) =
                (self.link.after(distance), self.link.before(distance), SHORT_TAG + self.round);
            self.sends.push(self.link.send(to, tag, message)?);
            self.receive = Some(self.link.receive(from, tag, u64::MAX)?);
            if self.even_len.is_some() {
                self.stray = Some(Stray::new(&self.link, from, LONG_TAG + self.round)?);
            }
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        // Place `d` has the block of the rank `d` before this one.
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.reverse();
        blocks.rotate_right(self.link.me() as usize + 1);
        Ok(Some(blocks))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
