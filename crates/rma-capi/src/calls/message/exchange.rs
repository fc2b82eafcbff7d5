//! The calls that send and receive (MPI 5.0 §3.9).

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::message::envelope::{Address, Wanted};
use crate::message::exchange::Exchange;
use crate::message::transfer::{Buffer, begin_receive, begin_send, begin_send_of};
use crate::request::{Pending, StatusOut, enter, wait_within};
use rma::raw::SendMode;
use std::ffi::c_int;

forms! {
    /// `MPI_Sendrecv` (§3.9).
    fn MPI_Sendrecv | MPI_Sendrecv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: StatusOut,
    )
    raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let outgoing = Buffer { name: "sendbuf", address: sendbuf, count: sendcount, datatype: sendtype };
        let incoming = Buffer { name: "recvbuf", address: recvbuf, count: recvcount, datatype: recvtype };
        let address = Address::new(comm.partners(), dest, sendtag)?;
        if address.is_some() { outgoing.check()? } else { outgoing.check_elements()? }
        let wanted = Wanted::new(comm.partners(), source, recvtag)?;
        if address.is_some() && wanted.is_some() {
            outgoing.check_apart(&incoming)?;
        }
        let mut receiving = begin_receive(comm, wanted, incoming)?;
        let mut sending = begin_send(comm, address, outgoing, SendMode::Standard)?;
        // Both end, whatever the other does, before the program has its memory back.
        let sent = wait_within(process, "sendrecv", &mut sending, &|each| receiving.seek(each), None);
        wait_within(process, "sendrecv", &mut receiving, &|_| {}, Some(status))?;
        sent
    }

    /// `MPI_Sendrecv_replace` (§3.9).
    fn MPI_Sendrecv_replace | MPI_Sendrecv_replace_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, status: StatusOut,
    )
    raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let buffer = Buffer { name: "buf", address: buf, count, datatype };
        let address = Address::new(comm.partners(), dest, sendtag)?;
        let wanted = Wanted::new(comm.partners(), source, recvtag)?;
        // The copy is made before a message can come in.
        let mut sending = begin_send_of(comm, address, buffer)?;
        let mut receiving = begin_receive(comm, wanted, buffer)?;
        let sent = wait_within(process, "sendrecv_replace", &mut sending, &|each| receiving.seek(each), None);
        wait_within(process, "sendrecv_replace", &mut receiving, &|_| {}, Some(status))?;
        sent
    }

    /// `MPI_Isendrecv` (§3.9).
    fn MPI_Isendrecv | MPI_Isendrecv_c(
        sendbuf: Memory, sendcount: Number, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: Memory, recvcount: Number, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let (handle, comm) = (comm, process.comm(comm)?);
        let outgoing = Buffer { name: "sendbuf", address: sendbuf, count: sendcount, datatype: sendtype };
        let incoming = Buffer { name: "recvbuf", address: recvbuf, count: recvcount, datatype: recvtype };
        let address = Address::new(comm.partners(), dest, sendtag)?;
        if address.is_some() { outgoing.check()? } else { outgoing.check_elements()? }
        let wanted = Wanted::new(comm.partners(), source, recvtag)?;
        if address.is_some() && wanted.is_some() {
            outgoing.check_apart(&incoming)?;
        }
        let receiving = begin_receive(comm, wanted, incoming)?;
        let sending = begin_send(comm, address, outgoing, SendMode::Standard)?;
        process.poll();
        request.set("request", enter(Box::new(Exchange::new(sending, receiving)), comm.raiser(handle))?)
    }

    /// `MPI_Isendrecv_replace` (§3.9).
    fn MPI_Isendrecv_replace | MPI_Isendrecv_replace_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let (handle, comm) = (comm, process.comm(comm)?);
        let buffer = Buffer { name: "buf", address: buf, count, datatype };
        let address = Address::new(comm.partners(), dest, sendtag)?;
        let wanted = Wanted::new(comm.partners(), source, recvtag)?;
        // The copy is made before a message can come in.
        let sending = begin_send_of(comm, address, buffer)?;
        let receiving = begin_receive(comm, wanted, buffer)?;
        process.poll();
        request.set("request", enter(Box::new(Exchange::new(sending, receiving)), comm.raiser(handle))?)
    }
}
