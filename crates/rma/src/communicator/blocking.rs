//! The blocking collectives, on packed values: in slots where all ranks share memory ([`crate::runtime::slots`]), by
//! packets elsewhere and for what is too long. The typed calls are made of these, and those of the C library.
//!
//! Blocking and nonblocking collectives do not match each other (MPI 4.1 §6.12), so all ranks agree which of a
//! communicator's collectives are blocking ones. They count these alike, and make the slots before the same one of them.

use super::handle::Communicator;
use crate::collective::{
    AllGather, AllReduce, Barrier, Broadcast, BroadcastInMemory, Combine, Exchange, Gather, Given, Machine,
    Neighbors, Reduce, ReduceScatter, Scatter, ShortAllToAll, Take, packed,
};
use crate::runtime::slots::{Caller, CollectiveKind, CollectiveSlots, Way};
use rma_core::datatype::Scatter as Room;
use rma_core::{Error, ErrorClass, Result};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The slots of a communicator, when they have been made.
#[derive(Debug, Default)]
pub(super) struct SharedSlots {
    /// Blocking collectives called before the slots were made.
    calls: AtomicU32,
    /// `None` when the ranks share no memory.
    slots: OnceLock<Result<Option<CollectiveSlots>>>,
}

/// What has come from each rank and does not lie in the caller's memory.
type Blocks = Vec<Option<Vec<u8>>>;

/// Among so few ranks blocks go straight to the rank that they are for. Otherwise they are passed on along a tree, which is
/// fewer messages one after the other for a rank with many.
const FEW: u32 = 4;
/// The same where the slots say that blocks are long: then bytes count more than messages.
const FEW_OF_LONG: u32 = 16;

/// A communicator that lives for so few blocking collectives is not worth its slots.
const CALLS_BEFORE_SLOTS: u32 = 2;

#[doc(hidden)]
impl Communicator {
    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_barrier(&self, call: &'static str) -> Result<()> {
        match self.slots(call)? {
            Some(slots) => self.in_slots(call, |caller| slots.barrier(caller)),
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
        if let Some(slots) = self.slots(call)? {
            let way =
                self.in_slots(call, |caller| slots.broadcast(caller, root, message.as_deref(), limit))?;
            if let Way::Done(received) = way {
                return Ok(message.unwrap_or(received));
            }
        }
        self.by_packets(call, Broadcast::new(self.link(), root, message, limit))
    }

    /// As [`Communicator::run_broadcast`], from and to memory of the callers. Answers a message that is not as long as the
    /// memory; one that is lies there now.
    ///
    /// # Errors
    /// As [`Communicator::run_broadcast`].
    pub fn run_broadcast_in(&self, call: &'static str, root: u32, memory: Room) -> Result<Option<Vec<u8>>> {
        let (len, is_root) = (memory.remaining(), self.rank() == root);
        if let Some(slots) = self.slots(call)? {
            let way = self.in_slots(call, |caller| match is_root {
                true if slots.are_long(len as usize, 1) => {
                    slots.say_long(caller, CollectiveKind::Broadcast).map(|()| Way::Packets)
                }
                true => slots.broadcast(caller, root, Some(&packed(memory.as_gather())), len),
                false => slots.broadcast(caller, root, None, len),
            })?;
            if let Way::Done(received) = way {
                return Ok((!is_root).then_some(received));
            }
        }
        self.by_packets(call, BroadcastInMemory::new(self.link(), root, memory))
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
        let slots = self.slots(call)?;
        // Taken by every rank: lengths that differ wrongly make some of them go by packets.
        let link = self.link();
        if let Some(slots) = slots
            && let Way::Done(result) =
                self.in_slots(call, |caller| slots.reduce(caller, root, &*operation, &values))?
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
        if let Some(slots) = self.slots(call)?
            && let Way::Done(result) =
                self.in_slots(call, |caller| slots.all_reduce(caller, &*operation, &values))?
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
        self.check_blocks(call, blocks.len())?;
        if let Some(slots) = self.slots(call)?
            && let Way::Done(blocks) =
                self.in_slots(call, |caller| slots.all_to_all(caller, true, &blocks))?
        {
            let result = ReduceScatter::combine(&*operation, blocks);
            return self.runtime().noted(result.map_err(|error| error.in_call(call)));
        }
        self.by_packets(call, ReduceScatter::new(self.link(), operation, blocks)?)
    }

    /// Gives rank `root`, which exists, the blocks of all in rank order. They may have any lengths. The root alone says where
    /// they go, and may have its own there already.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_gather(
        &self,
        call: &'static str,
        root: u32,
        own: Option<Given>,
        takes: Vec<Take>,
    ) -> Result<Blocks> {
        let slots = self.slots(call)?;
        let link = self.link();
        let is_root = self.rank() == root;
        let mut takes = self.some_takes(if is_root { takes } else { Vec::new() });
        let mut gives = self.no_gives();
        let Some(slots) = slots else {
            if self.size() > FEW {
                let is_in_place = own.is_none();
                let block = own.map(Given::pack).unwrap_or_default();
                let blocks = self.by_packets(call, Gather::new(link, root, block))?.unwrap_or_default();
                let blocks = (0..).zip(blocks);
                return Ok(blocks
                    .map(|(rank, block)| (rank != root || !is_in_place).then_some(block))
                    .collect());
            }
            gives[root as usize] = own;
            return self.by_packets(call, Exchange::new(link, gives, takes)?.rooted(root));
        };
        if !is_root {
            let own = own.unwrap_or(Given::Bytes(Vec::new()));
            if !slots.are_long(own.len(), 1) {
                let own = own.pack();
                self.in_slots(call, |caller| slots.gather(caller, root, &own))?;
                return Ok(Blocks::new());
            }
            // The others' may be short, so it goes to the root and nowhere else.
            self.in_slots(call, |caller| slots.say_long(caller, CollectiveKind::Gather))?;
            gives[root as usize] = Some(own);
            return self.by_packets(call, Exchange::new(link, gives, takes)?.rooted(root));
        }
        // No rank looks at the root's slot.
        let mut blocks = match self.in_slots(call, |caller| slots.gather(caller, root, &[]))? {
            Way::Done(blocks) => blocks,
            Way::Packets => self.no_blocks(),
        };
        let own_take = takes[root as usize].take().and_then(Take::room);
        blocks[root as usize] = own.and_then(|own| own.move_to(own_take));
        for (take, _) in takes.iter_mut().zip(&blocks).filter(|(_, block)| block.is_some()) {
            *take = None;
        }
        if takes.iter().all(Option::is_none) {
            return Ok(blocks);
        }
        let long = self.by_packets(call, Exchange::new(link, gives, takes)?.rooted(root))?;
        Ok(blocks.into_iter().zip(long).map(|(short, long)| short.or(long)).collect())
    }

    /// Gives every rank the blocks of all in rank order. They may have any lengths. A rank may have its own in place already,
    /// and then takes none from itself.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn run_allgather(&self, call: &'static str, own: Given, takes: Vec<Option<Take>>) -> Result<Blocks> {
        let slots = self.slots(call)?;
        let all = |blocks: Vec<Vec<u8>>| blocks.into_iter().map(Some).collect();
        if let Some(slots) = slots {
            if slots.are_long(own.len(), 1) {
                self.in_slots(call, |caller| slots.say_long(caller, CollectiveKind::AllGather))?;
            } else {
                let own = own.copy();
                if let Way::Done(blocks) = self.in_slots(call, |caller| slots.all_gather(caller, &own))? {
                    return Ok(all(blocks));
                }
            }
        }
        if !self.is_straight(slots) {
            return self.by_packets(call, AllGather::new(self.link(), own.pack())).map(all);
        }
        let gives = (0..self.size()).map(|_| Some(own.again())).collect();
        self.by_packets(call, Exchange::new(self.link(), gives, takes)?)
    }

    /// Gives every rank its block of those of rank `root`, which exists and alone gives some; it may keep its own.
    ///
    /// # Errors
    /// When the root does not give as many blocks as there are ranks, or a rank is lost.
    pub fn run_scatter(
        &self,
        call: &'static str,
        root: u32,
        blocks: Option<Vec<Given>>,
        take: Option<Take>,
    ) -> Result<Option<Vec<u8>>> {
        let blocks = blocks.filter(|_| self.rank() == root);
        if self.rank() == root {
            self.check_blocks(call, blocks.as_ref().map_or(0, Vec::len))?;
        }
        let slots = self.slots(call)?;
        if let Some(slots) = slots {
            let way = match &blocks {
                Some(blocks) if slots.are_long(len_of(blocks), blocks.len()) => {
                    self.in_slots(call, |caller| slots.say_long(caller, CollectiveKind::Scatter))?;
                    Way::Packets
                }
                Some(blocks) => {
                    let blocks: Vec<_> = blocks.iter().map(Given::copy).collect();
                    self.in_slots(call, |caller| slots.scatter(caller, root, Some(&blocks)))?
                }
                None => self.in_slots(call, |caller| slots.scatter(caller, root, None))?,
            };
            if let Way::Done(block) = way {
                return Ok(take.map(|_| block));
            }
        }
        let link = self.link();
        if !self.is_straight(slots) {
            let blocks = blocks.map(|blocks| blocks.into_iter().map(Given::pack).collect());
            let block = self.by_packets(call, Scatter::new(link, root, blocks)?)?;
            return Ok(take.map(|_| block));
        }
        let gives = blocks.map_or_else(|| self.no_gives(), |blocks| blocks.into_iter().map(Some).collect());
        let mut takes = self.some_takes(Vec::new());
        takes[root as usize] = take;
        let mut blocks = self.by_packets(call, Exchange::new(link, gives, takes)?.rooted(root))?;
        Ok(blocks[root as usize].take())
    }

    /// Gives every rank the blocks of all for it, in rank order. `even_len` is the length of all blocks of all ranks, if they
    /// should have one.
    ///
    /// # Errors
    /// When there are not as many blocks as ranks, a rank is lost, or blocks have other lengths than `even_len`.
    pub fn run_alltoall(
        &self,
        call: &'static str,
        blocks: Vec<Given>,
        takes: Vec<Take>,
        even_len: Option<usize>,
    ) -> Result<Blocks> {
        self.check_blocks(call, blocks.len())?;
        if let Some(slots) = self.slots(call)? {
            if slots.are_long(len_of(&blocks), blocks.len()) {
                self.in_slots(call, |caller| slots.say_long(caller, CollectiveKind::AllToAll))?;
            } else {
                let blocks: Vec<_> = blocks.iter().map(Given::copy).collect();
                if let Way::Done(received) =
                    self.in_slots(call, |caller| slots.all_to_all(caller, false, &blocks))?
                {
                    return Ok(received.into_iter().map(Some).collect());
                }
            }
        }
        let link = self.link();
        match even_len.filter(|_| ShortAllToAll::is_for(blocks.len())) {
            Some(len) if ShortAllToAll::is_better(blocks.len(), len) => {
                let blocks = blocks.into_iter().map(Given::pack).collect();
                let received = self.by_packets(call, ShortAllToAll::new(link, blocks)?.even(len))?;
                Ok(received.into_iter().map(Some).collect())
            }
            even => {
                let gives = blocks.into_iter().map(Some).collect();
                let exchange = Exchange::new(link, gives, self.some_takes(takes))?;
                self.by_packets(
                    call,
                    match even {
                        Some(len) => exchange.even(len),
                        None => exchange,
                    },
                )
            }
        }
    }

    /// Whether blocks that go by packets go straight to the ranks that they are for; all ranks answer the same.
    fn is_straight(&self, slots: Option<&CollectiveSlots>) -> bool {
        self.size() <= if slots.is_some() { FEW_OF_LONG } else { FEW }
    }

    fn no_gives(&self) -> Vec<Option<Given>> {
        (0..self.size()).map(|_| None).collect()
    }

    fn no_blocks(&self) -> Blocks {
        vec![None; self.size() as usize]
    }

    /// As many as there are ranks; nothing is taken from those beyond the given ones.
    fn some_takes(&self, takes: Vec<Take>) -> Vec<Option<Take>> {
        let mut takes: Vec<_> = takes.into_iter().map(Some).collect();
        takes.resize_with(self.size() as usize, || None);
        takes
    }

    /// The slots, if the ranks have made some: at the first blocking collectives they have not. Called once for each.
    fn slots(&self, call: &'static str) -> Result<Option<&CollectiveSlots>> {
        self.check_members(call)?;
        let SharedSlots { calls, slots } = &self.shared;
        if let Some(made) = slots.get() {
            return made.as_ref().map(Option::as_ref).map_err(Error::clone);
        }
        if calls.fetch_add(1, Relaxed) < CALLS_BEFORE_SLOTS {
            return Ok(None);
        }
        // Others have slots where this rank has failed to make some, or none: it has no part in their collectives any more.
        let made = slots.get_or_init(|| self.make_slots(call));
        made.as_ref().map(Option::as_ref).map_err(Error::clone)
    }

    fn make_slots(&self, call: &'static str) -> Result<Option<CollectiveSlots>> {
        let runtime = self.runtime();
        let made =
            CollectiveSlots::make(Caller { runtime, call, root: None }, &self.group(), &runtime.departures);
        let Some(slots) = runtime.noted(made.map_err(|error| error.in_call(call)))? else { return Ok(None) };
        // A rank that fails to make them gives its memory back. So no rank writes beside another's slots before all have theirs.
        match self.by_packets(call, Barrier::new(self.link())) {
            Ok(()) => Ok(Some(slots)),
            Err(error) => {
                slots.abandon();
                Err(error)
            }
        }
    }

    /// Gives and takes along the edges of a topology; which communicator's is the machine's to know.
    ///
    /// # Errors
    /// When a rank is lost, or a block is not as long as the room for it.
    pub fn run_neighbors(&self, call: &'static str, machine: Neighbors) -> Result<()> {
        self.by_packets(call, machine)?
    }

    fn in_slots<T>(&self, call: &'static str, go: impl FnOnce(Caller<'_>) -> Result<T>) -> Result<T> {
        let runtime = self.runtime();
        let _call = runtime.engine.trace_call(call);
        let end = go(Caller { runtime, call, root: None });
        // What lies in memory needs no step, but others may need one of this process.
        runtime.engine.poll_throttled();
        runtime.noted(end.map_err(|error| error.in_call(call)))
    }

    fn by_packets<M>(&self, call: &'static str, machine: M) -> Result<M::Output>
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
    {
        self.runtime().run(call, machine)
    }

    fn check_blocks(&self, call: &'static str, blocks: usize) -> Result<()> {
        if blocks == self.size() as usize {
            return Ok(());
        }
        let cause = format!("{blocks} blocks for {} ranks", self.size());
        self.runtime().noted(Err(Error::new(ErrorClass::Count, call, cause)))
    }
}

/// Bytes of all blocks.
fn len_of(blocks: &[Given]) -> usize {
    blocks.iter().fold(0, |len, block| len.saturating_add(block.len()))
}
