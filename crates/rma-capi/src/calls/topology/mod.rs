//! The calls on topologies (MPI 5.0 §8): making them, asking them, and collectives among neighbors.

mod cartesian;
mod distributed;
mod graph;
mod ineighbor;
mod make;
mod neighbor;
mod neighbor_init;
