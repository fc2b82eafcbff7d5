//! The nonblocking collectives whose pieces differ in length or type (MPI 5.0 §6.12.3 to §6.12.6).

use super::nonblocking::start;
use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::Data;
use crate::collective::begin::{self, BlockSide, Call};
use crate::entry::forms;
use crate::errors::Raiser;
use std::ffi::c_int;

forms! {
    /// `MPI_Igatherv` (§6.12.3).
    fn MPI_Igatherv | MPI_Igatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Igatherv", process, comm)?;
        let recv = call.at_root(root, || {
            Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())
        })?;
        start(begin::gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv, root), request)
    }

    /// `MPI_Iscatterv` (§6.12.4).
    fn MPI_Iscatterv | MPI_Iscatterv_c(
        sendbuf: Memory, sendcounts: In<Number>, displs: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcount: Number, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iscatterv", process, comm)?;
        let send = call.at_root(root, || {
            Data::varying("sendbuf", sendbuf, sendcounts, displs, sendtype, call.size())
        })?;
        start(begin::scatter(call, send, BlockSide::new(recvbuf, recvcount, recvtype), root), request)
    }

    /// `MPI_Iallgatherv` (§6.12.5).
    fn MPI_Iallgatherv | MPI_Iallgatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iallgatherv", process, comm)?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())?;
        start(begin::all_gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv), request)
    }

    /// `MPI_Ialltoallv` (§6.12.6).
    fn MPI_Ialltoallv | MPI_Ialltoallv_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ialltoallv", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, call.size())
        })?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, call.size())?;
        start(begin::all_to_all(call, send, recv), request)
    }

    /// `MPI_Ialltoallw` (§6.12.6).
    fn MPI_Ialltoallw | MPI_Ialltoallw_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<Place>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ialltoallw", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, call.size())
        })?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, call.size())?;
        start(begin::all_to_all(call, send, recv), request)
    }
}
