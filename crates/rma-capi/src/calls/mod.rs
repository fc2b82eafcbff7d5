//! The entry points: the exported functions, a module for what they are about.
//!
//! A call takes its arguments apart, finds its objects, does what the rooms of the objects offer, and stores what it tells. Nothing
//! imports this room; it may import everything. What happens around a call, [`crate::entry`] has.

mod collective;
mod communicator;
mod conversion;
mod datatype;
mod deprecated;
mod environment;
mod errors;
mod fortran;
mod group;
mod info;
mod memory;
mod message;
mod op;
mod request;
mod session;
mod start;
mod tool;
mod topology;
mod unsupported;
mod window;
