//! The calls on datatypes (MPI 5.0 §5, §7.7.4, §7.8).

mod attributes;
mod construct;
mod pack;
mod query;
