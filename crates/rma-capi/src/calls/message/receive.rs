//! Receives (MPI 5.0 §3.2.4, §3.7.2, §3.8.3).

use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::message::envelope::Wanted;
use crate::message::receive::{begin, begin_matched};
use crate::message::transfer::{Buffer, Now, begin_receive, try_receive};
use crate::request::{StatusOut, enter, wait_for};
use std::ffi::c_int;

forms! {
    /// `MPI_Recv` (§3.2.4).
    fn MPI_Recv | MPI_Recv_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        status: StatusOut,
    )
    raises Raiser::Comm(comm); |process| {
        let (comm, buffer) = (process.comm(comm)?, Buffer { name: "buf", address: buf, count, datatype });
        let wanted = Wanted::new(comm.partners(), source, tag)?;
        let mut receiving = match try_receive(comm, wanted, buffer) {
            Some(received) => match received? {
                Now::Over(end) => {
                    end.store(status);
                    return Ok(());
                }
                Now::Receiving(receiving) => receiving,
            },
            None => begin_receive(comm, wanted, buffer)?,
        };
        wait_for(process, &mut receiving, Some(status))
    }

    /// `MPI_Irecv` (§3.7.2).
    fn MPI_Irecv | MPI_Irecv_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: Out<MPI_Request>,
    )
    raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let receiving = begin(process, buf, count, datatype, source, tag, comm)?;
        process.end_short_call();
        request.set("request", enter(Box::new(receiving), process.comm(comm)?.raiser(comm))?)
    }

    /// `MPI_Mrecv` (§3.8.3).
    fn MPI_Mrecv | MPI_Mrecv_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, message: Out<MPI_Message>, status: StatusOut,
    )
    raises Raiser::of_message(message); |process| {
        let (mut receiving, _) = begin_matched(buf, count, datatype, message)?;
        wait_for(process, &mut receiving, Some(status))
    }

    /// `MPI_Imrecv` (§3.8.3).
    fn MPI_Imrecv | MPI_Imrecv_c(
        buf: Memory, count: Number, datatype: MPI_Datatype, message: Out<MPI_Message>,
        request: Out<MPI_Request>,
    )
    raises Raiser::of_message(message); |process| {
        request.check("request")?;
        let (receiving, raiser) = begin_matched(buf, count, datatype, message)?;
        process.end_short_call();
        request.set("request", enter(Box::new(receiving), raiser)?)
    }
}
