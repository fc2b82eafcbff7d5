//! Exchange of blocks between ranks that are neighbors of each other: a message along each edge, all under way at once.
//!
//! Two ranks may have several edges between them. Each has a tag, which the two ends know alike; blocks of edges with one tag
//! arrive in the order in which they are given. A block that is as long as its room, whatever its length, is received there; another one
//! is not stored, and is an error of its receiver alone.
//!
//! Short blocks leave before the collective is the engine's, as messages of the program do: what is waited for at the other end is
//! on its way while this one has its first step.

use super::given::Given;
use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::datatype::Scatter;
use rma_core::{Engine, Error, ErrorClass, Result};

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

/// An exchange under way; gives the error of a block that is not as long as its room, if there is one.
#[derive(Debug)]
pub struct Neighbors {
    link: Link,
    receives: Vec<BlockReceive>,
    sends: Sends,
    /// Why a block is not in its room. The other ranks do not hear of it: this one still does its part.
    misfit: Option<Error>,
    /// The error to end with when no message uses the caller's memory any more.
    failed: Option<Error>,
}

/// A block that is waited for.
#[derive(Debug)]
struct BlockReceive {
    request: ReceiveRequest,
    from: u32,
    room: u64,
}

impl Neighbors {
    /// Begins with what this rank gives along its edges, and the rooms for what it takes. What one rank gives another must be taken
    /// there.
    pub fn new(engine: &Engine, link: Link, gives: Vec<Edge<Given>>, takes: Vec<Edge<Scatter>>) -> Self {
        let (receives, sends) = (Vec::with_capacity(takes.len()), Sends::default());
        let mut neighbors = Self { link: link.wide(), receives, sends, misfit: None, failed: None };
        // A step tells of it, once the caller's memory is free.
        neighbors.failed = neighbors.begin(engine, gives, takes).err();
        neighbors
    }

    /// First the rooms, then the messages: one that comes at once need not be kept.
    fn begin(&mut self, engine: &Engine, gives: Vec<Edge<Given>>, takes: Vec<Edge<Scatter>>) -> Result<()> {
        for Edge { rank: from, tag, block } in takes {
            let room = block.remaining();
            let request = self.link.receive_exactly(from, tag, block, u64::MAX)?;
            self.receives.push(BlockReceive { request, from, room });
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
        let Self { receives, misfit, .. } = self;
        receives.retain_mut(|BlockReceive { request, from, room }| match request.test() {
            None => true,
            Some(Ok(end)) => {
                if end.data.is_some() && misfit.is_none() {
                    *misfit = Some(misfit_of(*from, end.len, *room));
                }
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
    type Output = Result<()>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        if self.failed.is_none() {
            match self.advance() {
                Ok(is_over) => return Ok(is_over.then(|| self.misfit.take().map_or(Ok(()), Err))),
                Err(error) => self.failed = Some(error),
            }
        }
        self.receives.retain_mut(|receive| !receive.request.release());
        let is_free = self.sends.release() && self.receives.is_empty();
        self.failed.take_if(|_| is_free).map_or(Ok(None), Err)
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

#[cold]
fn misfit_of(from: u32, len: u64, room: u64) -> Error {
    let cause =
        format!("a block of {len} bytes has come from rank {from}, and the room for it is {room} bytes");
    Error::new(ErrorClass::Truncate, "", cause)
}
