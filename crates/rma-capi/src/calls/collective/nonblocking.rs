//! The nonblocking collectives (MPI 5.0 §6.12): begun here, completed as requests, and moved by every call that waits.

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::collective::begin::{self, BlockSide, Call, Started};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use rma::Result;
use std::ffi::c_int;

entry! {
    /// `MPI_Ibarrier` (§6.12.1).
    fn MPI_Ibarrier(comm: MPI_Comm, request: Out<MPI_Request>) raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        start(begin::barrier(Call::new("MPI_Ibarrier", process, comm)?), request)
    }
}

forms! {
    /// `MPI_Ibcast` (§6.12.2).
    fn MPI_Ibcast | MPI_Ibcast_c(
        buffer: Memory, count: Number, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ibcast", process, comm)?;
        start(begin::broadcast(call, buffer, count, datatype, root), request)
    }

    /// `MPI_Igather` (§6.12.3).
    fn MPI_Igather | MPI_Igather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Igather", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype);
        let recv = call.at_root(root, || recv.blocks("recvbuf", call.size()))?;
        start(begin::gather(call, send, recv, root), request)
    }

    /// `MPI_Iscatter` (§6.12.4).
    fn MPI_Iscatter | MPI_Iscatter_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iscatter", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let send = call.at_root(root, || send.blocks("sendbuf", call.size()))?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype);
        start(begin::scatter(call, send, recv, root), request)
    }

    /// `MPI_Iallgather` (§6.12.5).
    fn MPI_Iallgather | MPI_Iallgather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iallgather", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        start(begin::all_gather(call, send, recv), request)
    }

    /// `MPI_Ialltoall` (§6.12.6).
    fn MPI_Ialltoall | MPI_Ialltoall_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ialltoall", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let send = begin::unless_in_place(sendbuf, || send.blocks("sendbuf", call.size()))?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        start(begin::even_all_to_all(call, send, recv), request)
    }

    /// `MPI_Ireduce` (§6.12.7).
    fn MPI_Ireduce | MPI_Ireduce_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ireduce", process, comm)?;
        start(begin::reduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, root), request)
    }

    /// `MPI_Iallreduce` (§6.12.8).
    fn MPI_Iallreduce | MPI_Iallreduce_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iallreduce", process, comm)?;
        start(begin::allreduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op), request)
    }
}

/// Makes a collective a request of the program.
pub(super) fn start(started: Started, request: Out<MPI_Request>) -> Result<()> {
    started?.enter(request)
}
