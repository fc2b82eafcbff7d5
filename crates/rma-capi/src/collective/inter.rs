//! Collectives between the two groups of an intercommunicator (MPI 5.0 §6.2.3): each group gives to the other, or one root
//! does.

use super::begin::{BlockSide, Call, Started};
use super::data::{Data, Room};
use super::under_way::StoringCollective;
use crate::abi::{MPI_INT, MPI_PROC_NULL, MPI_ROOT, MPI_SUM};
use crate::arguments::Wide;
use crate::op;
use rma::raw::{Combine, Intercommunicator, Root};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// A call on an intercommunicator.
#[derive(Clone, Copy)]
pub(super) struct InterCall {
    pub(super) call: Call,
    pub(super) comm: &'static Intercommunicator,
}

impl InterCall {
    fn root(self, root: c_int) -> Result<Root> {
        match root {
            MPI_ROOT => Ok(Root::Caller),
            MPI_PROC_NULL => Ok(Root::Neighbor),
            rank => u32::try_from(rank).map(Root::Remote).map_err(|_| {
                let cause = format!("root is {rank}, which is no rank, nor MPI_ROOT, nor MPI_PROC_NULL");
                Error::new(ErrorClass::Root, "", cause)
            }),
        }
    }

    pub(super) fn barrier(self) -> Started {
        Ok(StoringCollective::storing(self.call, self.comm.begin_barrier(self.call.start), Ok))
    }

    /// The buffer is asked for where it matters: the arguments of ranks that neither give nor take may be anything.
    pub(super) fn broadcast(self, data: impl FnOnce() -> Result<Data>, root: c_int) -> Started {
        let root = self.root(root)?;
        let (own, mut room, limit) = match root {
            Root::Caller => (data()?.pack()?, None, 0),
            Root::Remote(rank) => {
                let data = data()?;
                (Vec::new(), Some(data.room()?.of(rank)), data.len())
            }
            Root::Neighbor => (Vec::new(), None, 0),
        };
        let request = self.comm.begin_broadcast(self.call.start, root, own, limit)?;
        Ok(StoringCollective::storing(self.call, request, move |news| Room::store_in(&mut room, news)))
    }

    /// `recv` has the remote ranks' blocks at the root, and nothing elsewhere.
    pub(super) fn gather<C: Wide>(self, send: BlockSide<C>, recv: &[Data], root: c_int) -> Started {
        let root = self.root(root)?;
        let own = if matches!(root, Root::Remote(_)) { send.data("sendbuf")?.pack()? } else { Vec::new() };
        let mut rooms = Data::rooms(recv)?;
        let request = self.comm.begin_gather(self.call.start, root, own)?;
        Ok(StoringCollective::storing(self.call, request, move |blocks| {
            Room::store_all(&mut rooms, &blocks.unwrap_or_default())
        }))
    }

    /// `send` has the remote ranks' blocks at the root, and nothing elsewhere.
    pub(super) fn scatter<C: Wide>(self, send: &[Data], recv: BlockSide<C>, root: c_int) -> Started {
        let root = self.root(root)?;
        let blocks = send.iter().map(Data::pack).collect::<Result<Vec<_>>>()?;
        let mut room = match root {
            Root::Remote(rank) => Some(recv.data("recvbuf")?.room()?.of(rank)),
            Root::Caller | Root::Neighbor => None,
        };
        let request = self.comm.begin_scatter(self.call.start, root, &blocks)?;
        Ok(StoringCollective::storing(self.call, request, move |block| Room::store_in(&mut room, block)))
    }

    /// The operation and the values are asked for where they matter: the arguments of ranks that neither give nor take may be
    /// anything.
    pub(super) fn reduce(
        self,
        values: impl FnOnce() -> Result<(Arc<dyn Combine>, Vec<u8>)>,
        recv: impl FnOnce() -> Result<Data>,
        root: c_int,
    ) -> Started {
        let root = self.root(root)?;
        let (operation, values) = match root {
            Root::Remote(_) => values()?,
            // No rank of this group combines anything.
            Root::Caller | Root::Neighbor => (op::combine(MPI_SUM, MPI_INT)?, Vec::new()),
        };
        let mut room = if root == Root::Caller { Some(recv()?.room()?) } else { None };
        let request = self.comm.begin_reduce(self.call.start, root, operation, values)?;
        Ok(StoringCollective::storing(self.call, request, move |result| Room::store_in(&mut room, result)))
    }

    pub(super) fn allreduce(self, operation: Arc<dyn Combine>, values: Vec<u8>, mut room: Room) -> Started {
        let request = self.comm.begin_allreduce(self.call.start, operation, values);
        Ok(StoringCollective::storing(self.call, request, move |result| room.store(&result)))
    }

    pub(super) fn reduce_scatter(
        self,
        operation: Arc<dyn Combine>,
        values: Vec<u8>,
        lens: Vec<usize>,
        mut room: Room,
    ) -> Started {
        let request = self.comm.begin_reduce_scatter(self.call.start, operation, values, lens)?;
        Ok(StoringCollective::storing(self.call, request, move |result| room.store(&result)))
    }

    pub(super) fn all_gather(self, own: Vec<u8>, mut rooms: Vec<Room>) -> Started {
        let request = self.comm.begin_allgather(self.call.start, own);
        Ok(StoringCollective::storing(self.call, request, move |blocks| Room::store_all(&mut rooms, &blocks)))
    }

    pub(super) fn all_to_all(self, blocks: Vec<Vec<u8>>, mut rooms: Vec<Room>) -> Started {
        let request = self.comm.begin_alltoall(self.call.start, blocks)?;
        Ok(StoringCollective::storing(self.call, request, move |blocks| Room::store_all(&mut rooms, &blocks)))
    }
}
