//! The calls that send, receive and probe (MPI 5.0 §3).

mod buffered;
mod exchange;
mod partitioned;
mod persistent;
mod probe;
mod receive;
mod send;
