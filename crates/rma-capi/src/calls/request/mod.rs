//! The calls on requests and statuses (MPI 5.0 §3.7, §3.8.4).

mod complete;
mod several;
mod status;
