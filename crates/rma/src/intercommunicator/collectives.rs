//! Collectives between two groups, on packed blocks (MPI 4.1 §6.2.2): what a group gives, the other one gets.
//!
//! Each is begun here, and waited for or tested by its request. `start` says of which persistent one it is a start, if it is one.

use super::handle::Intercommunicator;
use crate::collective::{
    AllToAll, Barrier, Broadcast, Combine, Gather, Link, Machine, Mapped, PersistentStart, Reduce, Scatter,
    Swap, Then, join, split,
};
use crate::runtime::CollectiveRequest;
use rma_core::{Below, Error, ErrorClass, Result};
use std::sync::Arc;

/// The root of a collective between two groups, as each rank names it (MPI 4.1 §6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The caller (`MPI_ROOT`).
    Caller,
    /// Another rank of the caller's group (`MPI_PROC_NULL`).
    Neighbor,
    /// This rank of the remote group.
    Remote(u32),
}

impl Intercommunicator {
    /// Begins a barrier: it ends when every rank of the other group has begun it, and of this one too.
    pub fn begin_barrier(&self, start: Option<PersistentStart>) -> CollectiveRequest<()> {
        let (link, partner) = (self.link_of(start), self.partner());
        let (first, last) = (self.local(&link, 0), self.local(&link, 2));
        let machine = Then::new(Barrier::new(first), move |()| {
            let swap = Swap::with(link.step(1), partner, Vec::new());
            Ok(Then::new(swap, move |news| Ok(Broadcast::new(last, 0, news, 0))))
        });
        self.begin("ibarrier", Mapped::new(machine, |_| Ok(())))
    }

    /// Begins to give every rank of the remote group the message of the root, at most `limit` bytes; ranks of the root's
    /// group get `None`.
    ///
    /// # Errors
    /// `MPI_ERR_ROOT` when the remote group has no such rank.
    pub fn begin_broadcast(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        message: Vec<u8>,
        limit: u64,
    ) -> Result<CollectiveRequest<Option<Vec<u8>>>> {
        let from_root = self.root_gives(start, root, message, "broadcast")?;
        let link = self.local(&from_root.link, 1);
        let machine = Then::new(from_root.swap, move |news: Option<Vec<u8>>| {
            Ok(Maybe(
                (root != Root::Caller && root != Root::Neighbor)
                    .then(|| Broadcast::new(link, 0, news, limit)),
            ))
        });
        Ok(self.begin("broadcast", machine))
    }

    /// Begins to give the root the blocks of the remote group's ranks, in rank order; the others get `None`.
    ///
    /// # Errors
    /// As [`Intercommunicator::begin_broadcast`].
    pub fn begin_gather(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        block: Vec<u8>,
    ) -> Result<CollectiveRequest<Option<Vec<Vec<u8>>>>> {
        let (link, to_root) = self.root_takes(start, root, "gather")?;
        let local = self.local(&link, 0);
        let gather = Maybe(to_root.is_giver.then(|| Gather::new(local, 0, block)));
        let machine = Then::new(gather, move |blocks: Option<Option<Vec<Vec<u8>>>>| {
            Ok(to_root.swap(&link, blocks.flatten().map(|blocks| join(&blocks))))
        });
        let count = self.remote().size();
        Ok(self.begin("gather", Mapped::new(machine, move |all| split_some(all, count))))
    }

    /// Begins to give every rank of the remote group its block of the root's, which gives one for each of them; ranks of the
    /// root's group get `None`.
    ///
    /// # Errors
    /// As [`Intercommunicator::begin_broadcast`]; `MPI_ERR_COUNT` when the root gives another number of blocks.
    pub fn begin_scatter(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        blocks: &[Vec<u8>],
    ) -> Result<CollectiveRequest<Option<Vec<u8>>>> {
        self.check_blocks(blocks.len(), root == Root::Caller, "scatter")?;
        let from_root = self.root_gives(start, root, join(blocks), "scatter")?;
        let (link, size) = (self.local(&from_root.link, 1), self.size());
        let machine = Then::new(from_root.swap, move |news: Option<Vec<u8>>| {
            let is_taker = matches!(root, Root::Remote(_));
            let blocks = news.map(|news| split(&news, size)).transpose()?;
            Ok(Maybe(is_taker.then(|| Scatter::new(link, 0, blocks)).transpose()?))
        });
        Ok(self.begin("scatter", machine))
    }

    /// Begins to give the root the combined values of the remote group's ranks; the others get `None`.
    ///
    /// # Errors
    /// As [`Intercommunicator::begin_broadcast`].
    pub fn begin_reduce(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
    ) -> Result<CollectiveRequest<Option<Vec<u8>>>> {
        let (link, to_root) = self.root_takes(start, root, "reduce")?;
        let local = self.local(&link, 0);
        let reduce = Maybe(to_root.is_giver.then(|| Reduce::new(local, 0, operation, values)));
        let machine = Then::new(reduce, move |result: Option<Option<Vec<u8>>>| {
            Ok(to_root.swap(&link, result.flatten()))
        });
        Ok(self.begin("reduce", machine))
    }

    /// Begins to give every rank the combined values of the remote group's ranks.
    pub fn begin_allreduce(
        &self,
        start: Option<PersistentStart>,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
    ) -> CollectiveRequest<Vec<u8>> {
        let (machine, last) = self.reduced(start, operation, values);
        let machine = Then::new(machine, move |news| Ok(Broadcast::new(last, 0, news, u64::MAX)));
        self.begin("allreduce", machine)
    }

    /// Begins to give every rank a part of the combined values of the remote group's ranks: `lens` says how many bytes each
    /// rank of the local group gets. Both groups' values are as long.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when there are not as many lengths as ranks.
    pub fn begin_reduce_scatter(
        &self,
        start: Option<PersistentStart>,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
        lens: Vec<usize>,
    ) -> Result<CollectiveRequest<Vec<u8>>> {
        if lens.len() != self.size() as usize {
            let cause = format!("{} lengths for {} ranks", lens.len(), self.size());
            return Err(Error::new(ErrorClass::Count, "reduce_scatter", cause));
        }
        let (machine, last) = self.reduced(start, operation, values);
        let machine = Then::new(machine, move |news: Option<Vec<u8>>| {
            let blocks = news.map(|news| cut(&news, &lens)).transpose()?;
            Scatter::new(last, 0, blocks)
        });
        Ok(self.begin("reduce_scatter", machine))
    }

    /// Begins to give every rank the blocks of the remote group's ranks, in rank order.
    pub fn begin_allgather(
        &self,
        start: Option<PersistentStart>,
        block: Vec<u8>,
    ) -> CollectiveRequest<Vec<Vec<u8>>> {
        let (link, partner, count) = (self.link_of(start), self.partner(), self.remote().size());
        let (first, last) = (self.local(&link, 0), self.local(&link, 2));
        let machine = Then::new(Gather::new(first, 0, block), move |blocks: Option<Vec<Vec<u8>>>| {
            let swap = Swap::with(link.step(1), partner, join(&blocks.unwrap_or_default()));
            Ok(Then::new(swap, move |news| Ok(Broadcast::new(last, 0, news, u64::MAX))))
        });
        self.begin("allgather", Mapped::new(machine, move |all: Vec<u8>| split(&all, count)))
    }

    /// Begins to give every rank of the remote group its block of the caller's, which gives one for each of them; gives the
    /// blocks of the remote group's ranks for the caller.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when there are not as many blocks as remote ranks.
    pub fn begin_alltoall(
        &self,
        start: Option<PersistentStart>,
        blocks: Vec<Vec<u8>>,
    ) -> Result<CollectiveRequest<Vec<Vec<u8>>>> {
        self.check_blocks(blocks.len(), true, "alltoall")?;
        let (first, count) = (self.place(0) as usize, blocks.len());
        let mut all = vec![Vec::new(); count + self.size() as usize];
        all[first..first + count].iter_mut().zip(blocks).for_each(|(place, block)| *place = block);
        let machine = AllToAll::new(self.link_of(start), all)?;
        let machine = Mapped::new(machine, move |mut all: Vec<Vec<u8>>| {
            Ok(all.drain(first..first + count).collect::<Vec<_>>())
        });
        Ok(self.begin("alltoall", machine))
    }

    fn begin<M>(&self, call: &'static str, machine: M) -> CollectiveRequest<M::Output>
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
    {
        self.runtime().begin(call, machine)
    }

    /// The remote group's combined values, on the rank that stands for the local group; and the link of what follows.
    fn reduced(
        &self,
        start: Option<PersistentStart>,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
    ) -> (impl Machine<Output = Option<Vec<u8>>> + Send + 'static, Link) {
        let (link, partner) = (self.link_of(start), self.partner());
        let (first, last) = (self.local(&link, 0), self.local(&link, 2));
        let machine = Then::new(Reduce::new(first, 0, operation, values), move |result: Option<Vec<u8>>| {
            Ok(Swap::with(link.step(1), partner, result.unwrap_or_default()))
        });
        (machine, last)
    }

    /// The message of the root to the rank that stands for the other group.
    fn root_gives(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        message: Vec<u8>,
        call: &'static str,
    ) -> Result<FromRoot> {
        self.check_root(root, call)?;
        let link = self.link_of(start);
        let swap = match root {
            Root::Caller => Swap::new(link.clone(), Some((self.place(0), message)), None),
            Root::Remote(rank) if self.rank() == 0 => Swap::new(link.clone(), None, Some(self.place(rank))),
            Root::Remote(_) | Root::Neighbor => Swap::new(link.clone(), None, None),
        };
        Ok(FromRoot { link, swap })
    }

    /// The way of what one group has to the root in the other.
    fn root_takes(
        &self,
        start: Option<PersistentStart>,
        root: Root,
        call: &'static str,
    ) -> Result<(Link, ToRoot)> {
        self.check_root(root, call)?;
        let to_root = match root {
            Root::Caller => ToRoot { is_giver: false, to: None, from: Some(self.place(0)) },
            Root::Neighbor => ToRoot { is_giver: false, to: None, from: None },
            Root::Remote(rank) => {
                let to = (self.rank() == 0).then(|| self.place(rank));
                ToRoot { is_giver: true, to, from: None }
            }
        };
        Ok((self.link_of(start), to_root))
    }

    fn check_root(&self, root: Root, call: &'static str) -> Result<()> {
        match root {
            Root::Remote(rank) if rank >= self.remote().size() => {
                let among = Below(self.remote().size().into());
                let cause = format!("root {rank} is not in {among} of the remote group");
                Err(Error::new(ErrorClass::Root, call, cause))
            }
            _ => Ok(()),
        }
    }

    fn check_blocks(&self, count: usize, is_giver: bool, call: &'static str) -> Result<()> {
        if !is_giver || count == self.remote().size() as usize {
            return Ok(());
        }
        let cause = format!("{count} blocks for {} remote ranks", self.remote().size());
        Err(Error::new(ErrorClass::Count, call, cause))
    }
}

/// A machine that only some ranks have; the others are done at once.
#[derive(Debug)]
struct Maybe<M>(Option<M>);

impl<M: Machine> Machine for Maybe<M> {
    type Output = Option<M::Output>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        match &mut self.0 {
            Some(machine) => Ok(machine.step()?.map(Some)),
            None => Ok(Some(None)),
        }
    }

    fn link(&self) -> Option<&Link> {
        self.0.as_ref()?.link()
    }
}

struct FromRoot {
    link: Link,
    swap: Swap,
}

#[derive(Clone, Copy)]
struct ToRoot {
    /// Whether the caller's group gives.
    is_giver: bool,
    to: Option<u32>,
    from: Option<u32>,
}

impl ToRoot {
    fn swap(self, link: &Link, message: Option<Vec<u8>>) -> Swap {
        let to = self.to.map(|to| (to, message.unwrap_or_default()));
        Swap::new(link.step(1), to, self.from)
    }
}

fn split_some(all: Option<Vec<u8>>, count: u32) -> Result<Option<Vec<Vec<u8>>>> {
    all.map(|all| split(&all, count)).transpose()
}

/// Cuts values into parts of these lengths.
fn cut(values: &[u8], lens: &[usize]) -> Result<Vec<Vec<u8>>> {
    let (mut rest, mut parts) = (values, Vec::with_capacity(lens.len()));
    for len in lens {
        let Some((part, behind)) = rest.split_at_checked(*len) else { break };
        parts.push(part.to_vec());
        rest = behind;
    }
    if parts.len() == lens.len() && rest.is_empty() {
        return Ok(parts);
    }
    let cause = format!(
        "the other group reduces {} bytes, this one takes {}",
        values.len(),
        lens.iter().sum::<usize>()
    );
    Err(Error::new(ErrorClass::Truncate, "reduce_scatter", cause))
}
