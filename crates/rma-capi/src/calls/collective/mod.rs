//! The calls on collectives (MPI 5.0 §6): blocking, nonblocking and persistent, with `int` and with large counts.

mod blocking;
mod nonblocking;
mod nonblocking_scans;
mod nonblocking_varying;
mod persistent;
mod persistent_reductions;
mod reductions;
