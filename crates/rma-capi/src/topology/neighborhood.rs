//! The neighbors of one rank, in the order of the blocks of neighborhood collectives (MPI 5.0 §8.6).

use super::cartesian::Cartesian;
use super::graph::{Distributed, Graph};
use crate::abi::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH};
use std::ffi::c_int;

/// The topology of a communicator.
#[derive(Debug)]
pub(crate) enum Topology {
    Cartesian(Cartesian),
    Graph(Graph),
    Distributed(Distributed),
}

/// The neighbors of a rank; `None` where a grid ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Neighborhood {
    pub(crate) sources: Vec<Option<u32>>,
    pub(crate) destinations: Vec<Option<u32>>,
    /// Whether what goes along one half of a dimension comes from the other half, also where both lead to the same rank.
    is_grid: bool,
}

impl Topology {
    /// What `MPI_Topo_test` answers.
    pub(crate) fn kind(&self) -> c_int {
        match self {
            Self::Cartesian(_) => MPI_CART,
            Self::Graph(_) => MPI_GRAPH,
            Self::Distributed(_) => MPI_DIST_GRAPH,
        }
    }

    /// The neighbors of a rank of it.
    pub(crate) fn neighborhood(&self, rank: u32) -> Neighborhood {
        let some = |ranks: &[c_int]| ranks.iter().map(|rank| Some(*rank as u32)).collect::<Vec<_>>();
        match self {
            Self::Cartesian(grid) => {
                let both = |d: usize| grid.shift(rank, d as c_int, 1).unwrap_or_default();
                let neighbors: Vec<_> = (0..grid.dims().len()).flat_map(both).collect();
                Neighborhood { sources: neighbors.clone(), destinations: neighbors, is_grid: true }
            }
            Self::Graph(graph) => {
                let neighbors = some(graph.neighbors(rank as c_int).unwrap_or_default());
                Neighborhood { sources: neighbors.clone(), destinations: neighbors, is_grid: false }
            }
            Self::Distributed(graph) => Neighborhood {
                sources: some(&graph.sources.ranks),
                destinations: some(&graph.destinations.ranks),
                is_grid: false,
            },
        }
    }
}

impl Neighborhood {
    /// The tag of the edge that a block comes along.
    pub(crate) fn tag_of_source(&self, place: usize) -> u32 {
        if self.is_grid { place as u32 } else { 0 }
    }

    /// The tag of the edge that a block goes along: in a grid, that of the block which the neighbor has from the other direction.
    pub(crate) fn tag_of_destination(&self, place: usize) -> u32 {
        if self.is_grid { place as u32 ^ 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_two_neighbors_in_each_dimension() {
        let grid = Topology::Cartesian(Cartesian::new(&[2, 3], &[1, 0], 6).unwrap());
        let hood = grid.neighborhood(4);
        assert_eq!(hood.sources, [Some(1), Some(1), Some(3), Some(5)]);
        assert_eq!(hood.destinations, hood.sources);
        assert_eq!(grid.neighborhood(0).sources, [Some(3), Some(3), None, Some(1)]);
        assert_eq!([0, 1, 2, 3].map(|place| hood.tag_of_destination(place)), [1, 0, 3, 2]);
        assert_eq!([0, 1, 2, 3].map(|place| hood.tag_of_source(place)), [0, 1, 2, 3]);
    }
}
