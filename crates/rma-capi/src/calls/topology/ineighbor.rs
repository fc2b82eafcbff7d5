//! Neighborhood collectives, nonblocking (MPI 5.0 §8.7).

use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::Data;
use crate::collective::begin::{BlockSide, Call};
use crate::collective::neighbor::{Hood, begin};
use crate::entry::forms;
use crate::errors::Raiser;

forms! {
    /// `MPI_Ineighbor_allgather` (§8.7.1).
    fn MPI_Ineighbor_allgather | MPI_Ineighbor_allgather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Ineighbor_allgather", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        begin(hood, &send, &recv)?.enter(request)
    }

    /// `MPI_Ineighbor_allgatherv` (§8.7.1).
    fn MPI_Ineighbor_allgatherv | MPI_Ineighbor_allgatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Ineighbor_allgatherv", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, hood.sources())?;
        begin(hood, &send, &recv)?.enter(request)
    }

    /// `MPI_Ineighbor_alltoall` (§8.7.2).
    fn MPI_Ineighbor_alltoall | MPI_Ineighbor_alltoall_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Ineighbor_alltoall", process, comm)?)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype).blocks("sendbuf", hood.destinations())?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        begin(hood, &send, &recv)?.enter(request)
    }

    /// `MPI_Ineighbor_alltoallv` (§8.7.2).
    fn MPI_Ineighbor_alltoallv | MPI_Ineighbor_alltoallv_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Ineighbor_alltoallv", process, comm)?)?;
        let send = Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, hood.destinations())?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, hood.sources())?;
        begin(hood, &send, &recv)?.enter(request)
    }

    /// `MPI_Ineighbor_alltoallw` (§8.7.2).
    fn MPI_Ineighbor_alltoallw | MPI_Ineighbor_alltoallw_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<MPI_Aint>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<MPI_Aint>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Ineighbor_alltoallw", process, comm)?)?;
        let send = Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, hood.destinations())?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, hood.sources())?;
        begin(hood, &send, &recv)?.enter(request)
    }
}
