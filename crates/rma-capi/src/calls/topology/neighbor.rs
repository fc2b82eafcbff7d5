//! Neighborhood collectives, blocking (MPI 5.0 §8.6).

use crate::abi::*;
use crate::arguments::{In, Memory};
use crate::collective::Data;
use crate::collective::begin::{BlockSide, Call};
use crate::collective::neighbor::{Hood, begin};
use crate::entry::forms;
use crate::errors::Raiser;

forms! {
    /// `MPI_Neighbor_allgather` (§8.6.1).
    fn MPI_Neighbor_allgather | MPI_Neighbor_allgather_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let hood = Hood::new(Call::blocking("MPI_Neighbor_allgather", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        begin(hood, &send, &recv)?.wait()
    }

    /// `MPI_Neighbor_allgatherv` (§8.6.1).
    fn MPI_Neighbor_allgatherv | MPI_Neighbor_allgatherv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let hood = Hood::new(Call::blocking("MPI_Neighbor_allgatherv", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, hood.sources())?;
        begin(hood, &send, &recv)?.wait()
    }

    /// `MPI_Neighbor_alltoall` (§8.6.2).
    fn MPI_Neighbor_alltoall | MPI_Neighbor_alltoall_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let hood = Hood::new(Call::blocking("MPI_Neighbor_alltoall", process, comm)?)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype).blocks("sendbuf", hood.destinations())?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        begin(hood, &send, &recv)?.wait()
    }

    /// `MPI_Neighbor_alltoallv` (§8.6.2).
    fn MPI_Neighbor_alltoallv | MPI_Neighbor_alltoallv_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let hood = Hood::new(Call::blocking("MPI_Neighbor_alltoallv", process, comm)?)?;
        let send = Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, hood.destinations())?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, hood.sources())?;
        begin(hood, &send, &recv)?.wait()
    }

    /// `MPI_Neighbor_alltoallw` (§8.6.2).
    fn MPI_Neighbor_alltoallw | MPI_Neighbor_alltoallw_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<MPI_Aint>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<MPI_Aint>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let hood = Hood::new(Call::blocking("MPI_Neighbor_alltoallw", process, comm)?)?;
        let send = Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, hood.destinations())?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, hood.sources())?;
        begin(hood, &send, &recv)?.wait()
    }
}
