//! What is run on the machines, a file each.

mod benchmarks;
mod demos;
mod faults;
mod launchers;
mod part;
mod programs;
mod random;
mod scale;
mod weather;

pub(super) use part::Part;
