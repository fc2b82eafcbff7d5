//! Exchange of blocks between ranks that are neighbors of each other: a message along each edge, all under way at once.
//!
//! Two ranks may have several edges between them. Each has a tag, which the two ends know alike; blocks of edges with one tag
//! arrive in the order in which they are given.
//!
//! Short blocks leave before the collective is the engine's, as messages of the program do: what is waited for at the other end is
//! on its way while this one has its first step.

use super::exchange::Take;
use super::given::Given;
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::{Engine, Error, Result};

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
    received: Vec<Option<Vec<u8>>>,
    receives: Vec<(usize, ReceiveRequest)>,
    sends: Sends,
    /// The error to end with when no message uses the caller's memory any more.
    failed: Option<Error>,
}

impl Neighbors {
    /// Begins with what this rank gives and takes along its edges. What one rank gives another must be taken there.
    pub fn new(engine: &Engine, link: Link, gives: Vec<Edge<Given>>, takes: Vec<Edge<Take>>) -> Self {
        let received = takes.iter().map(|_| None).collect();
        let (receives, sends) = (Vec::with_capacity(takes.len()), Sends::default());
        let mut neighbors = Self { link: link.wide(), received, receives, sends, failed: None };
        // A step tells of it, once the caller's memory is free.
        neighbors.failed = neighbors.begin(engine, gives, takes).err();
        neighbors
    }

    /// First the rooms, then the messages: one that comes at once need not be kept.
    fn begin(&mut self, engine: &Engine, gives: Vec<Edge<Given>>, takes: Vec<Edge<Take>>) -> Result<()> {
        for (place, Edge { rank, tag, block }) in takes.into_iter().enumerate() {
            let receive = match block.room() {
                Some(room) => self.link.receive_exactly(rank, tag, room, u64::MAX)?,
                None => self.link.receive(rank, tag, u64::MAX)?,
            };
            self.receives.push((place, receive));
        }
        for Edge { rank, tag, block } in gives {
            if !self.link.has_left(engine, rank, tag, &block) {
                self.sends.push(self.link.send_given(rank, tag, block)?);
            }
        }
        Ok(())
    }

    /// Takes what has arrived.
    fn collect(&mut self) -> Result<()> {
        let mut failed = None;
        let Self { receives, received, .. } = self;
        receives.retain_mut(|(place, receive)| match receive.test() {
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
        self.receives.retain_mut(|(_, receive)| !receive.release());
        let is_free = self.sends.release() && self.receives.is_empty();
        self.failed.take_if(|_| is_free).map_or(Ok(None), Err)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
