//! Distributed graph topologies (MPI 5.0 §8.5.4): each rank knows its own edges.

use super::make::{enter, numbers, order};
use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::communicator::Comm;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::info;
use crate::topology::{DirectedEdges, Distributed, Topology};
use rma::raw::{Given, Take};
use rma::{Communicator, Error, ErrorClass, Result};
use std::ffi::c_int;

/// An edge as one rank sends it to another: direction, the rank at the other end, weight.
type Edge = [c_int; 3];
const COMES: c_int = 0;
const GOES: c_int = 1;

entry! {
    /// `MPI_Dist_graph_create_adjacent` (§8.5.4): with reordering, as `MPI_Graph_create`.
    fn MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm,
        indegree: c_int,
        sources: In<c_int>,
        sourceweights: Memory,
        outdegree: c_int,
        destinations: In<c_int>,
        destweights: Memory,
        info: MPI_Info,
        reorder: c_int,
        comm_dist_graph: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm_old); |process| {
        let old = process.comm(comm_old)?;
        let comm = old.intra()?;
        let graph = || {
            info::get_optional(info)?;
            comm_dist_graph.check("newcomm")?;
            let (indegree, outdegree) = (number("indegree", indegree)?, number("outdegree", outdegree)?);
            let is_weighted = is_weighted(sourceweights) && is_weighted(destweights);
            let side = |name, ranks: In<c_int>, number, weights| {
                DirectedEdges::new(name, ranks.many(name, number)?, values(weights, number)?, comm.size())
            };
            let sources = side("sources", sources, indegree, sourceweights)?;
            let destinations = side("destinations", destinations, outdegree, destweights)?;
            Ok(Distributed { sources, destinations, is_weighted })
        };
        let (graph, me) = (graph(), comm.rank() as c_int);
        let edges = || graph.iter().flat_map(|graph| graph.edges(me));
        let place = place(comm, "MPI_Dist_graph_create_adjacent", reorder, edges)?;
        let graph = graph.map_err(|fault| comm.refuse_split(fault))?;
        let inner = all_at(comm, place)?;
        let graph = match place {
            None => graph,
            Some(_) => {
                let mut edges = vec![Vec::new(); comm.size() as usize];
                edges[comm.rank() as usize] = graph.as_given();
                gather(&inner, edges, graph.is_weighted)?
            }
        };
        comm_dist_graph.set("newcomm", enter(old, inner, Topology::Distributed(graph))?)
    }

    /// `MPI_Dist_graph_create` (§8.5.4): any rank gives any edges; with reordering, as `MPI_Graph_create`.
    fn MPI_Dist_graph_create(
        comm_old: MPI_Comm,
        n: c_int,
        sources: In<c_int>,
        degrees: In<c_int>,
        destinations: In<c_int>,
        weights: Memory,
        info: MPI_Info,
        reorder: c_int,
        comm_dist_graph: Out<MPI_Comm>,
    ) raises Raiser::Comm(comm_old); |process| {
        let old = process.comm(comm_old)?;
        let comm = old.intra()?;
        let edges = || {
            info::get_optional(info)?;
            comm_dist_graph.check("newcomm")?;
            edges_by_rank(number("n", n)?, sources, degrees, destinations, weights, comm.size())
        };
        let edges = edges();
        let going = || edges.iter().flat_map(|by_rank| going(by_rank));
        let place = place(comm, "MPI_Dist_graph_create", reorder, going)?;
        let edges = edges.map_err(|fault| comm.refuse_split(fault))?;
        let inner = all_at(comm, place)?;
        let graph = gather(&inner, edges, is_weighted(weights))?;
        comm_dist_graph.set("newcomm", enter(old, inner, Topology::Distributed(graph))?)
    }

    /// `MPI_Dist_graph_neighbors_count` (§8.5.5).
    fn MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm,
        indegree: Out<c_int>,
        outdegree: Out<c_int>,
        weighted: Out<c_int>,
    ) raises Raiser::Comm(comm); |process| {
        let graph = graph_of(process.comm(comm)?)?;
        indegree.set("indegree", graph.sources.ranks.len() as c_int)?;
        outdegree.set("outdegree", graph.destinations.ranks.len() as c_int)?;
        weighted.set("weighted", graph.is_weighted.into())
    }

    /// `MPI_Dist_graph_neighbors` (§8.5.5): as many as there is room for.
    fn MPI_Dist_graph_neighbors(
        comm: MPI_Comm,
        maxindegree: c_int,
        sources: Out<c_int>,
        sourceweights: Memory,
        maxoutdegree: c_int,
        destinations: Out<c_int>,
        destweights: Memory,
    ) raises Raiser::Comm(comm); |process| {
        let graph = graph_of(process.comm(comm)?)?;
        let store = |side: &DirectedEdges, most: usize, ranks: Out<c_int>, weights: Memory| {
            let number = most.min(side.ranks.len());
            ranks.set_all("ranks", &side.ranks[..number])?;
            match graph.is_weighted && is_weighted(weights) {
                true => weights.place::<c_int>().set_all("weights", &side.weights[..number]),
                false => Ok(()),
            }
        };
        store(&graph.sources, number("maxindegree", maxindegree)?, sources, sourceweights)?;
        store(&graph.destinations, number("maxoutdegree", maxoutdegree)?, destinations, destweights)
    }
}

/// The place that this rank gets with reordering, if ranks do not stay as they are.
fn place<E: Iterator<Item = [c_int; 3]>>(
    comm: &Communicator,
    call: &'static str,
    reorder: c_int,
    edges: impl FnOnce() -> E,
) -> Result<Option<u32>> {
    let order = if reorder != 0 { order(comm, call, edges())? } else { None };
    Ok(order.map(|order| order[comm.rank() as usize]))
}

/// A communicator of all ranks, with this one at a place.
fn all_at(comm: &Communicator, place: Option<u32>) -> Result<Communicator> {
    let made = comm.split(Some(0), place.unwrap_or(comm.rank()).into())?;
    made.ok_or_else(|| Error::new(ErrorClass::Intern, "", "a rank is not in its own part"))
}

/// The edges, `[from, to, weight]`, among those for each rank, each once.
fn going(by_rank: &[Vec<Edge>]) -> impl Iterator<Item = [c_int; 3]> {
    let of = |(from, edges): (c_int, &Vec<Edge>)| {
        let goes = edges.iter().filter(|[direction, ..]| *direction == GOES);
        goes.map(move |[_, to, weight]| [from, *to, *weight]).collect::<Vec<_>>()
    };
    (0..).zip(by_rank).flat_map(of)
}

/// What the edges that this rank gives mean for each rank.
fn edges_by_rank(
    number_of_sources: usize,
    sources: In<c_int>,
    degrees: In<c_int>,
    destinations: In<c_int>,
    weights: Memory,
    size: u32,
) -> Result<Vec<Vec<Edge>>> {
    let sources =
        DirectedEdges::new("sources", sources.many("sources", number_of_sources)?, None, size)?.ranks;
    let degrees = degrees.many("degrees", number_of_sources)?;
    let degrees = degrees.into_iter().map(|degree| number("degrees", degree)).collect::<Result<Vec<_>>>()?;
    let total = degrees.iter().sum();
    let ends = destinations.many("destinations", total)?;
    let ends = DirectedEdges::new("destinations", ends, values(weights, total)?, size)?;
    let starts =
        sources.into_iter().zip(degrees).flat_map(|(source, degree)| std::iter::repeat_n(source, degree));
    let mut edges = vec![Vec::new(); size as usize];
    for ((source, destination), weight) in starts.zip(ends.ranks).zip(ends.weights) {
        edges[source as usize].push([GOES, destination, weight]);
        edges[destination as usize].push([COMES, source, weight]);
    }
    Ok(edges)
}

/// Sends all ranks their edges, and gives this one's, in the order of the ranks that gave them: two ranks have the edges between
/// them in one order.
fn gather(comm: &Communicator, by_rank: Vec<Vec<Edge>>, is_weighted: bool) -> Result<Distributed> {
    let bytes = |edges: Vec<Edge>| edges.into_iter().flatten().flat_map(c_int::to_le_bytes).collect();
    let gives = by_rank.into_iter().map(|edges| Given::Bytes(bytes(edges))).collect();
    let takes = (0..comm.size()).map(|_| Take::Bytes).collect();
    let blocks = comm.run_alltoall("MPI_Dist_graph_create", gives, takes, None)?;
    let (mut sources, mut destinations) = (DirectedEdges::default(), DirectedEdges::default());
    for [direction, rank, weight] in numbers(&blocks) {
        let side = if direction == COMES { &mut sources } else { &mut destinations };
        side.push(rank, weight);
    }
    Ok(Distributed { sources, destinations, is_weighted })
}

impl Distributed {
    /// All edges of rank `me`, `[from, to, weight]`.
    fn edges(&self, me: c_int) -> impl Iterator<Item = [c_int; 3]> {
        let come = self.sources.ends().map(move |(rank, weight)| [rank, me, weight]);
        come.chain(self.destinations.ends().map(move |(rank, weight)| [me, rank, weight]))
    }

    /// All edges of a rank, in order, as one rank sends them to another.
    fn as_given(&self) -> Vec<Edge> {
        let come = self.sources.ends().map(|(rank, weight)| [COMES, rank, weight]);
        come.chain(self.destinations.ends().map(|(rank, weight)| [GOES, rank, weight])).collect()
    }
}

/// The distributed graph that a communicator has.
fn graph_of(comm: &Comm) -> Result<&Distributed> {
    match comm.topology()? {
        Topology::Distributed(graph) => Ok(graph),
        Topology::Cartesian(_) | Topology::Graph(_) => {
            let cause = "comm has a topology that is no distributed graph";
            Err(Error::new(ErrorClass::Topology, "", cause))
        }
    }
}

/// Whether weights are given, or room for them.
fn is_weighted(weights: Memory) -> bool {
    weights.address() != MPI_UNWEIGHTED
}

/// The weights that are given.
fn values(weights: Memory, number: usize) -> Result<Option<Vec<c_int>>> {
    if !is_weighted(weights) {
        return Ok(None);
    }
    if weights.address() == MPI_WEIGHTS_EMPTY && number > 0 {
        let cause = format!("weights are MPI_WEIGHTS_EMPTY, but there are {number} edges");
        return Err(Error::new(ErrorClass::Arg, "", cause));
    }
    weights.value::<c_int>().many("weights", number).map(Some)
}

fn number(name: &str, value: c_int) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(ErrorClass::Arg, "", format!("{name} is {value}, but must not be negative")))
}
