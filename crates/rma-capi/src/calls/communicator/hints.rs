//! Hints on communicators (MPI 5.0 §7.4.4), of which one is about the job ([`failure`]).

use crate::abi::*;
use crate::arguments::Out;
use crate::communicator::Hints;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::info::{self, Info, failure};
use rma::Result;

entry! {
    /// `MPI_Comm_set_info`.
    fn MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) raises Raiser::Comm(comm); |process| {
        let (comm, info) = (process.comm(comm)?, info::get(info)?);
        comm.hints.update(|name| info.text(name));
        failure::heed(info)
    }

    /// `MPI_Comm_get_info`.
    fn MPI_Comm_get_info(comm: MPI_Comm, info_used: Out<MPI_Info>) raises Raiser::Comm(comm); |process| {
        info_used.check("info_used")?;
        let known = failure::tell(process, Info::of(process.comm(comm)?.hints.known()));
        info_used.set("info_used", info::enter(known)?)
    }
}

/// The hints of a new communicator, as far as they are for that.
pub(in crate::calls) fn given(info: MPI_Info) -> Result<Hints> {
    let hints = Hints::default();
    if let Some(info) = info::get_optional(info)? {
        failure::heed(info)?;
        hints.update(|name| info.text(name));
    }
    Ok(hints)
}
