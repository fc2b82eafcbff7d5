//! The nonblocking collectives that compute and give each rank its own result (MPI 5.0 §6.12.9 to §6.12.12).

use super::nonblocking::start;
use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::collective::begin::{self, BlockSide, Call, ScanKind};
use crate::entry::forms;
use crate::errors::Raiser;

forms! {
    /// `MPI_Ireduce_scatter_block` (§6.12.9).
    fn MPI_Ireduce_scatter_block | MPI_Ireduce_scatter_block_c(
        sendbuf: Memory, recvbuf: Memory, recvcount: Number, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ireduce_scatter_block", process, comm)?;
        let counts = vec![recvcount; call.own_size()];
        start(begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, op), request)
    }

    /// `MPI_Ireduce_scatter` (§6.12.10).
    fn MPI_Ireduce_scatter | MPI_Ireduce_scatter_c(
        sendbuf: Memory, recvbuf: Memory, recvcounts: In<Number>, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Ireduce_scatter", process, comm)?;
        let counts = begin::counts(call, recvcounts)?;
        start(begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, op), request)
    }

    /// `MPI_Iscan` (§6.12.11).
    fn MPI_Iscan | MPI_Iscan_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iscan", process, comm)?;
        start(
            begin::scan(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, ScanKind::Inclusive),
            request,
        )
    }

    /// `MPI_Iexscan` (§6.12.12).
    fn MPI_Iexscan | MPI_Iexscan_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let call = Call::new("MPI_Iexscan", process, comm)?;
        start(
            begin::scan(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, ScanKind::Exclusive),
            request,
        )
    }
}
