//! Benchmarks: what an operation costs here, and what the machine allows at best.
//!
//! Two kinds live side by side. Criterion benches (`benches/`, run by `cargo xtask bench parts`) measure parts inside one
//! process, each next to the raw limit it is held against: a copy through a span next to `memcpy`, for example. Programs
//! measure jobs of several ranks: the C program in `c/` on this and on other MPI libraries (`cargo xtask bench`), and `paths`
//! through the Rust interface (`cargo xtask bench paths`).
//!
//! The library part holds what the Rust programs share. It is empty as long as they share nothing.
