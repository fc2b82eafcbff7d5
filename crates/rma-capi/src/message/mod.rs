//! Messages from one rank to another (MPI 5.0 §3): sends, receives and probes of every kind.
//!
//! Matching, ordering and flow are the runtime's; here ranks become processes and back, and buffers the bytes of a
//! datatype. `MPI_PROC_NULL` ends here.

pub(crate) mod buffered;
pub(crate) mod envelope;
pub(crate) mod exchange;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod probe;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod transfer;

pub(crate) use probe::MESSAGES;
