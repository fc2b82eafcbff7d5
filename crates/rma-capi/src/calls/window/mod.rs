//! The calls on windows (MPI 5.0 §12, and the fault chapter to be).

mod attributes;
mod communicate;
mod create;
mod decoded;
mod dynamic;
mod faults;
mod hints;
mod now;
mod requested;
mod shared;
mod synchronize;
