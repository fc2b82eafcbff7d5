//! How a communicator with a topology is made: a split of the old one, in which each rank says which part and place it has.

use crate::abi::{MPI_COMM_NULL, MPI_Comm};
use crate::arguments::Out;
use crate::communicator::{Comm, Hints};
use crate::topology::Topology;
use rma::{Communicator, Result};
use std::sync::Arc;

/// What a rank asks for.
pub(super) struct Wish {
    /// Part and place in it; `None` when there is none for this rank.
    pub(super) place: Option<(u32, u32)>,
    pub(super) topology: Topology,
}

/// Makes the communicator that is wished for; with the error that the wish is, takes part so that all ranks get one.
pub(super) fn make(old: &Comm, newcomm: Out<MPI_Comm>, wish: Result<Wish>) -> Result<()> {
    let Wish { place, topology } = match newcomm.check("newcomm").and(wish) {
        Ok(wish) => wish,
        Err(fault) => return Err(old.intra()?.refuse_split(fault)),
    };
    let key = place.map_or(0, |(_, key)| key);
    let made = match old.intra()?.split(place.map(|(part, _)| part), key.into())? {
        Some(inner) => enter(old, inner, topology)?,
        None => MPI_COMM_NULL,
    };
    newcomm.set("newcomm", made)
}

/// Enters a communicator made from an old one.
pub(super) fn enter(old: &Comm, inner: Communicator, topology: Topology) -> Result<MPI_Comm> {
    let mut offspring = old.offspring(Hints::default());
    offspring.topology = Some(Arc::new(topology));
    offspring.enter_itself(Arc::new(inner), None)
}
