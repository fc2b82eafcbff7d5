//! Graphs of ranks: those that every rank knows whole (MPI 5.0 §8.5.3), and those of which each knows its own edges (§8.5.4).

use rma::{Below, Error, ErrorClass, Result};
use std::ffi::c_int;

/// A graph as `MPI_Graph_create` gives it.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The number of edges of all nodes up to each, this one included.
    pub(crate) index: Vec<c_int>,
    pub(crate) edges: Vec<c_int>,
}

/// A rank's edges in one direction, and their weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirectedEdges {
    pub(crate) ranks: Vec<c_int>,
    pub(crate) weights: Vec<c_int>,
}

/// A rank's part of a distributed graph.
#[derive(Debug)]
pub(crate) struct Distributed {
    pub(crate) sources: DirectedEdges,
    pub(crate) destinations: DirectedEdges,
    pub(crate) is_weighted: bool,
}

impl Graph {
    /// A graph among `size` ranks; `edges` reads so many of them.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when there are more nodes than ranks, the index falls, or an edge leads to no node.
    pub(crate) fn new(
        index: Vec<c_int>,
        size: u32,
        edges: impl FnOnce(usize) -> Result<Vec<c_int>>,
    ) -> Result<Self> {
        let refuse = |cause: String| Err(Error::new(ErrorClass::Arg, "", cause));
        let nodes = index.len();
        if nodes as u64 > u64::from(size) {
            return refuse(format!("nnodes is {nodes}, but comm has {size} ranks"));
        }
        let before = |place: usize| if place == 0 { 0 } else { index[place - 1] };
        if let Some(place) = (0..nodes).find(|place| index[*place] < before(*place)) {
            let cause = format!("index[{place}] is {}, less than {} before it", index[place], before(place));
            return refuse(cause);
        }
        let edges = edges(index.last().map_or(0, |last| *last as usize))?;
        let is_node = |edge: &c_int| usize::try_from(*edge).is_ok_and(|edge| edge < nodes);
        if let Some(place) = edges.iter().position(|edge| !is_node(edge)) {
            let among = Below(nodes as u64);
            return refuse(format!("edges[{place}] is {}, which is not in {among}", edges[place]));
        }
        Ok(Self { index, edges })
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.index.len() as u32
    }

    /// All edges, each of weight 1.
    pub(crate) fn all(&self) -> Vec<[c_int; 3]> {
        let of = |rank: u32| {
            self.neighbors(rank as c_int).unwrap_or_default().iter().map(move |to| [rank as c_int, *to, 1])
        };
        (0..self.nodes()).flat_map(of).collect()
    }

    /// The neighbors of a rank.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when it is none of the graph.
    pub(crate) fn neighbors(&self, rank: c_int) -> Result<&[c_int]> {
        let nodes = self.index.len();
        let Some(place) = usize::try_from(rank).ok().filter(|rank| *rank < nodes) else {
            let cause = format!("rank is {rank}, which is not in {}", Below(nodes as u64));
            return Err(Error::new(ErrorClass::Rank, "", cause));
        };
        let start = if place == 0 { 0 } else { self.index[place - 1] };
        Ok(&self.edges[start as usize..self.index[place] as usize])
    }
}

impl DirectedEdges {
    /// The edges to these ranks of `size`; without weights, all weigh 1.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when a rank is none; `MPI_ERR_ARG` when a weight is negative.
    pub(crate) fn new(name: &str, ranks: Vec<c_int>, weights: Option<Vec<c_int>>, size: u32) -> Result<Self> {
        let is_rank = |rank: &c_int| u32::try_from(*rank).is_ok_and(|rank| rank < size);
        if let Some(place) = ranks.iter().position(|rank| !is_rank(rank)) {
            let cause =
                format!("{name}[{place}] is {}, which is not in {}", ranks[place], Below(size.into()));
            return Err(Error::new(ErrorClass::Rank, "", cause));
        }
        let weights = weights.unwrap_or_else(|| vec![1; ranks.len()]);
        if let Some(place) = weights.iter().position(|weight| *weight < 0) {
            let cause =
                format!("the weight of {name}[{place}] is {}, but must not be negative", weights[place]);
            return Err(Error::new(ErrorClass::Arg, "", cause));
        }
        Ok(Self { ranks, weights })
    }

    /// The ranks at the other ends of the edges, and the edges' weights.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (c_int, c_int)> {
        self.ranks.iter().copied().zip(self.weights.iter().copied())
    }

    pub(crate) fn push(&mut self, rank: c_int, weight: c_int) {
        self.ranks.push(rank);
        self.weights.push(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_edges_between_two_numbers() {
        let graph = Graph::new(vec![2, 3, 4, 6], 5, |count| {
            assert_eq!(count, 6);
            Ok(vec![1, 3, 0, 3, 0, 2])
        });
        let graph = graph.unwrap();
        let neighbors = |rank| graph.neighbors(rank).map(<[c_int]>::to_vec);
        assert_eq!([0, 1, 3].map(|rank| neighbors(rank).unwrap()), [vec![1, 3], vec![0], vec![0, 2]]);
        assert!(neighbors(4).is_err() && neighbors(-1).is_err());
        assert!(Graph::new(vec![2, 1], 5, |_| unreachable!()).is_err());
        assert!(Graph::new(vec![-1], 5, |_| unreachable!()).is_err());
        assert!(Graph::new(vec![1; 6], 5, |_| unreachable!()).is_err());
        assert!(Graph::new(vec![1, 1], 5, |_| Ok(vec![2])).is_err());
    }
}
