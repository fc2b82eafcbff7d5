//! How a communicator with a topology is made: a split of the old one, in which each rank says which part and place it has.

use crate::abi::{MPI_COMM_NULL, MPI_Comm};
use crate::arguments::Out;
use crate::communicator::{Comm, Hints};
use crate::topology::{Topology, by_edges, is_parted};
use rma::raw::{Given, Take};
use rma::{Communicator, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// What a rank asks for.
pub(super) struct TopologyWish {
    /// Part and place in it; `None` when there is none for this rank.
    pub(super) place: Option<(u32, u32)>,
    pub(super) topology: Topology,
}

/// Makes the communicator that is wished for; with the error that the wish is, takes part so that all ranks get one.
pub(super) fn make(old: &Comm, newcomm: Out<MPI_Comm>, wish: Result<TopologyWish>) -> Result<()> {
    let TopologyWish { place, topology } = match newcomm.check("newcomm").and(wish) {
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

/// The node of each rank. All ranks of the communicator call it.
pub(super) fn nodes(comm: &Communicator, call: &'static str) -> Result<Vec<u32>> {
    let blocks = share(comm, call, comm.node().to_le_bytes().to_vec())?;
    let node = |block: Option<Vec<u8>>| block?.try_into().ok().map(u32::from_le_bytes);
    Ok((0..comm.size()).zip(blocks).map(|(rank, block)| node(block).unwrap_or(rank)).collect())
}

/// The vertex of a graph that each rank becomes when the ranks of a node get vertices with many edges among themselves, from the
/// edges, `[from, to, weight]`, that each rank knows; `None` when ranks stay as they are. All ranks of the communicator call it, also
/// one that has found its arguments wrong, without edges.
pub(super) fn order(
    comm: &Communicator,
    call: &'static str,
    edges: impl Iterator<Item = [c_int; 3]>,
) -> Result<Option<Vec<u32>>> {
    let nodes = nodes(comm, call)?;
    if !is_parted(&nodes) {
        return Ok(None);
    }
    let own = edges.flatten().flat_map(c_int::to_le_bytes).collect();
    let blocks = share(comm, call, own)?;
    Ok(by_edges(&numbers::<3>(&blocks), &nodes))
}

/// Gives every rank the bytes of all.
fn share(comm: &Communicator, call: &'static str, own: Vec<u8>) -> Result<Vec<Option<Vec<u8>>>> {
    let takes = (0..comm.size()).map(|_| Some(Take::Bytes)).collect();
    comm.run_allgather(call, Given::Bytes(own), takes)
}

/// The numbers in blocks of bytes, so many at a time.
pub(super) fn numbers<const N: usize>(blocks: &[Option<Vec<u8>>]) -> Vec<[c_int; N]> {
    let chunks = blocks.iter().flatten().flat_map(|block| block.as_chunks::<4>().0);
    let numbers: Vec<_> = chunks.map(|chunk| c_int::from_le_bytes(*chunk)).collect();
    numbers.as_chunks::<N>().0.to_vec()
}
