//! What the tests of this folder share: worlds of simulated ranks with an engine each, and a count of their packets, and
//! worlds that are driven step by step.
//!
//! The tests themselves are under `tests/`, one file per subject.

pub mod counting;
pub mod program;
pub mod random;
pub mod simulated;
pub mod stepped;
pub mod world;
