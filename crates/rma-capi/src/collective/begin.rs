//! How each collective begins: what is packed, which machine carries it, and where its result goes.

use super::data::{Data, Room, is_in_place};
use super::inter::InterCall;
use super::under_way::StoringCollective;
use crate::abi::{MPI_Comm, MPI_Datatype, MPI_Op, MPI_ROOT};
use crate::arguments::{In, Memory, Wide};
use crate::communicator::Comm;
use crate::errors::Raiser;
use crate::op;
use crate::process::Process;
use rma::raw::{
    AllGather, AllReduce, Barrier, Broadcast, Exchange, Gather, Given, Link, Machine, PersistentStart,
    Reduce, ReduceScatter, Scan, Scatter, ShortAllToAll,
};
use rma::{Below, Communicator, Error, ErrorClass, Result};
use std::ffi::c_int;
use std::slice::from_ref;

/// A call on a communicator.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(super) name: &'static str,
    pub(crate) process: &'static Process,
    pub(super) comm: &'static Comm,
    handle: MPI_Comm,
    /// Whether it returns when the collective is over; then it may go another way.
    is_blocking: bool,
    /// Of which persistent collective it is a start.
    pub(super) start: Option<PersistentStart>,
}

/// What the beginning of a collective answers.
pub(crate) type Started = Result<StoringCollective>;

/// Which scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanKind {
    Inclusive,
    Exclusive,
}

/// One side of a call on the blocks of all ranks.
#[derive(Clone, Copy)]
pub(crate) struct BlockSide<C> {
    pub(crate) memory: Memory,
    pub(crate) count: C,
    pub(crate) datatype: MPI_Datatype,
}

impl Call {
    pub(crate) fn new(name: &'static str, process: &'static Process, comm: MPI_Comm) -> Result<Self> {
        Ok(Self { name, process, comm: process.comm(comm)?, handle: comm, is_blocking: false, start: None })
    }

    /// A call that returns when the collective is over.
    pub(crate) fn blocking(name: &'static str, process: &'static Process, comm: MPI_Comm) -> Result<Self> {
        Ok(Self { is_blocking: true, ..Self::new(name, process, comm)? })
    }

    /// A start of a persistent collective.
    pub(super) fn start(self, start: PersistentStart) -> Self {
        Self { start: Some(start), ..self }
    }

    /// The number of a persistent collective that is made now.
    pub(super) fn next_persistent(self) -> u64 {
        match &self.comm.inter {
            None => self.comm.inner.next_persistent(),
            Some(inter) => inter.next_persistent(),
        }
    }

    /// The way to the other ranks, of an intracommunicator.
    pub(super) fn link(self) -> Link {
        self.comm.inner.link_of(self.start)
    }

    /// The object whose handler gets the errors of what it begins.
    pub(crate) fn raiser(self) -> Raiser {
        self.comm.raiser(self.handle)
    }

    /// Number of ranks that this one gives to or gets from: of an intercommunicator, those of the other group.
    pub(crate) fn size(self) -> usize {
        match &self.comm.inter {
            None => self.own_size(),
            Some(inter) => inter.remote().size() as usize,
        }
    }

    /// Number of ranks of this one's group.
    pub(crate) fn own_size(self) -> usize {
        self.comm.inner.size() as usize
    }

    fn inter(self) -> Option<InterCall> {
        self.comm.inter.as_ref().map(|comm| InterCall { call: self, comm })
    }

    pub(super) fn rank(self) -> usize {
        self.comm.inner.rank() as usize
    }

    fn is_root(self, root: c_int) -> bool {
        match &self.comm.inter {
            None => self.rank() as i64 == i64::from(root),
            Some(_) => root == MPI_ROOT,
        }
    }

    /// The ranks' blocks, of which only the root's arguments tell; elsewhere, nothing.
    pub(crate) fn at_root(
        self,
        root: c_int,
        blocks: impl FnOnce() -> Result<Vec<Data>>,
    ) -> Result<Vec<Data>> {
        if self.is_root(root) { blocks() } else { Ok(Vec::new()) }
    }

    fn root(self, root: c_int) -> Result<u32> {
        u32::try_from(root).ok().filter(|root| (*root as usize) < self.size()).ok_or_else(|| {
            let cause = format!("root is {root}, but must be in {}", Below(self.size() as u64));
            Error::new(ErrorClass::Root, "", cause)
        })
    }

    /// Checks a root before the call begins; between two groups, the beginning finds out.
    pub(crate) fn check_root(self, root: c_int) -> Result<()> {
        if self.comm.inter.is_some() { Ok(()) } else { self.root(root).map(drop) }
    }

    /// The communicator, if this call blocks.
    pub(super) fn runs_on(self) -> Option<&'static Communicator> {
        self.is_blocking.then_some(&*self.comm.inner)
    }

    pub(super) fn begin<M, F>(self, machine: M, store: F) -> StoringCollective
    where
        M: Machine + Send + 'static,
        M::Output: Send + 'static,
        F: FnMut(M::Output) -> Result<()> + Send + 'static,
    {
        StoringCollective::storing(self, self.comm.inner.runtime().begin(self.name, machine), store)
    }
}

pub(crate) fn barrier(call: Call) -> Started {
    if let Some(inter) = call.inter() {
        return inter.barrier();
    }
    if let Some(comm) = call.runs_on() {
        comm.run_barrier(call.name)?;
        return Ok(StoringCollective::over(call));
    }
    Ok(call.begin(Barrier::new(call.link()), Ok))
}

pub(crate) fn broadcast(
    call: Call,
    buffer: Memory,
    number: impl Wide,
    datatype: MPI_Datatype,
    root: c_int,
) -> Started {
    if let Some(inter) = call.inter() {
        return inter.broadcast(|| Data::new("buffer", buffer, number, datatype), root);
    }
    let root_rank = call.root(root)?;
    let data = Data::new("buffer", buffer, number, datatype)?;
    let is_root = call.is_root(root);
    let mut room = data.room()?.of(root_rank);
    if let Some(comm) = call.runs_on() {
        let news = comm.run_broadcast_in(call.name, root_rank, room.memory())?;
        news.map_or(Ok(()), |news| room.store(&news))?;
        return Ok(StoringCollective::over(call));
    }
    let own = is_root.then(|| data.pack()).transpose()?;
    let machine = Broadcast::new(call.link(), root_rank, own, data.len());
    Ok(call.begin(machine, move |bytes| if is_root { Ok(()) } else { room.store(&bytes) }))
}

pub(crate) fn reduce<C: Wide>(
    call: Call,
    sendbuf: Memory,
    recv: BlockSide<C>,
    op: MPI_Op,
    root: c_int,
) -> Started {
    if let Some(inter) = call.inter() {
        let values = || Ok((op::combine(op, recv.datatype)?, operand(sendbuf, recv, None, false)?));
        return inter.reduce(values, || recv.data("recvbuf"), root);
    }
    let root_rank = call.root(root)?;
    let operation = op::combine(op, recv.datatype)?;
    let is_root = call.is_root(root);
    let result = is_root.then(|| recv.data("recvbuf")).transpose()?;
    let values = operand(sendbuf, recv, result.as_ref(), is_root)?;
    let mut room = result.map(|result| result.room()).transpose()?;
    if let Some(comm) = call.runs_on() {
        Room::store_in(&mut room, comm.run_reduce(call.name, root_rank, operation, values)?)?;
        return Ok(StoringCollective::over(call));
    }
    let machine = Reduce::new(call.link(), root_rank, operation, values);
    Ok(call.begin(machine, move |result| Room::store_in(&mut room, result)))
}

pub(crate) fn allreduce<C: Wide>(call: Call, sendbuf: Memory, recv: BlockSide<C>, op: MPI_Op) -> Started {
    let operation = op::combine(op, recv.datatype)?;
    let result = recv.data("recvbuf")?;
    let values = operand(sendbuf, recv, Some(&result), call.inter().is_none())?;
    let mut room = result.room()?;
    if let Some(inter) = call.inter() {
        return inter.allreduce(operation, values, room);
    }
    if let Some(comm) = call.runs_on() {
        room.store(&comm.run_allreduce(call.name, operation, values)?)?;
        return Ok(StoringCollective::over(call));
    }
    let machine = AllReduce::new(call.link(), operation, values);
    Ok(call.begin(machine, move |result| room.store(&result)))
}

pub(crate) fn scan<C: Wide>(
    call: Call,
    sendbuf: Memory,
    recv: BlockSide<C>,
    op: MPI_Op,
    kind: ScanKind,
) -> Started {
    call.comm.intra()?;
    let operation = op::combine(op, recv.datatype)?;
    // Rank 0 has no exclusive prefix: what it gives for it is not looked at (MPI 5.0 §6.11.2), but for values in place.
    let has_result = kind == ScanKind::Inclusive || call.rank() > 0;
    let result = has_result.then(|| recv.data("recvbuf")).transpose()?;
    let values = operand(sendbuf, recv, result.as_ref(), true)?;
    let mut room = result.map(|result| result.room()).transpose()?;
    let machine = Scan::new(call.link(), operation, values);
    Ok(call.begin(machine, move |prefix| {
        let result = match kind {
            ScanKind::Inclusive => Some(prefix.inclusive),
            ScanKind::Exclusive => prefix.exclusive,
        };
        Room::store_in(&mut room, result)
    }))
}

/// `counts` are the elements that each rank gets.
pub(crate) fn reduce_scatter<C: Wide>(
    call: Call,
    sendbuf: Memory,
    recvbuf: Memory,
    counts: &[C],
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Started {
    let operation = op::combine(op, datatype)?;
    let source = if is_in_place(sendbuf) { recvbuf } else { sendbuf };
    let lens = counts.iter().map(|count| Ok(Data::new("recvbuf", recvbuf, *count, datatype)?.len()));
    let lens = lens.collect::<Result<Vec<_>>>()?;
    let total = counts.iter().try_fold(0i64, |total, count| total.checked_add(count.wide()));
    let total =
        total.ok_or_else(|| Error::new(ErrorClass::Count, "", "recvcounts add up to more than 2^63"))?;
    let (all, own) = (
        Data::new("sendbuf", source, total, datatype)?,
        Data::new("recvbuf", recvbuf, counts[call.rank()], datatype)?,
    );
    if !is_in_place(sendbuf) {
        Data::check_apart(from_ref(&all), from_ref(&own))?;
    }
    let (mut packed, mut room) = (all.pack()?, own.room()?);
    if let Some(inter) = call.inter() {
        return inter.reduce_scatter(operation, packed, lens.iter().map(|len| *len as usize).collect(), room);
    }
    // From the last on, so that each block is cut off without moving the others.
    let mut blocks: Vec<Vec<u8>> =
        lens.iter().rev().map(|len| packed.split_off(packed.len() - *len as usize)).collect();
    blocks.reverse();
    if let Some(comm) = call.runs_on() {
        room.store(&comm.run_reduce_scatter(call.name, operation, blocks)?)?;
        return Ok(StoringCollective::over(call));
    }
    let machine = ReduceScatter::new(call.link(), operation, blocks)?;
    Ok(call.begin(machine, move |result| room.store(&result)))
}

/// `recv` has the ranks' blocks at the root, and nothing elsewhere.
pub(crate) fn gather<C: Wide>(call: Call, send: BlockSide<C>, recv: Vec<Data>, root: c_int) -> Started {
    if let Some(inter) = call.inter() {
        return inter.gather(send, &recv, root);
    }
    let root_rank = call.root(root)?;
    let is_in_place = is_in_place(send.memory) && call.is_root(root);
    let own = if is_in_place { recv[call.rank()].clone() } else { apart(send, &recv)? };
    let mut rooms = Data::rooms(&recv)?;
    if let Some(comm) = call.runs_on() {
        let own = (!is_in_place).then(|| own.given()).transpose()?;
        let takes = rooms.iter().map(Room::take).collect();
        let blocks = comm.run_gather(call.name, root_rank, own, takes)?;
        Room::store_rest(&mut rooms, &blocks)?;
        return Ok(StoringCollective::over(call));
    }
    let own = own.pack()?;
    let machine = Gather::new(call.link(), root_rank, own);
    Ok(call.begin(machine, move |blocks| Room::store_all(&mut rooms, &blocks.unwrap_or_default())))
}

pub(crate) fn all_gather<C: Wide>(call: Call, send: BlockSide<C>, recv: Vec<Data>) -> Started {
    let is_in_place = is_in_place(send.memory) && call.inter().is_none();
    let own = if is_in_place { recv[call.rank()].clone() } else { apart(send, &recv)? };
    let mut rooms = Data::rooms(&recv)?;
    if let Some(inter) = call.inter() {
        return inter.all_gather(own.pack()?, rooms);
    }
    if let Some(comm) = call.runs_on() {
        let mut takes: Vec<_> = rooms.iter().map(|room| Some(room.take())).collect();
        if is_in_place {
            takes[call.rank()] = None;
        }
        let blocks = comm.run_allgather(call.name, own.given()?, takes)?;
        Room::store_rest(&mut rooms, &blocks)?;
        return Ok(StoringCollective::over(call));
    }
    let own = own.pack()?;
    let machine = AllGather::new(call.link(), own);
    Ok(call.begin(machine, move |blocks| Room::store_all(&mut rooms, &blocks)))
}

/// `send` has the ranks' blocks at the root, and nothing elsewhere.
pub(crate) fn scatter<C: Wide>(call: Call, send: Vec<Data>, recv: BlockSide<C>, root: c_int) -> Started {
    if let Some(inter) = call.inter() {
        return inter.scatter(&send, recv, root);
    }
    let root_rank = call.root(root)?;
    let is_root = call.is_root(root);
    let stays = is_in_place(recv.memory) && is_root;
    let place = (!stays).then(|| recv.data("recvbuf")).transpose()?;
    Data::check_apart(&send, place.as_slice())?;
    let mut room = place.map(|place| Ok(place.room()?.of(root_rank))).transpose()?;
    if let Some(comm) = call.runs_on() {
        let blocks = is_root.then(|| send.iter().map(Data::given).collect::<Result<Vec<_>>>()).transpose()?;
        let block = comm.run_scatter(call.name, root_rank, blocks, room.as_ref().map(Room::take))?;
        Room::store_in(&mut room, block)?;
        return Ok(StoringCollective::over(call));
    }
    let blocks = is_root.then(|| send.iter().map(Data::pack).collect::<Result<Vec<_>>>()).transpose()?;
    let machine = Scatter::new(call.link(), root_rank, blocks)?;
    Ok(call.begin(machine, move |block| Room::store_in(&mut room, Some(block))))
}

/// An exchange whose blocks all should have one length, on all ranks.
pub(crate) fn even_all_to_all(call: Call, send: Option<Vec<Data>>, recv: Vec<Data>) -> Started {
    // What a rank gives is what others see of it.
    let len = send.as_ref().unwrap_or(&recv).first().map_or(0, Data::len);
    all_to_all_of(call, send, recv, usize::try_from(len).ok())
}

/// With `send` missing, the blocks to be sent are those to be replaced (`MPI_IN_PLACE`).
pub(crate) fn all_to_all(call: Call, send: Option<Vec<Data>>, recv: Vec<Data>) -> Started {
    all_to_all_of(call, send, recv, None)
}

/// `even_len` is the length of all blocks of all ranks, if they should have one.
fn all_to_all_of(call: Call, send: Option<Vec<Data>>, recv: Vec<Data>, even_len: Option<usize>) -> Started {
    Data::check_apart(send.as_deref().unwrap_or_default(), &recv)?;
    let mut rooms = Data::rooms(&recv)?;
    if let Some(inter) = call.inter() {
        let blocks = send.as_ref().unwrap_or(&recv).iter().map(Data::pack).collect::<Result<Vec<_>>>()?;
        return inter.all_to_all(blocks, rooms);
    }
    let gives = match &send {
        Some(send) => send.iter().map(Data::given).collect::<Result<Vec<_>>>()?,
        None => recv.iter().map(|data| data.pack().map(Given::Bytes)).collect::<Result<Vec<_>>>()?,
    };
    let takes = rooms.iter().map(Room::take);
    if let Some(comm) = call.runs_on() {
        let blocks = comm.run_alltoall(call.name, gives, takes.collect(), even_len)?;
        Room::store_rest(&mut rooms, &blocks)?;
        return Ok(StoringCollective::over(call));
    }
    let link = call.link();
    match even_len.filter(|_| ShortAllToAll::is_for(gives.len())) {
        Some(len) if ShortAllToAll::is_better(gives.len(), len) => {
            let machine = ShortAllToAll::new(link, gives.into_iter().map(Given::pack).collect())?.even(len);
            Ok(call.begin(machine, move |blocks| Room::store_all(&mut rooms, &blocks)))
        }
        even => {
            let gives = gives.into_iter().map(Some).collect();
            let exchange = Exchange::new(link, gives, takes.map(Some).collect())?;
            let exchange = match even {
                Some(len) => exchange.even(len),
                None => exchange,
            };
            Ok(call.begin(exchange, move |blocks| Room::store_rest(&mut rooms, &blocks)))
        }
    }
}

/// The pieces that a call reads, unless it reads them in place.
pub(crate) fn unless_in_place(
    memory: Memory,
    pieces: impl FnOnce() -> Result<Vec<Data>>,
) -> Result<Option<Vec<Data>>> {
    (!is_in_place(memory)).then(pieces).transpose()
}

/// The counts of a call with one for each rank.
pub(crate) fn counts<C: Wide>(call: Call, recvcounts: In<C>) -> Result<Vec<C>> {
    recvcounts.many("recvcounts", call.own_size())
}

impl<C: Wide> BlockSide<C> {
    pub(crate) fn new(memory: Memory, count: C, datatype: MPI_Datatype) -> Self {
        Self { memory, count, datatype }
    }

    pub(crate) fn data(self, name: &'static str) -> Result<Data> {
        Data::new(name, self.memory, self.count, self.datatype)
    }

    /// A piece for each of `blocks` ranks, one behind the other.
    pub(crate) fn blocks(self, name: &'static str, blocks: usize) -> Result<Vec<Data>> {
        Data::blocks(name, self.memory, self.count, self.datatype, blocks)
    }
}

/// A rank's block, which has no byte in common with those that it gets.
fn apart<C: Wide>(send: BlockSide<C>, recv: &[Data]) -> Result<Data> {
    let own = send.data("sendbuf")?;
    Data::check_apart(from_ref(&own), recv)?;
    Ok(own)
}

/// What a rank brings to a reduction, which has no byte in common with its result, or is where the result goes
/// (`MPI_IN_PLACE`) where it may be.
fn operand<C: Wide>(
    sendbuf: Memory,
    recv: BlockSide<C>,
    result: Option<&Data>,
    may_be_in_place: bool,
) -> Result<Vec<u8>> {
    if !is_in_place(sendbuf) {
        let own = BlockSide { memory: sendbuf, ..recv }.data("sendbuf")?;
        Data::check_apart(from_ref(&own), result.map_or(&[], from_ref))?;
        return own.pack();
    }
    if !may_be_in_place {
        let cause = "sendbuf is MPI_IN_PLACE, which only the root may give";
        return Err(Error::new(ErrorClass::Buffer, "", cause));
    }
    match result {
        Some(result) => result.pack(),
        None => recv.data("recvbuf")?.pack(),
    }
}
