//! The C library: `libmpi_abi.so.1` with the standard ABI of MPI 5.0, over the same runtime that Rust programs use.
//!
//! What will live here, and nowhere else: the exported `MPI_` and `PMPI_` symbols, the tables that map the ABI's handles
//! and constants to values of [`rma`] (handles are index and generation, so a stale or foreign one is an error), the
//! conversion of `int` arguments to the 64-bit form that the engine has, error handlers, and the files that C programs are
//! built with (`mpi.h`, `rmacc`, the pkg-config file). An entry point is one macro: panic boundary, initialization
//! check, conversion, body, error handler.
//!
//! What will not live here: epochs, windows, progress. This crate translates; the engine decides.
//!
//! The crate is empty until its entry points exist; it exports no symbol.
