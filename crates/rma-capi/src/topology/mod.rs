//! Topologies of communicators (MPI 5.0 §8): which ranks are neighbors. They know ranks only, no communicator.

mod cartesian;
mod dims;
mod graph;
mod neighborhood;
mod partition;
mod reorder;

pub(crate) use cartesian::Cartesian;
pub(crate) use dims::balance;
pub(crate) use graph::{DirectedEdges, Distributed, Graph};
pub(crate) use neighborhood::{Neighborhood, Topology};
pub(crate) use partition::by_edges;
pub(crate) use reorder::{by_node, is_parted};
