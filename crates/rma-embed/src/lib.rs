//! The engine behind a C interface, for message-passing libraries that bring their own transport and runtime.
//!
//! `include/rma.h` is the interface and its reference; `docs/embedding.md` the guide. An embedder gives a channel and a host
//! as tables of functions ([`rma_ch_c::ForeignChannel`] and [`ForeignHost`] make traits of them) and gets an engine whose calls never
//! wait. Every function is an entry point of [`entry`]: a panic does not cross it, and errors are a class and a text.
//!
//! What is checked: handles (index, generation and kind), nulls, sizes of structures, numbers that stand for something, and
//! what callbacks answer as far as it can be seen. What is the embedder's promise: that other pointers are what they are
//! said to be, and that memory lives as long as the header says.

mod abi;
mod datatype;
mod engine;
mod entry;
mod errors;
mod handle;
mod host;
mod observer;
mod path;
mod pointer;
mod segment;
mod statistics;
mod synchronize;
mod transfer;
mod under_way;
mod window;

pub use abi::{HostTable, SIZES};
pub use host::ForeignHost;
