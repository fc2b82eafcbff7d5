//! The collectives of typed values. Each has a form that begins it, and one that waits for its end as well.

use super::handle::Communicator;
use crate::collective::{
    AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Given, Machine, Mapped, Prefix, Reduce, Scan,
    Scatter, Take,
};
use crate::elements::{Element, Number, as_bytes, copy_into, from_bytes, has_size};
use crate::runtime::CollectiveRequest;
use rma_core::kernel::{Kernel, ReduceOp};
use rma_core::{Below, Error, ErrorClass, Result};
use std::sync::Arc;

impl Communicator {
    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn barrier(&self) -> Result<()> {
        self.run_barrier("barrier")
    }

    /// Begins a barrier, which ends when every rank has begun it.
    pub fn begin_barrier(&self) -> CollectiveRequest<()> {
        self.begin("ibarrier", Barrier::new(self.link()), Ok)
    }

    /// Gives every rank the values of rank `root`. All ranks give as many.
    ///
    /// # Errors
    /// When there is no rank `root`, when a rank gives another number of values, or a rank is lost.
    pub fn broadcast<T: Element>(&self, root: u32, values: &mut [T]) -> Result<()> {
        self.check_root(root, "broadcast")?;
        let own = (self.rank() == root).then(|| as_bytes(values).to_vec());
        let bytes = self.run_broadcast("broadcast", root, own, size_of_val(values) as u64)?;
        if self.rank() == root { Ok(()) } else { copy_into(&bytes, values, "broadcast") }
    }

    /// Begins to give every rank the values of rank `root`; those of the others only say how many they take at most.
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn begin_broadcast<T: Element>(&self, root: u32, values: &[T]) -> Result<CollectiveRequest<Vec<T>>> {
        self.check_root(root, "ibroadcast")?;
        let own = (self.rank() == root).then(|| as_bytes(values).to_vec());
        let machine = Broadcast::new(self.link(), root, own, size_of_val(values) as u64);
        Ok(self.begin("ibroadcast", machine, |bytes| from_bytes(&bytes, "ibroadcast")))
    }

    /// Combines the values of all ranks element by element, and gives every rank the result: the same bits everywhere, and
    /// in every run with as many ranks.
    ///
    /// # Errors
    /// When the operation is not defined on the type, a rank gives another number of values, or a rank is lost.
    pub fn allreduce<T: Number>(&self, op: ReduceOp, values: &[T]) -> Result<Vec<T>> {
        const CALL: &str = "allreduce";
        let kernel = self.kernel::<T>(op, CALL)?;
        let result = self.run_allreduce(CALL, kernel, as_bytes(values).to_vec())?;
        self.runtime().noted(from_bytes(&result, CALL))
    }

    /// Begins to combine the values of all ranks for every rank; see [`Communicator::allreduce`].
    ///
    /// # Errors
    /// When the operation is not defined on the type.
    pub fn begin_allreduce<T: Number>(
        &self,
        op: ReduceOp,
        values: &[T],
    ) -> Result<CollectiveRequest<Vec<T>>> {
        let kernel = self.kernel::<T>(op, "allreduce")?;
        let machine = AllReduce::new(self.link(), kernel, as_bytes(values).to_vec());
        Ok(self.begin("allreduce", machine, |bytes| from_bytes(&bytes, "allreduce")))
    }

    /// Combines the values of all ranks element by element, and gives rank `root` the result; the others get `None`.
    ///
    /// # Errors
    /// As [`Communicator::allreduce`], and when there is no rank `root`.
    pub fn reduce<T: Number>(&self, root: u32, op: ReduceOp, values: &[T]) -> Result<Option<Vec<T>>> {
        const CALL: &str = "reduce";
        self.check_root(root, CALL)?;
        let kernel = self.kernel::<T>(op, CALL)?;
        let result = self.run_reduce(CALL, root, kernel, as_bytes(values).to_vec())?;
        self.runtime().noted(result.map(|bytes| from_bytes(&bytes, CALL)).transpose())
    }

    /// Begins to combine the values of all ranks for rank `root`; see [`Communicator::reduce`].
    ///
    /// # Errors
    /// When there is no rank `root`, or the operation is not defined on the type.
    pub fn begin_reduce<T: Number>(
        &self,
        root: u32,
        op: ReduceOp,
        values: &[T],
    ) -> Result<CollectiveRequest<Option<Vec<T>>>> {
        self.check_root(root, "reduce")?;
        let kernel = self.kernel::<T>(op, "reduce")?;
        let machine = Reduce::new(self.link(), root, kernel, as_bytes(values).to_vec());
        Ok(self.begin("reduce", machine, |bytes| bytes.map(|bytes| from_bytes(&bytes, "reduce")).transpose()))
    }

    /// Gives every rank the combined values of all ranks up to its own.
    ///
    /// # Errors
    /// As [`Communicator::allreduce`].
    pub fn scan<T: Number>(&self, op: ReduceOp, values: &[T]) -> Result<Vec<T>> {
        from_bytes(&self.prefix("scan", op, values)?.inclusive, "scan")
    }

    /// Gives every rank the combined values of all ranks before it; rank 0 gets `None`.
    ///
    /// # Errors
    /// As [`Communicator::allreduce`].
    pub fn exclusive_scan<T: Number>(&self, op: ReduceOp, values: &[T]) -> Result<Option<Vec<T>>> {
        let prefix = self.prefix("exscan", op, values)?;
        prefix.exclusive.map(|bytes| from_bytes(&bytes, "exscan")).transpose()
    }

    /// Combines the lists of all ranks, one for each rank, and gives every rank the result of its own. A rank's list is as
    /// long on every rank.
    ///
    /// # Errors
    /// When the operation is not defined on the type, there are not as many lists as ranks, their lengths differ between
    /// ranks, or a rank is lost.
    pub fn reduce_scatter<T: Number, L: AsRef<[T]>>(&self, op: ReduceOp, lists: &[L]) -> Result<Vec<T>> {
        let kernel = self.kernel::<T>(op, "reduce_scatter")?;
        let result = self.run_reduce_scatter("reduce_scatter", kernel, blocks(lists))?;
        self.runtime().noted(from_bytes(&result, "reduce_scatter"))
    }

    /// Gives rank `root` the values of all ranks in rank order, one list for each; the others get `None`. Ranks may give
    /// different numbers of values.
    ///
    /// # Errors
    /// When there is no rank `root`, or a rank is lost.
    pub fn gather<T: Element>(&self, root: u32, values: &[T]) -> Result<Option<Vec<Vec<T>>>> {
        const CALL: &str = "gather";
        self.check_root(root, CALL)?;
        let own = Given::Bytes(as_bytes(values).to_vec());
        let all = whole(self.run_gather(CALL, root, Some(own), self.takes())?);
        let all = (self.rank() == root).then_some(all);
        self.runtime().noted(all.map(|all| lists(&all, CALL)).transpose())
    }

    /// Begins to give rank `root` the values of all ranks; see [`Communicator::gather`].
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn begin_gather<T: Element>(
        &self,
        root: u32,
        values: &[T],
    ) -> Result<CollectiveRequest<Option<Vec<Vec<T>>>>> {
        self.check_root(root, "gather")?;
        let machine = Gather::new(self.link(), root, as_bytes(values).to_vec());
        Ok(self.begin("gather", machine, |all| all.map(|all| lists(&all, "gather")).transpose()))
    }

    /// Gives every rank the values of all ranks in rank order, one list for each. Ranks may give different numbers of
    /// values.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn allgather<T: Element>(&self, values: &[T]) -> Result<Vec<Vec<T>>> {
        const CALL: &str = "allgather";
        let own = Given::Bytes(as_bytes(values).to_vec());
        let all = whole(self.run_allgather(CALL, own, self.takes().into_iter().map(Some).collect())?);
        self.runtime().noted(lists(&all, CALL))
    }

    /// Begins to give every rank the values of all ranks; see [`Communicator::allgather`].
    pub fn begin_allgather<T: Element>(&self, values: &[T]) -> CollectiveRequest<Vec<Vec<T>>> {
        let machine = AllGather::new(self.link(), as_bytes(values).to_vec());
        self.begin("allgather", machine, |all| lists(&all, "allgather"))
    }

    /// Gives every rank its list of those of rank `root`, which gives one for each rank. Lists may have different lengths.
    ///
    /// # Errors
    /// When there is no rank `root`, the root does not give as many lists as there are ranks, or a rank is lost.
    pub fn scatter<T: Element, L: AsRef<[T]>>(&self, root: u32, lists: Option<&[L]>) -> Result<Vec<T>> {
        const CALL: &str = "scatter";
        self.check_root(root, CALL)?;
        let lists = lists.map(|lists| given(blocks(lists)));
        let list = self.run_scatter(CALL, root, lists, Some(Take::Bytes))?;
        self.runtime().noted(from_bytes(&list.unwrap_or_default(), CALL))
    }

    /// Begins to give every rank its list of those of rank `root`; see [`Communicator::scatter`].
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give as many lists as there are ranks.
    pub fn begin_scatter<T: Element, L: AsRef<[T]>>(
        &self,
        root: u32,
        lists: Option<&[L]>,
    ) -> Result<CollectiveRequest<Vec<T>>> {
        self.check_root(root, "scatter")?;
        let machine = Scatter::new(self.link(), root, lists.map(blocks));
        let machine = self.runtime().noted(machine)?;
        Ok(self.begin("scatter", machine, |bytes| from_bytes(&bytes, "scatter")))
    }

    /// Gives every rank, of each rank in rank order, the list that this has for it. Lists may have different lengths.
    ///
    /// ```
    /// rma::World::run_threads(3, |world| {
    ///     let rank = world.rank();
    ///     let lists: Vec<Vec<u32>> = (0..3).map(|to| vec![10 * rank + to; rank as usize]).collect();
    ///     let received = world.alltoall(&lists)?;
    ///     assert_eq!(received, [vec![], vec![10 + rank], vec![20 + rank; 2]]);
    ///     Ok(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When a rank does not give as many lists as there are ranks, or a rank is lost.
    pub fn alltoall<T: Element, L: AsRef<[T]>>(&self, all: &[L]) -> Result<Vec<Vec<T>>> {
        const CALL: &str = "alltoall";
        let received = whole(self.run_alltoall(CALL, given(blocks(all)), self.takes(), None)?);
        self.runtime().noted(lists(&received, CALL))
    }

    /// Begins an exchange of all with all; see [`Communicator::alltoall`].
    ///
    /// # Errors
    /// When there are not as many lists as ranks.
    pub fn begin_alltoall<T: Element, L: AsRef<[T]>>(
        &self,
        given: &[L],
    ) -> Result<CollectiveRequest<Vec<Vec<T>>>> {
        let machine = self.runtime().noted(AllToAll::new(self.link(), blocks(given)))?;
        Ok(self.begin("alltoall", machine, |all| lists(&all, "alltoall")))
    }

    /// A block from every rank.
    fn takes(&self) -> Vec<Take> {
        (0..self.size()).map(|_| Take::Bytes).collect()
    }

    fn begin<M, T>(
        &self,
        call: &'static str,
        machine: M,
        result: impl Fn(M::Output) -> Result<T> + Send + 'static,
    ) -> CollectiveRequest<T>
    where
        M: Machine + Send + 'static,
        T: Send + 'static,
    {
        self.runtime().begin(call, Mapped::new(machine, result))
    }

    fn prefix<T: Number>(&self, call: &'static str, op: ReduceOp, values: &[T]) -> Result<Prefix> {
        let kernel = self.kernel::<T>(op, call)?;
        self.begin(call, Scan::new(self.link(), kernel, as_bytes(values).to_vec()), Ok).wait()
    }

    fn kernel<T: Number>(&self, op: ReduceOp, call: &'static str) -> Result<Arc<Kernel>> {
        let kernel = has_size::<T>(call).and_then(|()| {
            Kernel::new(op, T::BASIC).filter(|_| is_reduction(op)).ok_or_else(|| {
                let cause = format!("{op} is not a reduction of {} values", T::BASIC);
                Error::new(ErrorClass::Op, call, cause)
            })
        });
        self.runtime().noted(kernel).map(Arc::new)
    }

    fn check_root(&self, root: u32, call: &'static str) -> Result<()> {
        if root < self.size() {
            return Ok(());
        }
        let cause = format!("root {root} is not in {}", Below(self.size().into()));
        self.runtime().noted(Err(Error::new(ErrorClass::Root, call, cause)))
    }
}

/// Whether an operation can be used in a reduction: `REPLACE` and `NO_OP` are for windows only (MPI 3.1 §11.3.4).
fn is_reduction(op: ReduceOp) -> bool {
    !matches!(op, ReduceOp::Replace | ReduceOp::NoOp)
}

fn blocks<T: Element, L: AsRef<[T]>>(lists: &[L]) -> Vec<Vec<u8>> {
    lists.iter().map(|list| as_bytes(list.as_ref()).to_vec()).collect()
}

fn lists<T: Element>(blocks: &[Vec<u8>], call: &'static str) -> Result<Vec<Vec<T>>> {
    blocks.iter().map(|block| from_bytes(block, call)).collect()
}

fn given(blocks: Vec<Vec<u8>>) -> Vec<Given> {
    blocks.into_iter().map(Given::Bytes).collect()
}

/// What has come where no memory of the caller was to be used.
fn whole(blocks: Vec<Option<Vec<u8>>>) -> Vec<Vec<u8>> {
    blocks.into_iter().map(Option::unwrap_or_default).collect()
}
