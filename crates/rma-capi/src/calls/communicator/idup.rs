//! `MPI_Comm_idup` (MPI 5.0 §7.4.2): a duplicate that other calls move.

use super::hints::given;
use crate::abi::*;
use crate::arguments::Out;
use crate::communicator::{Hints, Offspring, owner};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::noted;
use crate::process::Process;
use crate::request::{End, Pending, Status, enter};
use rma::raw::{CollectiveRequest, Intercommunicator};
use rma::{Communicator, Result};
use std::sync::Arc;

entry! {
    /// `MPI_Comm_idup`: attributes are copied now; the new handle is stored when the request is complete.
    fn MPI_Comm_idup(
        comm: MPI_Comm,
        newcomm: Out<MPI_Comm>,
        request: Out<MPI_Request>,
    ) raises Raiser::Comm(comm); |process| {
        duplicate(process, comm, Ok(Hints::default()), newcomm, request)
    }

    /// `MPI_Comm_idup_with_info`: as [`MPI_Comm_idup`], with the hints of `info`.
    fn MPI_Comm_idup_with_info(
        comm: MPI_Comm,
        info: MPI_Info,
        newcomm: Out<MPI_Comm>,
        request: Out<MPI_Request>,
    ) raises Raiser::Comm(comm); |process| {
        duplicate(process, comm, given(info), newcomm, request)
    }
}

fn duplicate(
    process: &'static Process,
    comm: MPI_Comm,
    hints: Result<Hints>,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> Result<()> {
    let old = process.comm(comm)?;
    let prepared = newcomm.check("newcomm").and(request.check("request")).and(hints).and_then(|hints| {
        let offspring = old.duplicate(hints);
        match old.attributes.copy_to(owner(comm), &offspring.attributes) {
            Ok(()) => Ok(offspring),
            Err(error) => {
                // The first failure is the one to tell of.
                let _ = offspring.attributes.delete_all(owner(MPI_COMM_NULL));
                Err(error)
            }
        }
    });
    let offspring = prepared.inspect_err(|_| match &old.inter {
        None => drop(old.inner.begin_duplicate_for_others()),
        Some(inter) => drop(inter.begin_duplicate_for_others()),
    })?;
    let under_way = match &old.inter {
        None => Duplication::Intra(old.inner.begin_duplicate()),
        Some(inter) => Duplication::Inter(Arc::clone(&old.inner), inter.begin_duplicate()),
    };
    let duplicate = Duplicate { under_way, offspring: Some(offspring), newcomm };
    request.set("request", enter(Box::new(duplicate), old.raiser(comm))?)
}

struct Duplicate {
    under_way: Duplication,
    /// Until it has ended.
    offspring: Option<Offspring>,
    newcomm: Out<MPI_Comm>,
}

enum Duplication {
    Intra(CollectiveRequest<Communicator>),
    /// With the communicator of the local group.
    Inter(Arc<Communicator>, CollectiveRequest<Intercommunicator>),
}

impl Duplicate {
    fn store(&mut self, made: Result<(Arc<Communicator>, Option<Arc<Intercommunicator>>)>) -> Result<()> {
        let (inner, inter) = made?;
        match self.offspring.take() {
            Some(offspring) => {
                let enter = || offspring.enter_itself(inner, inter);
                self.newcomm.set("newcomm", noted::on_behalf_of("MPI_Comm_idup", enter)?)
            }
            None => Ok(()),
        }
    }
}

impl Pending for Duplicate {
    fn take_end(&mut self) -> Option<End> {
        let made = match &mut self.under_way {
            Duplication::Intra(request) => request.take()?.map(|comm| (Arc::new(comm), None)),
            Duplication::Inter(local, request) => {
                request.take()?.map(|inter| (Arc::clone(local), Some(Arc::new(inter))))
            }
        };
        Some(End::from(self.store(made).map(|()| Status::EMPTY)))
    }
}
