//! Benchmarks: what an operation costs here, and what the machine allows at best.
//!
//! Two kinds will live side by side. Criterion benches (`benches/`, run by `cargo xtask bench`) measure parts inside one
//! process, each next to the raw limit it is held against: a copy through a span next to `memcpy`, for example.
//! Programs that measure jobs of several ranks, and the same C program on other MPI libraries, come with the C library.
//!
//! The library part holds what those programs share. It is empty as long as they share nothing.
