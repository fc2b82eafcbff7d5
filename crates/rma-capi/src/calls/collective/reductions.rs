//! The collectives that compute, blocking (MPI 5.0 §6.9 to §6.11).

use crate::abi::*;
use crate::arguments::{In, Memory};
use crate::collective::begin::{self, BlockSide, Call, ScanKind};
use crate::entry::forms;
use crate::errors::Raiser;
use std::ffi::c_int;

forms! {
    /// `MPI_Reduce` (§6.9.1).
    fn MPI_Reduce | MPI_Reduce_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Reduce", process, comm)?;
        begin::reduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, root)?.wait()
    }

    /// `MPI_Allreduce` (§6.9.6).
    fn MPI_Allreduce | MPI_Allreduce_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Allreduce", process, comm)?;
        begin::allreduce(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op)?.wait()
    }

    /// `MPI_Reduce_scatter` (§6.10.2).
    fn MPI_Reduce_scatter | MPI_Reduce_scatter_c(
        sendbuf: Memory, recvbuf: Memory, recvcounts: In<Number>, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Reduce_scatter", process, comm)?;
        let counts = begin::counts(call, recvcounts)?;
        begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, op)?.wait()
    }

    /// `MPI_Reduce_scatter_block` (§6.10.1).
    fn MPI_Reduce_scatter_block | MPI_Reduce_scatter_block_c(
        sendbuf: Memory, recvbuf: Memory, recvcount: Number, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Reduce_scatter_block", process, comm)?;
        let counts = vec![recvcount; call.own_size()];
        begin::reduce_scatter(call, sendbuf, recvbuf, &counts, datatype, op)?.wait()
    }

    /// `MPI_Scan` (§6.11.1).
    fn MPI_Scan | MPI_Scan_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Scan", process, comm)?;
        begin::scan(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, ScanKind::Inclusive)?.wait()
    }

    /// `MPI_Exscan` (§6.11.2).
    fn MPI_Exscan | MPI_Exscan_c(
        sendbuf: Memory, recvbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        let call = Call::blocking("MPI_Exscan", process, comm)?;
        begin::scan(call, sendbuf, BlockSide::new(recvbuf, count, datatype), op, ScanKind::Exclusive)?.wait()
    }
}
