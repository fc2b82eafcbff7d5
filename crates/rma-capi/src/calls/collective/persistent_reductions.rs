//! The persistent collectives that compute (MPI 5.0 §6.13).

use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::begin::{self, BlockSide, Call, ScanKind};
use crate::collective::persistent::{Uses, init};
use crate::entry::forms;
use crate::errors::Raiser;
use std::ffi::c_int;

forms! {
    /// `MPI_Reduce_init` (§6.13.7).
    fn MPI_Reduce_init | MPI_Reduce_init_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Reduce_init", process, comm)?;
        call.check_root(root)?;
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            begin::reduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), kept.op(), root)
        })
    }

    /// `MPI_Allreduce_init` (§6.13.8).
    fn MPI_Allreduce_init | MPI_Allreduce_init_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Allreduce_init", process, comm)?;
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            begin::allreduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), kept.op())
        })
    }

    /// `MPI_Reduce_scatter_block_init` (§6.13.9).
    fn MPI_Reduce_scatter_block_init | MPI_Reduce_scatter_block_init_c(
        sendbuf: Memory, recvbuf: Memory, recvcount: Number, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Reduce_scatter_block_init", process, comm)?;
        let counts = vec![recvcount; call.own_size()];
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, kept.op())
        })
    }

    /// `MPI_Reduce_scatter_init` (§6.13.10).
    fn MPI_Reduce_scatter_init | MPI_Reduce_scatter_init_c(
        sendbuf: Memory, recvbuf: Memory, recvcounts: In<Number>, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Reduce_scatter_init", process, comm)?;
        let counts = begin::counts(call, recvcounts)?;
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, kept.op())
        })
    }

    /// `MPI_Scan_init` (§6.13.11).
    fn MPI_Scan_init | MPI_Scan_init_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Scan_init", process, comm)?;
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            let recv = BlockSide::new(recvbuf, count, datatype);
            begin::scan(call, sendbuf, recv, kept.op(), ScanKind::Inclusive)
        })
    }

    /// `MPI_Exscan_init` (§6.13.12).
    fn MPI_Exscan_init | MPI_Exscan_init_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Exscan_init", process, comm)?;
        let kept = Uses::reduction(op, datatype)?;
        init(call, kept, info, request, move |call, kept| {
            let recv = BlockSide::new(recvbuf, count, datatype);
            begin::scan(call, sendbuf, recv, kept.op(), ScanKind::Exclusive)
        })
    }
}
