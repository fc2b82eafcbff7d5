//! Neighborhood collectives (MPI 5.0 §8.6): a block along each edge of the topology. One beginning serves them all: what differs is
//! where the blocks lie.

use super::begin::{Call, Started};
use super::data::Data;
use super::under_way::StoringCollective;
use crate::topology::Neighborhood;
use rma::Result;
use rma::raw::{EDGE_TAGS, Edge, Neighbors};

/// A call, and the neighbors of this rank.
pub(crate) struct Hood {
    pub(crate) call: Call,
    neighbors: &'static Neighborhood,
}

impl Hood {
    /// # Errors
    /// `MPI_ERR_TOPOLOGY` when the communicator has none.
    pub(crate) fn new(call: Call) -> Result<Self> {
        let neighbors = call.comm.neighborhood()?;
        Ok(Self { call, neighbors })
    }

    /// Number of blocks that come, those that come from no process included.
    pub(crate) fn sources(&self) -> usize {
        self.neighbors.sources.len()
    }

    /// Number of blocks that go, likewise.
    pub(crate) fn destinations(&self) -> usize {
        self.neighbors.destinations.len()
    }

    /// One block for all destinations.
    pub(crate) fn same(&self, block: Data) -> Vec<Data> {
        vec![block; self.destinations()]
    }
}

/// Begins with a block for each destination and room for one of each source.
pub(crate) fn begin(hood: Hood, send: &[Data], recv: &[Data]) -> Started {
    let Hood { call, neighbors } = hood;
    Data::check_apart(send, recv)?;
    let (mut gives, mut takes) = (Vec::with_capacity(send.len()), Vec::with_capacity(recv.len()));
    for (place, (rank, data)) in neighbors.destinations.iter().zip(send).enumerate() {
        if let Some(rank) = *rank {
            let tag = neighbors.tag_of_destination(place) % EDGE_TAGS;
            gives.push(Edge { rank, tag, block: data.given()? });
        }
    }
    for (place, (rank, data)) in neighbors.sources.iter().zip(recv).enumerate() {
        if let Some(rank) = *rank {
            let tag = neighbors.tag_of_source(place) % EDGE_TAGS;
            takes.push(Edge { rank, tag, block: data.room()?.into_memory() });
        }
    }
    let machine = Neighbors::new(call.comm.inner.runtime().engine(), call.link(), gives, takes);
    if let Some(comm) = call.runs_on() {
        comm.run_neighbors(call.name, machine)?;
        return Ok(StoringCollective::over(call));
    }
    Ok(call.begin(machine, |end| end))
}
