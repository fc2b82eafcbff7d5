//! The calls of the tool information interface (MPI 5.0 §15.3).

mod begin;
mod category;
mod cvar;
mod enumeration;
mod event;
mod pvar;
