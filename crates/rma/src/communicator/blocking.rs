//! The blocking collectives, on packed values: on boards where all ranks share memory ([`crate::collective::boards`]), by
//! packets elsewhere and for what is too long. The typed calls are made of these, and those of the C library.
//!
//! Blocking and nonblocking collectives do not match each other (MPI 4.1 §6.12), so all ranks agree which of a
//! communicator's collectives are blocking ones. They count these alike, and make the boards before the same one of them.

use super::handle::Communicator;
use crate::collective::boards::{Boards, Caller, Way};
use crate::collective::{
    AllGather, AllReduce, AllToAll, Barrier, Broadcast, Combine, Gather, Machine, Reduce, ReduceScatter,
    Scatter, ShortAllToAll, Swap,
};
use rma_core::{Error, ErrorClass, Result};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The boards of a communicator, when they have been made.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Blocking collectives called before the boards were made.
    calls: AtomicU32,
    /// `None` when the ranks share no memory.
    boards: OnceLock<Result<Option<Boards>>>,
}

/// A communicator that lives for so few blocking collectives is not worth its boards.
const CALLS_BEFORE_BOARDS: u32 = 2;

impl Communicator {
    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_barrier(&self, call: &'static str) -> Result<()> {
        match self.boards(call)? {
            Some(boards) => self.on_boards(call, |caller| boards.barrier(caller)),
            None => self.by_packets(call, Barrier::new(self.link())),
        }
    }

    /// Gives every rank the message of rank `root`, which exists and alone gives one; the others say how long it may be.
    ///
    /// # Errors
    /// When the message is too long for this rank, or a rank is lost.
    pub fn run_broadcast(
        &self,
        call: &'static str,
        root: u32,
        message: Option<Vec<u8>>,
        limit: u64,
    ) -> Result<Vec<u8>> {
        if let Some(boards) = self.boards(call)? {
            let way =
                self.on_boards(call, |caller| boards.broadcast(caller, root, message.as_deref(), limit))?;
            if let Way::Done(received) = way {
                return Ok(message.unwrap_or(received));
            }
        }
        self.by_packets(call, Broadcast::new(self.link(), root, message, limit))
    }

    /// Gives rank `root`, which exists, the combined values of all.
    ///
    /// # Errors
    /// When a rank gives another number of values, or is lost.
    pub fn run_reduce(
        &self,
        call: &'static str,
        root: u32,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        let boards = self.boards(call)?;
        // Taken by every rank: lengths that differ wrongly make some of them go by packets.
        let link = self.link();
        if let Some(boards) = boards
            && let Way::Done(result) =
                self.on_boards(call, |caller| boards.reduce(caller, root, &*operation, &values))?
        {
            return Ok(result);
        }
        self.by_packets(call, Reduce::new(link, root, operation, values))
    }

    /// Gives every rank the combined values of all.
    ///
    /// # Errors
    /// When a rank gives another number of values, or is lost.
    pub fn run_allreduce(
        &self,
        call: &'static str,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
    ) -> Result<Vec<u8>> {
        if let Some(boards) = self.boards(call)?
            && let Way::Done(result) =
                self.on_boards(call, |caller| boards.all_reduce(caller, &*operation, &values))?
        {
            return Ok(result);
        }
        self.by_packets(call, AllReduce::new(self.link(), operation, values))
    }

    /// Combines the blocks of all for each rank, which gives one for each, and gives every rank its own.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks, their lengths differ between ranks, or a rank is lost.
    pub fn run_reduce_scatter(
        &self,
        call: &'static str,
        operation: Arc<dyn Combine>,
        blocks: Vec<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        self.check_blocks(call, &blocks)?;
        if let Some(boards) = self.boards(call)?
            && let Way::Done(blocks) =
                self.on_boards(call, |caller| boards.all_to_all(caller, true, &blocks))?
        {
            let result = ReduceScatter::combine(&*operation, blocks);
            return self.runtime().noted(result.map_err(|error| error.in_call(call)));
        }
        self.by_packets(call, ReduceScatter::new(self.link(), operation, blocks)?)
    }

    /// Gives rank `root`, which exists, the blocks of all in rank order. They may have any lengths.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_gather(&self, call: &'static str, root: u32, block: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        let boards = self.boards(call)?;
        let link = self.link();
        let Some(boards) = boards else {
            return self.by_packets(call, Gather::new(link, root, block));
        };
        let gathered = match self.on_boards(call, |caller| boards.gather(caller, root, &block))? {
            Way::Done(gathered) => gathered,
            // This rank's block is long. The others' may be short, so it goes to the root and nowhere else.
            Way::Packets => {
                return self.by_packets(call, Swap::new(link, Some((root, block)), None)).map(|_| None);
            }
        };
        if self.rank() != root {
            return Ok(None);
        }
        let mut blocks = Vec::with_capacity(gathered.len());
        for (rank, block) in (0..).zip(gathered) {
            blocks.push(match block {
                Some(block) => block,
                None => self.by_packets(call, Swap::new(link.clone(), None, Some(rank)))?.unwrap_or_default(),
            });
        }
        Ok(Some(blocks))
    }

    /// Gives every rank the blocks of all in rank order. They may have any lengths.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_allgather(&self, call: &'static str, block: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        if let Some(boards) = self.boards(call)?
            && let Way::Done(blocks) = self.on_boards(call, |caller| boards.all_gather(caller, &block))?
        {
            return Ok(blocks);
        }
        self.by_packets(call, AllGather::new(self.link(), block))
    }

    /// Gives every rank its block of those of rank `root`, which exists and alone gives some.
    ///
    /// # Errors
    /// When the root does not give as many blocks as there are ranks, or a rank is lost.
    pub fn run_scatter(
        &self,
        call: &'static str,
        root: u32,
        blocks: Option<Vec<Vec<u8>>>,
    ) -> Result<Vec<u8>> {
        let blocks = blocks.filter(|_| self.rank() == root);
        if self.rank() == root {
            self.check_blocks(call, blocks.as_deref().unwrap_or_default())?;
        }
        if let Some(boards) = self.boards(call)?
            && let Way::Done(block) =
                self.on_boards(call, |caller| boards.scatter(caller, root, blocks.as_deref()))?
        {
            return Ok(block);
        }
        self.by_packets(call, Scatter::new(self.link(), root, blocks)?)
    }

    /// Gives every rank the blocks of all for it, in rank order. `even_len` is the length of all blocks of all ranks, if they
    /// are known to have one.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks, or a rank is lost.
    pub fn run_alltoall(
        &self,
        call: &'static str,
        blocks: Vec<Vec<u8>>,
        even_len: Option<usize>,
    ) -> Result<Vec<Vec<u8>>> {
        self.check_blocks(call, &blocks)?;
        if let Some(boards) = self.boards(call)?
            && let Way::Done(received) =
                self.on_boards(call, |caller| boards.all_to_all(caller, false, &blocks))?
        {
            return Ok(received);
        }
        match even_len {
            Some(len) if ShortAllToAll::is_better(blocks.len(), len) => {
                self.by_packets(call, ShortAllToAll::new(self.link(), blocks)?)
            }
            _ => self.by_packets(call, AllToAll::new(self.link(), blocks)?),
        }
    }

    /// The boards, if the ranks have made some: at the first blocking collectives they have not. Called once for each.
    fn boards(&self, call: &'static str) -> Result<Option<&Boards>> {
        let Shared { calls, boards } = &self.shared;
        if let Some(made) = boards.get() {
            return made.as_ref().map(Option::as_ref).map_err(Error::clone);
        }
        if calls.fetch_add(1, Relaxed) < CALLS_BEFORE_BOARDS {
            return Ok(None);
        }
        // Others have boards where this rank has failed to make some, or none: it has no part in their collectives any more.
        let made = boards.get_or_init(|| self.make_boards(call));
        made.as_ref().map(Option::as_ref).map_err(Error::clone)
    }

    fn make_boards(&self, call: &'static str) -> Result<Option<Boards>> {
        let runtime = self.runtime();
        let made = Boards::make(Caller { runtime, call }, &self.group(), &runtime.departures);
        let Some(boards) = runtime.noted(made.map_err(|error| error.in_call(call)))? else { return Ok(None) };
        // Who fails to make them gives its memory back. So nobody writes on another's board before all have theirs.
        match self.by_packets(call, Barrier::new(self.link())) {
            Ok(()) => Ok(Some(boards)),
            Err(error) => {
                boards.abandon();
                Err(error)
            }
        }
    }

    fn on_boards<T>(&self, call: &'static str, go: impl FnOnce(Caller<'_>) -> Result<T>) -> Result<T> {
        let runtime = self.runtime();
        let _call = runtime.engine.trace_call(call);
        let end = go(Caller { runtime, call });
        // What lies in memory needs no step, but others may need one of this process.
        runtime.engine.poll_now_and_then();
        runtime.noted(end.map_err(|error| error.in_call(call)))
    }

    fn by_packets<M>(&self, call: &'static str, machine: M) -> Result<M::Output>
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
    {
        self.runtime().run(call, machine)
    }

    fn check_blocks(&self, call: &'static str, blocks: &[Vec<u8>]) -> Result<()> {
        if blocks.len() == self.size() as usize {
            return Ok(());
        }
        let cause = format!("{} blocks for {} ranks", blocks.len(), self.size());
        self.runtime().noted(Err(Error::new(ErrorClass::Count, call, cause)))
    }
}
