//! Communicators between two groups: every rank communicates with the ranks of the other group (MPI 4.1 §7.6).
//!
//! Collectives are made of those of one group: one rank of each group stands for it towards the other, so they cost what
//! they cost in the groups, and a message between them. All of them are byte-level: the C library is their user.
//!
//! Invariants: the groups have no process in common; both know which of them counts as the first; the context is the same
//! on all ranks of both, and no other communicator's.

mod collectives;
mod create;
mod faults;
mod handle;
mod split;

#[cfg(test)]
mod tests;

pub use collectives::Root;
pub use handle::Intercommunicator;
