//! Graph topologies that every rank gives whole (MPI 5.0 §8.5.3).

use super::make::{TopologyWish, make, nodes};
use crate::abi::*;
use crate::arguments::{In, Out};
use crate::communicator::Comm;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::topology::{Graph, Topology, by_edges};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

entry! {
    /// `MPI_Graph_create` (§8.5.3): with reordering, the ranks of a node get neighbors, where that leaves fewer edges between nodes.
    fn MPI_Graph_create(
        comm_old: MPI_Comm,
        nnodes: c_int,
        indx: In<c_int>,
        edges: In<c_int>,
        reorder: c_int,
        comm_graph: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm_old); |process| {
        let old = process.comm(comm_old)?;
        let comm = old.intra()?;
        // Before anything can be wrong: all ranks take part.
        let nodes = if reorder != 0 { nodes(comm, "MPI_Graph_create")? } else { Vec::new() };
        let wish = || {
            let graph = graph(nnodes, indx, edges, comm.size())?;
            let order = nodes.get(..graph.nodes() as usize).and_then(|nodes| by_edges(&graph.all(), nodes));
            let rank = order.map_or(Some(comm.rank()), |order| order.get(comm.rank() as usize).copied());
            let place = rank.filter(|rank| *rank < graph.nodes()).map(|rank| (0, rank));
            Ok(TopologyWish { place, topology: Topology::Graph(graph) })
        };
        make(old, comm_graph, wish())
    }

    /// `MPI_Graphdims_get` (§8.5.5).
    fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: Out<c_int>, nedges: Out<c_int>)
    raises Raiser::Comm(comm); |process| {
        let graph = graph_of(process.comm(comm)?)?;
        nnodes.set("nnodes", graph.index.len() as c_int)?;
        nedges.set("nedges", graph.edges.len() as c_int)
    }

    /// `MPI_Graph_get` (§8.5.5): as much as there is room for.
    fn MPI_Graph_get(
        comm: MPI_Comm,
        maxindex: c_int,
        maxedges: c_int,
        indx: Out<c_int>,
        edges: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let graph = graph_of(process.comm(comm)?)?;
        indx.set_all("indx", &graph.index[..room("maxindex", maxindex)?.min(graph.index.len())])?;
        edges.set_all("edges", &graph.edges[..room("maxedges", maxedges)?.min(graph.edges.len())])
    }

    /// `MPI_Graph_neighbors_count` (§8.5.5).
    fn MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: Out<c_int>)
    raises Raiser::Comm(comm); |process| {
        let graph = graph_of(process.comm(comm)?)?;
        nneighbors.set("nneighbors", graph.neighbors(rank)?.len() as c_int)
    }

    /// `MPI_Graph_neighbors` (§8.5.5): as many as there is room for.
    fn MPI_Graph_neighbors(
        comm: MPI_Comm,
        rank: c_int,
        maxneighbors: c_int,
        neighbors: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let found = graph_of(process.comm(comm)?)?.neighbors(rank)?;
        neighbors.set_all("neighbors", &found[..room("maxneighbors", maxneighbors)?.min(found.len())])
    }

    /// `MPI_Graph_map` (§8.5.8): ranks stay as they are.
    fn MPI_Graph_map(
        comm: MPI_Comm,
        nnodes: c_int,
        indx: In<c_int>,
        edges: In<c_int>,
        newrank: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let comm = process.comm(comm)?.intra()?;
        let nodes = graph(nnodes, indx, edges, comm.size())?.nodes();
        newrank.set("newrank", if comm.rank() < nodes { comm.rank() as c_int } else { MPI_UNDEFINED })
    }
}

/// The graph that a call describes.
fn graph(nnodes: c_int, indx: In<c_int>, edges: In<c_int>, size: u32) -> Result<Graph> {
    let index = indx.many("indx", room("nnodes", nnodes)?)?;
    Graph::new(index, size, |number| edges.many("edges", number))
}

/// The graph that a communicator has.
fn graph_of(comm: &Comm) -> Result<&Graph> {
    match comm.topology()? {
        Topology::Graph(graph) => Ok(graph),
        Topology::Cartesian(_) | Topology::Distributed(_) => {
            let cause = "comm has a Cartesian or distributed topology, not that of MPI_Graph_create";
            Err(Error::new(ErrorClass::Topology, "", cause))
        }
    }
}

fn room(name: &str, value: c_int) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(ErrorClass::Arg, "", format!("{name} is {value}, but must not be negative")))
}
