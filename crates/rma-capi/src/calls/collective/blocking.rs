//! The collectives that move data, blocking (MPI 5.0 §6.3 to §6.8).

use crate::abi::*;
use crate::arguments::{In, Memory};
use crate::collective::Data;
use crate::collective::begin::{self, BlockSide, Call};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use std::ffi::c_int;

forms! {
    /// `MPI_Bcast` (§6.4).
    fn MPI_Bcast | MPI_Bcast_c(
        buffer: Memory, count: Number, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Bcast", process, comm)?;
        begin::broadcast(call, buffer, count, datatype, root)?.wait()
    }

    /// `MPI_Gather` (§6.5).
    fn MPI_Gather | MPI_Gather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Gather", process, comm)?;
        let recv = call.at_root(root, || {
            BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())
        })?;
        begin::gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv, root)?.wait()
    }

    /// `MPI_Gatherv` (§6.5).
    fn MPI_Gatherv | MPI_Gatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Gatherv", process, comm)?;
        let recv = call.at_root(root, || {
            Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())
        })?;
        begin::gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv, root)?.wait()
    }

    /// `MPI_Scatter` (§6.6).
    fn MPI_Scatter | MPI_Scatter_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Scatter", process, comm)?;
        let send = call.at_root(root, || {
            BlockSide::new(sendbuf, sendcount, sendtype).blocks("sendbuf", call.size())
        })?;
        begin::scatter(call, send, BlockSide::new(recvbuf, recvcount, recvtype), root)?.wait()
    }

    /// `MPI_Scatterv` (§6.6).
    fn MPI_Scatterv | MPI_Scatterv_c(
        sendbuf: Memory, sendcounts: In<Number>, displs: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcount: Number, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Scatterv", process, comm)?;
        let send = call.at_root(root, || {
            Data::varying("sendbuf", sendbuf, sendcounts, displs, sendtype, call.size())
        })?;
        begin::scatter(call, send, BlockSide::new(recvbuf, recvcount, recvtype), root)?.wait()
    }

    /// `MPI_Allgather` (§6.7).
    fn MPI_Allgather | MPI_Allgather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Allgather", process, comm)?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        begin::all_gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv)?.wait()
    }

    /// `MPI_Allgatherv` (§6.7).
    fn MPI_Allgatherv | MPI_Allgatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Allgatherv", process, comm)?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())?;
        begin::all_gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv)?.wait()
    }

    /// `MPI_Alltoall` (§6.8).
    fn MPI_Alltoall | MPI_Alltoall_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Alltoall", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            BlockSide::new(sendbuf, sendcount, sendtype).blocks("sendbuf", call.size())
        })?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        begin::even_all_to_all(call, send, recv)?.wait()
    }

    /// `MPI_Alltoallv` (§6.8).
    fn MPI_Alltoallv | MPI_Alltoallv_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Alltoallv", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, call.size())
        })?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, call.size())?;
        begin::all_to_all(call, send, recv)?.wait()
    }

    /// `MPI_Alltoallw` (§6.8).
    fn MPI_Alltoallw | MPI_Alltoallw_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<Place>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Alltoallw", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, call.size())
        })?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, call.size())?;
        begin::all_to_all(call, send, recv)?.wait()
    }
}

entry! {
    /// `MPI_Barrier` (§6.3).
    fn MPI_Barrier(comm: MPI_Comm) raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Barrier", process, comm)?;
        begin::barrier(call)?.wait()
    }
}
