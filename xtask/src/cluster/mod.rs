//! `cargo xtask cluster`: jobs on several machines, without machines.
//!
//! ```text
//!   command    builds what is run, then becomes `unshare`: processes, mounts, networks, names of their own
//!   bed        inside: makes the machines, goes through the parts, sums up
//!   machines   one network namespace each, with host name, /tmp and /dev/shm; a bridge
//!   shell      a stand-in for ssh between them, over their network
//!   job        a command under a time limit, and nothing left behind it
//!   launcher   what each launcher needs to know to place a job
//!   slurm      the daemons of a cluster of these machines
//!   parts      what is run: programs, random, demos, benchmarks, launchers, faults, weather, scale
//! ```
//!
//! Invariant: the first process of the namespaces is this program, and with it everything ends that was started inside, networks,
//! mounts and files too, whatever ends it: so there is nothing to clean up, after a crash either. Where namespaces may not be
//! made, one line says so, and the exit status is 0.

mod bed;
mod command;
mod job;
mod launcher;
mod machines;
mod parts;
mod report;
mod shell;
mod slurm;

pub(crate) use command::{Args, run, stand_in};
