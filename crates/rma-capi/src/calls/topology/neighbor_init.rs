//! Neighborhood collectives, persistent (MPI 5.0 §8.8).

use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::Data;
use crate::collective::begin::{BlockSide, Call};
use crate::collective::neighbor::{Hood, begin};
use crate::collective::persistent::{Uses, init};
use crate::entry::forms;
use crate::errors::Raiser;

forms! {
    /// `MPI_Neighbor_allgather_init` (§8.8.1).
    fn MPI_Neighbor_allgather_init | MPI_Neighbor_allgather_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Neighbor_allgather_init", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        init(hood.call, Uses::types(&[]), info, request, move |call, _| begin(Hood::new(call)?, &send, &recv))
    }

    /// `MPI_Neighbor_allgatherv_init` (§8.8.1).
    fn MPI_Neighbor_allgatherv_init | MPI_Neighbor_allgatherv_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Neighbor_allgatherv_init", process, comm)?)?;
        let send = hood.same(BlockSide::new(sendbuf, sendcount, sendtype).data("sendbuf")?);
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, hood.sources())?;
        init(hood.call, Uses::types(&[]), info, request, move |call, _| begin(Hood::new(call)?, &send, &recv))
    }

    /// `MPI_Neighbor_alltoall_init` (§8.8.2).
    fn MPI_Neighbor_alltoall_init | MPI_Neighbor_alltoall_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Neighbor_alltoall_init", process, comm)?)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype).blocks("sendbuf", hood.destinations())?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", hood.sources())?;
        init(hood.call, Uses::types(&[]), info, request, move |call, _| begin(Hood::new(call)?, &send, &recv))
    }

    /// `MPI_Neighbor_alltoallv_init` (§8.8.2).
    fn MPI_Neighbor_alltoallv_init | MPI_Neighbor_alltoallv_init_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Neighbor_alltoallv_init", process, comm)?)?;
        let send = Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, hood.destinations())?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, hood.sources())?;
        init(hood.call, Uses::types(&[]), info, request, move |call, _| begin(Hood::new(call)?, &send, &recv))
    }

    /// `MPI_Neighbor_alltoallw_init` (§8.8.2).
    fn MPI_Neighbor_alltoallw_init | MPI_Neighbor_alltoallw_init_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<MPI_Aint>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<MPI_Aint>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let hood = Hood::new(Call::new("MPI_Neighbor_alltoallw_init", process, comm)?)?;
        let send = Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, hood.destinations())?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, hood.sources())?;
        init(hood.call, Uses::types(&[]), info, request, move |call, _| begin(Hood::new(call)?, &send, &recv))
    }
}
