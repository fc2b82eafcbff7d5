//! The calls on windows (MPI 5.0 §12, and the fault chapter to be).

mod attributes;
mod communicate;
mod create;
mod decoded;
mod dynamic;
mod fast_path;
mod faults;
mod guest;
mod hints;
mod notified;
mod requested;
mod shared;
mod synchronize;
