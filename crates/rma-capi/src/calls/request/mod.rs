//! The calls on requests and statuses (MPI 5.0 §3.7, §3.8.4).

mod complete;
mod generalized;
mod several;
mod start;
mod status;
