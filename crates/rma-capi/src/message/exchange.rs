//! A send and a receive in one call (MPI 5.0 §3.9): neither waits for the other.

use super::envelope::{Address, Wanted};
use super::transfer::{Buffer, Receiving, Sending, begin_receive, begin_send, begin_send_of};
use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::process::Sought;
use crate::request::{End, Pending, StatusOut, enter, wait_within};
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
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: StatusOut,
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
        buf: Memory, count: Number, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: Out<MPI_Request>,
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

/// Both under one request, which ends when both have.
struct Exchange {
    sending: Sending,
    receiving: Receiving,
    sent: Option<End>,
    received: Option<End>,
}

impl Exchange {
    fn new(sending: Sending, receiving: Receiving) -> Self {
        Self { sending, receiving, sent: None, received: None }
    }
}

impl Pending for Exchange {
    fn take_end(&mut self) -> Option<End> {
        self.sent = self.sent.take().or_else(|| self.sending.take_end());
        if self.received.is_none() {
            let received = self.receiving.take_end();
            if received.as_ref().is_some_and(End::is_no_end) {
                return received;
            }
            self.received = received;
        }
        let (sent, received) = (self.sent.as_ref()?, self.received.as_ref()?);
        // The status is the receive's; the first error is the one to tell of.
        Some(if received.error.is_some() || sent.error.is_none() { received } else { sent }.clone())
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        if self.sent.is_none() {
            self.sending.seek(each);
        }
        if self.received.is_none() {
            self.receiving.seek(each);
        }
    }
}
