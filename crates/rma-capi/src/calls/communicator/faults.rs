//! `MPIX_Comm_*`: what survivors do with a communicator whose members have died. Names and meaning are those of the MPI Forum's
//! fault chapter to be, and of ULFM, of which `MPIX_Comm_failure_ack` and `MPIX_Comm_failure_get_acked` are the older names.
//!
//! All but agreements and shrinking are local; all work on intercommunicators as well.

use crate::abi::*;
use crate::arguments::{Out, negative};
use crate::communicator::{Comm, Hints, Offspring};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::group;
use crate::noted;
use crate::request::{End, Pending, Status, enter};
use rma::raw::{CollectiveRequest, Intercommunicator};
use rma::{Agreed, Communicator, Error, ErrorClass, Result};
use rma_core::host;
use std::ffi::c_int;
use std::sync::Arc;

entry! {
    /// `MPIX_Comm_revoke`.
    fn MPIX_Comm_revoke(comm: MPI_Comm) raises Raiser::Comm(comm); |process| {
        let comm = &process.comm(comm)?.inner;
        comm.runtime().revoke(comm.context());
        Ok(())
    }

    /// `MPIX_Comm_is_revoked`.
    fn MPIX_Comm_is_revoked(comm: MPI_Comm, flag: Out<c_int>) raises Raiser::Comm(comm); |process| {
        flag.set("flag", process.comm(comm)?.inner.is_revoked().into())
    }

    /// `MPIX_Comm_get_failed`: of an intercommunicator, of both groups.
    fn MPIX_Comm_get_failed(comm: MPI_Comm, failedgrp: Out<MPI_Group>) raises Raiser::Comm(comm); |process| {
        failedgrp.check("failedgrp")?;
        let comm = process.comm(comm)?;
        let failed = comm.inner.runtime().failed_among(&processes_of(comm));
        failedgrp.set("failedgrp", group::enter(failed)?)
    }

    /// `MPIX_Comm_ack_failed`.
    fn MPIX_Comm_ack_failed(
        comm: MPI_Comm,
        num_to_ack: c_int,
        num_acked: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        num_acked.check("num_acked")?;
        let most = u32::try_from(num_to_ack)
            .map_err(|_| negative(ErrorClass::Arg, "num_to_ack", num_to_ack.into()))?;
        let comm = process.comm(comm)?;
        let acknowledged = comm.inner.runtime().acknowledge_among(&processes_of(comm), most);
        num_acked.set("num_acked", acknowledged as c_int)
    }

    /// `MPIX_Comm_failure_ack`: acknowledges all failures that this process knows.
    fn MPIX_Comm_failure_ack(comm: MPI_Comm) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let (runtime, all) = (comm.inner.runtime(), processes_of(comm));
        // What is known is looked for first.
        let failed = runtime.failed_among(&all);
        runtime.acknowledge_among(&all, failed.size());
        Ok(())
    }

    /// `MPIX_Comm_failure_get_acked`.
    fn MPIX_Comm_failure_get_acked(comm: MPI_Comm, failedgrp: Out<MPI_Group>)
    raises Raiser::Comm(comm); |process| {
        failedgrp.check("failedgrp")?;
        let comm = process.comm(comm)?;
        let acknowledged = comm.inner.runtime().acknowledged_among(&processes_of(comm));
        failedgrp.set("failedgrp", group::enter(acknowledged)?)
    }

    /// `MPIX_Comm_agree`: the flag is that of all living ranks also where the call answers
    /// `MPIX_ERR_PROC_FAILED`, which it does on all of them or on none.
    fn MPIX_Comm_agree(comm: MPI_Comm, flag: Out<c_int>) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?;
        let given = flag.current().one("flag")?;
        let agreed = begin_agree(comm, given).wait()?;
        tell(&agreed, flag)
    }

    /// `MPIX_Comm_iagree`: the flag is read now, and stored when the request is complete.
    fn MPIX_Comm_iagree(
        comm: MPI_Comm,
        flag: Out<c_int>,
        request: Out<MPI_Request>,
    ) raises Raiser::Comm(comm); |process| {
        request.check("request")?;
        let given = flag.current().one("flag")?;
        let found = process.comm(comm)?;
        let agreeing = Agreeing { request: begin_agree(found, given), flag };
        request.set("request", enter(Box::new(agreeing), found.raiser(comm))?)
    }

    /// `MPIX_Comm_shrink`: between two groups of which one is all dead, `MPI_COMM_NULL`.
    fn MPIX_Comm_shrink(comm: MPI_Comm, newcomm: Out<MPI_Comm>) raises Raiser::Comm(comm); |process| {
        newcomm.check("newcomm")?;
        let old = process.comm(comm)?;
        let made = match &old.inter {
            None => old.enter(old.inner.shrink()?, Hints::default())?,
            Some(inter) => match inter.shrink()? {
                Some(made) => old.enter_inter(made, Hints::default())?,
                None => MPI_COMM_NULL,
            },
        };
        newcomm.set("newcomm", made)
    }

    /// `MPIX_Comm_ishrink`.
    fn MPIX_Comm_ishrink(
        comm: MPI_Comm,
        newcomm: Out<MPI_Comm>,
        request: Out<MPI_Request>,
    ) raises Raiser::Comm(comm); |process| {
        newcomm.check("newcomm")?;
        request.check("request")?;
        let old = process.comm(comm)?;
        let offspring = Some(old.offspring(Hints::default()));
        let under_way: Box<dyn Pending> = match &old.inter {
            None => Box::new(Shrinking { request: old.inner.begin_shrink(), offspring, newcomm }),
            Some(inter) => Box::new(Shrinking { request: inter.begin_shrink(), offspring, newcomm }),
        };
        request.set("request", enter(under_way, old.raiser(comm))?)
    }
}

struct Agreeing {
    request: CollectiveRequest<Agreed>,
    flag: Out<c_int>,
}

struct Shrinking<T> {
    request: CollectiveRequest<T>,
    /// Until it has ended.
    offspring: Option<Offspring>,
    newcomm: Out<MPI_Comm>,
}

impl Pending for Agreeing {
    fn take_end(&mut self) -> Option<End> {
        let result = self.request.take()?.and_then(|agreed| tell(&agreed, self.flag));
        Some(End::from(result.map(|()| Status::EMPTY)))
    }
}

impl<T: Shrunk> Pending for Shrinking<T> {
    fn take_end(&mut self) -> Option<End> {
        let made = self.request.take()?;
        let Some(offspring) = self.offspring.take() else { return Some(End::done()) };
        let entered = made.and_then(|made| {
            let enter = || made.enter(offspring);
            self.newcomm.set("newcomm", noted::on_behalf_of("MPIX_Comm_ishrink", enter)?)
        });
        Some(End::from(entered.map(|()| Status::EMPTY)))
    }
}

/// What a communicator is shrunk to.
trait Shrunk {
    fn enter(self, offspring: Offspring) -> Result<MPI_Comm>;
}

impl Shrunk for Communicator {
    fn enter(self, offspring: Offspring) -> Result<MPI_Comm> {
        offspring.enter_itself(Arc::new(self), None)
    }
}

impl Shrunk for Option<Intercommunicator> {
    fn enter(self, offspring: Offspring) -> Result<MPI_Comm> {
        self.map_or(Ok(MPI_COMM_NULL), |inter| offspring.enter_inter(inter))
    }
}

fn begin_agree(comm: &Comm, flag: c_int) -> CollectiveRequest<Agreed> {
    match &comm.inter {
        None => comm.inner.begin_agree(flag as u32),
        Some(inter) => inter.begin_agree(flag as u32),
    }
}

/// Tells the program what was agreed upon.
fn tell(agreed: &Agreed, flag: Out<c_int>) -> Result<()> {
    flag.set("flag", agreed.flags as c_int)?;
    match agreed.unacknowledged.peer(0) {
        None => Ok(()),
        Some(first) => {
            let number = agreed.unacknowledged.size();
            let cause =
                format!("{number} failed ranks are not acknowledged by all, process {first} among them");
            Err(Error::new(ErrorClass::ProcFailed, "", cause))
        }
    }
}

/// The processes of a communicator, of both groups if there are two.
fn processes_of(comm: &Comm) -> host::Group {
    comm.inter.as_ref().map_or_else(|| comm.inner.group(), |inter| inter.both())
}
