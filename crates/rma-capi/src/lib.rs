//! The C library: `libmpi_abi.so.1` with the standard ABI of MPI 5.0, over the same runtime that Rust programs use.
//!
//! What lives here, and nowhere else: the exported `MPI_` and `PMPI_` functions, the tables that map the ABI's handles
//! and constants to values of [`rma`] and [`rma_core`], the conversion of `int` arguments to the 64-bit form that the
//! engine has, error handlers and attributes, and the files that C programs are built with. Epochs, windows, messages and
//! progress do not: this crate translates; the runtime and the engine decide.
//!
//! From below; no room imports one that imports it, however far around (`cargo xtask tidy`):
//!
//! * [`abi`] has types and constants, [`arguments`] what C passes, [`overlap`] and [`name`] what several kinds of objects share;
//!   [`cancel`], [`heap`] and [`noted`] are about the thread and its memory.
//! * [`handle`] has the tables of objects, [`attributes`] what programs hang on them, [`errors`] codes and handlers.
//! * [`communicator`], [`group`], [`datatype`] and [`op`] are objects that stand for themselves; [`process`] has the predefined
//!   communicators, and finds all; [`info`], [`session`], [`request`], [`message`], [`collective`] and [`window`] are of it.
//! * [`entry`] is the frame of a call, which finds the handler of its error. [`tool`] looks at everything,
//!   [`debug`] lists what is left, and [`life`] begins and ends MPI.
//! * [`calls`] holds the entry points, a module for what they are about. A function that is not implemented is in neither header nor
//!   link; programs that were built with another library hear of it there too.

#![allow(non_camel_case_types, non_snake_case)] // the names are the standard's
#![allow(clippy::too_many_arguments)] // so are the parameters

mod abi;
mod arguments;
mod attributes;
mod calls;
mod cancel;
mod collective;
mod communicator;
mod datatype;
mod debug;
mod entry;
mod errors;
mod group;
mod handle;
mod heap;
mod info;
mod life;
mod message;
mod name;
mod noted;
mod op;
mod overlap;
mod process;
mod request;
mod session;
mod start;
mod tool;
mod topology;
mod window;
