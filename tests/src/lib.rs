//! What the tests of this folder share: worlds of simulated ranks with an engine each, and a count of their packets; worlds
//! that are driven step by step; random programs and what they must leave in memory; jobs of real processes, started by the
//! launcher, and a look at what they leave behind.
//!
//! The tests themselves are under `tests/`, one file per subject.

pub mod c;
pub mod counting;
mod draws;
pub mod faults;
mod findings;
pub mod fuzzing;
pub mod hostile;
pub mod installed;
pub mod job;
pub mod keeper;
pub mod options;
pub mod paths;
pub mod program;
pub mod random;
pub mod scale;
pub mod scripts;
pub mod seeds;
pub mod simulated;
pub mod stepped;
pub mod traces;
pub mod types;
pub mod world;
