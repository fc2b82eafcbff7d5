//! Partitioned messages (MPI 5.0 §4).

use crate::abi::*;
use crate::arguments::{In, Memory, Out, len};
use crate::entry::{entry_of_any, forms};
use crate::errors::{Failure, Raiser};
use crate::message::partitioned::{Partitions, receive_init, send_init};
use crate::process::Process;
use crate::request::{Request, get};
use rma::{Below, Error, ErrorClass, Result};
use std::ffi::c_int;

forms! {
    /// `MPI_Psend_init` (§4.2.1), whose count is an `int`, as for all other calls, since an erratum to MPI 5.0.
    fn MPI_Psend_init | MPI_Psend_init_c(
        buf: Memory, partitions: c_int, count: Number, datatype: MPI_Datatype, dest: c_int, tag: c_int,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        let count = MPI_Count::from(count);
        send_init(process, &Partitions { buf, partitions, count, datatype }, dest, tag, comm, info, request)
    }

    /// `MPI_Precv_init` (§4.2.1).
    fn MPI_Precv_init | MPI_Precv_init_c(
        buf: Memory, partitions: c_int, count: Number, datatype: MPI_Datatype, source: c_int, tag: c_int,
        comm: MPI_Comm, info: MPI_Info, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        let count = MPI_Count::from(count);
        receive_init(
            process,
            &Partitions { buf, partitions, count, datatype },
            source,
            tag,
            comm,
            info,
            request,
        )
    }
}

entry_of_any! {
    /// `MPI_Pready` (§4.2.2).
    fn MPI_Pready(partition: c_int, request: MPI_Request); |process| {
        make_ready(process, request, [partition].into_iter())
    }

    /// `MPI_Pready_range` (§4.2.2): both ends are in it.
    fn MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request); |process| {
        make_ready(process, request, partition_low..=partition_high)
    }

    /// `MPI_Pready_list` (§4.2.2).
    fn MPI_Pready_list(length: c_int, array_of_partitions: In<c_int>, request: MPI_Request); |process| {
        let partitions = array_of_partitions.many("array_of_partitions", len("length", length)?)?;
        make_ready(process, request, partitions.into_iter())
    }

    /// `MPI_Parrived` (§4.2.2): the partitions arrive together.
    fn MPI_Parrived(request: MPI_Request, partition: c_int, flag: Out<c_int>); |process| {
        flag.check("flag")?;
        process.poll();
        if request == MPI_REQUEST_NULL {
            return Ok(flag.set("flag", 1)?);
        }
        let found = get(request)?;
        let has_arrived = place(found, partition).map(|_| found.is_inactive() || found.look().is_some());
        Ok(flag.set("flag", has_arrived.map_err(|error| of(found, error))?.into())?)
    }
}

fn make_ready(
    process: &'static Process,
    request: MPI_Request,
    partitions: impl Iterator<Item = c_int>,
) -> std::result::Result<(), Failure> {
    let found = get(request)?;
    let each = |partition| {
        if found.is_inactive() {
            let cause = "request is inactive: it has to be started before partitions are ready";
            return Err(Error::new(ErrorClass::Request, "", cause));
        }
        let place = place(found, partition)?;
        found.with_parts(|parts| parts.make_ready(place))
    };
    let ready = partitions.into_iter().try_for_each(each);
    process.poll();
    // Threads that wait for the send look again.
    process.tell();
    ready.map_err(|error| of(found, error))
}

/// A partition of a request.
fn place(request: Request, partition: c_int) -> Result<usize> {
    let count = request.with_parts(|parts| Ok(parts.count()))?;
    usize::try_from(partition).ok().filter(|place| *place < count).ok_or_else(|| {
        let cause = format!("partition is {partition}, which is not in {}", Below(count as u64));
        Error::new(ErrorClass::Arg, "", cause)
    })
}

fn of(request: Request, error: Error) -> Failure {
    Failure { error, raiser: request.raiser() }
}
