//! `MPI_Pack` and `MPI_Unpack` (MPI 5.0 §5.2): data in the order of the type map, without a header; and the same in the form that all
//! machines share (§5.3).

use crate::abi::*;
use crate::arguments::{Memory, Out, Text, Wide, count, negative};
use crate::datatype::external::{self, Way};
use crate::datatype::{bytes, committed, get};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::process::Process;
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::Gather;

forms! {
    /// `MPI_Pack` (§5.2).
    fn MPI_Pack | MPI_Pack_c(
        inbuf: Memory, incount: Number, datatype: MPI_Datatype, outbuf: Memory, outsize: Number,
        position: Out<Number>, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        pack(inbuf, incount, datatype, outbuf, outsize, position)
    }

    /// `MPI_Unpack` (§5.2).
    fn MPI_Unpack | MPI_Unpack_c(
        inbuf: Memory, insize: Number, position: Out<Number>, outbuf: Memory, outcount: Number,
        datatype: MPI_Datatype, comm: MPI_Comm,
    )
    raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        unpack(inbuf, insize, position, outbuf, outcount, datatype)
    }

    /// `MPI_Pack_size` (§5.2).
    fn MPI_Pack_size | MPI_Pack_size_c(
        incount: Number, datatype: MPI_Datatype, comm: MPI_Comm, size: Out<Number>,
    )
    raises Raiser::Comm(comm); |process| { pack_size(process, incount, datatype, comm, size) }

    /// `MPI_Pack_external` (§5.3).
    fn MPI_Pack_external | MPI_Pack_external_c(
        datarep: Text, inbuf: Memory, incount: Number, datatype: MPI_Datatype, outbuf: Memory,
        outsize: Offset, position: Out<Offset>,
    )
    raises Raiser::None; |_| {
        check_form(datarep)?;
        pack_external((inbuf, incount, datatype), outbuf, outsize, position)
    }

    /// `MPI_Unpack_external` (§5.3).
    fn MPI_Unpack_external | MPI_Unpack_external_c(
        datarep: Text, inbuf: Memory, insize: Offset, position: Out<Offset>, outbuf: Memory, outcount: Number,
        datatype: MPI_Datatype,
    )
    raises Raiser::None; |_| {
        check_form(datarep)?;
        unpack_external((outbuf, outcount, datatype), inbuf, insize, position)
    }

    /// `MPI_Pack_external_size` (§5.3).
    fn MPI_Pack_external_size | MPI_Pack_external_size_c(
        datarep: Text, incount: Number, datatype: MPI_Datatype, size: Out<Offset>,
    )
    raises Raiser::None; |_| {
        check_form(datarep)?;
        get("datatype", datatype)?;
        size.set("size", narrow("size", external::size(datatype, count("incount", incount)?)?)?)
    }
}

/// There is one form.
fn check_form(datarep: Text) -> Result<()> {
    let name = datarep.bytes("datarep", MPI_MAX_DATAREP_STRING as usize, ErrorClass::Arg)?;
    match name == b"external32" {
        true => Ok(()),
        false => {
            let cause = format!("datarep is {:?}, not \"external32\"", String::from_utf8_lossy(&name));
            Err(Error::new(ErrorClass::Arg, "", cause))
        }
    }
}

fn pack_external<C: Wide, P: Wide>(
    (inbuf, incount, handle): (Memory, C, MPI_Datatype),
    outbuf: Memory,
    outsize: P,
    position: Out<P>,
) -> Result<()> {
    let datatype = committed("datatype", handle)?;
    let (number, here) = (count("incount", incount)?, bytes("incount", incount, &datatype)?);
    let there = external::size(handle, number)?;
    let (start, end) = room("outsize", outsize, position, there)?;
    let into = outbuf.writable("outbuf", end)?.part(start as usize, there as usize);
    let mut packed = zeros(here)?;
    inbuf.gather("inbuf", number, &datatype)?.read(&mut packed);
    into.write(&external::convert(handle, number, &packed, Way::There)?);
    position.set("position", narrow("position", end)?)
}

fn unpack_external<C: Wide, P: Wide>(
    (outbuf, outcount, handle): (Memory, C, MPI_Datatype),
    inbuf: Memory,
    insize: P,
    position: Out<P>,
) -> Result<()> {
    let datatype = committed("datatype", handle)?;
    let number = count("outcount", outcount)?;
    let there = external::size(handle, number)?;
    let (start, end) = room("insize", insize, position, there)?;
    let mut into = outbuf.scatter("outbuf", number, &datatype)?;
    let mut packed = zeros(there)?;
    inbuf.readable("inbuf", end)?.part(start as usize, there as usize).read(&mut packed);
    into.write(&external::convert(handle, number, &packed, Way::Here)?);
    position.set("position", narrow("position", end)?)
}

fn zeros(len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match usize::try_from(len).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok()) {
        true => {
            bytes.extend(std::iter::repeat_n(0, len as usize));
            Ok(bytes)
        }
        false => Err(Error::new(ErrorClass::NoMem, "", format!("no memory for {len} bytes"))),
    }
}

fn pack<C: Wide>(
    inbuf: Memory,
    incount: C,
    datatype: MPI_Datatype,
    outbuf: Memory,
    outsize: C,
    position: Out<C>,
) -> Result<()> {
    let datatype = committed("datatype", datatype)?;
    let len = bytes("incount", incount, &datatype)?;
    let (start, end) = room("outsize", outsize, position, len)?;
    let into = outbuf.writable("outbuf", end)?.part(start as usize, len as usize);
    inbuf.gather("inbuf", count("incount", incount)?, &datatype)?.copy_to(into);
    position.set("position", narrow("position", end)?)
}

fn unpack<C: Wide>(
    inbuf: Memory,
    insize: C,
    position: Out<C>,
    outbuf: Memory,
    outcount: C,
    datatype: MPI_Datatype,
) -> Result<()> {
    let datatype = committed("datatype", datatype)?;
    let len = bytes("outcount", outcount, &datatype)?;
    let (start, end) = room("insize", insize, position, len)?;
    let from = inbuf.readable("inbuf", end)?.part(start as usize, len as usize);
    let mut into = outbuf.scatter("outbuf", count("outcount", outcount)?, &datatype)?;
    Gather::span(from).transfer(&mut into);
    position.set("position", narrow("position", end)?)
}

fn pack_size<C: Wide>(
    process: &'static Process,
    incount: C,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
    size: Out<C>,
) -> Result<()> {
    process.comm(comm)?;
    let len = bytes("incount", incount, &get("datatype", datatype)?)?;
    size.set("size", narrow("size", len)?)
}

/// Where `len` bytes from the position start and end, if they are within the buffer.
fn room<C: Wide>(name: &str, size: C, position: Out<C>, len: u64) -> Result<(u64, u64)> {
    let size = count(name, size)?;
    let start = position.current().one("position")?.wide();
    let start = u64::try_from(start).map_err(|_| negative(ErrorClass::Arg, "position", start))?;
    match start.checked_add(len) {
        Some(end) if end <= size => Ok((start, end)),
        _ => {
            let cause = format!("{len} bytes from position {start} do not fit into {name} {size}");
            Err(Error::new(ErrorClass::Truncate, "", cause))
        }
    }
}

fn narrow<C: Wide>(name: &str, value: u64) -> Result<C> {
    i64::try_from(value).ok().and_then(C::narrow).ok_or_else(|| {
        Error::new(
            ErrorClass::ValueTooLarge,
            "",
            format!("{name} would be {value}, which its type cannot hold"),
        )
    })
}
