//! The persistent collectives that move data (MPI 5.0 §6.13): the arguments are taken apart once, and what they name is kept.

use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::Data;
use crate::collective::begin::{self, BlockSide, Call};
use crate::collective::persistent::{Uses, init};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use std::ffi::c_int;

entry! {
    /// `MPI_Barrier_init` (§6.13.1).
    fn MPI_Barrier_init(comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>)
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Barrier_init", process, comm)?;
        init(call, Uses::types(&[]), info, request, |call, _| begin::barrier(call))
    }
}

forms! {
    /// `MPI_Bcast_init` (§6.13.2).
    fn MPI_Bcast_init | MPI_Bcast_init_c(
        buffer: Memory, count: Number, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Bcast_init", process, comm)?;
        call.check_root(root)?;
        let kept = Uses::types(&[datatype]);
        init(call, kept, info, request, move |call, _| begin::broadcast(call, buffer, count, datatype, root))
    }

    /// `MPI_Gather_init` (§6.13.3).
    fn MPI_Gather_init | MPI_Gather_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Gather_init", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype);
        let recv = call.at_root(root, || recv.blocks("recvbuf", call.size()))?;
        call.check_root(root)?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| begin::gather(call, send, recv.clone(), root))
    }

    /// `MPI_Scatter_init` (§6.13.4).
    fn MPI_Scatter_init | MPI_Scatter_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Scatter_init", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let send = call.at_root(root, || send.blocks("sendbuf", call.size()))?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype);
        call.check_root(root)?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| begin::scatter(call, send.clone(), recv, root))
    }

    /// `MPI_Allgather_init` (§6.13.5).
    fn MPI_Allgather_init | MPI_Allgather_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Allgather_init", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| begin::all_gather(call, send, recv.clone()))
    }

    /// `MPI_Alltoall_init` (§6.13.6).
    fn MPI_Alltoall_init | MPI_Alltoall_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcount: Number,
        recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Alltoall_init", process, comm)?;
        let send = BlockSide::new(sendbuf, sendcount, sendtype);
        let send = begin::unless_in_place(sendbuf, || send.blocks("sendbuf", call.size()))?;
        let recv = BlockSide::new(recvbuf, recvcount, recvtype).blocks("recvbuf", call.size())?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| {
            begin::even_all_to_all(call, send.clone(), recv.clone())
        })
    }

    /// `MPI_Gatherv_init` (§6.13.3).
    fn MPI_Gatherv_init | MPI_Gatherv_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Gatherv_init", process, comm)?;
        let recv = call.at_root(root, || {
            Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())
        })?;
        call.check_root(root)?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| {
            begin::gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv.clone(), root)
        })
    }

    /// `MPI_Scatterv_init` (§6.13.4).
    fn MPI_Scatterv_init | MPI_Scatterv_init_c(
        sendbuf: Memory, sendcounts: In<Number>, displs: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcount: Number, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Scatterv_init", process, comm)?;
        let send = call.at_root(root, || {
            Data::varying("sendbuf", sendbuf, sendcounts, displs, sendtype, call.size())
        })?;
        call.check_root(root)?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| {
            begin::scatter(call, send.clone(), BlockSide::new(recvbuf, recvcount, recvtype), root)
        })
    }

    /// `MPI_Allgatherv_init` (§6.13.5).
    fn MPI_Allgatherv_init | MPI_Allgatherv_init_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, recvbuf: Memory, recvcounts: In<Number>,
        displs: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Allgatherv_init", process, comm)?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, displs, recvtype, call.size())?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| {
            begin::all_gather(call, BlockSide::new(sendbuf, sendcount, sendtype), recv.clone())
        })
    }

    /// `MPI_Alltoallv_init` (§6.13.6).
    fn MPI_Alltoallv_init | MPI_Alltoallv_init_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtype: MPI_Datatype, recvbuf: Memory,
        recvcounts: In<Number>, rdispls: In<Place>, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Alltoallv_init", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::varying("sendbuf", sendbuf, sendcounts, sdispls, sendtype, call.size())
        })?;
        let recv = Data::varying("recvbuf", recvbuf, recvcounts, rdispls, recvtype, call.size())?;
        let kept = Uses::types(&[sendtype, recvtype]);
        init(call, kept, info, request, move |call, _| begin::all_to_all(call, send.clone(), recv.clone()))
    }

    /// `MPI_Alltoallw_init` (§6.13.6).
    fn MPI_Alltoallw_init | MPI_Alltoallw_init_c(
        sendbuf: Memory, sendcounts: In<Number>, sdispls: In<Place>, sendtypes: In<MPI_Datatype>,
        recvbuf: Memory, recvcounts: In<Number>, rdispls: In<Place>, recvtypes: In<MPI_Datatype>,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Alltoallw_init", process, comm)?;
        let send = begin::unless_in_place(sendbuf, || {
            Data::of_types("sendbuf", sendbuf, sendcounts, sdispls, sendtypes, call.size())
        })?;
        let recv = Data::of_types("recvbuf", recvbuf, recvcounts, rdispls, recvtypes, call.size())?;
        let kept = Uses::types(&[]);
        init(call, kept, info, request, move |call, _| begin::all_to_all(call, send.clone(), recv.clone()))
    }
}
