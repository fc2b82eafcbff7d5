//! Exchange of blocks between ranks that are neighbors of each other: a message along each edge, all under way at once.
//!
//! Two ranks may have several edges between them. Each has a tag, which the two ends know alike; blocks of edges with one tag
//! arrive in the order in which they are given.

use super::exchange::Take;
use super::given::{Given, is_in_place};
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::{Error, Result};
use smallvec::SmallVec;

/// One end of an edge, and what this rank gives or takes there.
#[derive(Debug)]
pub struct Edge<T> {
    /// The rank at the other end.
    pub rank: u32,
    /// At most [`EDGE_TAGS`] - 1.
    pub tag: u32,
    /// The block.
    pub block: T,
}

/// Number of tags that edges can have.
pub const EDGE_TAGS: u32 = 256;

/// An exchange under way; gives, by edge, what has come for this rank and does not lie in its memory.
#[derive(Debug)]
pub struct Neighbors {
    link: Link,
    gives: Vec<Edge<Given>>,
    takes: Vec<Edge<Take>>,
    received: Vec<Option<Vec<u8>>>,
    receives: SmallVec<[(usize, ReceiveRequest); 6]>,
    sends: Sends,
    /// The error to end with when no message uses the caller's memory any more.
    failed: Option<Error>,
}

impl Neighbors {
    /// Begins with what this rank gives and takes along its edges; the first step sends. What one rank gives another must be
    /// taken there.
    pub fn new(link: Link, gives: Vec<Edge<Given>>, takes: Vec<Edge<Take>>) -> Self {
        let received = takes.iter().map(|_| None).collect();
        let (receives, sends) = (SmallVec::new(), Sends::default());
        Self { link: link.wide(), gives, takes, received, receives, sends, failed: None }
    }

    /// First the rooms, then the messages: one that comes at once need not be kept.
    fn begin(&mut self) -> Result<()> {
        for (place, Edge { rank, tag, block }) in std::mem::take(&mut self.takes).into_iter().enumerate() {
            let receive = match block.room().filter(is_in_place) {
                Some(room) => self.link.receive_exactly(rank, tag, room, u64::MAX)?,
                None => self.link.receive(rank, tag, u64::MAX)?,
            };
            self.receives.push((place, receive));
        }
        for Edge { rank, tag, block } in std::mem::take(&mut self.gives) {
            let send = self.link.send_given(rank, tag, block)?;
            self.sends.push(send);
        }
        Ok(())
    }

    /// Takes what has arrived.
    fn collect(&mut self) -> Result<()> {
        let mut failed = None;
        let Self { receives, received, .. } = self;
        receives.retain(|(place, receive)| match receive.test() {
            None => true,
            Some(Ok(end)) => {
                received[*place] = end.data;
                false
            }
            Some(Err(error)) => {
                failed = failed.take().or(Some(error));
                false
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn advance(&mut self) -> Result<bool> {
        self.begin()?;
        let has_left = self.sends.have_left()?;
        self.collect()?;
        Ok(has_left && self.receives.is_empty())
    }
}

impl Machine for Neighbors {
    type Output = Vec<Option<Vec<u8>>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        if self.failed.is_none() {
            match self.advance() {
                Ok(is_over) => return Ok(is_over.then(|| std::mem::take(&mut self.received))),
                Err(error) => self.failed = Some(error),
            }
        }
        self.receives.retain(|(_, receive)| !receive.release());
        let is_free = self.sends.release() && self.receives.is_empty();
        self.failed.take_if(|_| is_free).map_or(Ok(None), Err)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
