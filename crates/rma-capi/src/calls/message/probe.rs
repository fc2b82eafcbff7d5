//! Probes (MPI 5.0 §3.8.1, §3.8.2).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::message::envelope::Wanted;
use crate::message::probe::{hand_out, look, take_one};
use crate::request::{Status, StatusOut};
use std::ffi::c_int;

entry! {
    /// `MPI_Probe` (§3.8.1).
    fn MPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: StatusOut)
    raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let found = match Wanted::new(comm.partners(), source, tag)? {
            None => Status::NO_PROCESS,
            Some(wanted) => process.wait(|| look(comm, wanted))?,
        };
        found.store(status);
        Ok(())
    }

    /// `MPI_Iprobe` (§3.8.1).
    fn MPI_Iprobe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        flag: Out<c_int>,
        status: StatusOut,
    ) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let wanted = Wanted::new(comm.partners(), source, tag)?;
        process.poll();
        let found = match wanted {
            None => Some(Status::NO_PROCESS),
            Some(wanted) => look(comm, wanted)?,
        };
        flag.set("flag", found.is_some().into())?;
        if let Some(found) = found {
            found.store(status);
        }
        Ok(())
    }

    /// `MPI_Mprobe` (§3.8.2).
    fn MPI_Mprobe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        message: Out<MPI_Message>,
        status: StatusOut,
    ) raises Raiser::Comm(comm); |process| {
        message.check("message")?;
        let found = process.comm(comm)?;
        let taken = match Wanted::new(found.partners(), source, tag)? {
            None => None,
            Some(wanted) => Some(process.wait(|| take_one(found, wanted))?),
        };
        hand_out(process, comm, taken, message, status)
    }

    /// `MPI_Improbe` (§3.8.2).
    fn MPI_Improbe(
        source: c_int,
        tag: c_int,
        comm: MPI_Comm,
        flag: Out<c_int>,
        message: Out<MPI_Message>,
        status: StatusOut,
    ) raises Raiser::Comm(comm); |process| {
        message.check("message")?;
        flag.check("flag")?;
        let found = process.comm(comm)?;
        let wanted = Wanted::new(found.partners(), source, tag)?;
        process.poll();
        let taken = match wanted {
            None => None,
            Some(wanted) => match take_one(found, wanted)? {
                Some(taken) => Some(taken),
                None => return flag.set("flag", 0),
            },
        };
        flag.set("flag", 1)?;
        hand_out(process, comm, taken, message, status)
    }
}
